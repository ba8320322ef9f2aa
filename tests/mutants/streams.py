"""Bugs planted in streams: what a batch costs, what is refused, what its answers become."""

from tests.mutants.mutant import Mutant

LAW = "tests/laws/test_streams.py"
ESTIMATOR = "tests/unit/test_private_stream.py"
STATE = "tests/unit/test_stream.py"
STEP = "tests/unit/methods/test_batch.py"
FILE = "_private_stream.py"

MUTANTS = {
    "a batch without rows is skipped": Mutant(
        FILE,
        "        try:\n            later.fit(X,",
        "        if earlier is not None and not len(X):\n            return self\n"
        "        try:\n            later.fit(X,",
        f"{LAW}::test_nothing_leaves_of_a_batch_beside_the_answers",
    ),
    "the rows of a batch are read twice": Mutant(
        "methods/_batch.py",
        "moved = _measured(curator, cells, radius, rest)",
        "moved = _measured(curator, cells, radius, rest.evenly(2)[0]); "
        "moved = _measured(curator, cells, max(1, int(moved.counts[0])), rest.evenly(2)[0])",
        f"{STEP}::test_counts_and_clipped_sums_about_the_centres",
    ),
    "a batch counts twice": Mutant(
        "_stream.py",
        "return stream, moved, kept * sizes + new.counts",
        "return stream, moved, kept * sizes + 2 * new.counts",
        f"{ESTIMATOR}::test_batches_add_up_and_a_fit_begins_anew",
    ),
    "a batch is answered with the answers of another": Mutant(
        FILE,
        'return {**asked, "after": hashlib.sha256(before.encode()).hexdigest()}',
        "return asked",
        f"{ESTIMATOR}::test_a_ledger_that_lasts_answers_a_batch_once",
    ),
    "groups in many batches cost as much as one batch": Mutant(
        FILE,
        "together = add if grouped else max",
        "together = max",
        f"{ESTIMATOR}::test_groups_need_a_number_of_batches_and_their_costs_add_up",
    ),
    "groups are taken in without a number of batches": Mutant(
        FILE,
        "if opened.neighbours != ONE_ROW and self.max_batches is None:",
        "if False:",
        f"{ESTIMATOR}::test_groups_need_a_number_of_batches_and_their_costs_add_up",
    ),
    "one batch too many": Mutant(
        FILE,
        "stream.n_batches >= self.max_batches:",
        "stream.n_batches > self.max_batches:",
        f"{ESTIMATOR}::test_groups_need_a_number_of_batches_and_their_costs_add_up",
    ),
    "a later batch may cost more than the first": Mutant(
        FILE,
        "!= (stream.epsilon, stream.delta):",
        "!= (float(self.epsilon), stream.delta):",
        f"{ESTIMATOR}::test_what_is_refused_is_refused_before_the_charge",
    ),
    "rows in groups continue a stream of rows": Mutant(
        FILE,
        "    if before != opened.neighbours:",
        "    if not before:",
        f"{ESTIMATOR}::test_groups_are_in_every_batch_or_in_none",
    ),
    "other bounds continue a stream": Mutant(
        FILE,
        "!= (new.lower, new.upper, new.nan):",
        "!= (old.lower, old.upper, new.nan):",
        f"{ESTIMATOR}::test_what_is_refused_is_refused_before_the_charge",
    ),
    "a batch is compared as if rows were no sample": Mutant(
        "_stream.py",
        "np.sqrt(noise + sampling + 1)",
        "np.sqrt(noise + 1)",
        f"{STATE}::test_batches_alike_raise_no_more_alarms_than_stated",
    ),
    "a batch is compared as if answers had no noise": Mutant(
        "_stream.py",
        "np.sqrt(noise + sampling + 1)",
        "np.sqrt(sampling + 1)",
        f"{STATE}::test_batches_alike_raise_no_more_alarms_than_stated",
    ),
    "old batches never fade": Mutant(
        "_stream.py",
        "total = kept * before + gained",
        "total = before + gained",
        f"{STATE}::test_after_a_half_life_a_batch_counts_half",
    ),
    "batches of clusters that moved count less": Mutant(
        "_stream.py",
        "width = (self.reference.radius if self.reference else found.radius) or 0",
        "width = found.radius or 0",
        f"{STATE}::test_a_batch_of_clusters_that_moved_counts_as_any",
    ),
    "clusters without rows are moved by noise": Mutant(
        "_stream.py",
        "        rows = np.maximum(new.counts, 0)\n        weights",
        "        rows = np.abs(new.counts)\n        weights",
        f"{STATE}::test_a_cluster_without_rows_stays_whatever_its_noise",
    ),
    "cells of the comparison move with the centres": Mutant(
        "methods/_batch.py",
        "same = nearest_to(self.reference.centers)",
        "same = cells",
        f"{STEP}::test_the_reference_is_asked_with_its_own_centres_and_radius",
    ),
    "a model that a ledger could not keep is lost": Mutant(
        FILE,
        'if vars(later).get("receipt_") is not vars(self).get("receipt_"):',
        "if hasattr(later, 'request_'):",
        f"{ESTIMATOR}::test_a_release_that_a_ledger_could_not_keep_is_kept_by_the_model",
    ),
}

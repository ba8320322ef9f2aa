"""Bugs planted in the rows on Dask."""

from tests.mutants.mutant import Mutant

DASK = "tests/engines/test_dask.py"

MUTANTS = {
    "Dask leaves the rows of a group where they are": Mutant(
        "engines/_dask_worker.py",
        "if owner is None or frame.npartitions == 1:",
        "if True:",
        f"{DASK}::test_groups_are_gathered_in_one_partition",
    ),
    "Dask gathers rows by labels as they are": Mutant(
        "engines/_dask_worker.py",
        "pandas.Series(keys_of(labels.tolist()), index=labels.index, dtype=object)",
        "labels.astype(object)",
        f"{DASK}::test_partitions_of_unlike_types_hold_one_person",
    ),
    "Dask gathers texts by a hash of its own in every process": Mutant(
        "engines/_dask_worker.py",
        "crc32(key.encode()) % parts",
        "hash(key) % parts",
        f"{DASK}::test_texts_have_one_home_in_every_process",
    ),
    "Dask does not see futures inside of calls": Mutant(
        "engines/_dask_worker.py",
        "keys = futures | (named - set(graph))",
        "keys = futures",
        f"{DASK}::test_a_future_in_a_call_is_seen_as_well",
    ),
    "Dask asks for the recipe of the last step only": Mutant(
        "engines/_dask_worker.py",
        "stack += [other for other in task.dependencies if other not in seen]",
        "stack += []",
        f"{DASK}::test_scattered_data_is_refused",
    ),
    "Dask does without what a worker does not answer": Mutant(
        "engines/_dask.py",
        "left = [batch for home in silent for batch, _ in asked.pop(home)]",
        "left = [[] for home in silent for _ in asked.pop(home)]",
        f"{DASK}::test_who_has_no_such_rows_is_not_asked_again",
    ),
    "Dask asks a worker that is gone for ever": Mutant(
        "engines/_dask.py",
        "        if left:\n            self._forget_homes()",
        "        if not answers:\n            self._forget_homes()",
        f"{DASK}::test_who_has_no_such_rows_is_not_asked_again",
    ),
    "Dask counts a batch as its first partition": Mutant(
        "engines/_dask_worker.py",
        "return [Partial(tuple(parts), whole.state)]",
        "return [Partial(tuple(parts[:1]), whole.state)]",
        f"{DASK}::test_many_small_partitions_are_done_together",
    ),
    "Dask keeps rows that are to be left out": Mutant(
        "engines/_rows.py",
        "yield rows if kept.all() else rows[kept]",
        "yield rows",
        f"{DASK}::test_rows_with_missing_cells_are_left_out_where_that_is_asked_for",
    ),
    "Dask tells what a worker said about a row": Mutant(
        "engines/_dask.py",
        "if isinstance(error, _HARMLESS) else",
        "if error else",
        f"{DASK}::test_what_cannot_be_read_stops_the_fit_and_says_nothing_of_rows",
    ),
}

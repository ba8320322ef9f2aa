"""Bugs planted in audits: bounds that are too large, and breaches that go unseen."""

from tests.mutants.mutant import Mutant

VERDICT, RUN = "audit/_verdict.py", "audit/_run.py"
OBSERVE, CANARIES = "audit/_observe.py", "audit/_canaries.py"
TAILS = "tests/unit/audit/test_verdict.py::test_the_bound_is_that_of_two_exact_tails"
GAME = "tests/unit/audit/test_run.py"
ONE_RUN = "tests/unit/audit/test_canaries.py"

MUTANTS = {
    "an audit's least rate has all of the risk": Mutant(
        VERDICT, "stats.beta.ppf(alpha / 2, ", "stats.beta.ppf(alpha, ", TAILS
    ),
    "an audit's largest rate is that of one case fewer": Mutant(
        VERDICT, "others + 1, np.maximum", "np.maximum(others, 0.01), np.maximum", TAILS
    ),
    "an audit forgets δ": Mutant(
        VERDICT,
        "np.log(np.maximum(least - delta, 0))",
        "np.log(np.maximum(least, 0))",
        TAILS,
    ),
    "every look of an audit has the risk of the first": Mutant(
        RUN,
        "(len(self.games) * game.looks * (game.looks + 1))",
        "(2 * len(self.games))",
        f"{GAME}::test_the_risk_of_all_looks_adds_up_to_no_more_than_alpha",
    ),
    "every pair of an audit has all of the risk": Mutant(
        RUN,
        "(len(self.games) * game.looks * (game.looks + 1))",
        "(game.looks * (game.looks + 1))",
        f"{GAME}::test_the_risk_of_all_looks_adds_up_to_no_more_than_alpha",
    ),
    "events are certified on the fits they were learned from": Mutant(
        RUN,
        "hits, others = event.counts(fresh)",
        "hits, others = event.counts(game.seen)",
        f"{GAME}::test_events_are_certified_on_fits_that_they_were_not_learned_from",
    ),
    "errors with other words are taken for the same": Mutant(
        RUN,
        "if len(texts) == 1 and refusal:",
        "if refusal:",
        f"{GAME}::test_refusals_with_other_words_are_an_event",
    ),
    "an audit goes on when the fits are used up": Mutant(
        RUN,
        "if self.most is not None and self.done + 2 * trials > self.most:",
        "if False:",
        f"{GAME}::test_no_more_fits_than_were_allowed",
    ),
    "a clock ends an audit that was given a number of fits": Mutant(
        RUN,
        "minutes = math.inf if trials is not None else MINUTES",
        "minutes = MINUTES",
        f"{GAME}::test_clocks_decide_nothing_if_only_a_number_of_fits_is_given",
    ),
    "an audited fit can change the world": Mutant(
        OBSERVE,
        "rows = rows.copy()",
        "rows = rows[:]",
        "tests/unit/audit/test_observe.py::test_a_fit_cannot_change_the_world",
    ),
    "a canary audit has half of δ": Mutant(
        CANARIES,
        "found += 2 * m * delta",
        "found += m * delta",
        f"{ONE_RUN}::test_the_value_of_the_paper",
    ),
    "one right guess of canaries is counted twice": Mutant(
        CANARIES,
        "betainc(right, made - right + 1, rate)",
        "betainc(right + 1, made - right, rate)",
        f"{ONE_RUN}::test_the_tail_against_its_definition",
    ),
}

"""Bugs planted in the choice of columns, and in explanations."""

from tests.mutants.mutant import Mutant

LAW = "tests/laws/test_choose_guesses.py"
BREAKDOWN_LAW = "tests/laws/test_breakdown.py"
SCORE = "_core/queries/choose.py"
BREAKDOWN = "_core/queries/breakdown.py"
EXPLAIN = "_explaining/__init__.py"
ROWS = "_explaining/rows.py"
EXPLANATION = "_explaining/explanation.py"
EXPLAIN_LAW = "tests/laws/test_explain.py"
UNIT = "tests/unit/explaining"

MUTANTS = {
    "columns are chosen as if every row weighed 1": Mutant(
        SCORE,
        "return max(self.weights)",
        "return 1",
        f"{LAW}::test_one_row_moves_every_score_up_and_by_no_more_than_declared",
    ),
    "columns are chosen as if every row were of the lightest cell": Mutant(
        SCORE,
        "return max(self.weights)",
        "return min(self.weights)",
        f"{LAW}::test_the_declared_change_is_reached",
    ),
    "a column's score has all cells of a bin": Mutant(
        SCORE,
        "heavy[:, line].max(axis=0).sum()",
        "heavy[:, line].sum(axis=0).sum()",
        f"{LAW}::test_scores_are_the_definition_for_any_cut",
    ),
    "a column's score has the best bin alone": Mutant(
        SCORE,
        "heavy[:, line].max(axis=0).sum()",
        "heavy[:, line].max(axis=0).max()",
        f"{LAW}::test_scores_are_the_definition_for_any_cut",
    ),
    "a column's score is that of all columns": Mutant(
        SCORE,
        "heavy[:, line].max(axis=0).sum()",
        "heavy.max(axis=0).sum()",
        f"{LAW}::test_scores_are_the_definition_for_any_cut",
    ),
    "guesses by somebody else's counts": Mutant(
        SCORE,
        "if type(self.counts) is not Breakdown:",
        "if not isinstance(self.counts, Breakdown):",
        f"{LAW}::test_guesses_are_made_by_a_breakdown_itself",
    ),
    "guesses whose counts are not admitted": Mutant(
        SCORE,
        "return ((self.counts, (Breakdown,)),)",
        "return ()",
        f"{LAW}::test_bad_scores_are_refused_before_the_charge",
    ),
    "a missing value is in the last bin of values": Mutant(
        BREAKDOWN,
        "np.where(places == NONE, self.column.bins, places)",
        "np.where(places == NONE, self.column.bins - 1, places)",
        f"{BREAKDOWN_LAW}::test_counts_are_the_definition_for_both_loops_and_any_cut",
    ),
    "a bin of missing values beside somebody else's bins": Mutant(
        BREAKDOWN,
        "if type(self.column) not in (Levels, Slices, Directions):",
        "if not isinstance(self.column, (Levels, Slices, Directions)):",
        f"{BREAKDOWN_LAW}::test_a_bin_of_missing_values_goes_beside_known_bins_alone",
    ),
    "an explanation reserves twice what it was asked for": Mutant(
        EXPLAIN,
        "return Caps(pure=self.epsilon)",
        "return Caps(pure=2 * self.epsilon)",
        f"{EXPLAIN_LAW}::test_it_spends_its_epsilon_and_no_more",
    ),
    "the choice of columns is beside the epsilon of Gaussian counts": Mutant(
        EXPLAIN,
        "gaussian=(self.epsilon - choice, self.delta)",
        "gaussian=(self.epsilon, self.delta)",
        f"{EXPLAIN_LAW}::test_it_spends_its_epsilon_and_no_more",
    ),
    "the choice of columns takes what the counts need": Mutant(
        EXPLAIN,
        "choosing, counting = choosing.split(CHOOSING, 1 - CHOOSING)",
        "choosing, counting = choosing, choosing.split(CHOOSING, 1 - CHOOSING)[1]",
        f"{EXPLAIN_LAW}::test_it_spends_its_epsilon_and_no_more",
    ),
    "an explanation that is refused stays reserved": Mutant(
        ROWS,
        "account.ledger.cancel(account)",
        "pass",
        f"{EXPLAIN_LAW}::test_a_query_that_is_refused_gives_its_account_back",
    ),
    "a failed explanation does not say what was spent": Mutant(
        ROWS,
        "error.add_note(spent_words(account, where))",
        "spent_words(account, where)",
        f"{EXPLAIN_LAW}::test_a_failure_after_the_charge_says_what_was_spent",
    ),
    "clusters are looked for in other columns than those of the fit": Mutant(
        ROWS,
        "first + np.arange(own.stop - own.start)",
        "np.arange(own.stop - own.start)",
        f"{UNIT}/test_explaining.py::test_counts_are_exact_in_every_column_that_took_no_part",
    ),
    "another model's columns are explained": Mutant(
        ROWS,
        "if curator.schema.columns.get(name) != schema.columns[name]:",
        "if name not in curator.schema.columns:",
        f"{UNIT}/test_explaining.py::test_what_does_not_belong_together_is_refused",
    ),
    "error bars of shares are half of what they are": Mutant(
        EXPLANATION,
        "np.sqrt(np.maximum(variance, 0)) / sizes.safe",
        "0.5 * np.sqrt(np.maximum(variance, 0)) / sizes.safe",
        f"{UNIT}/test_explanation.py::test_the_stated_deviations_are_those_of_many_runs",
    ),
    "error bars of sizes forget that columns are averaged": Mutant(
        EXPLANATION,
        "float(std / np.sqrt(weights.sum()))",
        "float(std)",
        f"{UNIT}/test_explanation.py::test_the_stated_deviations_are_those_of_many_runs",
    ),
}

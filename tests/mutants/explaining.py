"""Bugs planted in the choice of columns, and in explanations."""

from tests.mutants.mutant import Mutant

LAW = "tests/laws/test_choose_guesses.py"
BREAKDOWN_LAW = "tests/laws/test_breakdown.py"
SCORE = "_core/queries/choose.py"
BREAKDOWN = "_core/queries/breakdown.py"

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
}

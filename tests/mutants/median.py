"""Bugs planted in k-median: its cost, its steps, and the centres that it asks about."""

from tests.mutants.mutant import Mutant

SOLVER = "tests/unit/synopsis/test_kmedian.py"
METHOD = "tests/unit/methods/test_kmedian.py"
ESTIMATOR = "tests/unit/test_private_kmedian.py"

MUTANTS = {
    "scores of medians are squared": Mutant(
        "_private_kmedian.py",
        "np.sqrt(squared).sum()",
        "squared.sum()",
        f"{ESTIMATOR}::test_score_is_minus_the_sum_of_distances",
    ),
    "medians of cells are means": Mutant(
        "_synopsis/kmedian.py",
        "mass.weights / np.maximum(state.first, _LEAST)",
        "mass.weights",
        f"{SOLVER}::test_one_centre_of_a_triangle_is_its_fermat_point",
    ),
    "medians stay at the point where they started": Mutant(
        "_synopsis/kmedian.py",
        "np.where(force > stay, 1 - stay / np.maximum(force, 1e-300), 0.0)",
        "np.where(stay > 0, 0.0, 1.0)",
        f"{SOLVER}::test_one_centre_of_a_triangle_is_its_fermat_point",
    ),
    "medians move by less the nearer the radius": Mutant(
        "methods/_auto/refine.py",
        "held = rows / found.rates",
        "held = rows * found.rates",
        f"{METHOD}::test_a_step_divides_by_the_pull_of_the_rows",
    ),
    "levels of medians are counted as shares": Mutant(
        "methods/_auto/branches.py",
        "counts = aim.means and counts_levels(split)",
        "counts = counts_levels(split)",
        f"{METHOD}::test_levels_of_medians_are_not_counted",
    ),
    "centres are stored as they come": Mutant(
        "_core/queries/cells.py",
        '.astype(np.int64, order="C")',
        ".astype(np.int64)",
        f"{METHOD}::test_centres_in_any_order_of_memory_are_the_same_cells",
    ),
}

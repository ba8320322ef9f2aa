"""Bugs planted in counts of cells by bins of columns, and in sums of some columns."""

from tests.mutants.mutant import Mutant

LAW = "tests/laws/test_breakdown.py"
COLUMNS = "tests/laws/test_counts_columns.py"
QUERY = "_core/queries/breakdown.py"
RELEASE = "_core/releases/breakdown.py"

MUTANTS = {
    "counts by columns are noised for one column": Mutant(
        QUERY,
        "return Sensitivity(len(self.columns), len(self.columns))",
        "return Sensitivity(1, 1)",
        f"{LAW}::test_the_declared_change_is_reached_and_by_groups",
    ),
    "counts by columns: L2 for its square": Mutant(
        QUERY,
        "return Sensitivity(len(self.columns), len(self.columns))",
        "return Sensitivity(len(self.columns), 1)",
        f"{LAW}::test_one_row_moves_one_count_of_each_column_at_most",
    ),
    "counts by columns forget the group": Mutant(
        RELEASE,
        "query.sensitivity().times(data.rows_per_neighbour)",
        "query.sensitivity()",
        f"{LAW}::test_the_worst_neighbour_loses_what_was_charged_and_no_more",
    ),
    "a missing category is counted as one": Mutant(
        QUERY,
        "return np.where((part == ABSENT).any(axis=1), NONE, largest)\n\n\n@data",
        "return largest\n\n\n@data",
        f"{LAW}::test_counts_are_the_definition_for_both_loops_and_any_cut",
    ),
    "a missing category is one of which all coordinates are": Mutant(
        QUERY,
        "return np.where((part == ABSENT).any(axis=1), NONE, largest)\n\n\n@data",
        "return np.where((part == ABSENT).all(axis=1), NONE, largest)\n\n\n@data",
        f"{LAW}::test_counts_are_the_definition_for_both_loops_and_any_cut",
    ),
    "a missing number is a small one": Mutant(
        QUERY,
        "return np.where(values == ABSENT, NONE, passed)",
        "return passed",
        f"{LAW}::test_counts_are_the_definition_for_both_loops_and_any_cut",
    ),
    "an edge belongs to the slice below": Mutant(
        QUERY,
        'side="right"',
        'side="left"',
        f"{LAW}::test_counts_are_the_definition_for_both_loops_and_any_cut",
    ),
    "a missing point of a circle has a direction": Mutant(
        QUERY,
        "return np.where((part == ABSENT).any(axis=1), NONE, largest)\n\n\nBins",
        "return largest\n\n\nBins",
        f"{LAW}::test_counts_are_the_definition_for_both_loops_and_any_cut",
    ),
    "all columns are counted into the bins of the first": Mutant(
        QUERY,
        "first[there] + places[there] + line.start",
        "first[there] + places[there]",
        f"{LAW}::test_one_row_moves_one_count_of_each_column_at_most",
    ),
    "rows of which a value is missing are counted in the bin before": Mutant(
        QUERY,
        "there = places != NONE",
        "there = places >= NONE",
        f"{LAW}::test_counts_are_the_definition_for_both_loops_and_any_cut",
    ),
    "cells in a projection are found without it": Mutant(
        QUERY,
        "near, seen = self.cells.cells, self.cells.projection.see(rows)",
        "near, seen = self.cells.cells, rows[:, : self.cells.cells.n_features]",
        f"{LAW}::test_counts_are_the_definition_for_both_loops_and_any_cut",
    ),
    "a row that has nothing to find its cell by is in the first": Mutant(
        QUERY,
        "there = (seen != ABSENT).any(axis=1)",
        "there = np.ones(len(rows), dtype=np.bool_)\n"
        "        seen[(seen == ABSENT).all(axis=1)] = 0",
        f"{LAW}::test_counts_are_the_definition_for_both_loops_and_any_cut",
    ),
    "sums of some columns are noised for one": Mutant(
        "_core/queries/counts.py",
        "return self.n_features if self.columns is None else self.columns",
        "return self.n_features if self.columns is None else 1",
        f"{COLUMNS}::test_without_noise_the_sums_are_the_definition",
    ),
    "sums of some columns have the sensitivity of one less": Mutant(
        "_core/queries/counts.py",
        "        d = self.n_summed\n",
        "        d = self.n_summed - (self.columns is not None)\n",
        f"{COLUMNS}::test_the_worst_neighbour_loses_what_was_charged_and_no_more",
    ),
    "sums of some columns are not clipped": Mutant(
        "_lattice/kernels/dispatch.py",
        "loops.add_clipped(part, labels, first, radii, state)",
        "loops.add_clipped(part, labels, first, radii + LONGEST, state)",
        f"{COLUMNS}::test_a_row_moves_no_more_than_declared",
    ),
    "cells are found by the columns that are summed": Mutant(
        "_lattice/kernels/dispatch.py",
        "for block, labels in by_nearest(loops, rows, centers):\n        part",
        "for block, labels in by_nearest(loops, rows[:, :q].copy(), first):\n        part",
        f"{COLUMNS}::test_without_noise_the_sums_are_the_definition",
    ),
    "shares of levels are those among all rows, also of those that have none": Mutant(
        "methods/_auto/mixed.py",
        "answer.values / (part * rows)[:, None]",
        "answer.values / rows[:, None]",
        "tests/unit/methods/auto/test_mixed.py"
        "::test_a_category_that_many_rows_lack_is_told_from_noise",
    ),
    "noisy shares are taken as they are": Mutant(
        "methods/_auto/mixed.py",
        "np.maximum(kept, 0)[:, None]",
        "1",
        "tests/unit/methods/auto/test_mixed.py::test_shares_below_their_noise_stay_where_they_were",
    ),
    "sums of levels are thought to err as much as counts": Mutant(
        "methods/_auto/levels.py",
        "whole = d * (d + 3) if pure else d * float(1 + per_sum)",
        "whole = d * (d + 3)",
        "tests/unit/methods/auto/test_levels.py"
        "::test_counts_pay_for_many_levels_of_few_categories_under_pure_noise",
    ),
    "bins of somebody else are let in": Mutant(
        QUERY,
        "*((column, BINS) for column in self.columns),",
        "",
        f"{LAW}::test_bad_queries_are_refused_before_the_charge",
    ),
    "columns beyond the last are let in": Mutant(
        "_core/private_data.py",
        "if query.end > n_features:",
        "if query.end > n_features + 1:",
        f"{LAW}::test_bad_queries_are_refused_before_the_charge",
    ),
}

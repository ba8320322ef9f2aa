"""Bugs planted in what becomes of missing cells."""

from tests.mutants.mutant import Mutant

LAWS = "tests/laws/test_missing.py"
GAPS = "tests/unit/lattice/kernels/test_gaps.py"
EACH_ROW = f"{LAWS}::test_every_query_is_the_sum_of_what_it_makes_of_each_row"
DECLARED = f"{LAWS}::test_one_row_with_gaps_moves_no_answer_by_more_than_declared"
SEEN = f"{LAWS}::test_a_projection_shows_each_row_as_defined"

MUTANTS = {
    "what is absent is 0 in distances": Mutant(
        "_lattice/kernels/gaps.py",
        "    present = (rows != ABSENT).astype(np.float64)\n",
        "    present = np.ones(rows.shape)\n",
        EACH_ROW,
    ),
    "what is absent pulls to the middle": Mutant(
        "_lattice/kernels/gaps.py",
        "return filled(rows, centers[labels]), labels",
        "return filled(rows, 0), labels",
        EACH_ROW,
    ),
    "what is absent is summed as a number": Mutant(
        "_lattice/kernels/gaps.py",
        "return filled(rows, centers[labels]), labels",
        "return rows, labels",
        DECLARED,
    ),
    "rows without a coordinate are near to the first centre": Mutant(
        "_lattice/kernels/gaps.py",
        "np.ascontiguousarray(rows[(rows != ABSENT).any(axis=1)])",
        "np.ascontiguousarray(rows)",
        EACH_ROW,
    ),
    "rows without any cell are counted": Mutant(
        "_lattice/box.py",
        "kept[block] = (out[block] != ABSENT).any(axis=1)",
        "kept[block] = True",
        f"{LAWS}::test_rows_without_any_cell_are_left_out_and_others_are_kept",
    ),
    "rows with one gap are not counted": Mutant(
        "_lattice/box.py",
        "kept[block] = (out[block] != ABSENT).any(axis=1)",
        "kept[block] = (out[block] != ABSENT).all(axis=1)",
        f"{LAWS}::test_rows_without_any_cell_are_left_out_and_others_are_kept",
    ),
    "numbers may round to what stands for absent": Mutant(
        "_lattice/box.py",
        "    np.clip(scaled, -REACH, REACH, out=scaled)\n",
        "    np.clip(scaled, ABSENT, REACH, out=scaled)\n",
        "tests/unit/lattice/test_box.py::"
        "test_a_coordinate_is_absent_if_its_cell_is_no_finite_number_and_then_only",
    ),
    "compiled loops put missing cells in the middle": Mutant(
        "_lattice/kernels/numba_loops.py",
        "scaled if value - value == 0 else missing",
        "scaled if value - value == 0 else 0.0",
        "tests/unit/lattice/kernels/test_kernels.py::test_both_snap_alike",
    ),
    "a projection multiplies what is absent": Mutant(
        "_lattice/kernels/projection.py",
        "block = gaps.filled(given, weights.offset) if (holes := has_gaps(given)) else given",
        "block, holes = given, has_gaps(given)",
        SEEN,
    ),
    "a projection takes what is absent for 0": Mutant(
        "_lattice/kernels/projection.py",
        "gaps.filled(given, weights.offset)",
        "gaps.filled(given, 0)",
        SEEN,
    ),
    "a projection shows columns that are not there": Mutant(
        "_lattice/kernels/projection.py",
        "        if holes:\n",
        "        if holes and weights.ball:\n",
        SEEN,
    ),
    "a line of zeros sees nothing and is absent": Mutant(
        "_lattice/kernels/gaps.py",
        "(seen == 0) & used.any(axis=1)",
        "seen == 0",
        SEEN,
    ),
    "rows with gaps are in the middle of a grid": Mutant(
        "_lattice/kernels/dispatch.py",
        "gaps.filled(block, 0) if per_axis == 1 else gaps.complete(block)",
        "gaps.filled(block, 0)",
        EACH_ROW,
    ),
    "rows with gaps are not among all rows": Mutant(
        "_lattice/kernels/dispatch.py",
        "gaps.filled(block, 0) if per_axis == 1 else gaps.complete(block)",
        "gaps.complete(block)",
        EACH_ROW,
    ),
    "rows with gaps descend a tree": Mutant(
        "_lattice/kernels/dispatch.py",
        "loops.add_branches(gaps.complete(block), nodes",
        "loops.add_branches(block, nodes",
        f"{LAWS}::test_a_row_with_gaps_is_in_no_leaf_of_a_tree",
    ),
    "rows with gaps lie in cubes": Mutant(
        "_lattice/kernels/cubes.py",
        "np.ascontiguousarray(gaps.complete(rows[start : start + _BLOCK_ROWS]))",
        "np.ascontiguousarray(rows[start : start + _BLOCK_ROWS])",
        EACH_ROW,
    ),
    "rows with gaps are summed by their projection": Mutant(
        "_core/queries/cubes.py",
        "        rows = complete(rows)\n",
        "",
        DECLARED,
    ),
    "rows with gaps are counted by their projection": Mutant(
        "_core/queries/cubes.py",
        "self.projection.see(complete(rows))",
        "self.projection.see(rows)",
        EACH_ROW,
    ),
    "moments of what is absent": Mutant(
        "_lattice/kernels/numpy_loops.py",
        "block = gaps.filled(rows[start : start + step], 0)",
        "block = rows[start : start + step]",
        DECLARED,
    ),
    "costs of what is absent": Mutant(
        "_lattice/kernels/costs.py",
        "_least(block, candidates)\n            block = gaps.filled(block, 0)\n",
        "_least(block, candidates)\n",
        EACH_ROW,
    ),
    "swaps are scored by the first candidates alone": Mutant(
        "_lattice/kernels/costs.py",
        "gaps.scores(block, centers), gaps.scores(block, candidates)",
        "gaps.scores(block, centers), gaps.scores(block, candidates[:1])",
        EACH_ROW,
    ),
    "rows with gaps are covered": Mutant(
        "_core/releases/max_cover.py",
        "np.ascontiguousarray(complete(rows))",
        "np.ascontiguousarray(rows)",
        f"{LAWS}::test_a_row_with_gaps_is_covered_by_no_point",
    ),
    "a block clusters what is absent": Mutant(
        "_core/releases/sample_aggregate.py",
        "block = filled_with_means(given)",
        "block = given",
        f"{LAWS}::test_a_block_is_searched_over_what_its_rows_have",
    ),
    "a block is pulled by what is absent": Mutant(
        "_core/releases/sample_aggregate.py",
        "gaps[i, : len(block)] = given[order] == ABSENT",
        "gaps[i, : len(block)] = False",
        f"{LAWS}::test_a_block_is_searched_over_what_its_rows_have",
    ),
    "sums of a block wrap": Mutant(
        "_lattice/kernels/gaps.py",
        ".sum(axis=0, dtype=np.int64)",
        ".sum(axis=0, dtype=np.int16)",
        f"{GAPS}::test_rows_with_gaps_are_left_out_or_filled",
    ),
    "predict takes missing cells for the centre": Mutant(
        "_lattice/box.py",
        'missing = np.nan if self.nan == "ignore" else self.middle',
        "missing = self.middle",
        "tests/unit/test_private_kmeans.py::test_predict_looks_at_the_columns_that_a_row_has",
    ),
    "masked cells are numbers": Mutant(
        "engines/_memory.py",
        "np.asarray(check(unmasked(X)))",
        "np.asarray(check(X))",
        "tests/unit/test_private_kmeans.py::test_predict_looks_at_the_columns_that_a_row_has",
    ),
    "missing cells make a cluster": Mutant(
        "_core/curator.py",
        'nan: NanPolicy = "ignore"',
        'nan: NanPolicy = "center"',
        "tests/laws/test_missing_story.py::test_no_centre_is_where_missing_cells_would_be",
    ),
}

"""Bugs planted in views and moments."""

from tests.mutants.mutant import Mutant

PROJECTION = "tests/laws/test_projection.py"
VIEWS = "tests/laws/test_projection_views.py"
MOMENTS = "tests/laws/test_moments.py"
DEFINED = f"{PROJECTION}::test_rows_are_seen_as_defined_and_never_leave_the_lattice_or_the_ball"
MOVED = f"{MOMENTS}::test_one_row_and_one_group_move_no_more_than_declared"

MUTANTS = {
    "rows of a ball rounded to the nearest": Mutant(
        "_lattice/kernels/projection.py",
        "    y /= lengths[:, np.newaxis]\n    np.trunc(y, out=y)\n",
        "    y /= lengths[:, np.newaxis]\n    np.rint(y, out=y)\n",
        DEFINED,
    ),
    "viewed rows are not clipped": Mutant(
        "_lattice/kernels/projection.py",
        "float(widest(m) if weights.ball else REACH)",
        "float(widest(m) if weights.ball else REACH + 1)",
        DEFINED,
    ),
    "viewed rows rounded down": Mutant(
        "_lattice/kernels/projection.py",
        "    np.trunc(y, out=y)\n    np.clip",
        "    np.floor(y, out=y)\n    np.clip",
        DEFINED,
    ),
    "views half as large": Mutant(
        "_lattice/kernels/projection.py",
        "np.float64(2.0**-shift)",
        "np.float64(2.0 ** -(shift + 1))",
        DEFINED,
    ),
    "lengths rounded down": Mutant(
        "_lattice/kernels/projection.py",
        "    lengths += np.square(lengths) < squares\n",
        "    lengths -= np.square(lengths) > squares\n",
        f"{PROJECTION}::test_on_every_row_of_a_small_lattice",
    ),
    "compiled lengths rounded down": Mutant(
        "_lattice/kernels/numba_loops.py",
        "            length += length * length < square\n",
        "            length -= length * length > square\n",
        f"{PROJECTION}::test_on_every_row_of_a_small_lattice",
    ),
    "the last rows are taken for one another": Mutant(
        "_lattice/kernels/numba_loops.py",
        "row = min(i + k, last)",
        "row = min(i + k, last - 1)",
        f"{PROJECTION}::test_sums_at_the_edge_of_what_is_exact",
    ),
    "squares of far rows are not exact": Mutant(
        "_lattice/kernels/projection.py",
        "(52 - (n_out - 1).bit_length())",
        "(56 - (n_out - 1).bit_length())",
        f"{PROJECTION}::test_what_is_squared_is_exact_and_what_is_near_is_not_touched",
    ),
    "projections that are not exact are let in": Mutant(
        "_core/queries/projection.py",
        "if _largest_sum(matrix, offset) > _EXACT:",
        "if _largest_sum(matrix, offset) > 2 * _EXACT:",
        f"{PROJECTION}::test_sums_at_the_edge_of_what_is_exact",
    ),
    "offsets take no part in what is exact": Mutant(
        "_core/queries/projection.py",
        "(REACH + np.abs(offset))",
        "(REACH + 0 * offset)",
        f"{PROJECTION}::test_sums_at_the_edge_of_what_is_exact",
    ),
    "subclasses of projections are let in": Mutant(
        "_core/curator.py",
        "self._data.admit(projection, (Projection,))",
        "self._data.admit(projection, type(projection).__mro__)",
        f"{VIEWS}::test_bad_views_are_refused",
    ),
    "a view has a ledger of its own": Mutant(
        "_core/private_data.py",
        "        view.in_ball = projection.ball\n",
        "        view.in_ball = projection.ball\n"
        "        view.ledger = Ledger(*self.ledger.total)\n",
        f"{VIEWS}::test_views_do_not_multiply_the_budget",
    ),
    "a view forgets the groups": Mutant(
        "_core/private_data.py",
        "        view.in_ball = projection.ball\n",
        "        view.in_ball = projection.ball\n        view.rows_per_neighbour = 1\n",
        f"{VIEWS}::test_a_whole_group_loses_no_more_than_was_charged_through_a_view",
    ),
    "once in a ball, always in a ball": Mutant(
        "_core/private_data.py",
        "        view.in_ball = projection.ball\n",
        "        view.in_ball |= projection.ball\n",
        f"{MOMENTS}::test_only_the_curator_knows_whether_rows_lie_in_a_ball",
    ),
    "every view is a ball": Mutant(
        "_core/private_data.py",
        "        view.in_ball = projection.ball\n",
        "        view.in_ball = True\n",
        f"{VIEWS}::test_no_answer_through_a_view_loses_more_than_it_was_charged",
    ),
    "weights whose ratio is below √2": Mutant(
        "_core/queries/moments.py",
        "DIAGONAL, UPPER = 70, 99\n",
        "DIAGONAL, UPPER = 70, 98\n",
        MOVED,
    ),
    "squares forget the number of columns in a box": Mutant(
        "_core/queries/moments.py",
        "return n_features * (REACH >> shift) ** 2",
        "return (REACH >> shift) ** 2",
        MOVED,
    ),
    "moments forget the group": Mutant(
        "_core/releases/moments.py",
        ".times(data.rows_per_neighbour)",
        ".times(1)",
        f"{MOMENTS}::test_a_group_of_m_rows_needs_the_noise_for_m_rows",
    ),
    "ball noise for half the products": Mutant(
        "_core/releases/moments.py",
        "Ball.fitting(share, most.l2_squared)",
        "Ball.fitting(share, most.l2_squared // 2)",
        f"{MOMENTS}::test_the_charge_is_used_up_by_the_worst_neighbour",
    ),
    "coarse steps rounded down": Mutant(
        "_lattice/kernels/numpy_loops.py",
        "(block + ((block >> 15) & ((1 << shift) - 1))) >> shift",
        "block >> shift",
        MOVED,
    ),
    "noise for finer steps than the rows": Mutant(
        "_core/releases/moments.py",
        "    return coarse, Measurement(",
        "    return moment, Measurement(",
        f"{MOMENTS}::test_a_tiny_share_is_answered_in_coarser_steps_with_the_noise_for_them",
    ),
}

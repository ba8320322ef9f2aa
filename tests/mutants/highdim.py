"""Bugs planted in what clustering in high dimension asks: cubes, swaps, flips, cells in a view."""

from tests.mutants.mutant import Mutant

CUBES = "tests/laws/test_cubes.py"
SWAPS = "tests/laws/test_choose_swaps.py"
THROUGH = "tests/laws/test_counts_in_projection.py"
EACH = "tests/laws/test_counts_each.py"

MUTANTS = {
    "compiled swaps forget who was nearest before": Mutant(
        "_lattice/kernels/numba_loops.py",
        "one, two, nearest = score, one, c",
        "one, two, nearest = score, two, c",
        f"{SWAPS}::test_costs_are_the_definition_for_both_loops_and_any_cut",
    ),
    "of equally near centres the compiled loop takes the last": Mutant(
        "_lattice/kernels/numba_loops.py",
        "            if score < best:",
        "            if score <= best:",
        "tests/unit/lattice/kernels/test_kernels.py::test_wide_rows",
    ),
    "counts together are noised by the share of the last": Mutant(
        "_core/releases/counts_each.py",
        "replace(measure_counts(data, c, s), where",
        "replace(measure_counts(data, c, shares[-1]), where",
        f"{EACH}::test_no_answer_loses_more_than_its_own_share_and_each_can_lose_it_all",
    ),
    "counts together forget the group": Mutant(
        "_core/releases/counts.py",
        "most = Counts(cells).sensitivity().times(data.rows_per_neighbour)",
        "most = Counts(cells).sensitivity()",
        f"{EACH}::test_no_answer_loses_more_than_its_own_share_and_each_can_lose_it_all",
    ),
    "counts together release the numbers of others": Mutant(
        "_core/releases/counts_each.py",
        "replace(measure_counts(data, c, s), where=(lines, slice(0, 1)))",
        "measure_counts(data, c, s)",
        f"{EACH}::test_the_rows_are_read_once",
    ),
    "partitions together stop at the first that ends": Mutant(
        "methods/_balcan/run.py",
        "while active := [cutting for cutting in active if cutting.goes_on]:",
        "while all(cutting.goes_on for cutting in active):",
        "tests/unit/methods/balcan/test_balcan.py::test_partitions_are_counted_together_and_end_where_each_ends_alon"
        "e",
    ),
    "swaps are scored for one axis instead of the ball": Mutant(
        "_core/queries/choose.py",
        "return (REACH + max(REACH, length)) ** 2",
        "return REACH**2",
        f"{SWAPS}::test_opposite_ends_of_the_ball_reach_the_declared_sensitivity",
    ),
    "every view is taken for a ball": Mutant(
        "_core/releases/choose.py",
        "score.sensitivity(ball=data.in_ball)",
        "score.sensitivity(ball=True)",
        f"{SWAPS}::test_no_choice_loses_more_than_was_charged_and_the_worst_nearly_all",
    ),
    "choices do not know the ball": Mutant(
        "_core/releases/choose.py",
        "score.sensitivity(ball=data.in_ball)",
        "score.sensitivity()",
        f"{SWAPS}::test_the_scale_of_a_choice_is_that_of_the_ball_or_the_box",
    ),
    "candidates outside the ball are taken to be inside": Mutant(
        "_core/queries/choose.py",
        "return (REACH + max(REACH, length)) ** 2",
        "return (2 * REACH) ** 2",
        f"{SWAPS}::test_a_corner_reaches_the_wider_sensitivity",
    ),
    "only candidates are measured, not centres": Mutant(
        "_core/queries/choose.py",
        "farthest_squared(np.vstack([self.centers, self.candidates]), ball=ball)",
        "farthest_squared(self.candidates, ball=ball)",
        f"{SWAPS}::test_points_outside_the_ball_widen_the_sensitivity",
    ),
    "choices forget the group": Mutant(
        "_core/releases/choose.py",
        "score.sensitivity(ball=data.in_ball) * data.rows_per_neighbour",
        "score.sensitivity(ball=data.in_ball)",
        f"{SWAPS}::test_no_choice_loses_more_than_was_charged_and_the_worst_nearly_all",
    ),
    "the share of a choice is halved twice": Mutant(
        "_core/sampling/choice.py",
        "(sensitivity if monotone else 2 * sensitivity)",
        "(2 * sensitivity if monotone else 2 * sensitivity)",
        f"{SWAPS}::test_a_choice_follows_the_law_that_its_entry_names",
    ),
    "choices are noisier than monotone scores need": Mutant(
        "_core/releases/choose.py",
        "Selection(name, part, most, monotone=True, candidates=of, law=law)",
        "Selection(name, part, most, monotone=False, candidates=of, law=law)",
        f"{SWAPS}::test_the_scale_of_a_choice_is_that_of_the_ball_or_the_box",
    ),
    "flips forget the maximum": Mutant(
        "_core/sampling/choice.py",
        "return np.array([best - value for value in whole], dtype=np.object_)",
        "return np.array([-value if best else 0 for value in whole], dtype=np.object_)",
        f"{SWAPS}::test_a_choice_follows_the_law_that_its_entry_names",
    ),
    "the first coin that comes up, in no random order": Mutant(
        "_core/sampling/choice.py",
        "return int(taken[uniform_below(stream, np.array([taken.size]))[0]])",
        "return int(taken[0])",
        f"{SWAPS}::test_a_choice_follows_the_law_that_its_entry_names",
    ),
    "every choice is drawn by the exponential mechanism": Mutant(
        "_core/releases/choose.py",
        'permute_and_flip if self.law == "permute_and_flip" else exponential',
        "exponential",
        f"{SWAPS}::test_a_choice_follows_the_law_that_its_entry_names",
    ),
    "the law asked for is not passed on": Mutant(
        "_core/releases/choose.py",
        "candidates=of, law=law)",
        "candidates=of)",
        f"{SWAPS}::test_the_scale_of_a_choice_is_that_of_the_ball_or_the_box",
    ),
    "slack for fewer swaps than there are": Mutant(
        "_core/releases/choose.py",
        "max(2**16, score.n_candidates)",
        "2**16",
        f"{SWAPS}::test_the_slack_counts_every_swap",
    ),
    "the dearest swap is the best": Mutant(
        "_core/queries/choose.py",
        "found: NDArray[np.object_] = -((high << LIMB) + low)",
        "found: NDArray[np.object_] = (high << LIMB) + low",
        f"{SWAPS}::test_without_noise_the_cheapest_swap_is_chosen",
    ),
    "rows of the centre that leaves cost nothing more": Mutant(
        "_core/queries/choose.py",
        "(state[0] + state[1:])",
        "(state[0] + 0 * state[1:])",
        f"{SWAPS}::test_costs_are_the_definition_for_both_loops_and_any_cut",
    ),
    "rows of the centre that leaves go to the candidate": Mutant(
        "_lattice/kernels/costs.py",
        "np.minimum(scores, second[order, np.newaxis], out=scores)",
        "np.maximum(scores, first[order, np.newaxis], out=scores)",
        f"{SWAPS}::test_costs_are_the_definition_for_both_loops_and_any_cut",
    ),
    "compiled loops send rows back to the centre that left": Mutant(
        "_lattice/kernels/numba_loops.py",
        "more[j] += (row[j] if row[j] < two else two) - near",
        "more[j] += (row[j] if row[j] < one else one) - near",
        f"{SWAPS}::test_costs_are_the_definition_for_both_loops_and_any_cut",
    ),
    "only the first block is squared": Mutant(
        "_lattice/kernels/costs.py",
        "np.square(block, dtype=np.int64).sum()",
        "np.square(block, dtype=np.int64).sum() * (start == 0)",
        f"{SWAPS}::test_blocks_do_not_show",
    ),
    "blocks too long to be summed exactly": Mutant(
        "_lattice/kernels/costs.py",
        "max(1, min(_SWAP_CELLS // (d + 1), _SWAP_SCORES // max(k, m)))",
        "max(1, _SWAP_SCORES // max(k, m))",
        f"{SWAPS}::test_full_blocks_of_the_farthest_rows_stay_exact",
    ),
    "costs wrap at 64 bits": Mutant(
        "_core/queries/choose.py",
        "(state[0] + state[1:]).astype(object).reshape(-1, 2).T",
        "(state[0] + state[1:]).reshape(-1, 2).T",
        f"{SWAPS}::test_costs_beyond_64_bits_do_not_wrap",
    ),
    "children are counted twice on their lower edge": Mutant(
        "_lattice/kernels/cubes.py",
        "    np.add.at(state, (numbers[node] << len(low)) + child, 1)\n",
        "    np.add.at(state, (numbers[node] << len(low)) + child, 1 + (child == 0))\n",
        "tests/laws/test_counts.py::test_exhaustively_on_a_small_domain",
    ),
    "the same cube twice": Mutant(
        "_core/queries/cubes.py",
        "if len(np.unique(corners, axis=0)) < a:",
        "if len(np.unique(corners, axis=0)) < 1:",
        f"{CUBES}::test_cubes_that_are_no_partition_are_refused",
    ),
    "cubes that overlap": Mutant(
        "_core/queries/cubes.py",
        "if ((corners - corners[0]) % self.side).any():",
        "if ((corners - corners[0]) % 1).any():",
        f"{CUBES}::test_cubes_that_are_no_partition_are_refused",
    ),
    "empty children are not released": Mutant(
        "_core/releases/counts.py",
        "    return flat(release_all(data, query, measure_counts(data, cells, share))[0])\n",
        "    answer = flat(release_all(data, query, measure_counts(data, cells, share))[0])\n"
        "    return Answer(answer.values[answer.values > 0], answer.noise_std)\n",
        f"{CUBES}::test_every_child_is_released_empty_ones_too",
    ),
    "empty children get no noise": Mutant(
        "_core/private_data.py",
        "        return exact + noise\n",
        "        return exact + noise * (exact != 0)\n",
        f"{CUBES}::test_every_child_is_released_empty_ones_too",
    ),
    "rows below all cubes are taken for rows of another branch": Mutant(
        "_lattice/kernels/numpy_loops.py",
        "SPAN = 2**22\n",
        "SPAN = 2\n",
        f"{CUBES}::test_rows_below_all_cubes_are_in_none",
    ),
    "the middle belongs to the lower half": Mutant(
        "_lattice/kernels/cubes.py",
        "child += (rest >= side // 2)",
        "child += (rest > side // 2)",
        f"{CUBES}::test_a_row_is_counted_in_the_half_that_holds_it_and_nowhere_else",
    ),
    "cubes answer in the order of their places": Mutant(
        "_lattice/kernels/cubes.py",
        "np.argsort(nodes))",
        "np.arange(len(nodes)))",
        f"{CUBES}::test_a_row_is_counted_in_the_half_that_holds_it_and_nowhere_else",
    ),
    "sums of what the view shows": Mutant(
        "_core/queries/counts.py",
        "return Sensitivity(d * REACH, d * REACH * REACH)",
        "return Sensitivity(REACH, REACH * REACH)",
        f"{THROUGH}::test_no_answer_loses_more_than_it_was_charged",
    ),
    "noise for the columns of the view alone": Mutant(
        "_core/queries/cubes.py",
        "return self.projection.n_features\n",
        "return self.projection.n_out\n",
        f"{THROUGH}::test_totals_are_the_definition_for_both_loops_and_any_cut",
    ),
    "labels of one block meet rows of another": Mutant(
        "_lattice/kernels/cubes.py",
        "loops.add_totals(block, labels[start : start + len(block)], state)",
        "loops.add_totals(block, labels[: len(block)], state)",
        f"{THROUGH}::test_many_rows_are_the_sum_of_few",
    ),
    "foreign maps are let in": Mutant(
        "_core/queries/cubes.py",
        "if type(self.projection) is not Projection or type(self.cells) is not Nearest:",
        "if not isinstance(self.projection, Projection):",
        f"{THROUGH}::test_bad_cells_are_refused_before_the_charge",
    ),
}

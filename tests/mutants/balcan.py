"""The published arithmetic of Balcan et al., planted where it would break a promise."""

from tests.mutants.mutant import Mutant

LAWS = "tests/laws/test_balcan.py"
UNIT = "tests/unit/methods/balcan/test_balcan.py"
METHOD = "methods/_balcan"

MUTANTS = {
    "(a) shares of Matlab's clustering.m: one and a half times ε": Mutant(
        f"{METHOD}/config.py",
        "total = sum(weights, Fraction(0))",
        "total = sum(weights, Fraction(0)) * Fraction(2, 3)",
        f"{UNIT}::test_the_shares_add_up_to_epsilon",
    ),
    "(a) shares of Matlab's candidate.m: three halves": Mutant(
        f"{METHOD}/config.py",
        ".evenly(partitions)",
        ".evenly(max(partitions - 1, 1)) + self._pure(self._of_run(self.parts.candidates))"
        ".evenly(max(partitions - 1, 1))[:1]",
        f"{UNIT}::test_a_depth_has_its_part_of_epsilon_and_not_half_of_it",
    ),
    "(b) Laplace noise of averages for one column alone": Mutant(
        "_core/queries/counts.py",
        "return Sensitivity(d * REACH, d * REACH * REACH)",
        "return Sensitivity(REACH, d * REACH * REACH)",
        f"{LAWS}::test_a_neighbour_loses_no_more_than_was_charged",
    ),
    "(b) averages over the exact count": Mutant(
        "_core/mechanisms.py",
        "return noise.cube(self.scale, *shape)",
        "return noise.cube(self.scale, *shape) * (np.arange(shape[1]) > 0)",
        f"{UNIT}::test_averages_are_noised_for_all_columns_and_divided_by_the_noisy_count",
    ),
    "(c) projected rows without a ball": Mutant(
        f"{METHOD}/run.py",
        "1 / math.sqrt(d), ball=True)",
        "1 / math.sqrt(d))",
        f"{UNIT}::test_the_projection_ends_in_a_ball_that_holds_the_cube",
    ),
    "(c) projected rows over √d instead of √p": Mutant(
        f"{METHOD}/run.py",
        "rng.normal(size=(p, d)) / math.sqrt(p)",
        "rng.normal(size=(p, d)) / math.sqrt(d)",
        f"{UNIT}::test_lengths_are_kept_on_average",
    ),
    "(d) swaps by the radius of one column": Mutant(
        "_core/queries/choose.py",
        "return (REACH + max(REACH, length)) ** 2",
        "return (REACH + max(REACH, length)) ** 2 // points.shape[-1]",
        f"{UNIT}::test_selections_know_the_diameter_of_the_ball_and_of_the_cube",
    ),
    "(d) runs by the diameter of one column": Mutant(
        "_core/queries/choose.py",
        "return int(points.shape[-1]) * (2 * REACH) ** 2",
        "return (2 * REACH) ** 2",
        f"{UNIT}::test_selections_know_the_diameter_of_the_ball_and_of_the_cube",
    ),
    "(d) losses as utilities": Mutant(
        "_core/queries/choose.py",
        "found: NDArray[np.object_] = -((high << LIMB) + low)",
        "found: NDArray[np.object_] = (high << LIMB) + low",
        f"{LAWS}::test_without_noise_each_swap_is_the_best_one_and_the_cheapest_set_is_taken",
    ),
    "(d) permute-and-flip without the maximum": Mutant(
        "_core/sampling/choice.py",
        "    taken = np.flatnonzero(flip(stream, gaps, rate))\n",
        "    taken = np.flatnonzero(flip(stream, gaps - min(gaps) - min(scores), rate))\n",
        f"{LAWS}::test_every_branch_spends_all_of_its_caps_and_returns_k_centres",
    ),
    "(d) a choice among one run": Mutant(
        f"{METHOD}/config.py",
        "if runs == 1:",
        "if runs == 0:",
        f"{UNIT}::test_one_run_leaves_its_choice_to_the_candidates",
    ),
    "(e) depths with half of their ε, for replacement": Mutant(
        f"{METHOD}/run.py",
        "shares = share.evenly(sizes.depths)",
        "shares = share.evenly(2 * sizes.depths)[: sizes.depths]",
        f"{UNIT}::test_a_depth_has_its_part_of_epsilon_and_not_half_of_it",
    ),
    "(e) all depths with the whole of ε": Mutant(
        f"{METHOD}/run.py",
        "shares = share.evenly(sizes.depths)",
        "shares = (share,) * sizes.depths",
        f"{LAWS}::test_every_branch_spends_all_of_its_caps_and_returns_k_centres",
    ),
    "a partition of its own number of rows": Mutant(
        f"{METHOD}/run.py",
        "return len(self.corners) > 0 and",
        "return self.side > 0 and",
        f"{UNIT}::test_no_rows_leave_the_first_cube_alone",
    ),
    "the first cube may miss the ball": Mutant(
        f"{METHOD}/run.py",
        "side = -(-4 * REACH // unit) * unit",
        "side = -(-2 * REACH // unit) * unit",
        f"{UNIT}::test_the_first_cube_holds_the_ball",
    ),
    "candidates outside the ball": Mutant(
        f"{METHOD}/run.py",
        "np.minimum(1.0, REACH / np.maximum(lengths, 1.0))",
        "np.minimum(1.0, 2 * REACH / np.maximum(lengths, 1.0))",
        f"{UNIT}::test_candidates_outside_the_ball_come_to_its_surface",
    ),
    "the noisy number of rows costs nothing": Mutant(
        f"{METHOD}/__init__.py",
        'n, _ = size_and_rest(curator, task, account.rest("pure"))',
        "n = float(task.n_rows or 1000)",
        f"{UNIT}::test_the_number_of_rows_is_declared_or_estimated",
    ),
}

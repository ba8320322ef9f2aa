"""Bugs planted in error bars and in the evidence of clusters."""

from tests.mutants.mutant import Mutant

MODELS = "tests/unit/test_released_centers.py"
REFINE = "tests/unit/methods/auto/test_refine.py"
EVIDENCE = "tests/unit/synopsis/test_evidence.py"
LAWS = "tests/unit/test_uncertainty.py"

MUTANTS = {
    "error bars of a clipped step have half the noise": Mutant(
        "methods/_auto/refine.py",
        "stds = totals.sums.noise_std * radii / max(lengths)\n",
        "stds = totals.sums.noise_std * radii / max(lengths) / 2\n",
        f"{MODELS}::test_intervals_of_a_clipped_step_hold_their_part",
    ),
    "error bars of a noisy mean leave the count out": Mutant(
        "_uncertainty.py",
        "np.hypot(np.broadcast_to(stds, means.shape), means * counts.std)",
        "np.broadcast_to(stds, means.shape)",
        f"{LAWS}::test_a_mean_has_the_noise_of_its_sum_and_its_count",
    ),
    "error bars are around centres that were shrunk": Mutant(
        "methods/_auto/refine.py",
        "totals.sums.values * rates, stds * rates, counts",
        "totals.sums.values * 0, stds * rates, counts",
        f"{REFINE}::test_error_bars_are_around_the_step_before_it_is_shrunk",
    ),
    "joint noise is taken for Gaussian": Mutant(
        "_uncertainty.py",
        'if law == "gaussian":',
        'if law != "laplace":',
        f"{LAWS}::test_deviations_hold_their_part_of_the_noise",
    ),
    "error bars of a size have half the noise": Mutant(
        "methods/_dplloyd.py",
        "np.full(len(points), counts.std)",
        "np.full(len(points), counts.std / 2)",
        f"{MODELS}::test_intervals_of_a_noisy_step_hold_their_part",
    ),
    "the clearest valley decides": Mutant(
        "_synopsis/evidence.py",
        "np.maximum(chances[[i, j]], both)",
        "np.minimum(chances[[i, j]], both)",
        f"{EVIDENCE}::test_parts_of_one_clump_are_none",
    ),
}

"""Bugs planted in joint noise and in noise with a scale per line."""

from tests.mutants.mutant import Mutant

STATS = "tests/stats/test_rounded.py"
SETTLE = "tests/unit/core/sampling/test_joint.py"

MUTANTS = {
    "gamma with one uniform too few": Mutant(
        "_core/sampling/joint.py",
        "return self.dim + self.counts + 1",
        "return self.dim + self.counts",
        f"{STATS}::test_guarantee_of_ball",
    ),
    "sphere instead of ball": Mutant(
        "_core/sampling/joint.py",
        "    whole = _total(squares)\n",
        "    whole = _total(squares[:-1])\n",
        f"{STATS}::test_length_and_direction_of_ball_noise",
    ),
    "lost sine of an odd dimension left in the length": Mutant(
        "_core/sampling/joint.py",
        "squares[m - 1] *= cosines[-1] ** 2",
        "squares[m - 1] *= 1.0",
        f"{STATS}::test_guarantee_of_cylinder",
    ),
    "cylinder noise of the first line's scale": Mutant(
        "_core/sampling/joint.py",
        "_rounded(stream, Body(dim, height), scales, floats, band)",
        "_rounded(stream, Body(dim, height), scales, floats[0], band)",
        f"{STATS}::test_cylinder_noise_with_a_scale_for_every_line",
    ),
    "settlement with the first line's scale": Mutant(
        "_core/sampling/joint.py",
        "partial(exact_line, body, exact[j], columns)",
        "partial(exact_line, body, exact[0], columns)",
        f"{SETTLE}::test_cylinder_settled_usual_and_brute_force_agree",
    ),
    "height and scale swapped": Mutant(
        "_core/mechanisms.py",
        "return cls(tuple(height * int(radius) for radius in radii), height)",
        "return cls((height,) * len(radii), height * int(max(radii)))",
        f"{SETTLE}::test_fitting_of_joint_noise",
    ),
    "count of cylinder noise twice as narrow": Mutant(
        "_core/sampling/joint.py",
        "(2.0 * uniforms[-1] - 1.0)",
        "(uniforms[-1] - 0.5)",
        f"{STATS}::test_guarantee_of_cylinder",
    ),
    "ball noise forgets the root": Mutant(
        "_core/mechanisms.py",
        "return cls(root_above(Fraction(l2_squared) / share.amount**2))",
        "return cls(root_above(Fraction(l2_squared) / share.amount))",
        f"{SETTLE}::test_fitting_of_joint_noise",
    ),
    "minus zero in the band of joint noise": Mutant(
        "_core/sampling/joint.py",
        "return np.abs(found, out=found)",
        "return np.negative(found, out=found)",
        f"{SETTLE}::test_ball_settled_usual_and_brute_force_agree",
    ),
    "no band around joint noise": Mutant(
        "_core/sampling/joint.py",
        "ROUND_BAND = 2.0**-42",
        "ROUND_BAND = 2.0**-58",
        f"{SETTLE}::test_errors_of_float_are_far_below_the_band",
    ),
    "all lines get the noise of the widest": Mutant(
        "_core/mechanisms.py",
        "drawn[lines] = self._alone(scale).draw(",
        "drawn[lines] = self._alone(self.scale).draw(",
        f"{STATS}::test_lines_have_the_noise_of_their_scale",
    ),
}

"""Bugs planted in the mechanisms of local differential privacy."""

from tests.mutants.mutant import Mutant

PIECES = "tests/unit/core/local/test_local_exact.py"
STATS = "tests/stats/test_local_mechanisms.py"
FACES = "tests/unit/local/test_mechanisms.py"

MUTANTS = {
    "two points a step too near": Mutant(
        "_core/local/one_column.py",
        "return cls(math.ceil(reach * (ratio + 1) / (ratio - 1)), reach)",
        "return cls(math.floor(reach * (ratio + 1) / (ratio - 1)), reach)",
        f"{PIECES}::test_ratio_of_a_piece_is_at_most_its_epsilon_and_close",
    ),
    "a window stretched a step too little": Mutant(
        "_core/local/one_column.py",
        "stretch = math.ceil(ratio * reach",
        "stretch = math.floor(ratio * reach",
        f"{PIECES}::test_ratio_of_a_piece_is_at_most_its_epsilon_and_close",
    ),
    "centres of windows rounded down": Mutant(
        "_core/local/one_column.py",
        "divide_at_random(stream, values * self.stretch, self.reach)",
        "values * self.stretch // self.reach",
        f"{STATS}::test_guarantee_of_windows",
    ),
    "windows one number too narrow": Mutant(
        "_core/local/one_column.py",
        "widths = np.where(near, self.window, self.range)",
        "widths = np.where(near, self.window - 1, self.range)",
        f"{STATS}::test_guarantee_of_windows",
    ),
    "square waves counted without their ends": Mutant(
        "_core/local/one_column.py",
        "(2 * half + 1) / (2 * (reach + half) + 1)",
        "(2 * half + 1) / (2 * reach + 1)",
        f"{PIECES}::test_ratio_of_a_piece_is_at_most_its_epsilon_and_close",
    ),
    "exponentials rounded up": Mutant(
        "_core/sampling/bernoulli.py",
        "ldexp(power, CHANCE_BITS))) - 1,",
        "ldexp(power, CHANCE_BITS))) + 1,",
        f"{PIECES}::test_exp_below_is_just_below",
    ),
    "Bernoulli draws that tie are true": Mutant(
        "_core/sampling/bernoulli.py",
        "drawn[j] = settle(stream, [first + j], partial(below, chance))",
        "drawn[j] = True",
        f"{PIECES}::test_bernoulli_draws_are_settled_to_the_last_bit",
    ),
    "every sampled column with the whole epsilon": Mutant(
        "_core/local/ldp.py",
        "make(epsilon / sampled)",
        "make(epsilon)",
        f"{PIECES}::test_the_columns_of_a_row_use_up_its_epsilon",
    ),
    "square waves with the whole epsilon on every column": Mutant(
        "local/_mechanisms.py",
        '"Square Wave", Window.square_wave, epsilon',
        '"Square Wave", lambda _: Window.square_wave(epsilon), epsilon',
        f"{PIECES}::test_the_columns_of_a_row_use_up_its_epsilon",
    ),
    "sampled columns are not stretched": Mutant(
        "_core/local/ldp.py",
        "divide_at_random(stream, drawn * stretch.numerator, stretch.denominator)",
        "drawn * 1",
        f"{STATS}::test_guarantee_of_sampled_columns",
    ),
    "always the first columns": Mutant(
        "_core/sampling/bernoulli.py",
        "    return numbers[:, :size]",
        "    return np.sort(numbers, axis=1)[:, :size]",
        f"{STATS}::test_guarantee_of_sampled_columns",
    ),
    "ties lead": Mutant(
        "_core/local/ldp.py",
        "    return ((1 << columns) - ties) // 2",
        "    return ((1 << columns) + ties) // 2",
        f"{PIECES}::test_leading_signs_are_counted",
    ),
    "signs lean both ways": Mutant(
        "_core/sampling/bernoulli.py",
        "out[again] = drawn * lead[:, None]",
        "out[again] = drawn",
        f"{PIECES}::test_subsets_have_different_members_and_signs_lean",
    ),
    "corners that lean always": Mutant(
        "_core/local/ldp.py",
        "np.where(lean[:, None], ahead, fair)",
        "ahead",
        f"{STATS}::test_guarantee_of_duchi",
    ),
    "Laplace noise for one column": Mutant(
        "_core/local/ldp.py",
        "return Fraction(2 * self.reach * self.columns) / self.epsilon",
        "return Fraction(2 * self.reach) / self.epsilon",
        f"{PIECES}::test_laplace_noise_covers_the_whole_row",
    ),
    "Laplace noise for half the width": Mutant(
        "_core/local/ldp.py",
        "return Fraction(2 * self.reach * self.columns) / self.epsilon",
        "return Fraction(self.reach * self.columns) / self.epsilon",
        f"{STATS}::test_guarantee_of_laplace",
    ),
    "staircases without their second number": Mutant(
        "_core/local/ldp.py",
        "np.where(single, first, first + second + 1)",
        "np.where(single, first, first + 1)",
        f"{STATS}::test_guarantee_of_staircase",
    ),
    "staircases with the whole epsilon on every column": Mutant(
        "_core/local/ldp.py",
        "staircase(stream, self.epsilon / self.columns, self.width",
        "staircase(stream, self.epsilon, self.width",
        f"{STATS}::test_mean_and_variance_on_the_whole_lattice",
    ),
    "columns with fewer steps are let in": Mutant(
        "_core/local/ldp.py",
        "if any(steps != self.reach for steps in lattice.reach.tolist()):",
        "if any(steps > self.reach for steps in lattice.reach.tolist()):",
        f"{FACES}::test_mechanisms_refuse_other_lattices",
    ),
    "remaps measure in other units than the guarantee": Mutant(
        "local/_ndlaplace.py",
        "unit = lattice.steps / float(lattice.step)",
        "unit = lattice.steps / lattice.steps",
        f"{FACES}::test_remap_measures_as_the_guarantee_does",
    ),
}

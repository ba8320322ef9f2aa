"""How `auto` divides its budget, and what it can afford: by public and released numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato._accounting.budget import Account, Caps, Share
from sfumato._core.curator import Answer, Curator
from sfumato._core.queries.counts import MAX_NUMBERS, Grid
from sfumato.methods._auto.levels import StepErrors, step_errors
from sfumato.methods._base import SLICE, Task, gaussian_is_smaller, take

# Sums get 1 and counts 0.15 of a Gaussian step: shifts matter more than sizes.
COUNTS_PER_SUM = Fraction(3, 20)

# Where noise is Gaussian: the part of ε for radii beside that of the tree, up to 24 columns and
# beyond. Pure parts with caps of their own take little from the Gaussian noise beside them.
_RADII = {True: Fraction(1, 10), False: Fraction(1, 20)}

# How many clipped steps a fit is planned for when it chooses its noise.
_STEPS = {True: 3, False: 2}

# Deviations below which the number of rows is estimated again, and the part of ε for that.
_CLEAR = 14
_AGAIN = Fraction(1, 10)
MIN_ROWS = 20.0

Currency = Literal["pure", "gdp"]

# Beside Gaussian noise pure ε has five parts: for the number of rows, the shape of the tree, the
# counts of its leaves, the radius of all rows, and those of the steps in all columns.
ROWS, SHAPE, LEAVES, REACH, RADII = range(5)


def caps_of(task: Task) -> Caps:
    """Pure ε for all; or for rows, tree and radii alone, where Gaussian noise is the smaller."""
    d = task.n_features
    if d <= LOW or is_tiny(task):
        return Caps(pure=task.epsilon)
    rows = SLICE if task.n_rows is None else Fraction(0)
    tree = (1 - rows) * exact(tree_part(d, task.k, pure=False))
    radii = (1 - rows) * _RADII[d <= MIDDLE]
    parts = tuple(task.epsilon * part for part in (rows, tree / 2, tree / 2, radii / 2, radii / 2))
    pure = sum(parts, Fraction(0))
    rest = task.epsilon - pure
    weights: tuple[float, float] = (d + 3, float(1 + COUNTS_PER_SUM))
    if task.levels:
        weights = (errors_of(task, pure=True).least, errors_of(task, pure=False).least)
    if gaussian_is_smaller(rest, task.delta, _STEPS[d <= MIDDLE], weights):
        return Caps(pure=pure, gaussian=(rest, task.delta), parts=parts)
    return Caps(pure=task.epsilon)


def errors_of(task: Task, *, pure: bool) -> StepErrors:
    """What a step of mixed rows errs, by sums or by counts of levels."""
    return step_errors(task, COUNTS_PER_SUM, pure=pure)


@dataclass(frozen=True)
class RowCount:
    """The number of rows, and the noise_std of that estimate: 0 where it is declared."""

    n: float
    std: float

    def and_by(self, answer: Answer) -> RowCount:
        """Combine two noisy counts of the same rows, by inverse variance."""
        if not self.std:
            return self
        mine, theirs = self.std**-2, answer.noise_std**-2
        n = (mine * self.n + theirs * float(answer.values[0])) / (mine + theirs)
        return RowCount(max(MIN_ROWS, n), (mine + theirs) ** -0.5)


@dataclass(frozen=True)
class FitBudget:
    """The account of a fit, its task, and the number of rows."""

    account: Account
    task: Task
    rows: RowCount

    @property
    def n(self) -> float:
        """The estimated number of rows."""
        return self.rows.n

    @property
    def currency(self) -> Currency:
        """The currency of means, moments and steps."""
        return "gdp" if self.account.caps.gaussian[1] else "pure"

    @property
    def epsilon(self) -> float:
        """What is left of ε before the first Gaussian answer."""
        caps = self.account.caps
        return float(caps.pure - self.account.spent("pure")[0] + caps.gaussian[0])

    def per_row(self, epsilon: float) -> float:
        """The ε that noise is calibrated to: `epsilon` divided by the rows of a group."""
        return epsilon / self.task.max_rows_per_group

    def pure(self, amount: float, part: int = 0) -> Share:
        """A share of pure ε, at most what is left of this part of it."""
        return take(self.account.rest("pure", part), exact(amount))

    def steps(self, others: float) -> StepBudget:
        """What is left for means, moments and steps when `others` is set aside of pure ε."""
        amount = self.account.rest(self.currency).amount
        return StepBudget(self, amount - (exact(others) if self.currency == "pure" else 0))


@dataclass(frozen=True)
class StepBudget:
    """What means, moments and steps share: an amount of one currency, split by fractions."""

    fit: FitBudget
    amount: Fraction

    @property
    def pure(self) -> bool:
        """Whether the currency is pure ε."""
        return self.fit.currency == "pure"

    @property
    def size(self) -> float:
        """What noise is calibrated to: ε, or μ, of all steps, divided by the rows of a group."""
        return self.fit.per_row(float(self.amount) if self.pure else math.sqrt(self.amount))

    def share(self, fraction: float) -> Share:
        """A share of the amount."""
        return take(self.last(), self.amount * exact(fraction))

    def last(self) -> Share:
        """All that is left, for the last step."""
        return self.fit.account.rest(self.fit.currency)

    def noise(self, fraction: float, n_features: int) -> float:
        """noise_std of a coordinate of a sum of vectors of length 1, with this fraction."""
        if self.pure:
            return math.sqrt(n_features + 3) / (self.size * fraction)
        return math.sqrt(float(1 + COUNTS_PER_SUM) / fraction) / self.size


def exact(amount: float) -> Fraction:
    """A float as a fraction that is easy to read."""
    return Fraction(amount).limit_denominator(10**12)


def open_budget(curator: Curator, task: Task, account: Account) -> FitBudget:
    """Estimate the number of rows unless declared; twice, if it does not stand out from noise."""
    if task.n_rows is not None:
        return FitBudget(account, task, RowCount(float(max(MIN_ROWS, task.n_rows)), 0.0))
    everything = Grid(1, task.n_features)
    first = curator.counts(everything, share=take(account.rest("pure"), SLICE * task.epsilon))
    rows = RowCount(max(MIN_ROWS, float(first.values[0])), first.noise_std)
    if task.n_features > 3 and rows.n < _CLEAR * rows.std:
        for share in _again(task, account):
            rows = rows.and_by(curator.counts(everything, share=share))
    return FitBudget(account, task, rows)


def _again(task: Task, account: Account) -> tuple[Share, ...]:
    """Shares to estimate the number of rows again: beside Gaussian noise, up to half the tree's."""
    if len(account.caps.parts) == 1:
        return (take(account.rest("pure"), _AGAIN * task.epsilon),)
    rests = (account.rest("pure", part) for part in (SHAPE, LEAVES))
    return tuple(take(rest, min(_AGAIN * task.epsilon, rest.amount) / 2) for rest in rests)


LOW = 3
"""Up to so many columns a grid or a tree over all columns will do."""

MIDDLE = 24
"""Up to so many columns a tree uses columns; beyond, main axes or random directions."""

AXES = 12
"""The most dimensions of a tree."""

MANY = 24
"""More clusters than this need more than `AXES` axes."""

# Rows × ε at which a radius stands out from noise: to set its part of ε, and to query it at all.
_RADIUS_ROWS = 80
_ASK_RADIUS = 30

FIND_RADIUS = 12
"""Rows × ε up to which a radius does not stand out from noise."""

# noise_std of a coordinate of the mean, in half widths, up to which it is estimated.
_MEAN_NOISE = 0.3

# What a tree is given of ε, if steps are pure or not: up to 24 columns; beyond, with few clusters
# and with many.
TREE_MIDDLE = {True: 0.22, False: 0.25}
TREE_FEW = {True: 0.12, False: 0.08}
TREE_MANY = 0.25

_SPAN = 0.03

_SKETCHES = (256, 192, 128, 96, 64, 48, 32, 24, 16, 12)

# How full steps share what is left, where noise is pure.
_PARTS: dict[int, tuple[float, ...]] = {1: (1.0,), 2: (0.35, 0.65), 3: (0.2, 0.25, 0.55)}

# The same where centres are known in few random directions at first: every step brings them nearer.
_FROM_AFAR = (0.24, 0.24, 0.24, 0.28)


@dataclass(frozen=True)
class BudgetSplit:
    """Fractions of `steps` for the mean, the moments, and steps inside the axes and in full.

    `radii` is the pure ε of each of two rounds of radii, `tree` that of the tree. `sketch` is the
    number of dimensions in which main axes are estimated, 0 where noise would hide them.
    `from_afar` says that steps begin where centres are known in few directions only.
    """

    steps: StepBudget
    tree: float
    radii: float
    mean: float
    moments: float
    inside: tuple[float, ...]
    full: tuple[float, ...]
    span: tuple[float, ...] = ()
    sketch: int = 0
    asks_radius: bool = True
    from_afar: bool = False

    @property
    def radius(self) -> float:
        """The ε of the radius of one full step."""
        return self.radii / len(self.full)

    def tree_shares(self) -> tuple[Share, ...]:
        """The shares of the shape of the tree and of the counts of its leaves."""
        fit = self.steps.fit
        if self.steps.pure:
            return fit.pure(self.tree).evenly(2)
        return tuple(fit.account.rest("pure", part) for part in (SHAPE, LEAVES))

    def reach_share(self) -> Share:
        """The share of the radius of all rows."""
        fit = self.steps.fit
        return fit.pure(self.radii) if self.steps.pure else fit.account.rest("pure", REACH)

    def radius_share(self, *, last: bool) -> Share:
        """The share of the radius of one full step: beside Gaussian steps, the last takes all."""
        fit = self.steps.fit
        if self.steps.pure:
            return fit.pure(self.radius)
        return fit.account.rest("pure", RADII) if last else fit.pure(self.radius, RADII)


def tree_part(n_features: int, k: int, *, pure: bool) -> float:
    """The part of ε, after the count, that a tree is given, beside pure or Gaussian steps."""
    if n_features <= MIDDLE:
        return TREE_MIDDLE[pure]
    # From random directions pure steps put right what a small tree missed.
    return TREE_FEW[pure] if k < MANY or (pure and k > MANY) else TREE_MANY


def step_error(steps: StepBudget, n_features: int, k: int, n: float) -> float:
    """The error of a centre relative to its radius, after one step with everything."""
    if steps.fit.task.levels:
        return k * math.sqrt(errors_of(steps.fit.task, pure=steps.pure).least) / (steps.size * n)
    if steps.pure:
        return k * (n_features + 1.5) / (steps.size * n)
    return k * math.sqrt(n_features) * steps.noise(1, n_features) / n


def _pure_parts(budget: FitBudget, least: float) -> tuple[float, float]:
    """ε of the tree and of each round of radii."""
    task, epsilon = budget.task, budget.epsilon
    part = min(max(_RADIUS_ROWS / (budget.n * budget.per_row(epsilon)), least), 0.2)
    if budget.currency == "pure":
        tree = tree_part(task.n_features, task.k, pure=True)
        return tree * epsilon, part * epsilon / 2
    # Caps are fixed before the rows are counted: what one part does not need is not moved.
    rest = [float(budget.account.rest("pure", part).amount) for part in (SHAPE, LEAVES, REACH)]
    return rest[0] + rest[1], rest[2]


def middle_split(budget: FitBudget) -> BudgetSplit:
    """From 4 to 24 columns."""
    d, k, n = budget.task.n_features, budget.task.k, budget.n
    tree, radii = _pure_parts(budget, 0.04)
    steps = budget.steps(tree + 2 * radii)
    mean, moments = 0.05, 0.04
    seen = n * budget.per_row(radii)
    if _mean_noise(steps, mean, d, n) > _MEAN_NOISE or seen <= FIND_RADIUS:
        mean = moments = 0.0
    rest = 1 - mean - moments
    if d <= AXES or not mean:
        inside: tuple[float, ...] = (rest / 2,)
        full: tuple[float, ...] = (rest / 2,)
    else:
        inside, full = _outside_middle(steps, rest, step_error(steps, d, k, n))
    asks = bool(mean) and seen / len(full) > _ASK_RADIUS
    return BudgetSplit(steps, tree, radii, mean, moments, inside, full, asks_radius=asks)


def _outside_middle(
    steps: StepBudget, rest: float, error: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Steps inside the axes and in full, where the axes are some of the columns."""
    if not steps.pure:
        error /= math.sqrt(0.45)
    number = _number_of_steps(error, 0.12 if steps.pure else 0.08, 0.2 if steps.pure else 0.15)
    if steps.pure and number > 1:
        return (), (rest / number,) * number
    return (0.35 / 3,) * 3, ((rest - 0.35) / number,) * number


def high_split(budget: FitBudget) -> BudgetSplit:
    """More than 24 columns."""
    d, k, n = budget.task.n_features, budget.task.k, budget.n
    tree, radii = _pure_parts(budget, 0.03)
    steps = budget.steps(tree + 2 * radii)
    error = step_error(steps, d, k, n)
    if steps.pure:
        mean = min(max(5 * d / (n * budget.per_row(budget.epsilon)), 0.02), 0.3)
        moments = 0.1
        sketch = 0 if k > MANY else _sketch_size(steps, moments, d, n)
        moments = moments if sketch else 0.0
        inside: tuple[float, ...] = (0.06,) if k > MANY else (0.03, 0.03) if sketch else ()
        number = _number_of_steps(error, 0.12, 0.2)
        parts: tuple[float, ...] = _FROM_AFAR if k > MANY and number > 2 else _PARTS[number]
    else:
        error /= math.sqrt(0.45)
        mean, moments = 0.05, 0.15
        sketch = _sketch_size(steps, moments, d, n)
        inside = ((0.05,) * 3) if 0.15 <= error < 0.3 else (0.1,) * 3
        number = _number_of_steps(error, 0.08, 0.3)
        parts = (0.35, 0.65) if number == 2 and error > 0.15 else (1 / number,) * number
    span = (_SPAN, _SPAN) if not steps.pure and number == 2 and d >= 8 * k else ()
    rest = 1 - mean - moments - sum(inside) - sum(span)
    full = tuple(rest * part for part in parts)
    afar = steps.pure and k > MANY
    return BudgetSplit(
        steps, tree, radii, mean, moments, inside, full, span, sketch, from_afar=afar
    )


def _sketch_size(steps: StepBudget, part: float, d: int, n: float) -> int:
    """The largest sketch in which main axes should stand out from noise; 0 if there is none."""
    for size in (min(d, _SKETCHES[0]), *_SKETCHES):
        if size > d or size * d > MAX_NUMBERS:
            continue
        if steps.pure:
            edge = size**1.5 / (steps.size * part)
        else:
            edge = math.sqrt(2 * size / part) / steps.size / 4
        if edge <= n * (0.01 + 0.7 / size):
            return size
    return 0


def _number_of_steps(error: float, three: float, two: float) -> int:
    return 3 if error < three else 2 if error < two else 1


def _mean_noise(steps: StepBudget, part: float, d: int, n: float) -> float:
    """Deviation of a coordinate of the mean, in half widths."""
    if steps.pure:
        return math.sqrt((d + 2) * (d + 3) / 3) / (steps.size * part * n)
    return math.sqrt(d / part) / (steps.size * n)


# Below, the noise of some step might be refused after others were charged.
_MIN_EPSILON = Fraction(1, 10**4)

# Error of a centre, relative to its radius, above which it is noise.
_DROWNED = {True: 0.6, False: 0.45}
_LOST = 0.5
_DROWNED_HIGH = {True: 0.2, False: 0.27}


def is_hopeless(task: Task) -> bool:
    """Whether even the noise of a mean could not be sampled."""
    return _per_row(task) < Fraction(task.n_features + 1, 2**26)


def is_tiny(task: Task) -> bool:
    """Whether ε is so small that only the simplest query can be asked."""
    return _per_row(task) < _MIN_EPSILON


def _per_row(task: Task) -> Fraction:
    """ε that noise is calibrated to, where the rows of a group are protected together."""
    return task.epsilon / task.max_rows_per_group


def affordable(budget: FitBudget) -> int:
    """How many centres stand out from noise; 0 where one mean for all k says more."""
    task, steps = budget.task, budget.steps(0.0)
    one = step_error(steps, task.n_features, 1, budget.n)
    if task.n_features <= LOW:
        # In few columns even centres that noise has spread out say more than one mean.
        k = task.k if one <= _LOST else 1
    elif task.n_features <= MIDDLE:
        k = task.k if task.k * one <= _DROWNED[steps.pure] else 1
    else:
        k = min(task.k, int(_DROWNED_HIGH[steps.pure] / one))
    return k if k > 1 or k == task.k else 0

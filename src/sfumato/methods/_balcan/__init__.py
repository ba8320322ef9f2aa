"""Balcan et al.: candidates from shifted cubes in a random projection, k of them, averaged.

Balcan, Dick, Liang, Mou, Zhang. Differentially private clustering in high-dimensional Euclidean
spaces. ICML 2017; Edler. Practicality of differentially private clustering. Lübeck 2023. Departs
from them: the shares add up to ε; averages are noised for all columns together and divided by the
noisy count; projected rows are cut to a public ball, whose diameter is the range of a loss; a row
changes one cube of a depth; what the partitions leave unspent pays for the averages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato._accounting.budget import Account, Caps
from sfumato._accounting.gaussian_dp import mu2_of
from sfumato._base.types import Floats
from sfumato._core.curator import Curator
from sfumato._core.queries.choose import Cost
from sfumato.methods._balcan import config as settings
from sfumato.methods._balcan.config import (
    FAILURE,
    PRESETS,
    Chosen,
    Law,
    Parts,
    PresetName,
    Sizes,
    StepsBudget,
    check_sizes,
    runs_of,
    sizes_of,
)
from sfumato.methods._balcan.partition import most_cubes, threshold, together
from sfumato.methods._balcan.run import Recipe, Run, Search, Weights
from sfumato.methods._base import NUMBER, Centers, PlannedTask, Prediction, Task, size_and_rest
from sfumato.methods._base import sizes_of as noisy_sizes
from sfumato.methods._dplloyd import NoiseChoice, check_choice, choose_noise, law_of, noise_error
from sfumato.methods.formulas import step_mse


@dataclass(frozen=True)
class Balcan:
    """Find centres in a random projection, then average in all columns. None is the preset's value.

    `dimensions` of the projection, `runs` to choose from, `partitions` of shifted cubes into at
    most `depths` halvings, `gamma` times ln(n·partitions/failure)/ε′ rows for a cube to be cut;
    `swaps` under a `law` of selection, each with `subset` of the candidates; `rounds` of private
    k-means at the end. `budget` weighs candidates, search, recovery, rounds and the choice among
    runs; `carry` hands on what the partitions leave of it. `deepest` takes the candidates of the
    greatest depths until there are k.
    `search="coreset"` clusters weights in place of swaps: counts of rows around the candidates that
    are `"bought"`, those of the `"cubes"`, which are there already, or `"both"`, the first to find
    the clusters and the second to place them. `failure` is a probability that the theory gives up
    on, not the δ of (ε, δ)-DP.
    """

    preset: PresetName = "edler"
    search: Search = "swaps"
    weights: Weights = "both"
    dimensions: int | None = None
    runs: int | None = None
    partitions: int | None = None
    depths: int | None = None
    gamma: float | None = None
    swaps: int | None = None
    subset: int | None = None
    budget: tuple[float, ...] | None = None
    law: Law | None = None
    rounds: int | None = None
    failure: float | None = None
    deepest: bool | None = None
    carry: bool = True
    noise: NoiseChoice = "auto"

    def __post_init__(self) -> None:
        for name, choices in (
            ("preset", PresetName),
            ("search", Search),
            ("weights", Weights),
            ("noise", NoiseChoice),
        ):
            check_choice(getattr(self, name), choices, name)
        if self.law is not None:
            check_choice(self.law, Law, "law")
        for name in settings.LEAST:
            object.__setattr__(self, name, settings.whole_or_none(getattr(self, name), name))
        settings.check_gamma(self.gamma)
        settings.check_failure(self.failure)
        settings.check_flag(self.deepest, "deepest")
        settings.check_flag(self.carry, "carry")
        object.__setattr__(self, "budget", settings.check_budget(self.budget))
        self.parts()

    def caps(self, task: Task) -> Caps:
        """All pure; or Gaussian noise for the averages where δ allows it and it is the smaller."""
        # Without a declared number of rows, what even two of them would need is refused.
        n = 2.0 if task.n_rows is None else float(task.n_rows)
        sizes, parts = self.sizes(task, n), self.parts()
        self._check(task, n)
        parts.check(task.epsilon, task.n_features, sizes.rounds, sizes.runs)
        return self.division(task)

    def division(self, task: Task) -> Caps:
        """The caps of a task, whether it can run or not."""
        parts = self.parts()
        averages = replace(task, epsilon=task.epsilon * parts.averages)
        if choose_noise(self.noise, self._runs * (self._rounds + 1), averages) == "gaussian":
            return Caps(
                pure=task.epsilon - averages.epsilon, gaussian=(averages.epsilon, task.delta)
            )
        return Caps(pure=task.epsilon)

    def __call__(
        self, curator: Curator, task: Task, *, account: Account, rng: np.random.Generator
    ) -> Centers:
        """Buy the number of rows, find centres once or several times, and choose among them."""
        n, _ = size_and_rest(curator, task, account.rest("pure"))
        sizes = self.sizes(task, n)
        self._check(task, n)
        purse = StepsBudget.of(account, self.parts(), sizes.runs, carry=bool(self.carry))
        run = Run(self.recipe(), sizes, task, n, law_of(self.noise, account))
        found = [run(curator, purse, rng) for _ in range(sizes.runs)]
        best = found[0]
        if sizes.runs > 1:
            sets = np.array([np.rint(one.points) for one in found])
            best = found[self._choice(curator, account, sets)]
        rest = account.rest("pure")
        if rest.amount:
            best = replace(best, sizes=noisy_sizes(curator, best.points, rest))
        return replace(best, notes=(f"preset {self.preset}, about {n:,.0f} rows", *best.notes))

    def predict(self, task: PlannedTask) -> Prediction:
        """Follow the public rules with the expected rows, to the noise of the last average."""
        return _predicted(self, task)

    def _check(self, task: Task, n: float) -> None:
        sizes, recipe = self.sizes(task, n), self.recipe()
        cuts = sizes.runs * sizes.partitions * sizes.depths
        share = float(self.parts().candidates * task.epsilon / cuts)
        gamma = threshold(recipe.gamma, share, n, recipe.failure / sizes.partitions)
        check_sizes(sizes, n=n, declared=task.n_rows is not None, gamma=gamma)

    def _choice(self, curator: Curator, account: Account, sets: Floats) -> int:
        law = self.recipe().law
        (pick,) = curator.choose(Cost(sets.astype(np.int64)), share=account.rest("pure"), law=law)
        return pick

    def sizes(self, task: Task, n: float) -> Sizes:
        """The whole numbers of a fit with about n rows."""
        chosen = Chosen(self.dimensions, self.runs, self.partitions, self.depths, self.swaps)
        return sizes_of(
            PRESETS[self.preset],
            chosen,
            n=n,
            d=task.n_features,
            k=task.k,
            rounds=self._rounds,
            failure=self._failure,
        )

    def parts(self) -> Parts:
        """How ε is divided."""
        preset = PRESETS[self.preset]
        coreset = self.search == "coreset"
        searches = self.weights != "cubes" if coreset else self.swaps != 0
        needed = (True, searches, True, bool(self._rounds), self._runs > 1)
        budget = preset.budget if self.budget is None else self.budget
        weights = settings.weights_of(budget, needed)
        return Parts.of(weights, searches=searches, rounds=self._rounds, runs=self._runs)

    def recipe(self) -> Recipe:
        """What one run needs to know beside its sizes."""
        preset = PRESETS[self.preset]
        return Recipe(
            self.search,
            self.weights,
            preset.gamma if self.gamma is None else float(self.gamma),
            self._failure,
            preset.deepest if self.deepest is None else self.deepest,
            self.law or preset.law,
            self.subset,
        )

    @property
    def _runs(self) -> int:
        return self.runs or runs_of(PRESETS[self.preset], self._failure)

    @property
    def _rounds(self) -> int:
        return PRESETS[self.preset].rounds if self.rounds is None else self.rounds

    @property
    def _failure(self) -> float:
        return FAILURE if self.failure is None else float(self.failure)


def _predicted(method: Balcan, task: PlannedTask) -> Prediction:
    """What partitions leave unspent makes the noise smaller than this, and passes fewer."""
    caps, sizes, parts = method.division(task), method.sizes(task, task.n), method.parts()
    last = parts.steps(sizes.rounds)[-1] / sizes.runs
    if caps.delta:
        law, budget = "gaussian", math.sqrt(mu2_of(*caps.gaussian) * last / parts.averages)
    else:
        law = "laplace" if method.noise == "laplace" else "cube"
        budget = float(last) * task.after_count
    error = step_mse(task.n, task.k, budget, noise_error(law, task.n_features))
    cut = min(sizes.partitions, together(sizes.dimensions)) * most_cubes(sizes.dimensions)
    children = cut << sizes.dimensions
    numbers = task.k * (task.n_features + 1) + children * (sizes.dimensions + 2)
    memory, passes = 3 * NUMBER * numbers, sizes.passes + task.count_passes
    note = (
        f"up to {sizes.passes:,} passes in {sizes.dimensions} dimensions, then averages with "
        f"{law} noise; without the error of the search"
    )
    return Prediction.of(task, error, memory=memory, passes=passes, note=note)

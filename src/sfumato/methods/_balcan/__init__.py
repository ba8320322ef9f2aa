"""Balcan et al.: candidates from shifted cubes in a random projection, k of them, averaged.

Balcan, Dick, Liang, Mou, Zhang. Differentially private clustering in high-dimensional Euclidean
spaces. ICML 2017; Edler. Practicality of differentially private clustering. Lübeck 2023. Departs
from them: the shares add up to ε; averages are noised for all columns together and divided by the
noisy count; projected rows are cut to a public ball, whose diameter is the range of a loss; a row
changes one cube of a depth; what the partitions leave unspent goes to the averages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato._accounting.budget import Account, Caps
from sfumato._accounting.gaussian_dp import mu2_of
from sfumato._base.types import Rng
from sfumato._core.curator import Curator
from sfumato._core.queries.choose import Cost
from sfumato.methods._balcan.config import (
    CHECKED,
    MAX_DEPTHS,
    PRESETS,
    Law,
    Parts,
    PhaseBudget,
    PresetName,
    Recipe,
    Search,
    Sizes,
    Weights,
    checked,
    max_cubes,
    together,
)
from sfumato.methods._balcan.run import Run
from sfumato.methods._base import (
    NUMBER,
    Centers,
    PlannedTask,
    Prediction,
    Task,
    check_amount,
    size_and_rest,
    sizes_of,
)
from sfumato.methods._dplloyd import NoiseChoice, check_choice, choose_noise, noise_error, noise_of
from sfumato.methods.formulas import step_mse


@dataclass(frozen=True)
class Balcan:
    """Find centres in a random projection, then average in all columns. None is the preset's value.

    `dimensions` of the projection, `runs` to choose from, `partitions` of shifted cubes into at
    most `depths` halvings, `gamma` times ln(n·partitions/failure)/ε′ rows for a cube to be cut;
    `swaps` by the mechanism `law`, each with `subset` of the candidates; `rounds` of private
    k-means at the end. `budget` weighs candidates, search, recovery, rounds and the choice among
    runs; with `carry` later phases get what the partitions leave of it. `deepest` takes the
    candidates of the greatest depths until there are k.
    `search="coreset"` clusters weights in place of swaps: counts around the candidates, released
    for this (`"bought"`), the counts of the `"cubes"`, or `"both"`, the first to find the clusters
    and the second to place them. `failure` is a failure probability of the theory, not the δ of
    (ε, δ)-DP.
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
        check_choice(self.preset, PresetName, "preset")
        check_choice(self.search, Search, "search")
        check_choice(self.weights, Weights, "weights")
        check_choice(self.noise, NoiseChoice, "noise")
        if self.law is not None:
            check_choice(self.law, Law, "law")
        for name in CHECKED:
            object.__setattr__(self, name, checked(getattr(self, name), name))
        self.parts()

    def caps(self, task: Task) -> Caps:
        """All pure; or Gaussian noise for the averages where δ allows it and it is the smaller."""
        check_amount(task)
        # Without a declared number of rows, what even two of them would need is refused.
        n = 2.0 if task.n_rows is None else float(task.n_rows)
        sizes, parts = self.sizes(task, n), self.parts()
        sizes.check(task, n, parts.candidates)
        parts.check(task.epsilon, task.n_features, sizes.rounds, sizes.runs)
        return self.division(task)

    def division(self, task: Task) -> Caps:
        """The caps of a task, whether it can run or not."""
        recipe = self.recipe()
        averages = replace(task, epsilon=task.epsilon * self.parts().averages)
        if choose_noise(self.noise, recipe.runs * (recipe.rounds + 1), averages) == "gaussian":
            pure = task.epsilon - averages.epsilon
            return Caps(pure=pure, gaussian=(averages.epsilon, task.delta))
        return Caps(pure=task.epsilon)

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Centers:
        """Estimate the number of rows, find centres once or several times, choose among them."""
        n, _ = size_and_rest(curator, task, account.rest("pure"))
        sizes, parts = self.sizes(task, n), self.parts()
        sizes.check(task, n, parts.candidates)
        run = Run(sizes, task, n, noise_of(self.noise, account))
        pure, gdp = (account.rest(kind).amount / sizes.runs for kind in ("pure", "gdp"))
        found = []
        for _ in range(sizes.runs):
            before = account.spent("pure")[0]
            budget = PhaseBudget(account, parts, pure, gdp, before, carry=bool(self.carry))
            found.append(run(curator, budget, rng))
        best = found[0]
        if sizes.runs > 1:
            sets = Cost(np.array([np.rint(one.points) for one in found]).astype(np.int64))
            (pick,) = curator.choose(sets, share=account.rest("pure"), law=sizes.law)
            best = found[pick]
        rest = account.rest("pure")
        if rest.amount:
            counted = sizes_of(curator, best.points, rest)
            errors = best.errors and replace(best.errors, sizes=counted)
            best = replace(best, sizes=counted.values, errors=errors)
        return replace(best, notes=(f"preset {self.preset}, about {n:,.0f} rows", *best.notes))

    def predict(self, task: PlannedTask) -> Prediction:
        """The noise of the last average, if partitions leave nothing unspent."""
        caps, sizes, parts = self.division(task), self.sizes(task, task.n), self.parts()
        last = parts.steps(sizes.rounds)[-1] / sizes.runs
        if caps.delta:
            noise, budget = "gaussian", math.sqrt(mu2_of(*caps.gaussian) * last / parts.averages)
        else:
            noise = "laplace" if self.noise == "laplace" else "cube"
            budget = float(last) * task.after_count
        error = step_mse(task.n, task.k, budget, noise_error(noise, task.n_features))
        cut = min(sizes.partitions, together(sizes.dimensions)) * max_cubes(sizes.dimensions)
        children = cut << sizes.dimensions
        numbers = task.k * (task.n_features + 1) + children * (sizes.dimensions + 2)
        memory, passes = 3 * NUMBER * numbers, sizes.passes + task.count_passes
        note = (
            f"up to {sizes.passes:,} passes in {sizes.dimensions} dimensions, then averages with "
            f"{noise} noise; without the error of the search"
        )
        return Prediction.of(task, error, memory=memory, passes=passes, note=note)

    def sizes(self, task: Task, n: float) -> Sizes:
        """The whole numbers of a fit with about n rows. Where p reaches d nothing is projected."""
        preset, recipe, n = PRESETS[self.preset], self.recipe(), max(n, 2.0)
        spread = math.log(n / recipe.failure)
        p = self.dimensions or max(1, int(preset.dimensions(n)))
        swaps = math.ceil(preset.swaps(task.k, spread)) if self.swaps is None else self.swaps
        return Sizes(
            **vars(recipe),
            dimensions=min(p, task.n_features),
            partitions=self.partitions or math.ceil(preset.partitions(task.k, spread)),
            depths=min(self.depths or int(math.log(n)) + 1, MAX_DEPTHS),
            swaps=swaps,
        )

    def parts(self) -> Parts:
        """How ε is divided."""
        recipe = self.recipe()
        searches = self.weights != "cubes" if self.search == "coreset" else self.swaps != 0
        budget = PRESETS[self.preset].budget if self.budget is None else self.budget
        return Parts.of(budget, searches=searches, rounds=recipe.rounds, runs=recipe.runs)

    def recipe(self) -> Recipe:
        """The settings that do not depend on n."""
        preset = PRESETS[self.preset]
        failure = float(preset.failure if self.failure is None else self.failure)
        return Recipe(
            self.search,
            self.weights,
            float(preset.gamma if self.gamma is None else self.gamma),
            failure,
            preset.deepest if self.deepest is None else self.deepest,
            self.law or preset.law,
            self.subset,
            preset.rounds if self.rounds is None else self.rounds,
            self.runs or max(1, math.ceil(preset.runs(failure))),
        )

"""nD-Laplace and, for points of the plane, planar Laplace with a remap onto admissible points."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from sfumato._base.types import Floats
from sfumato._base.validation import check_epsilon, check_positive, check_whole
from sfumato._core.local.lattice import LatticeNDLaplace, LocalLattice, Units
from sfumato._core.local.randomizer import Missing
from sfumato._lattice.box import Box
from sfumato._lattice.kernels.dispatch import MAX_FEATURES
from sfumato.local._transformer import LocalPlan, LocalTransformer

Truncation = Literal["clamp", "resample", "none"]


@dataclass(eq=False, repr=False)
class NDLaplace(LocalTransformer):
    """Perturb each row with density ∝ exp(−ε·‖z − x‖), in any dimension.

    Parameters
    ----------
    epsilon : float, optional
        ε per unit of distance: two points r apart look alike within a factor e^{εr}.
    level, radius : float, optional
        In place of `epsilon`: points within a public `radius` look alike within a factor e^level,
        so ε = level / radius.
    bounds : pair (lower, upper)
        Public bounds, scalars or one value per column. Required, and never read from the data:
        what lies outside is clipped.
    truncation : {"clamp", "resample", "none"}, default="clamp"
        What becomes of reports outside the bounds. "clamp" moves them to the nearest point inside,
        which costs nothing. "resample" draws until a report is inside; how often that takes
        depends on the row, so it draws with ε/2 to keep ε. "none" leaves them where they are.
    units : {"data", "box"}, default="data"
        Distances are Euclidean in the units of the data; or, for columns of unlike kind, in
        half-widths of the columns, that is in the cube [−1, 1]^d that the bounds span.
    nan : {"center", "keep"}, default="center"
        Cells that are not finite numbers go to the centre of their column; or they stay missing,
        which tells everyone that they are.

    Attributes
    ----------
    guarantee_, receipt_ : Guarantee, LocalReceipt
        A metric guarantee, which never adds to the ε of a private fit, and what is done to each
        row.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import NDLaplace
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> NDLaplace(level=1, radius=0.1, bounds=(0, 1)).fit_transform(X).shape
    (1000, 2)

    """

    epsilon: float | None = None
    _: KW_ONLY
    level: float | None = None
    radius: float | None = None
    bounds: Any = None
    truncation: Truncation = "clamp"
    units: Units = "data"
    nan: Missing = "center"

    def plan(self, box: Box) -> LocalPlan:
        """Make a plan from public settings; all that can be refused is refused here."""
        epsilon = epsilon_of(self.epsilon, self.level, self.radius)
        if self.truncation not in get_args(Truncation):
            raise ValueError(
                f"truncation must be 'clamp', 'resample' or 'none', got {self.truncation!r}"
            )
        lattice, halved = LocalLattice(box, self.units), self.truncation == "resample"
        far = mean_displacement(float(epsilon) / (2 if halved else 1), lattice.n_features)
        return self._planned(
            LatticeNDLaplace(lattice, epsilon, resample=halved),
            lattice,
            between_any_two=float(epsilon) * lattice.diameter,
            notes=(f"a report lies {far:.4g} from its row on average, {lattice.unit_name}",),
        )


def mean_displacement(epsilon: float, d: int) -> float:
    """Return how far nD-Laplace noise moves a row on average: d / ε, the mean of Gamma(d, 1/ε)."""
    if check_whole(d, "d") > MAX_FEATURES:
        raise ValueError(f"a row has at most {MAX_FEATURES} columns, got d={d}")
    return int(d) / float(check_epsilon(epsilon))


def local_epsilon(
    epsilon: float,
    bounds: Any,  # noqa: ANN401
    *,
    d: int | None = None,
    units: Units = "data",
) -> float:
    """Return ε of local differential privacy: what ε per unit of distance means inside bounds.

    Any two rows in the bounds are at most a diameter apart, so they look alike within a factor
    e^{ε·diameter}. Bounds that are scalars need the number of columns `d`.
    """
    columns = _columns(bounds) if d is None else check_whole(d, "d")
    lattice = LocalLattice(Box.of(bounds, columns), units)
    return float(check_epsilon(epsilon)) * lattice.diameter


def _columns(bounds: Any) -> int:  # noqa: ANN401
    try:
        return max(np.size(side) for side in bounds)
    except (TypeError, ValueError):
        # Box.of says what is wrong with them.
        return 1


def epsilon_of(epsilon: Any, level: Any, radius: Any) -> Fraction:  # noqa: ANN401
    """Return ε per unit of distance: given, or level / radius."""
    if (level is None) != (radius is None) or (epsilon is None) == (level is None):
        given = {"epsilon": epsilon, "level": level, "radius": radius}
        told = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
        raise ValueError(
            "ε per unit of distance is needed: either epsilon, or level and radius "
            f"(ε = level / radius), got {told or 'none of them'}"
        )
    if epsilon is not None:
        return check_epsilon(epsilon)
    return check_positive(level, "level") / check_positive(radius, "radius")


MAX_PRIOR = 4096
"""Most admissible points with a prior: their distances to one another fill 128 MB."""

_BLOCK = 2**22


@dataclass(eq=False, repr=False, kw_only=True)
class PlanarLaplace(NDLaplace):
    """Perturb points of the plane with density ∝ exp(−ε·‖z − x‖) (Andrés et al. 2013).

    The case d = 2 of `NDLaplace`. Reports can be remapped onto public admissible points: streets
    instead of the sea. What is remapped is the report, so the guarantee stays as it is.

    Parameters
    ----------
    epsilon, level, radius, bounds, truncation, units, nan
        As in `NDLaplace`. With `remap` a report is remapped from where it was drawn, inside the
        bounds or not, so truncation="resample" is refused.
    remap : array-like of shape (n_points, 2), optional
        Public admissible points. Without a prior a report becomes the nearest of them.
    prior : array-like of shape (n_points,), optional
        A public weight of each admissible point. A report then becomes the admissible point from
        which the row is expected to lie least far (Chatzikokolakis et al. 2017). Neither may be
        taken from the rows that are perturbed.

    """

    remap: Any = None
    prior: Any = None

    def plan(self, box: Box) -> LocalPlan:
        """Make a plan from public settings; all that can be refused is refused here."""
        if box.n_features != 2:
            raise ValueError(
                f"PlanarLaplace perturbs points of 2 columns, got {box.n_features}; "
                "NDLaplace perturbs any number of them"
            )
        plan = super().plan(box)
        remap = self._remap(plan.lattice)
        if remap is None:
            return plan
        notes = (remap.words, *plan.receipt.notes[1:])
        receipt = replace(plan.receipt, notes=notes)
        return replace(plan, clamp=False, receipt=receipt, remap=remap)

    def _remap(self, lattice: LocalLattice) -> Remap | None:
        if self.remap is None:
            if self.prior is not None:
                raise ValueError("a prior belongs to admissible points: pass them as remap")
            return None
        if self.truncation == "resample" or self.nan == "keep":
            raise ValueError(
                "remap moves every report to an admissible point: it needs truncation='clamp' or "
                f"'none' and nan='center', got {self.truncation!r} and {self.nan!r}"
            )
        points = check_array(self.remap, dtype=np.float64, input_name="remap")
        if points.shape[1] != 2:
            raise ValueError(
                f"remap must hold two numbers for each admissible point, got shape {points.shape}"
            )
        prior = None if self.prior is None else _check_prior(self.prior, len(points))
        unit = lattice.steps / float(lattice.step)
        epsilon = epsilon_of(self.epsilon, self.level, self.radius)
        return Remap(points, prior, unit, float(epsilon))


@dataclass(frozen=True, eq=False)
class Remap:
    """Moves reports onto admissible points: post-processing, which reads no row.

    points: (m, 2), the user's units; prior: (m,), weights; unit: (2,), the user's units in one unit
    of the guarantee's distance.
    """

    points: Floats
    prior: Floats | None
    unit: Floats
    epsilon: float

    @property
    def words(self) -> str:
        """What becomes of a report, for the receipt."""
        if self.prior is None:
            return f"reports are moved to the nearest of {len(self.points)} admissible points"
        return (
            f"reports are moved to that of {len(self.points)} admissible points from which, under "
            "the public prior, the row is expected to lie least far"
        )

    def __call__(self, reports: Floats) -> Floats:
        """Return the admissible point of each report. reports: (n, 2), the user's units."""
        places, seen = self.points / self.unit, reports / self.unit
        if self.prior is None:
            nearest: Floats = self.points[KDTree(places).query(seen)[1]]
            return nearest
        moved, apart = np.empty_like(reports), cdist(places, places)
        with np.errstate(divide="ignore"):
            prior = np.log(self.prior)
        step = max(1, _BLOCK // len(places))
        for start in range(0, len(seen), step):
            block = slice(start, start + step)
            logs = prior - self.epsilon * cdist(seen[block], places)
            belief = np.exp(logs - logs.max(axis=1, keepdims=True))
            moved[block] = self.points[(belief @ apart).argmin(axis=1)]
        return moved


def _check_prior(values: Any, count: int) -> Floats:  # noqa: ANN401
    if count > MAX_PRIOR:
        raise ValueError(
            f"a prior is supported for up to {MAX_PRIOR} admissible points, got {count}; "
            "fewer points, or a remap without a prior, would work"
        )
    prior: Floats = check_array(values, dtype=np.float64, ensure_2d=False, input_name="prior")
    if prior.shape != (count,) or (prior < 0).any() or not prior.any():
        raise ValueError(
            f"prior must hold a weight of 0 or more for each of the {count} admissible points, "
            f"not all of them 0, got shape {prior.shape}"
        )
    return prior

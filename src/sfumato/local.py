"""NDLaplace: rows perturbed one by one, so that near points look alike. The local model."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from sfumato.box import Box
from sfumato.curator.local_lattice import LocalLattice, Units
from sfumato.curator.local_laws import NDLaplaceLaw
from sfumato.local_receipt import LocalReceipt
from sfumato.local_transformer import KEPT, LocalPlan, LocalTransformer, MissingPolicy
from sfumato.parameters import check_epsilon, check_positive, check_whole

__all__ = ["NDLaplace", "local_epsilon", "mean_displacement"]

Truncation = Literal["clamp", "resample", "none"]


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
    guarantee_ : Guarantee
        A metric guarantee: it never adds to the ε of a private fit.
    receipt_ : LocalReceipt
        What is done to each row, and the guarantee in words.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import NDLaplace
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> NDLaplace(level=1, radius=0.1, bounds=(0, 1)).fit_transform(X).shape
    (1000, 2)

    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        level: float | None = None,
        radius: float | None = None,
        bounds: Any = None,  # noqa: ANN401
        truncation: Truncation = "clamp",
        units: Units = "data",
        nan: MissingPolicy = "center",
    ) -> None:
        self.epsilon = epsilon
        self.level = level
        self.radius = radius
        self.bounds = bounds
        self.truncation = truncation
        self.units = units
        self.nan = nan

    def plan(self, box: Box) -> LocalPlan:
        """Make a plan from public settings; all that can be refused is refused here."""
        epsilon = epsilon_of(self.epsilon, self.level, self.radius)
        if self.truncation not in get_args(Truncation):
            raise ValueError(
                f"truncation must be 'clamp', 'resample' or 'none', got {self.truncation!r}"
            )
        lattice = LocalLattice(box, self.units)
        law = NDLaplaceLaw(lattice, epsilon, resample=self.truncation == "resample")
        law.check(lattice)
        receipt = LocalReceipt(
            mechanism=type(self).__name__,
            guarantee=law.guarantee,
            law=law.words,
            between_any_two=float(epsilon) * lattice.diameter,
            slack=law.slack(lattice),
            notes=self._notes(epsilon, lattice),
        )
        return LocalPlan(law, lattice, self.truncation != "none", receipt)

    def _notes(self, epsilon: Fraction, lattice: LocalLattice) -> tuple[str, ...]:
        halved = self.truncation == "resample"
        far = mean_displacement(float(epsilon) / (2 if halved else 1), lattice.n_features)
        told = {
            "clamp": "reports outside the bounds are moved to the nearest point inside",
            "resample": "reports are drawn with ε/2 until one is inside the bounds: what is cut "
            "off depends on the row, and costs the other half",
            "none": "reports may lie outside the bounds",
        }[self.truncation]
        moved = f"a report lies {far:.4g} from its row on average, {lattice.unit_name}"
        before = "" if self.truncation == "none" else ", before that"
        return (told, moved + before, *([KEPT] if self.nan == "keep" else []))


def mean_displacement(epsilon: float, d: int) -> float:
    """Return how far nD-Laplace noise moves a row on average: d / ε, the mean of Gamma(d, 1/ε)."""
    return check_whole(d, "d") / float(check_epsilon(epsilon))


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
    """Read ε per unit of distance: given as it is, or as level / radius."""
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

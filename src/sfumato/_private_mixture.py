"""PrivateGaussianMixture: a mixture of normal distributions under differential privacy."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._accounting.budget import Ledger
from sfumato._base.types import Floats
from sfumato._base.validation import check_whole
from sfumato._core.curator import Curator
from sfumato._lattice.box import REACH, NanPolicy
from sfumato._private_bounds.estimate import UnpreparedRows
from sfumato._private_fit import PrivateFit
from sfumato._released_mixture import ReleasedMixture
from sfumato._schema.kinds import Flag
from sfumato._schema.levels import Category, Ordinal
from sfumato._schema.schema import Schema
from sfumato._synopsis.mixture import CovarianceType
from sfumato.methods._mixture import FoundMixture, NormalMixture


class PrivateGaussianMixture(ReleasedMixture, PrivateFit):
    """A mixture of normal distributions under differential privacy.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    covariance_type : {"full", "diag", "spherical"}, default="full"
        Each component has a covariance of its own, a variance of every column, or one variance.
    epsilon : float, default=1.0
        The privacy budget ε of this fit.
    delta : float, default=0.0
        0 is pure ε-DP; a δ above 0 allows Gaussian noise.
    bounds : pair (lower, upper), dict of pairs by column name, or "private"
        Public bounds, scalars or one value per column. Required without a schema, and never read
        from the data: what lies outside is clipped. Columns that a dict does not name are left
        alone. "private" estimates them with a quarter of `epsilon`.
    n_rows : int, optional
        Declares the number of rows public, or the sum of their weights; it is taken as declared
        and never compared with the data.
    nan : {"ignore", "center", "drop"}, default="ignore"
        What becomes of cells that are not finite numbers. "ignore": their row helps to find the
        first centres with the columns it has, and is left out of the moments; "center": they go to
        the centre of their column; "drop": their row is left out.
    max_rows_per_group : int or "private", default=1
        With `fit(X, groups=…)`: rows kept of each group, all of which are protected together.
        "private" chooses the number from a noisy histogram of rows per group, with a twentieth of
        `epsilon`.
    random_state : int, RandomState instance or None
        Public randomness (starts, synthetic points). It never seeds the noise: two fits always
        differ.
    schema : Schema, optional
        What is public about each column, in place of `bounds` and `nan`: numbers, dates, cycles.
        Categories, ordinals and flags are refused: a normal distribution has no levels.
    n_jobs : int, optional
        Threads of a pass over rows in memory or in files; by default all processors.
    verbose : int, default=0
        1 prints the progress of every pass to the standard error, for the owner of the rows.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        The part of the rows that each component has; they add up to 1.
    means_ : ndarray of shape (n_components, n_features)
        The means, in the user's units. With a schema there is one number for each of
        `schema_.number_names`.
    covariances_ : ndarray
        The covariances, of shape (n_components, d, d), (n_components, d) for "diag" or
        (n_components,) for "spherical". In the user's units; with a schema, coordinates of columns
        that are not linear (another scale, a cycle, a weight below 1) are those of the cube
        [−1, 1]. Always positive definite.
    precisions_ : ndarray
        Their inverses, of the same shape.
    encoded_means_ : ndarray of shape (n_components, d)
        With a schema: the means in the cube.
    schema_ : Schema
        With a schema, or bounds by name: what was declared.
    bounds_ : pair of ndarrays of shape (n_features,)
        The bounds in use, declared or estimated.
    receipt_ : Receipt
        What was asked, what each query cost, and the guarantee.
    request_ : str
        Where the ledger lasts: the name under which it keeps this model.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import PrivateGaussianMixture
    >>> X = np.random.default_rng(0).normal([0.3, 0.6], 0.05, size=(1000, 2))
    >>> model = PrivateGaussianMixture(epsilon=1.0, bounds=(0, 1)).fit(X)
    >>> model.covariances_.shape
    (1, 2, 2)

    """

    kind = "mixture"

    def __init__(  # noqa: PLR0913
        self,
        n_components: int = 1,
        *,
        covariance_type: CovarianceType = "full",
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,  # noqa: ANN401
        n_rows: int | None = None,
        nan: NanPolicy = "ignore",
        max_rows_per_group: int | str = 1,
        random_state: Any = None,  # noqa: ANN401
        schema: Schema | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.n_rows = n_rows
        self.nan = nan
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.schema = schema
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _asked(self) -> tuple[NormalMixture, int, bool]:
        method = NormalMixture(self.covariance_type)
        return method, check_whole(self.n_components, "n_components"), False

    def _open(self, X: Any, groups: Any, ledger: Ledger) -> Curator | UnpreparedRows:  # noqa: ANN401
        opened = super()._open(X, groups, ledger)
        _refuse_levels(opened.schema)
        return opened

    def _keep_found(self, found: FoundMixture, curator: Curator) -> None:
        self.__dict__.pop("encoded_means_", None)
        schema = curator.schema
        cube = found.mixture.moved(np.eye(curator.n_features) / REACH, np.zeros(curator.n_features))
        means = np.clip(cube.means, -1, 1)
        if schema is None:
            self.means_ = curator.box.from_lattice(means * REACH)
        else:
            self.schema_ = schema
            self.encoded_means_ = schema.settled(means)
            self.means_ = schema.decode(self.encoded_means_)
        self.weights_ = cube.weights
        units = self._units
        spread = cube.covariances * np.outer(units, units)
        self.covariances_ = _compact(spread, self.covariance_type)

    def _settings(self) -> dict[str, Any]:
        return {
            "n_components": int(self.n_components),
            "covariance_type": str(self.covariance_type),
        }

    @classmethod
    def _parameters(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return {name: settings[name] for name in ("n_components", "covariance_type")}


def _refuse_levels(schema: Schema | None) -> None:
    """Refuse columns of levels, before anything is read."""
    if schema is None:
        return
    for name in schema.features:
        if isinstance(schema.columns[name], Category | Ordinal | Flag):
            raise ValueError(
                f"column {name!r} has levels, and a normal distribution has none: leave it out of "
                "the schema, or give it a weight of 0"
            )


def _compact(covariances: Floats, kind: CovarianceType) -> Floats:
    """Covariances (k, d, d) in the shape of their type."""
    if kind == "full":
        return covariances
    diagonals = np.diagonal(covariances, axis1=1, axis2=2).copy()
    return diagonals if kind == "diag" else diagonals.mean(axis=1)

"""PrivateKMeans: the scikit-learn face of the house."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato._accounting.budget import Account, Ledger
from sfumato._accounting.receipt import Receipt
from sfumato._base.types import Floats, Ints
from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._core.curator import Curator
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._lattice.box import Box, NanPolicy, columns_in
from sfumato._private_bounds.estimate import DEFAULT, SLICE, release_bounds
from sfumato._serialization import load_as, save
from sfumato._synopsis import Synopsis
from sfumato.engines._open import is_elsewhere, names_of, rows_of, split_groups
from sfumato.engines._rows import Rows
from sfumato.methods import METHODS, Method, Task
from sfumato.methods._base import check_centers


def method_of(method: str | Method) -> Method:
    """A method by its name, or the instance that was given."""
    if not isinstance(method, str):
        if not callable(method) or not hasattr(method, "caps"):
            raise TypeError(f"method must be a name or a method instance, got {method!r}")
        return method
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    return METHODS[method]()


def clusters_of(n_clusters: int | str, method: Method) -> tuple[int, bool]:
    """The number of clusters, or the most of them and that the method chooses."""
    if not isinstance(n_clusters, str):
        return check_whole(n_clusters, "n_clusters"), False
    if n_clusters != "auto":
        raise ValueError(f"n_clusters must be a whole number or 'auto', got {n_clusters!r}")
    k_range: tuple[int, int] | None = getattr(method, "k_range", None)
    if k_range is None:
        able = [name for name, cls in METHODS.working().items() if hasattr(cls, "k_range")]
        raise ValueError(
            f"n_clusters='auto' needs a method that releases a synopsis: {', '.join(able)}; "
            f"{type(method).__name__} needs a number"
        )
    return k_range[1], True


PRIVATE = "private"
"""What users write in place of bounds that are to be bought."""


def is_private(bounds: Any) -> bool:  # noqa: ANN401
    """Whether bounds are to be bought."""
    return isinstance(bounds, str) and bounds == PRIVATE


@dataclass(frozen=True)
class Bounded:
    """A curator, the ε that the method may spend, and what was paid before it."""

    curator: Curator
    for_method: Fraction
    accounts: tuple[Account, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.curator.box.n_features

    def bounded(self) -> Bounded:
        """The bounds are there."""
        return self


@dataclass(frozen=True)
class Unbounded:
    """Rows without bounds, and the budget that pays for bounds and method."""

    rows: Rows
    nan: NanPolicy
    ledger: Ledger

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.rows.n_features

    @property
    def for_method(self) -> Fraction:
        """The ε that the bounds leave to the method."""
        return self.ledger.total[0] * (1 - SLICE)

    def bounded(self) -> Bounded:
        """Buy bounds, and open a curator with them and with what is left."""
        survey = HistogramCurator(self.rows, ledger=self.ledger)
        bought = release_bounds(survey, self.ledger.total[0] * SLICE)
        curator = Curator(
            self.rows, bounds=(bought.lower, bought.upper), nan=self.nan, ledger=self.ledger
        )
        return Bounded(curator, self.for_method, (bought.account,), bought.notes)


def open_rows(
    X: Any,  # noqa: ANN401
    bounds: Any,  # noqa: ANN401
    ledger: Ledger,
    *,
    nan: NanPolicy,
    groups: Any = None,  # noqa: ANN401
    max_rows_per_group: int = 1,
) -> Bounded | Unbounded:
    """Open rows with their bounds, or without; all that can be refused is refused here.

    A `Curator` is taken as it is.
    """
    if isinstance(X, Curator):
        if groups is not None:
            raise ValueError("groups belong to the Curator: pass them where it is made")
        if is_private(bounds):
            raise ValueError("a Curator has its bounds already: leave bounds='private' out")
        return Bounded(X, ledger.total[0])
    most = check_whole(max_rows_per_group, "max_rows_per_group")
    rows = rows_of(X, groups=groups, max_rows_per_group=most, width=columns_in(bounds))
    if is_private(bounds):
        Box.of(DEFAULT, rows.n_features, nan)
        return Unbounded(rows, nan, ledger)
    return Bounded(Curator(rows, bounds=bounds, nan=nan, ledger=ledger), ledger.total[0])


_BLOCK = 65_536


def squared_distances(X: Any, centers: Floats, box: Box) -> Iterator[Floats]:  # noqa: ANN401
    """Squared distances to the centres, in the cube that the bounds span, block by block."""
    points = box.to_cube(centers)
    for start in range(0, len(X), _BLOCK):
        block = box.to_cube(X[start : start + _BLOCK])
        yield euclidean_distances(block, points, squared=True)


def check_own_rows(X: Any) -> None:  # noqa: ANN401
    """Refuse to label rows that the caller has not brought."""
    if isinstance(X, Curator) or is_elsewhere(X):
        raise TypeError("labels and distances are for rows that the caller brings: pass an array")


_HIDDEN = {
    "labels_": "the cluster of every training row",
    "inertia_": "the exact cost of the training rows",
}


class PrivateKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """k-means centres under differential privacy.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of centres. A method that releases a synopsis can choose it there at no further cost.
    epsilon : float, default=1.0
        The privacy budget ε of this fit.
    delta : float, default=0.0
        0 is pure ε-DP; a δ above 0 allows Gaussian noise.
    bounds : pair (lower, upper) or "private"
        Public bounds, scalars or one value per column. Required, and never read from the data:
        what lies outside is clipped. "private" buys them with a quarter of `epsilon`, for those
        who know none.
    method : str or method, default="auto"
        A name in `sfumato.METHODS`, or a configured instance such as `DPLloyd(iterations=3)`.
    n_rows : int, optional
        Declares the number of rows public; it is taken as declared and never compared with the
        data. By default a method that needs the number buys a noisy count.
    nan : {"center", "drop"}, default="center"
        Cells that are not finite numbers go to the centre of their column, or their row is dropped.
    max_rows_per_group : int, default=1
        With `fit(X, groups=…)`: rows kept of each group, all of which are protected together.
    random_state : int, RandomState instance or None
        Public randomness (starts). It never seeds the noise: two fits always differ.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres, in the user's units.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Noisy sizes of the clusters.
    bounds_ : pair of ndarrays of shape (n_features,)
        The bounds in use, declared or bought.
    receipt_ : Receipt
        What was asked, what each query cost, and the guarantee.
    synopsis_ : Synopsis
        Where the method buys one: cells and noisy weights, for any use at no further cost.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import PrivateKMeans
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> model = PrivateKMeans(n_clusters=3, epsilon=1.0, bounds=(0, 1)).fit(X)
    >>> model.cluster_centers_.shape
    (3, 2)

    """

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,  # noqa: ANN401
        method: str | Method = "auto",
        n_rows: int | None = None,
        nan: NanPolicy = "center",
        max_rows_per_group: int = 1,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.method = method
        self.n_rows = n_rows
        self.nan = nan
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state

    def fit(self, X: Any, y: None = None, *, groups: Any = None) -> Self:  # noqa: ANN401
        """Find private centres of `X`: an array, a data frame, files, or a `Curator`.

        Rows given directly open a budget of their own, used up by this fit. A `Curator` keeps one
        budget across many fits, of which this one takes (epsilon, delta).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), data frame, path or Curator
            The rows, or where they are: also a folder, a pattern, a Dask array or frame, a Spark
            frame. NaN and infinite cells follow the `nan` policy.
        y : None
            Ignored.
        groups : array-like of shape (n_samples,) or column name, optional
            Whose rows are whose: protects each group as a whole.

        Returns
        -------
        self : PrivateKMeans
            The fitted model.

        """
        method = method_of(self.method)
        k, choose_k = clusters_of(self.n_clusters, method)
        n_rows = None if self.n_rows is None else check_whole(self.n_rows, "n_rows", least=0)
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        opened = self._open(X, groups, Ledger(epsilon, delta))
        task = _task_of(opened, k, delta, n_rows, choose_k=choose_k)
        caps = method.caps(task)
        bounded = opened.bounded()
        curator = bounded.curator
        account = curator.reserve(type(method).__name__, caps)
        try:
            found = method(curator, task, account=account, rng=rng)
        finally:
            curator.ledger.cancel(account)
        centers = check_centers(found, type(method).__name__, task)
        self.box_ = curator.box
        self.cluster_centers_: Floats = curator.box.from_lattice(centers.points)
        self.cluster_sizes_: Floats = centers.sizes
        self.receipt_ = Receipt.of(
            *bounded.accounts,
            account,
            method=type(method).__name__,
            neighbours=curator.neighbours,
            source=curator.source,
            notes=(*bounded.notes, *centers.notes, *_nan_notes(curator.box.nan)),
        )
        self.__dict__.pop("synopsis_", None)
        if centers.synopsis is not None:
            self.synopsis_: Synopsis = centers.synopsis
        return self

    def predict(self, X: Any) -> Ints:  # noqa: ANN401
        """Return the index of the nearest centre for rows that the caller brings.

        Near is meant as in the fit: columns scaled by their bounds, rows clipped into them, cells
        that are not finite numbers at the centre of their column.
        """
        blocks = [scaled.argmin(axis=1) for scaled in self._distances(X)]
        return np.concatenate(blocks).astype(np.int64)

    def transform(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the distances to every centre, in the cube [−1, 1]^d that the bounds span."""
        return np.concatenate([np.sqrt(squared) for squared in self._distances(X)])

    def fit_predict(self, X: Any, y: None = None, *, groups: Any = None) -> Ints:  # noqa: ANN401
        """Fit, then predict on the caller's own rows: for their owner, not a release."""
        check_own_rows(X)
        return self.fit(X, groups=groups).predict(X)

    def fit_transform(self, X: Any, y: None = None, *, groups: Any = None) -> Floats:  # noqa: ANN401
        """Fit, then transform the caller's own rows: for their owner, not a release."""
        check_own_rows(X)
        return self.fit(X, groups=groups).transform(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was released, and the receipt, as JSON."""
        check_is_fitted(self)
        save(self, path)

    def __getattr__(self, name: str) -> NoReturn:
        if name in _HIDDEN:
            raise AttributeError(
                f"{type(self).__name__} has no {name}: {_HIDDEN[name]} would betray rows. "
                "For rows of your own use predict(X), or the owner's tools in sfumato.nonprivate"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    @property
    def bounds_(self) -> tuple[Floats, Floats]:
        """The bounds in use, declared or bought."""
        return np.array(self.box_.lower), np.array(self.box_.upper)

    def _open(self, X: Any, groups: Any, ledger: Ledger) -> Bounded | Unbounded:  # noqa: ANN401
        opened = open_rows(
            X,
            self.bounds,
            ledger,
            nan=self.nan,
            groups=groups,
            max_rows_per_group=self.max_rows_per_group,
        )
        self.n_features_in_ = opened.n_features
        if is_elsewhere(X):
            self.__dict__.pop("feature_names_in_", None)
            if (names := names_of(X, groups, opened.n_features)) is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
        elif not isinstance(X, Curator):
            validate_data(self, split_groups(X, groups)[0], skip_check_array=True)
        return opened

    def _distances(self, X: Any) -> Iterator[Floats]:  # noqa: ANN401
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        return squared_distances(X, self.cluster_centers_, self.box_)


def _task_of(
    opened: Bounded | Unbounded, k: int, delta: Fraction, n_rows: int | None, *, choose_k: bool
) -> Task:
    numbers = (k, opened.n_features, opened.for_method, delta, n_rows)
    most = (
        opened.curator.rows_per_neighbour
        if isinstance(opened, Bounded)
        else opened.rows.max_rows_per_group or 1
    )
    return Task(*numbers, choose_k=choose_k, max_rows_per_group=most)


def _nan_notes(nan: NanPolicy) -> tuple[str, ...]:
    """What became of missing cells: said whether there were any or not."""
    if nan == "drop":
        return ("rows with missing cells, if any, were left out",)
    return ("missing cells, if any, were put at the centre of their column",)


def load(path: str | os.PathLike[str]) -> PrivateKMeans:
    """Read a model that `PrivateKMeans.save` wrote."""
    return load_as(path, PrivateKMeans)

"""What a fitted model does with released numbers: labels of rows that the caller brings, and files.

A file is JSON and holds what was released and the receipt; it is never a pickle.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato._accounting.budget import Account, Caps, Ledger
from sfumato._accounting.guarantee import Guarantee
from sfumato._accounting.receipt import Line, Receipt
from sfumato._accounting.text import spent_words
from sfumato._base import distances
from sfumato._base.files import write_whole
from sfumato._base.types import Floats, Ints
from sfumato._core.curator import Curator
from sfumato._lattice.box import REACH, Box
from sfumato._ledger.durable import DurableLedger
from sfumato._schema.schema import Schema
from sfumato._synopsis import Synopsis
from sfumato.engines._cells import without_weights
from sfumato.engines._elsewhere import names_of
from sfumato.engines._memory import frame_of
from sfumato.engines._open import elsewhere, split_groups
from sfumato.engines._rows import Frame
from sfumato.methods import METHODS

if TYPE_CHECKING:
    from sfumato._explaining import Explanation

_BLOCK = 65_536

_HIDDEN = {
    "labels_": "the cluster of every training row",
    "inertia_": "the exact cost of the training rows",
}

FORMAT = 2

_Model = TypeVar("_Model")


def squared_distances(X: Any, centers: Floats, box: Box) -> Iterator[Floats]:  # noqa: ANN401
    """Squared distances to the centres, in the cube that the bounds span, block by block.

    With `nan="ignore"` they are over the columns that a row has.
    """
    points = box.to_cube(centers)
    for start in range(0, len(X), _BLOCK):
        block = box.to_cube(X[start : start + _BLOCK])
        yield distances.squared_distances(block, points)


class _Encoded:
    """Rows of a table that the caller brings, encoded by a schema block by block: (n, d)."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __len__(self) -> int:
        return self._frame.n_rows

    def __getitem__(self, block: slice) -> Floats:
        start, stop, _ = block.indices(len(self))
        return np.asarray(self._frame.read(start, stop))


def check_own_rows(X: Any) -> None:  # noqa: ANN401
    """Refuse to label rows that the caller has not brought."""
    if isinstance(X, Curator) or elsewhere(X):
        raise TypeError("labels and distances are for rows that the caller brings: pass an array")


class ReleasedModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Centres that were released, and what can be done with them at no further cost.

    A subclass has `fit`, which sets `cluster_centers_`, (k, d) in the user's units, and `box_`.
    """

    box_: Box
    cluster_centers_: Floats
    encoded_centers_: Floats
    schema_: Schema | None = None

    def predict(self, X: Any) -> Ints:  # noqa: ANN401
        """Return the index of the nearest centre for rows that the caller brings.

        Near is meant as in the fit: columns scaled by their bounds, rows clipped into them. Masked
        cells and those that are not finite numbers are missing: distances are over the columns that
        a row has, unless the model was fitted with `nan="center"` or "drop", where missing cells
        are at the centre of their column. A row that has none is nearest to the first centre. With
        a schema, columns of a data frame go by name; weights of rows are not looked at.
        """
        blocks = [scaled.argmin(axis=1) for scaled in self._distances(X)]
        return np.concatenate(blocks).astype(np.int64)

    def transform(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the distances to every centre, in the cube [−1, 1]^d that the bounds span."""
        return np.concatenate([np.sqrt(squared) for squared in self._distances(X)])

    def score(self, X: Any, y: None = None) -> float:  # noqa: ANN401
        """Return minus the sum of squared distances to the nearest centre, as scikit-learn does.

        For rows that the caller brings; distances are those of `transform`.
        """
        return -float(sum(squared.min(axis=1).sum() for squared in self._distances(X)))

    def fit_predict(self, X: Any, y: None = None, *, groups: Any = None) -> Ints:  # noqa: ANN401
        """Fit, then predict on the caller's own rows: for their owner, not a release."""
        check_own_rows(X)
        labels: Ints = self.fit(X, groups=groups).predict(X)
        return labels

    def fit_transform(self, X: Any, y: None = None, *, groups: Any = None) -> Floats:  # noqa: ANN401
        """Fit, then transform the caller's own rows: for their owner, not a release."""
        check_own_rows(X)
        distances: Floats = self.fit(X, groups=groups).transform(X)
        return distances

    def explain(
        self,
        curator: Curator,
        columns: Iterable[str] | None = None,
        *,
        epsilon: float = 0.2,
        delta: float = 0.0,
    ) -> Explanation:
        """Say what tells the clusters apart, from new answers about the rows of a curator.

        It costs (epsilon, delta) of the curator's budget.

        Parameters
        ----------
        curator : Curator
            The rows, with the schema or the bounds of this model. A schema may have more columns
            than the model's: clusters can be explained by columns that took no part in the fit.
        columns : list of str, optional
            The columns to explain by. By default all are looked at; where there are too many to
            count each with little noise, those that tell the clusters apart best are chosen.
        epsilon : float, default=0.2
            The privacy budget ε of the explanation.
        delta : float, default=0.0
            0 is pure ε-DP; a δ above 0 allows Gaussian noise, where that is less.

        Returns
        -------
        explanation : Explanation
            Noisy distributions with error bars, columns in order, sentences, and a receipt.

        """
        from sfumato._explaining import explain

        check_is_fitted(self)
        if not isinstance(curator, Curator):
            raise TypeError(
                "an explanation is charged to the budget of the rows: pass their Curator, got "
                f"{type(curator).__name__}"
            )
        plain = self.schema_ is None
        return explain(
            curator,
            self.box_.to_cube(self.cluster_centers_) if plain else self.encoded_centers_,
            sizes=self.cluster_sizes_,
            box=self.box_ if plain else None,
            schema=self.schema_,
            columns=columns,
            epsilon=epsilon,
            delta=delta,
        )

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
        if name == "cluster_profiles_" and hasattr(self, "cluster_centers_"):
            raise AttributeError("centres have words where the columns have a schema: schema=…")
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
        """The bounds in use, declared or estimated."""
        return np.array(self.box_.lower), np.array(self.box_.upper)

    @property
    def cluster_profiles_(self) -> list[dict[str, Any]]:
        """With a schema: every centre in the user's words, by column."""
        if self.schema_ is None:
            raise AttributeError
        return self.schema_.in_words(self.encoded_centers_)

    def _distances(self, X: Any) -> Iterator[Floats]:  # noqa: ANN401
        check_is_fitted(self)
        if self.schema_ is not None:
            check_own_rows(X)
            table, schema = without_weights(X, self.schema_)
            rows = _Encoded(frame_of(table, schema.labelling))
            return squared_distances(rows, self.encoded_centers_, self.box_)
        X = distances.unmasked(X)
        X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        return squared_distances(X, self.cluster_centers_, self.box_)


def keep_centers(model: Any, points: Floats, schema: Schema) -> None:  # noqa: ANN401
    """Keep centres (k, d), lattice steps, as points of a schema's cube and in the user's units."""
    model.schema_ = schema
    model.encoded_centers_ = schema.settled(points / REACH)
    model.cluster_centers_ = schema.decode(model.encoded_centers_)


def name_features(model: Any, X: Any, groups: Any, schema: Schema | None = None) -> None:  # noqa: ANN401
    """Keep the names of the columns of a table, if it has any; (n, d) in the user's units."""
    if schema is not None:
        model.feature_names_in_ = np.array(schema.features, dtype=object)
        return
    if not (isinstance(X, Curator) or elsewhere(X)):
        validate_data(model, split_groups(X, groups)[0], skip_check_array=True)
        return
    names = X.names if isinstance(X, Curator) else names_of(elsewhere(X), X, groups, _width(model))
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)


def _width(model: Any) -> int:  # noqa: ANN401
    return int(model.n_features_in_)


def settings_of(model: Any, curator: Curator) -> str:  # noqa: ANN401
    """What a fit is asked for, as text: public settings alone, also those of the curator."""
    settings = {
        "n_clusters": model.n_clusters,
        "epsilon": model.epsilon,
        "delta": model.delta,
        "n_rows": model.n_rows,
        "method": _method_to_dict(model.method),
        "bounds": [curator.box.lower, curator.box.upper],
        "nan": curator.box.nan,
        "columns": curator.names,
        **({"schema": curator.schema.to_dict()} if curator.schema else {}),
    }
    return json.dumps(settings, sort_keys=True, default=str)


def is_restored(model: Any, X: Any, request: str) -> bool:  # noqa: ANN401
    """Whether a request was answered before; the model is filled with its release then."""
    ledger = X.ledger if isinstance(X, Curator) else None
    if not isinstance(ledger, DurableLedger):
        raise ValueError("a request is named with a Curator whose ledger lasts: sfumato.Ledger")
    text = ledger.recorded(request, settings_of(model, X))
    if text is None:
        return False
    found = from_dict(json.loads(text), type(model))
    settings = model.get_params()
    # Nothing of an earlier fit stays.
    for name in [n for n in vars(model) if n.endswith("_")]:
        del model.__dict__[name]
    model.__dict__.update({n: v for n, v in vars(found).items() if n not in settings})
    model.request_ = request
    return True


def reserved(
    model: Any,  # noqa: ANN401
    curator: Curator,
    caps: Caps,
    name: str,
    request: str | None,
) -> Account | None:
    """An account for a fit in a ledger that lasts, which keeps what is asked for."""
    ledger = curator.ledger
    if isinstance(ledger, DurableLedger):
        settings = settings_of(model, curator)
        return ledger.reserve(name, caps, request=request, settings=settings)
    return None


def keep_release(model: Any, ledger: Ledger, account: Account) -> None:  # noqa: ANN401
    """Keep a model in a ledger that lasts."""
    if isinstance(ledger, DurableLedger):
        model.request_ = ledger.release(account, text_of(model), model.receipt_.summary())


def spent_note(account: Account) -> str:
    """What a fit cost that ended without a release, and where that is recorded."""
    ledger = account.ledger
    where = ledger.where(account) if isinstance(ledger, DurableLedger) else ""
    return spent_words(account, where)


def save(model: Any, path: str | os.PathLike[str]) -> None:  # noqa: ANN401
    """Write a fitted model, completely or not at all."""
    write_whole(path, text_of(model))


def text_of(model: Any) -> str:  # noqa: ANN401
    """A fitted model as JSON."""
    data = to_dict(model)
    synopsis = data.pop("synopsis", None)
    text = json.dumps(data, indent=2, ensure_ascii=False)
    if synopsis is not None:
        # A line for each cell would be millions of lines.
        text = text.removesuffix("\n}") + f',\n  "synopsis": {json.dumps(synopsis)}\n}}'
    return text + "\n"


def to_dict(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """The allow-list of what a model file holds."""
    names = getattr(model, "feature_names_in_", None)
    synopsis = getattr(model, "synopsis_", None)
    return {
        "format": FORMAT,
        "sfumato": version("sfumato"),
        "n_clusters": "auto" if model.n_clusters == "auto" else int(model.n_clusters),
        "epsilon": float(model.epsilon),
        "delta": float(model.delta),
        "method": _method_to_dict(model.method),
        "bounds": {"lower": list(model.box_.lower), "upper": list(model.box_.upper)},
        "nan": model.box_.nan,
        "feature_names": None if names is None else [str(name) for name in names],
        **_schema_to_dict(model),
        "cluster_centers": model.cluster_centers_.tolist(),
        "cluster_sizes": model.cluster_sizes_.tolist(),
        "receipt": model.receipt_.to_dict(),
        **({} if synopsis is None else {"synopsis": synopsis.to_dict()}),
    }


def _schema_to_dict(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """What a file holds of a schema, and the centres as they are encoded by it."""
    if model.schema_ is None:
        return {}
    words = model.cluster_profiles_
    encoded = model.encoded_centers_.tolist()
    return {"schema": model.schema_.to_dict(), "profiles": words, "encoded_centers": encoded}


def load_as(path: str | os.PathLike[str], estimator: Callable[..., _Model]) -> _Model:
    """Read a model that `save` wrote, as an estimator of this class."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{os.fspath(path)} is not a sfumato model of format {FORMAT}")
    return from_dict(data, estimator)


def from_dict(data: dict[str, Any], estimator: Callable[..., _Model]) -> _Model:
    """Rebuild a fitted model."""
    lower, upper = data["bounds"]["lower"], data["bounds"]["upper"]
    schema = Schema.from_dict(data["schema"]) if "schema" in data else None
    model: Any = estimator(
        n_clusters=data["n_clusters"],
        epsilon=data["epsilon"],
        delta=data["delta"],
        bounds=None if schema else (lower, upper),
        method=_method_from_dict(data["method"]),
        nan=data["nan"],
        schema=schema,
    )
    model.box_ = Box(tuple(lower), tuple(upper), data["nan"])
    model.n_features_in_ = len(schema.features) if schema else model.box_.n_features
    if schema is not None:
        model.schema_ = schema
        model.encoded_centers_ = np.array(data["encoded_centers"], dtype=np.float64)
    if data["feature_names"] is not None:
        model.feature_names_in_ = np.array(data["feature_names"], dtype=object)
    model.cluster_centers_ = np.array(data["cluster_centers"], dtype=np.float64)
    model.cluster_sizes_ = np.array(data["cluster_sizes"], dtype=np.float64)
    model.receipt_ = receipt_from(data["receipt"])
    if "synopsis" in data:
        model.synopsis_ = Synopsis.from_dict(data["synopsis"])
    fitted: _Model = model
    return fitted


def _method_to_dict(method: Any) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(method, str):
        return {"name": method, "settings": {}}
    settings = dataclasses.asdict(method) if dataclasses.is_dataclass(type(method)) else {}
    return {"name": METHODS.name_of(type(method)) or type(method).__name__, "settings": settings}


def _method_from_dict(data: dict[str, Any]) -> Any:  # noqa: ANN401
    if data["settings"] and data["name"] in METHODS:
        return METHODS[data["name"]](**data["settings"])
    return data["name"]


def receipt_from(data: dict[str, Any]) -> Receipt:
    """Read back what `Receipt.to_dict` wrote."""
    promise = data["guarantee"]
    guarantee = Guarantee(
        promise["kind"],
        Fraction(promise["epsilon"]),
        Fraction(promise["delta"]),
        promise["neighbours"],
    )
    return Receipt(
        method=data["method"],
        guarantee=guarantee,
        lines=tuple(Line(**line) for line in data["queries"]),
        slack=data["numerical_slack"],
        notes=tuple(data["notes"]),
        rho=data["rho_zcdp_cap"],
        chapters=tuple(data["chapters"]),
    )

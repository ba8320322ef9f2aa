"""What a fitted model does with released numbers: labels of rows that the caller brings, and files.

A file is JSON and holds what was released and the receipt; it is never a pickle.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato._accounting.budget import Account, Caps, Ledger, caps_from_dict
from sfumato._accounting.guarantee import Guarantee
from sfumato._accounting.receipt import Line, Receipt
from sfumato._accounting.text import spent_words
from sfumato._base.files import array_in, read_whole, write_whole
from sfumato._base.types import Floats, Ints
from sfumato._core.curator import Curator
from sfumato._lattice.box import Box
from sfumato._ledger.durable import DurableLedger
from sfumato._report.display import Displayed
from sfumato._schema.schema import Schema
from sfumato._synopsis import Synopsis
from sfumato.engines._cells import without_weights
from sfumato.engines._elsewhere import names_of
from sfumato.engines._memory import frame_of, own_rows
from sfumato.engines._open import elsewhere, split_groups
from sfumato.engines._rows import Frame

_BLOCK = 65_536

_HIDDEN = {
    "labels_": "the cluster of every training row",
    "inertia_": "the exact cost of the training rows",
}

FORMAT = 2

_Model = TypeVar("_Model")


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
    """Refuse to label rows that the caller has not brought, and none at all."""
    if isinstance(X, Curator) or elsewhere(X):
        raise TypeError("labels and distances are for rows that the caller brings: pass an array")
    shape = getattr(X, "shape", None)
    if shape and shape[0] == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")


class ReleasedModel(Displayed, ClusterMixin, BaseEstimator):
    """What was released, and what can be done with it at no further cost.

    A subclass has `fit`, which sets `box_` and what its `kind` of model releases. `_settings` and
    `_released` are what a file holds of both, `_restored` reads the second back.
    """

    kind = ""
    box_: Box
    receipt_: Receipt
    schema_: Schema | None = None

    def predict(self, X: Any) -> Ints:  # noqa: ANN401
        """Return the cluster of rows that the caller brings, (n,)."""
        blocks = [self._labels(points) for points in self._points(X)]
        return np.concatenate(blocks).astype(np.int64)

    def fit_predict(self, X: Any, y: None = None, *, groups: Any = None) -> Ints:  # noqa: ANN401
        """Fit, then predict on the caller's own rows: for their owner, not a release."""
        check_own_rows(X)
        labels: Ints = self.fit(X, groups=groups).predict(X)
        return labels

    def labels_of(self, rows: Floats) -> Ints:
        """The cluster of rows (n, d) of the columns of the fit: with a schema, as it encodes them.

        For readers of files, which have done what `predict` does first.
        """
        return self._labels(self.box_.to_cube(rows))

    def _labels(self, points: Floats) -> Ints:
        """The cluster of points (n, d) of the cube that the bounds span."""
        raise TypeError(f"{type(self).__name__} has no labels")

    def _points(self, X: Any) -> Iterator[Floats]:  # noqa: ANN401
        """Rows that the caller brings as points (n, d) of the cube, block by block."""
        check_is_fitted(self)
        if self.schema_ is not None:
            check_own_rows(X)
            table, schema = without_weights(X, self.schema_)
            rows: Any = _Encoded(frame_of(table, schema.labelling))
            if not len(rows):
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        else:
            settings = {"reset": False, "dtype": None, "ensure_all_finite": False}
            rows = own_rows(X, lambda given: validate_data(self, given, **settings))
        return (self.box_.to_cube(rows[i : i + _BLOCK]) for i in range(0, len(rows), _BLOCK))

    def _settings(self) -> dict[str, Any]:
        """What this kind of model was asked for, as plain values."""
        return {}

    def _requested(self) -> dict[str, Any]:
        """What tells two fits of this kind apart, as plain values."""
        return self._settings()

    def _released(self) -> dict[str, Any]:
        """What this kind of model released, as plain values: an allow-list."""
        return {}

    @classmethod
    def _parameters(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Parameters of the class, from what `_settings` wrote."""
        return settings

    def _restore(self, data: dict[str, Any]) -> None:
        """Read back what `_released` wrote."""

    def to_dict(self) -> dict[str, Any]:
        """What a file of the model holds, as plain values."""
        check_is_fitted(self)
        return to_dict(self)

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
    def bounds_(self) -> tuple[Floats, Floats]:
        """The bounds in use, declared or estimated."""
        return np.array(self.box_.lower), np.array(self.box_.upper)


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
        "model": model.kind,
        **model._requested(),  # noqa: SLF001
        "epsilon": model.epsilon,
        "delta": model.delta,
        "n_rows": model.n_rows,
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
        "model": model.kind,
        "epsilon": float(model.epsilon),
        "delta": float(model.delta),
        **model._settings(),  # noqa: SLF001
        "bounds": {"lower": list(model.box_.lower), "upper": list(model.box_.upper)},
        "nan": model.box_.nan,
        "feature_names": None if names is None else [str(name) for name in names],
        **({} if model.schema_ is None else {"schema": model.schema_.to_dict()}),
        **model._released(),  # noqa: SLF001
        "receipt": model.receipt_.to_dict(),
        **({} if synopsis is None else {"synopsis": synopsis.to_dict()}),
    }


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a file that `save` wrote holds."""
    where = Path(path)
    try:
        data = json.loads(read_whole(where))
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{where} is not a sfumato model of format {FORMAT}")
    return data


def from_dict(data: dict[str, Any], estimator: Any) -> Any:  # noqa: ANN401
    """Rebuild a fitted model of this class."""
    lower, upper = data["bounds"]["lower"], data["bounds"]["upper"]
    schema = Schema.from_dict(data["schema"]) if "schema" in data else None
    model = estimator(
        epsilon=data["epsilon"],
        delta=data["delta"],
        bounds=None if schema else (lower, upper),
        nan=data["nan"],
        schema=schema,
        **estimator._parameters(data),  # noqa: SLF001
    )
    model.box_ = Box(tuple(lower), tuple(upper), data["nan"])
    model.n_features_in_ = len(schema.features) if schema else model.box_.n_features
    if schema is not None:
        model.schema_ = schema
    if (names := data["feature_names"]) is not None:
        model.feature_names_in_ = array_in(names, model.n_features_in_, dtype=object)
    model._restore(data)  # noqa: SLF001
    model.receipt_ = receipt_from(data["receipt"])
    if "synopsis" in data:
        model.synopsis_ = Synopsis.from_dict(data["synopsis"])
    return model


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
        centers=tuple(data.get("centers", ())),
        caps=tuple(caps_from_dict(caps) for caps in data.get("caps", ())),
    )

"""What is done with odd arguments: one function for each operation of the library."""

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

import sfumato
from sfumato import (
    Box,
    Category,
    Curator,
    LocalClustering,
    Number,
    PrivateKMeans,
    Schema,
    TableFile,
    estimate_bounds,
    load,
    local,
    plan,
)
from sfumato._accounting.budget import Caps, Share
from sfumato._models import MODELS
from sfumato.methods import Grid
from tests.fuzz.odd import LABELS, TABLES, NoBool, rows

CENTERS = np.array([[0, 0], [100, -100]])


class Given:
    """What one case may use: its randomness, and a folder of its own that is removed."""

    def __init__(self, seed, table=None, labels=None):
        self.rng = np.random.default_rng(seed)
        self.names = table, labels
        self.folder = None

    def path(self, name):
        """A path in the folder of the case."""
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory()
        return Path(self.folder.name) / name

    def pick(self, values):
        """One of some values; tables and labels are made by their name."""
        return values[int(self.rng.integers(len(values)))]

    def table(self):
        """A table: a plain one as often as all odd ones together."""
        other = "plain" if self.rng.uniform() < 0.3 else self.pick(list(TABLES))
        return TABLES[self.names[0] or other](self.rng)

    def labels(self, table):
        """Labels of the rows of a table, or not quite."""
        return LABELS[self.names[1] or self.pick(list(LABELS))](length(table))

    def end(self):
        """Remove the folder."""
        if self.folder is not None:
            self.folder.cleanup()


def length(table):
    shape = getattr(table, "shape", None)
    if shape and isinstance(shape[0], int):
        return shape[0]
    return len(table) if isinstance(table, list | tuple) else 24


def fit(given, groups=None, request=None, **settings):
    table = given.table()
    labels = given.labels(table) if groups else None
    PrivateKMeans(**settings).fit(table, groups=labels, request=request)


def fit_model(given, kind, **settings):
    """A model of another kind than k-means, on any table."""
    MODELS[kind](**settings).fit(given.table())


def fit_schema(given, **settings):
    PrivateKMeans(**settings).fit(given.table())


def curator(given, groups=None, **settings):
    table = given.table()
    labels = given.labels(table) if groups else None
    curator = Curator(table, groups=labels, **settings)
    repr(curator), curator.names, curator.notes
    PrivateKMeans(2, epsilon=0.5, method="dplloyd").fit(curator)


def fit_curator(given, **settings):
    curator = Curator(rows(given.rng), bounds=(0, 1), epsilon=1, delta=1e-6)
    PrivateKMeans(**settings).fit(curator)


def estimate(given, groups=None, **settings):
    table = given.table()
    labels = given.labels(table) if groups else None
    estimate_bounds(table, groups=labels, **settings)


def by(given, column, values):
    table = given.table()
    column = given.labels(table) if column is None else column
    parts = Curator(table, bounds=(0, 1), epsilon=1).by(column, values=values)
    for part in list(parts.values())[:2]:
        PrivateKMeans(2, epsilon=0.5, method="dplloyd").fit(part)


def over(given, names):
    schema = Schema(a=Number(0, 1), b=Number(0, 1))
    curator = Curator(given.table(), schema=schema, epsilon=1).over(names)
    PrivateKMeans(2, epsilon=0.5, method="dplloyd").fit(curator)


def plan_fits(given, **settings):
    found = plan(**settings)
    str(found), found.to_json()


def asked(given, d=2, groups=False):
    curator = Curator(
        rows(given.rng, d=d),
        bounds=(0, 1),
        epsilon=1,
        delta=1e-6,
        groups=np.arange(24) // 2 if groups else None,
    )
    caps = Caps(
        pure=Fraction(1, 2),
        gaussian=(Fraction(1, 4), tiny()),
        approximate=(Fraction(1, 4), tiny()),
    )
    return curator, curator.reserve("fuzz", caps)


def tiny():
    return Fraction(1, 10**7)


def verb(name, query, groups=False, first=True):
    """A verb of the curator on a query of odd parts, with odd arguments beside it."""

    def call(given, share=None, **settings):
        curator, account = asked(given, groups=groups)
        own = query and {key: settings.pop(key) for key in list(settings) if key.startswith("q_")}
        extra = {}
        for key in ("share", "counts"):
            if key in settings or key == "share":
                value = settings.pop(key, share) if key != "share" else share
                extra[key] = account.rest(value).evenly(2)[0] if isinstance(value, str) else value
        args = [query(*own.values())] if query else []
        getattr(curator, name)(*args, **settings, **extra)

    return call


SHARES = ("pure", "gdp", "approximate", None, 1, 0.5, NoBool())


def reserve_caps(given, purpose, **caps):
    curator = Curator(rows(given.rng), bounds=(0, 1), epsilon=1, delta=1e-6)
    account = curator.reserve(purpose, Caps(**caps))
    curator.counts(Grid(3, 2), share=account.rest("pure"))


def split_share(given, weights, n, **facts):
    share = Share(**facts)
    share.split(weights), share.evenly(n)


def local_mechanism(name):
    def call(given, X=None, **settings):
        fitted = getattr(local, name)(**settings).fit(given.table() if X is None else X)
        str(fitted.receipt_), fitted.receipt_.to_json()
        fitted.transform(given.table())

    return call


def clustering(given, batches=False, **settings):
    model = LocalClustering(**settings)
    (model.partial_fit if batches else model.fit)(given.table())
    if hasattr(model, "predict"):
        model.predict(rows(given.rng))


_FITTED = {}


def fitted(kind):
    """A model that was fitted once: without a schema, and with one."""
    if kind not in _FITTED:
        rng = np.random.default_rng(0)
        if kind == "plain":
            _FITTED[kind] = PrivateKMeans(2, bounds=(0, 1), method="eugkm").fit(rows(rng))
        else:
            schema = Schema(a=Number(0, 1), b=Category("x", "y"))
            table = [[float(x), "xy"[i % 2]] for i, x in enumerate(rows(rng)[:, 0])]
            _FITTED[kind] = PrivateKMeans(2, schema=schema, method="dplloyd").fit(table)
    return _FITTED[kind]


def use(given, kind, verb):
    getattr(fitted(kind), verb)(given.table())


def explain(given, curator=None, **settings):
    own = Curator(given.table(), bounds=(0, 1), epsilon=1, delta=1e-6)
    own = own if curator is None else curator
    found = fitted("plain").explain(own, **settings)
    str(found), found.to_json()


def load_model(given, path):
    load(path)


def ledger(given, url=None, person=None, **settings):
    url = given.path("ledger.db") if url is None else url
    ledger = sfumato.Ledger.create(url, **settings)
    if person is not None:
        ledger.grant(person, epsilon=0.1)
    repr(ledger), ledger.left
    curator = Curator(rows(given.rng), bounds=(0, 1), ledger=ledger)
    PrivateKMeans(2, epsilon=0.2, method="dplloyd").fit(curator)


def declare(given, groups=None, **column):
    kind = column.pop("kind")
    levels = column.pop("levels", ())
    schema = Schema({"a": kind(*levels, **column), "b": Number(0, 1)}, groups=groups)
    repr(schema), schema.notes(), schema.coordinate_names, hash(schema)
    Schema.from_dict(schema.to_dict())
    PrivateKMeans(2, method="dplloyd", schema=schema).fit(given.table())


def from_dict(given, **facts):
    Schema.from_dict({"columns": {"a": facts}})


def make_box(given, bounds, d, nan):
    box = Box.of(bounds, d, nan)
    box.to_lattice(rows(given.rng))


def open_table(given, name, text, **settings):
    path = given.path("rows.csv")
    path.write_bytes(text)
    source = TableFile(path if name is None else name, **settings)
    PrivateKMeans(2, bounds=(0, 1), method="dplloyd").fit(source)

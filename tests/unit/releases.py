"""Small releases of every kind, made once: what pictures, reports and seals are tried on."""

from functools import cache

import numpy as np

from sfumato import (
    Category,
    Cycle,
    Date,
    Flag,
    Number,
    PrivateDBSCAN,
    PrivateGaussianMixture,
    PrivateKMeans,
    PrivateKMedian,
    PrivateWard,
    Schema,
)

NASTY = 'ward <b>A&E</b> "x"'
"""A name that is no markup, wherever it is shown."""

SECRET = 48.151623
"""A number in a row that no release holds."""


def rows(d, n=600):
    """Rows (n, d) in three clumps, between 0 and 100."""
    rng = np.random.default_rng(d)
    middles = rng.uniform(20, 80, (3, d))
    found = np.clip(middles[np.arange(n) % 3] + rng.normal(0, 4, (n, d)), 0, 100)
    found[7, 0] = SECRET
    return found


def _mixed(n=600):
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 3
    days = np.datetime64("2023-01-01") + rng.integers(900, size=n)
    table = {
        "age": rng.normal(np.array([25, 50, 75])[kind], 4),
        "income": rng.lognormal(np.array([9, 10, 11])[kind], 0.3),
        NASTY: np.array(["day <i>clinic", "surgery", "other"], dtype=object)[kind],
        "smoker": np.where(rng.random(n) < 0.3, "yes", "no"),
        "hour": rng.normal(np.array([9, 14, 22])[kind], 1) % 24,
        "seen": days.astype(str).astype(object),
    }
    schema = Schema(
        {
            "age": Number(0, 105, source="the law"),
            "income": Number(1000, 1e6, scale="log"),
            NASTY: Category("day <i>clinic", "surgery", "other"),
            "smoker": Flag(),
            "hour": Cycle(24),
            "seen": Date("2023-01-01", "2026-01-01"),
        }
    )
    import pandas as pd

    return pd.DataFrame(table), schema


def _plain(kind, d, k=3, epsilon=1.0, **settings):
    bounds = ([0] * d, [100] * d)
    size = {PrivateDBSCAN: {}, PrivateGaussianMixture: {"n_components": k}}
    given = size.get(kind, {"n_clusters": k})
    model = kind(**given, epsilon=epsilon, bounds=bounds, random_state=0, **settings)
    return model.fit(rows(d))


def _declared():
    table, schema = _mixed()
    return PrivateKMeans(3, epsilon=2.0, schema=schema, random_state=0).fit(table)


_MADE = {
    **{f"kmeans {d}": (lambda d=d: _plain(PrivateKMeans, d)) for d in (1, 2, 6, 30)},
    "one cluster": lambda: _plain(PrivateKMeans, 2, 1),
    "one cluster of 6 columns": lambda: _plain(PrivateKMeans, 6, 1),
    "many clusters": lambda: _plain(PrivateKMeans, 2, 70),
    "little budget": lambda: _plain(PrivateKMeans, 2, epsilon=1e-4),
    "delta": lambda: _plain(PrivateKMeans, 6, delta=1e-4, method="dplloyd"),
    "grid": lambda: _plain(PrivateKMeans, 2, method="eugkm"),
    "median": lambda: _plain(PrivateKMedian, 2),
    "mixture": lambda: _plain(PrivateGaussianMixture, 2),
    "mixture 1": lambda: _plain(PrivateGaussianMixture, 1),
    "density": lambda: _plain(PrivateDBSCAN, 2),
    "nothing but noise": lambda: _plain(PrivateDBSCAN, 2, epsilon=0.01),
    "ward": lambda: _plain(PrivateWard, 2),
    "schema": _declared,
}
KINDS = tuple(_MADE)


@cache
def release(kind):
    """A fitted model of a kind."""
    return _MADE[kind]()

"""Calls of the library with odd arguments: each is named, and made of a seed alone.

`CALLS` has, for every operation, its usual arguments and what else to try in the place of each.
"""

from fractions import Fraction
from functools import partial
from inspect import signature

import numpy as np
from sklearn.cluster import DBSCAN

from sfumato import (
    Category,
    Cycle,
    Date,
    Flag,
    NDLaplace,
    Number,
    Ordinal,
    Schema,
    Weight,
    local,
)
from sfumato._accounting.budget import Ledger
from sfumato._core.queries.breakdown import Breakdown, Levels, Slices
from sfumato._core.queries.choose import Cost
from sfumato._core.queries.first_below import RowsBeyond
from sfumato._core.queries.group_sizes import GroupSizes
from sfumato._core.queries.max_cover import Grids
from sfumato._core.queries.moments import Products, Squares
from sfumato._core.queries.privtree import Domain
from sfumato._core.queries.projection import Projection
from sfumato._models import MODELS
from sfumato.methods import DPLloyd, Grid, Nearest
from tests.fuzz import operations as do
from tests.fuzz.odd import ANY, BOUNDS, NUMBERS, NoBool
from tests.fuzz.operations import Given

METHODS = ("dplloyd", "eugkm", "auto", "hybrid", "sukpisit", "kprototypes", "balcan", "maxcover")
WORDS = ("ignore", "center", "drop", "keep", "clamp", "resample", "none", "data", "box", "add")
CENTERS = np.array([[0, 0], [100, -100]])


FEW = ((), (1,), ("x", "y"), ("x", "x"), ("x", "X"), ("", "x"), (None, "x"), (1, 1.0), (1, "1"),
       (True, False), ([1], [2]), ("x", NoBool()), (float("nan"), "x"), (1e400, 2), ("a",) * 3,
       tuple(range(300)), (b"x", "y"))  # fmt: skip

INTS = (CENTERS, [[0, 0]], np.zeros((0, 2), int), np.zeros((2, 0), int), np.zeros((2, 2)), 3, None,
        np.array([[2**40, 0]]), np.zeros(2, int), np.zeros((2, 3), int), "x", [[0.5, 1]], [],
        np.array([["a", "b"]]), np.array([[None, 1]]), [[10**30, 0]], np.zeros((2, 2), np.uint64),
        [[0], [0, 1]], np.array([[np.nan, 0]]))  # fmt: skip

FACTS = (*ANY, (0, 1), (0.5,), (1, 2, 3), (2, 1), (-1, 5), (0, 2**70), ("a",), [0, 1], (None,))

TABLE_TEXTS = (
    *(b"a,b\n0.1,0.2\n", b"", b"\n", b"a,b\n", b"a\n1\n", b"a,b\n1,2,3\n", b'a,b\n"1,2\n'),
    *(b"\xff\xfe\x00", b"a,a\n1,2\n", b"a,b\nqz-secret-cell,1\n", b"a,b\r1,2\r"),
    *(b"\xef\xbb\xbfa,b\n1,2",),
    *(b"a,b\n" + b"1,2\n" * 100, b"\x00\x01", b"a,b\n1e999,-1e999\n", b",\n1,2\n"),
)  # fmt: skip

COMMON = {
    "n_clusters": (2, (*ANY, *range(1, 12))),
    "epsilon": (1.0, ANY),
    "delta": (0.0, (*ANY, 1e-6, 1e-9)),
    "bounds": ((0, 1), BOUNDS),
    "method": ("dplloyd", (*METHODS, *METHODS, DPLloyd(iterations=2), DPLloyd, *ANY)),
    "n_rows": (None, ANY),
    "nan": ("ignore", (*WORDS, *ANY)),
    "max_rows_per_group": (1, ANY),
    "random_state": (None, ANY),
    "n_jobs": (None, (1, 1, 2, 0, -1, 2.5, "1", None, [1], True)),
    "schema": (None, (*ANY, Schema(a=Number(0, 1)), Schema(a=Flag(), b=Flag()), Number(0, 1))),
    "verbose": (0, (0, None, False, "", ())),
}  # fmt: skip

OTHERS = {
    "median": COMMON,
    "mixture": {
        **COMMON,
        "n_components": COMMON["n_clusters"],
        "covariance_type": ("full", ("diag", "spherical", "tied", *ANY)),
    },
    "density": {**COMMON, "min_cluster_size": (None, ANY)},
    "ward": {**COMMON, "n_leaves": (None, (*ANY, *range(1, 12)))},
}
"""Parameters of other models; those that a model does not have are taken out below."""

for kind, own in OTHERS.items():
    takes = signature(MODELS[kind]).parameters
    OTHERS[kind] = {name: values for name, values in own.items() if name in takes}

KIND = {
    "weight": (1.0, ANY),
    "source": ("", ANY),
    "missing": ("ignore", (*WORDS, *ANY)),
    "groups": (None, ("a", "c", *ANY)),
}

LOCAL = {
    "epsilon": (1.0, ANY),
    "bounds": ((0, 1), BOUNDS),
    "truncation": ("clamp", (*WORDS, *ANY)),
    "nan": ("center", (*WORDS, *ANY)),
    "X": (None, (None,)),
}

SHARE = {"share": ("pure", do.SHARES)}
COUNTED = {**SHARE, "counts": ("pure", do.SHARES)}

CALLS = {
    "fit": (do.fit, {**COMMON, "groups": (None, (1,)), "request": (None, ANY)}),
    "fit on a curator": (do.fit_curator, COMMON),
    **{f"fit {kind}": (partial(do.fit_model, kind=kind), own) for kind, own in OTHERS.items()},
    "fit by schema": (
        do.fit_schema,
        {
            **COMMON,
            "bounds": (None, BOUNDS),
            "schema": (Schema(a=Number(0, 1), b=Category("x", "y")), (None,)),
        },
    ),
    "curator": (
        do.curator,
        {
            "bounds": ((0, 1), BOUNDS),
            "epsilon": (1.0, ANY),
            "delta": (0.0, ANY),
            "nan": ("ignore", (*WORDS, *ANY)),
            "groups": (None, (1,)),
            "max_rows_per_group": (1, ANY),
            "ledger": (None, (*ANY, Ledger)),
            "dataset": (None, ANY),
            "schema": (None, (*ANY, Schema(a=Number(0, 1)))),
        },
    ),
    "by": (do.by, {"column": (None, (*ANY, "a", 0)), "values": ([1, 2], (*ANY, *FEW, *BOUNDS))}),
    "over": (do.over, {"names": (["a"], (*ANY, *FEW, ["a", "b"], ["a", "a"], "a", [], ("b",)))}),
    "estimate_bounds": (
        do.estimate,
        {
            "epsilon": (1.0, ANY),
            "groups": (None, (1,)),
            "max_rows_per_group": (1, ANY),
            "ledger": (None, ANY),
            "dataset": (None, ANY),
        },
    ),
    "plan": (
        do.plan_fits,
        {
            "n": (1000, ANY),
            "d": (2, (*ANY, 3, 5)),
            "k": (3, ANY),
            "epsilon": (1.0, ANY),
            "delta": (0.0, (*ANY, 1e-6)),
            "bounds": (None, BOUNDS),
            "n_rows_known": (False, (True, False, None, 1)),
        },
    ),
    "reserve": (
        do.reserve_caps,
        {
            "purpose": ("x", ANY),
            "pure": (Fraction(1, 2), ANY),
            "gaussian": ((Fraction(0),) * 2, FACTS),
            "approximate": ((Fraction(0),) * 2, FACTS),
            "parts": ((), FACTS),
        },
    ),
    "share": (
        do.split_share,
        {
            "kind": ("pure", ANY),
            "amount": (Fraction(1), ANY),
            "weights": (1, NUMBERS),
            "n": (2, (1, 2, 0, -1)),
        },
    ),
    "counts": (do.verb("counts", Grid), {"q_m": (3, ANY), "q_d": (2, ANY), **SHARE}),
    "counts of nearest": (do.verb("counts", Nearest), {"q_c": (CENTERS, (*INTS, *ANY)), **SHARE}),
    "counts of anything": (do.verb("counts", lambda q: q), {"q_q": (3, ANY), **SHARE}),
    "counts of each": (
        do.verb("counts_of_each", lambda q: q),
        {"q_q": ([Grid(2, 2)], (*ANY, [Grid(3, 2), 1])), "share": ("pure", do.SHARES)},
    ),
    "sums": (
        do.verb("sums", Nearest),
        {
            "q_c": (CENTERS, INTS),
            "radius": (None, FACTS),
            "columns": (None, ANY),
            "joint": (False, (True, False)),
            **COUNTED,
        },
    ),
    "sums of a grid": (do.verb("sums", Grid), {"q_m": (3, ANY), "q_d": (2, ANY), **COUNTED}),
    "choose": (
        do.verb("choose", Cost),
        {
            "q_c": (CENTERS, INTS),
            "picks": (1, ANY),
            "law": ("exponential", ("permute", "permute and flip", *ANY)),
            **SHARE,
        },
    ),
    "block means": (
        do.verb("block_means", None),
        {"k": (2, ANY), "blocks": (3, ANY), "key": (1, ANY), **SHARE},
    ),
    "grow": (
        do.verb("grow", Domain),
        {
            "q_l": ((-(2**15), -(2**15)), FACTS),
            "q_u": ((2**15, 2**15), FACTS),
            "max_leaves": (16, ANY),
            **COUNTED,
        },
    ),
    "first below": (
        do.verb("first_below", lambda c, e: RowsBeyond(Nearest(c), e)),
        {"q_c": (CENTERS, INTS), "q_e": ((1, 2), FACTS), "threshold": (3, ANY), **SHARE},
    ),
    "first below each": (
        do.verb("first_below_each", lambda c, e, o: RowsBeyond(Nearest(c), e, o)),
        {
            "q_c": (CENTERS, INTS),
            "q_e": ((1, 2), FACTS),
            "q_o": (True, ANY),
            "thresholds": ((3,) * len(CENTERS), FACTS),
            **SHARE,
        },
    ),
    "squares": (do.verb("moments", Squares), {"q_d": (2, ANY), "q_s": (8, ANY), **SHARE}),
    "products": (do.verb("moments", Products), {"q_d": (2, ANY), "q_s": (8, ANY), **SHARE}),
    "group sizes": (
        do.verb("group_sizes", GroupSizes, groups=True),
        {"q_d": (2, ANY), "q_e": ((1, 2, 4), FACTS), **SHARE},
    ),
    "cover": (
        do.verb("cover", Grids),
        {
            "q_d": (2, ANY),
            "q_r": ((8000,), FACTS),
            "q_s": ((8000,), FACTS),
            "picks": (1, ANY),
            "share": ("approximate", do.SHARES),
        },
    ),
    "breakdown": (
        do.verb(
            "breakdown",
            lambda c, a, e, s, w, h: Breakdown(Nearest(c), (Slices(a, e), Levels(s, w, h))),
        ),
        {
            "q_c": (CENTERS, INTS),
            "q_a": (0, ANY),
            "q_e": ((0, 100), FACTS),
            "q_s": (0, ANY),
            "q_w": (2, ANY),
            "q_h": (100, ANY),
            **SHARE,
        },
    ),
    "projection": (
        lambda given, m, o, s, b: do.asked(given)[0].view(Projection(m, o, s, b)),
        {
            "m": (np.eye(2, dtype=int), INTS),
            "o": (np.zeros(2, int), (*INTS, *ANY)),
            "s": (0, ANY),
            "b": (False, ANY),
        },
    ),
    "perturb": (do.local_mechanism("NDLaplace"), {**LOCAL, "units": ("data", (*WORDS, *ANY))}),
    "perturb by level": (
        do.local_mechanism("NDLaplace"),
        {**LOCAL, "epsilon": (None, ANY), "level": (1, ANY), "radius": (0.1, ANY)},
    ),
    "planar": (do.local_mechanism("PlanarLaplace"), {**LOCAL, "remap": (None, (*ANY, *INTS))}),
    **{
        name: (do.local_mechanism(name), {**LOCAL, "truncation": ("none", (*WORDS, *ANY))})
        for name in ("Duchi", "Harmony", "HybridMechanism", "LaplaceMechanism", "Piecewise",
                     "SquareWave", "Staircase")
    },
    "local_epsilon": (
        lambda given, **settings: local.local_epsilon(**settings),
        {
            "epsilon": (1.0, ANY),
            "bounds": ((0, 1), BOUNDS),
            "d": (2, ANY),
            "units": ("data", (*WORDS, *ANY)),
        },
    ),
    "mean_displacement": (
        lambda given, **settings: local.mean_displacement(**settings),
        {"epsilon": (1.0, ANY), "d": (2, ANY)},
    ),
    "local clustering": (
        do.clustering,
        {
            "estimator": (DBSCAN(), (*ANY, DBSCAN)),
            "perturbation": (NDLaplace(1, bounds=(0, 1)), ("done", *ANY)),
            "scale": (False, (True, *ANY)),
            "denoise": (False, (True, *ANY)),
            "reservoir": (100, ANY),
            "random_state": (None, ANY),
            "batches": (False, (True,)),
        },
    ),
    "use": (
        do.use,
        {
            "kind": ("plain", ("schema",)),
            "verb": ("predict", ("transform", "score", "predict", "fit_predict")),
        },
    ),
    "explain": (
        do.explain,
        {
            "curator": (None, ANY),
            "columns": (None, (*ANY, *FEW)),
            "epsilon": (0.2, ANY),
            "delta": (0.0, ANY),
        },
    ),
    "load": (do.load_model, {"path": ("not there", ANY)}),
    "ledger": (
        do.ledger,
        {
            "url": (None, ("", "/", "postgresql://", "x://y", "a\x00b", None, 3, [], ".", b"x")),
            "dataset": ("d", ANY),
            "epsilon": (1.0, ANY),
            "delta": (0.0, (*ANY, 1e-6)),
            "mode": ("add", ("gaussian", "zcdp", *ANY)),
            "parts": (None, (*ANY, {"pure": 0.5}, {"plain": 2}, {"pure": "x"}, {"pure": None})),
            "max_rows_per_group": (None, ANY),
            "bounds": (None, BOUNDS),
            "bounds_source": ("", ANY),
            "person": (None, ANY),
        },
    ),
    "number": (
        do.declare,
        {"kind": (Number, (Cycle,)), "lower": (0, ANY), "upper": (1, ANY), **KIND},
    ),
    "cycle": (
        do.declare,
        {"kind": (Cycle, (Cycle,)), "lower": (0, ANY), "upper": (1, ANY), **KIND},
    ),
    "date": (
        do.declare,
        {
            "kind": (Date, (Date,)),
            "first": ("2020-01-01", (*ANY, "2020", "2020-13-01", "9999-12-31")),
            "last": ("2021-01-01", (*ANY, "1500-01-01")),
            "format": (None, (*ANY, "%Y", "%", "%Q", "%d.%m.%Y")),
            **KIND,
        },
    ),
    "category": (do.declare, {"kind": (Category, (Ordinal,)), "levels": (("x", "y"), FEW), **KIND}),
    "flag": (do.declare, {"kind": (Flag, (Flag,)), **KIND}),
    "weights": (
        do.declare,
        {
            "kind": (Weight, (Weight,)),
            "lower": (0, ANY),
            "upper": (2, ANY),
            "steps": (0, ANY),
            "source": ("", ANY),
        },
    ),
    "schema from facts": (
        do.from_dict,
        {
            "kind": ("number", ("category", "date", "flag", "cycle", "ordinal", "weight", *ANY)),
            "lower": (0, ANY),
            "upper": (1, ANY),
            "levels": ([], (*ANY, ["x", "y"], [[1]])),
            "missing": ("ignore", ANY),
            "weight": (1, ANY),
        },
    ),
    "schema from anything": (
        lambda given, data: Schema.from_dict(data),
        {"data": ({"columns": {}}, (*ANY, {"columns": {"a": 3}}, {"columns": {3: {}}},
                                    {"groups": 3, "columns": {}}))},
    ),
    "schema": (
        lambda given, **facts: Schema(facts["columns"], groups=facts["groups"]),
        {"columns": ({"a": Number(0, 1)}, (*ANY, {3: Flag()}, {"": Flag()})),
         "groups": (None, ANY)},
    ),
    "box": (
        do.make_box,
        {"bounds": ((0, 1), BOUNDS), "d": (2, (1, 0, 3)), "nan": ("ignore", (*WORDS, *ANY))},
    ),
    "file": (
        do.open_table,
        {
            "name": (None, ANY),
            "text": (TABLE_TEXTS[0], TABLE_TEXTS),
            "columns": (None, (*ANY, ("a",), ("a", "b"), ("c",), 2, (0, 1), (5,), ("a", "a"))),
            "header": (True, (False, None, "guess", "yes")),
            "sep": (None, (",", ";", "\t", "", ",,", "é")),
            "names": ((), (("a", "b"), ("a",), ("a", "a"))),
        },
    ),
}  # fmt: skip

# How often: what is called most is tried most.
OFTEN = {"fit": 8, "curator": 5, "fit by schema": 4, "estimate_bounds": 3, "use": 6, "perturb": 3}


class Case:
    """One call: usual arguments, but for those that are odd, of tables that its seed decides on."""

    def __init__(self, name, odd, given):
        self.name, self.odd, self.given = name, odd, given
        self.call, usual = CALLS[name]
        self.settings = {key: value for key, (value, _) in usual.items()} | odd
        # Models to be used are do.fitted before a charge is one too many.
        do.fitted("plain"), do.fitted("schema")

    @classmethod
    def of(cls, seed):
        """The same seed makes the same call."""
        given = Given(seed)
        name = given.pick([one for one in CALLS for _ in range(OFTEN.get(one, 2))])
        usual = CALLS[name][1]
        faults = int(given.rng.choice(4, p=[0.2, 0.5, 0.2, 0.1]))
        keys = sorted({given.pick(list(usual)) for _ in range(faults)})
        return cls(name, {key: given.pick(usual[key][1]) for key in keys}, given)

    def __str__(self):
        shown = ", ".join(f"{key}={value!r:.80}" for key, value in self.odd.items())
        return f"{self.name}({shown})"

    def __call__(self):
        try:
            self.call(self.given, **self.settings)
        finally:
            self.given.end()

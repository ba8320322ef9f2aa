"""One row in, one row out: what is found on made-up rows, and what becomes of rows that fail."""

import warnings
from pathlib import Path

import dask.array
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.kernel_approximation import AdditiveChi2Sampler, RBFSampler
from sklearn.preprocessing import FunctionTransformer, Normalizer, PolynomialFeatures
from sklearn.random_projection import GaussianRandomProjection

from sfumato import UnsafeStep
from sfumato._rowwise import tried

ROWS = np.random.default_rng(3).normal(size=(40, 3))
FRAME = pd.DataFrame(
    {
        "n": np.arange(40),
        "x": ROWS[:, 0],
        "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(40), unit="D"),
        "word": ["a", "b"] * 20,
        "yes": [True, False] * 20,
    }
)


def seen(function, rows=ROWS):
    return tried(FunctionTransformer(function), rows, single=False)


def far_from_the_others(rows):
    return rows[np.abs(rows[:, 0] - np.nanmean(rows[:, 0])) < 3]


@pytest.mark.parametrize(
    "function",
    [
        lambda rows: rows - rows.mean(axis=0),
        lambda rows: rows - np.nanmedian(rows, axis=0),
        lambda rows: rows / np.nanmax(np.abs(np.where(np.isfinite(rows), rows, 0))),
        lambda rows: np.sort(rows, axis=0),
        lambda rows: rows[::-1],
        lambda rows: np.roll(rows, 1, axis=0),
        lambda rows: rows.argsort(axis=0).argsort(axis=0),
        lambda rows: np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows),
        lambda rows: rows + len(rows),
        lambda rows: np.column_stack([rows, np.arange(len(rows))]),
        lambda rows: rows + (1e-6 if len(rows) > 1000 else 0),
        lambda rows: (rows - rows.mean(axis=0)) * 1e-30,
        far_from_the_others,
    ],
)
def test_functions_that_look_at_other_rows_are_refused(function):
    with pytest.raises(UnsafeStep, match="makes something else of a row when other rows"):
        seen(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda rows: rows.sum(axis=0),
        lambda rows: rows.ravel(),
        lambda rows: np.repeat(rows, 2, axis=0),
        lambda rows: rows[:0],
        lambda rows: "nothing",
        lambda rows: rows @ np.ones((7, 2)),
    ],
)
def test_functions_that_make_no_row_of_a_row_are_refused(function):
    with pytest.raises(UnsafeStep, match="makes no row of numbers of any made-up row"):
        seen(function)


def test_the_number_of_columns_is_fixed():
    with pytest.raises(UnsafeStep, match="makes other columns of other rows"):
        seen(lambda rows: rows if rows[0, 0] > 0 else rows[:, :2])
    with pytest.raises(UnsafeStep, match="makes 1048576 columns"):
        tried(HashingVectorizer(), ["a"], single=False)


def test_noise_in_a_function_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(UnsafeStep, match="makes something else"):
        seen(lambda rows: rows + rng.normal(size=rows.shape))


def test_rows_that_are_left_out_or_raise_have_missing_cells():
    def picky(rows):
        if (rows[:, 0] > 1).any():
            raise ValueError(f"row {rows}")
        return rows[rows[:, 1] < 1] * 2

    made = seen(picky).transform(ROWS)
    bad = (ROWS[:, 0] > 1) | (ROWS[:, 1] >= 1)
    assert 0 < bad.sum() < 40
    np.testing.assert_array_equal(made, np.where(bad[:, None], np.nan, ROWS * 2))


NO_NUMBERS = np.array([[np.nan, 1, 1], [1, np.inf, 1], [1, 1, -np.inf], [1.0, 1, 1]])


@pytest.mark.parametrize(
    "step",
    [
        Normalizer(),
        PolynomialFeatures(),
        RBFSampler(random_state=0),
        AdditiveChi2Sampler(),
        GaussianRandomProjection(n_components=2, random_state=0),
    ],
)
def test_missing_and_infinite_cells_raise_nothing(step):
    single = isinstance(step, RBFSampler | GaussianRandomProjection)
    one = tried(step, NO_NUMBERS, single=single)
    for table in (NO_NUMBERS, pd.DataFrame(NO_NUMBERS), sparse.csr_matrix(NO_NUMBERS)):
        made = tried(step, table, single=single).transform(table)
        assert np.isnan(made[:3]).all()
        assert np.isfinite(made[3]).all()
    negative = one.transform(-np.ones((2, 3)))
    assert np.isnan(negative).all() == isinstance(step, AdditiveChi2Sampler)
    assert one.transform(NO_NUMBERS[:0]).shape == (0, one.shape.width)


def test_cells_keep_their_gaps_where_a_function_can_take_them():
    one = seen(lambda rows: rows / 2)
    assert one.left_out == "none"
    np.testing.assert_array_equal(one.transform(NO_NUMBERS), NO_NUMBERS / 2)
    masked = np.ma.masked_array(np.ones((2, 3)), mask=[[1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(one.transform(masked), [[np.nan, 0.5, 0.5], [0.5, 0.5, 0.5]])


def test_no_warning_tells_of_a_row():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = seen(np.log).transform(np.array([[-1.0, 0, 1]]))
    np.testing.assert_array_equal(made, [[np.nan, -np.inf, 0]])


FLOATS = st.floats(allow_nan=True, allow_infinity=True)


@pytest.mark.parametrize(
    "step",
    [
        RBFSampler(n_components=5, random_state=0),
        Normalizer(),
        FunctionTransformer(lambda rows: rows @ np.arange(6).reshape(3, 2) / 7),
    ],
)
@example(rows=np.array([[0.1, 0.7, 0.3], [1e300, 0, -1e300], [np.nan, 0, 0]]), places=[0, 2, 1, 0])
@given(
    rows=hnp.arrays(np.float64, (3, 3), elements=FLOATS),
    places=st.lists(st.integers(0, 2), max_size=9),
)
def test_a_row_has_the_same_bits_in_every_company(step, rows, places):
    one = tried(step, ROWS, single=isinstance(step, RBFSampler))
    alone = np.concatenate([one.transform(rows[[i]]) for i in range(3)])
    np.testing.assert_array_equal(one.transform(rows[places]), alone[places])


def test_products_are_made_one_row_at_a_time():
    sizes = []

    def product(rows):
        sizes.append(len(rows))
        return rows * (1 + 1e-13 * (len(rows) > 5))

    one = seen(product)
    assert one.single
    sizes.clear()
    one.transform(ROWS)
    assert set(sizes) == {1}


def test_frames_keep_their_columns():
    def worked(frame):
        return pd.DataFrame(
            {
                "age": frame["n"] / 12,
                "year": frame["day"].dt.year,
                "day": frame["day"],
                "word": frame["word"].str.upper(),
                "no": ~frame["yes"],
            }
        )

    table = FRAME.copy()
    table.loc[3, ["x", "day", "word"]] = None
    one = seen(worked, FRAME)
    made = one.transform(table)
    assert list(made.columns) == ["age", "year", "day", "word", "no"]
    assert [t.kind for t in made.dtypes] == ["f", "f", "M", "O", "f"]
    assert made.loc[3].isna().tolist() == [False, True, True, True, False]
    assert made.loc[4, "word"] == "A"
    assert len(one.transform(table.iloc[:0])) == 0


def test_a_row_of_a_frame_that_raises_has_missing_cells():
    def picky(frame):
        if (frame["n"] == 7).any():
            raise ValueError
        return frame[["n", "word"]]

    made = seen(picky, FRAME).transform(FRAME)
    assert np.flatnonzero(made["n"].isna()).tolist() == [7]
    assert made["n"].dtype == np.float64
    assert made["word"].tolist()[:3] == ["a", "b", "a"]


@pytest.mark.parametrize(
    "function",
    [
        lambda frame: frame[["x"]].rank(),
        lambda frame: frame[["x"]].fillna(frame["x"].mean()),
        lambda frame: pd.DataFrame({"day": pd.to_datetime(frame["word"], errors="coerce")}),
        lambda frame: frame[["word"]].ffill(),
        lambda frame: frame.drop_duplicates("word"),
        lambda frame: frame.sort_values("x"),
        lambda frame: pd.DataFrame({"word": frame["word"].map(frame["word"].value_counts())}),
    ],
)
def test_frames_in_which_rows_look_at_others_are_refused(function):
    with pytest.raises(UnsafeStep, match="makes something else"):
        seen(function, FRAME)


def test_a_row_that_is_left_out_by_a_public_rule_has_missing_cells():
    made = seen(lambda frame: frame[frame["n"] > 10], FRAME).transform(FRAME)
    assert np.flatnonzero(made["n"].isna()).tolist() == list(range(11))


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (np.array([["F", "M", "x"]] * 3), "U"),
        (np.array([["F", 1.5, None]] * 3, dtype=object), "O"),
        (np.ones((3, 3), dtype=np.int8), "i"),
        ([[1, 2, 3]] * 3, "list"),
    ],
)
def test_arrays_of_all_kinds_are_steps(rows, kind):
    one = tried(FunctionTransformer(lambda cells: (cells == "F") * 1.0), rows, single=False)
    made = one.transform(rows)
    assert made.tolist() == [[float(kind in "UO"), 0, 0]] * 3


@pytest.mark.parametrize(
    "rows", [np.ones(3), "rows.csv", np.ones((2, 2, 2)), None, dask.array.ones((4, 2)), Path("a")]
)
def test_what_has_no_rows_in_memory_is_refused(rows):
    with pytest.raises(TypeError, match="steps run on rows in memory"):
        seen(lambda cells: cells, rows)


def test_a_step_that_cannot_be_fitted_on_made_up_rows_is_refused():
    class Broken(Normalizer):
        def fit(self, X, y=None):
            raise ValueError("four columns are needed")

    with pytest.raises(UnsafeStep, match=r"cannot be fitted on made-up rows.*four columns"):
        tried(Broken(), ROWS, single=False)

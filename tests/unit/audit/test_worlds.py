"""Neighbour pairs: one person more, and nothing else."""

import csv
import io

import numpy as np
import pytest

from sfumato import audit

NAMES = ["outlier", "empty", "duplicate", "two-rows", "nan", "group", "quoting"]


@pytest.mark.parametrize("d", [1, 3])
def test_the_larger_world_has_one_person_more(d):
    pairs = audit.pairs(d, (np.zeros(d), np.full(d, 10.0)))
    assert [pair.name for pair in pairs] == NAMES
    for pair in pairs[:5]:
        less, more = pair.smaller.rows, pair.larger.rows
        assert more.shape == (len(less) + 1, d)
        assert np.array_equal(more[:-1], less)
        assert (less >= 0).all()
        assert (less <= 10).all()
        assert pair.difference
    assert np.abs(pairs[0].larger.rows[-1]).min() > 1e4
    assert (pairs[2].smaller.rows == pairs[2].larger.rows[-1]).all(axis=1).any()
    assert (len(pairs[3].smaller.rows), len(pairs[3].larger.rows)) == (1, 2)
    assert np.isnan(pairs[4].larger.rows[-1]).all()


def test_a_group_comes_or_goes_as_a_whole():
    pair = audit.pairs()[5]
    less, more = pair.smaller, pair.larger
    assert len(less.groups) == len(less.rows)
    assert len(more.groups) == len(more.rows)
    assert set(more.groups) - set(less.groups) == {more.groups[-1]}
    assert np.array_equal(more.rows[more.groups != more.groups[-1]], less.rows)


def test_one_record_more_in_a_file():
    pair = audit.pairs(3)[6]
    less, more = (
        list(csv.reader(io.StringIO(w.rows.decode()))) for w in (pair.smaller, pair.larger)
    )
    assert len(more) == len(less) + 1
    assert all(len(record) == 3 for record in more)
    assert [record for record in more if record in less] == less
    # A reader that cuts at every line end finds many rows in it.
    assert pair.larger.rows.count(b"\n") > pair.smaller.rows.count(b"\n") + 2


def test_rows_are_fixed_by_their_seed():
    first, again, other = (audit.pairs(random_state=seed)[0].smaller.rows for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("bounds", [(1, 0), (0, np.inf), (0, np.nan)])
def test_bounds_that_are_none_are_refused(bounds):
    with pytest.raises(ValueError, match="bounds must be finite"):
        audit.pairs(2, bounds)

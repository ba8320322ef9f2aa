"""Lines of progress: one for each pass, whatever the rows are."""

import numpy as np
import pytest

from sfumato._core.queries.counts import Counts, Grid
from sfumato._lattice.box import Box
from sfumato.engines._memory import ArrayRows
from sfumato.engines._progress import shown, watched

BOX = Box((0.0, 0.0), (1.0, 1.0))


@pytest.mark.parametrize("n", [0, 1, 300_000])
def test_a_line_for_every_pass(n, capsys):
    rows = ArrayRows(np.zeros((n, 2)))
    with shown(1):
        for _ in range(2):
            rows.fold(BOX, Counts(Grid(2, 2)))
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = [f"[sfumato] pass {i} over the rows: done\n" for i in (1, 2)]
    assert printed.err == "".join(lines)
    assert watched.get() is None


def test_no_line_where_none_is_wanted(capsys):
    with shown(0):
        ArrayRows(np.zeros((9, 2))).fold(BOX, Counts(Grid(2, 2)))
        assert watched.get() is None
    assert capsys.readouterr() == ("", "")

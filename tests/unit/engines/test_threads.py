"""How many threads rows have, and who says so."""

import numpy as np
import pytest

from sfumato.engines._memory import ArrayRows
from sfumato.engines._threads import allowed_threads, threads


def test_a_number_counts_inside_its_block_alone(monkeypatch):
    monkeypatch.setenv("SFUMATO_THREADS", "4")
    assert allowed_threads() == 4
    with threads(2):
        assert allowed_threads() == 2
        with threads(1):
            assert allowed_threads() == 1
        for none in (None, -1):
            with threads(none):
                assert allowed_threads() == 2
        assert ArrayRows(np.zeros((2, 2)))._threads == 2
    assert allowed_threads() == 4


def test_a_number_is_put_back_after_an_error(monkeypatch):
    monkeypatch.setenv("SFUMATO_THREADS", "4")
    with pytest.raises(KeyError), threads(2):
        raise KeyError
    assert allowed_threads() == 4


@pytest.mark.parametrize("number", [0, -2, 1.5, "two", True])
def test_what_is_no_number_of_threads_is_refused(number):
    with pytest.raises((TypeError, ValueError), match="n_jobs"), threads(number):
        pass

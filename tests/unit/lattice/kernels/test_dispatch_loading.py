"""When the compiled loops are loaded, and what happens where they cannot be."""

import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from sfumato._core.testing import use_loops
from sfumato._lattice import kernels as package
from sfumato._lattice.kernels import costs, cover, cubes, numba_cover, projection, verify
from sfumato._lattice.kernels import dispatch as kernels
from sfumato._lattice.kernels import numba_loops as compiling
from sfumato._lattice.kernels import numba_loops as kernels_numba
from sfumato._lattice.kernels import numpy_loops as kernels_numpy


def test_importing_the_kernels_does_not_import_numba():
    code = "import sys, sfumato._lattice.kernels.dispatch; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_compiled_loops_are_loaded_when_they_are_worth_it(monkeypatch):
    rows = np.zeros((30, 2), dtype=np.int16)
    monkeypatch.setattr(kernels, "compiled_loops", cache(lambda: kernels_numba))
    monkeypatch.setattr(kernels, "_cells_seen", 0)
    monkeypatch.setattr(kernels, "_WORTH_LOADING", 100)
    assert kernels.loops_for(rows) is kernels_numpy
    assert kernels.loops_for(rows) is kernels_numba
    assert kernels.loops_for(rows[:1]) is kernels_numba
    with use_loops("numpy"):
        assert kernels.loops_for(rows) is kernels_numpy


def test_without_numba_everything_works_in_numpy(monkeypatch):
    monkeypatch.setattr(kernels, "compiled_loops", cache(kernels.compiled_loops.__wrapped__))
    monkeypatch.setattr(kernels, "_WORTH_LOADING", 0)
    monkeypatch.delattr(package, "numba_loops")
    monkeypatch.setitem(sys.modules, "sfumato._lattice.kernels.numba_loops", None)
    assert kernels.loops_for(np.zeros((1, 1), dtype=np.int16)) is kernels_numpy
    with pytest.raises(ImportError, match="fast"), use_loops("numba"):
        pass


def test_unknown_backends_are_refused():
    with pytest.raises(ValueError, match="'numpy'"), use_loops("fortran"):
        pass


def test_loops_compile_where_nothing_can_be_cached(monkeypatch):
    plain = compiling.njit

    def njit(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function")
        return plain(*args, **options)

    monkeypatch.setattr(compiling, "njit", njit)

    @compiling.compiled_for(compiling.int64[::1])
    def add_one(state):
        state[0] += 1

    add_one(state := np.zeros(1, dtype=np.int64))
    assert state[0] == 1


class Off:
    """The compiled loops with one of them off by one, for one row."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        loop = getattr(kernels_numba, name)
        if name != self._name:
            return loop

        def wrong(*args):
            found = loop(*args)
            if name == "nearest":
                return lambda rows: np.where(np.arange(len(rows)) == 3, 0, found(rows))
            if found is None:
                args[-1].flat[1] += 1
            else:
                found[1] += 1
            return found

        return wrong


LOOPS = ["nearest", "grid", "squares", "add_counts", "add_totals", "add_clipped"]
LOOPS += ["add_branches", "snap"]


@pytest.mark.parametrize("name", LOOPS)
def test_compiled_loops_that_are_wrong_are_not_used(monkeypatch, name):
    assert verify.agree(kernels_numba, kernels_numpy)
    assert not verify.agree(Off(name), kernels_numpy)
    monkeypatch.setattr(kernels, "compiled_loops", cache(kernels.compiled_loops.__wrapped__))
    monkeypatch.setattr(package, "numba_loops", Off(name))
    monkeypatch.setitem(sys.modules, "sfumato._lattice.kernels.numba_loops", Off(name))
    with pytest.warns(RuntimeWarning, match="are not used"):
        assert kernels.compiled_loops() is None
    assert kernels.compiled_loops() is None


def off_by_one(loop, output):
    """A loop that writes one number more into one of its arguments."""

    def wrong(*args):
        loop(*args)
        args[output].flat[1] += 1

    return wrong


PAPERS_LOOPS = {
    "multiply": (kernels_numba, -1, projection._compiled_loops, 0),
    "finish": (kernels_numba, -1, projection._compiled_loops, 1),
    "two_nearest labels": (kernels_numba, -3, costs._compiled_loops, 0),
    "two_nearest first": (kernels_numba, -2, costs._compiled_loops, 0),
    "two_nearest second": (kernels_numba, -1, costs._compiled_loops, 0),
    "sums kept": (kernels_numba, -2, costs._compiled_loops, 1),
    "sums moved": (kernels_numba, -1, costs._compiled_loops, 1),
    "add_halves": (kernels_numba, -1, cubes._compiled_add, None),
    "add_near": (numba_cover, -2, cover._compiled_loops, None),
    "tally_near": (numba_cover, -2, cover._compiled_loops, None),
}


@pytest.mark.parametrize("case", PAPERS_LOOPS)
def test_other_compiled_loops_that_are_wrong_are_not_used(monkeypatch, case):
    module, output, load, place = PAPERS_LOOPS[case]
    name, load = case.split()[0], load.__wrapped__
    wrong = off_by_one(getattr(module, name), output)
    with_warning = load()
    assert getattr(module, name) in (with_warning if place is not None else [with_warning]) or (
        with_warning is module
    )
    monkeypatch.setattr(module, name, wrong)
    with pytest.warns(RuntimeWarning, match="are not used"):
        used = load()
    assert wrong not in (used if isinstance(used, tuple) else (used,))
    assert used is not module

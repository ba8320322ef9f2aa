"""The page on writing a method: its example runs, and the checks say what the page says."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from sfumato import METHODS, PrivateKMeans, plan
from sfumato.methods import GROUP
from sfumato.testing import check_method

PAGE = (Path(__file__).parents[2] / "docs" / "write-a-method.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
CODE = next(text for kind, text in BLOCKS if kind == "python")


def method_of(code):
    names = {"__name__": "my_package.methods"}
    exec(code, names)
    return names["RandomStart"]


def test_the_example_is_short_and_passes_all_checks():
    assert len(CODE.splitlines()) <= 40
    check_method(method_of(CODE))


def test_the_example_fits(monkeypatch):
    method = method_of(CODE)
    X = np.random.default_rng(0).uniform(size=(500, 2))
    fitted = PrivateKMeans(3, bounds=(0, 1), method=method(steps=5)).fit(X)
    assert fitted.receipt_.notes[0] == "5 steps from a random start"
    monkeypatch.setitem(METHODS._built_in, "random-start", method)
    row = plan(n=1000, d=2, k=3, epsilon=1.0).rows[-1]
    assert (row.method, row.fits, row.predicted) == ("random-start", True, False)


def test_the_entry_point():
    toml = next(text for kind, text in BLOCKS if kind == "toml")
    assert tomllib.loads(toml)["project"]["entry-points"] == {
        GROUP: {"random-start": "my_package.methods:RandomStart"}
    }


MISTAKES = {
    "it asks for more than its caps": (
        'account.rest("pure").evenly(self.steps)',
        '[account.rest("pure")] * self.steps',
    ),
    "two runs with the same rows, noise and rng differ": (
        "rng.uniform(",
        "np.random.default_rng().uniform(",
    ),
    "must return points of shape (3, 2)": ("Centers(points, sizes", "Centers(points.T, sizes"),
    "a centre lies outside the bounds": ("np.clip(means, -REACH, REACH)", "means"),
    "more than the (1, 0) of the task": ("Caps(pure=task.epsilon)", "Caps(pure=2 * task.epsilon)"),
}


def test_every_mistake_of_the_page_is_tried():
    assert re.findall(r"^\| .* \| `(.*)` \|$", PAGE, re.MULTILINE) == list(MISTAKES)


@pytest.mark.parametrize("said", MISTAKES)
def test_the_checks_say_what_the_page_says(said):
    right, wrong = MISTAKES[said]
    assert CODE.count(right) == 1
    with pytest.raises(AssertionError, match=re.escape(said)):
        check_method(method_of(CODE.replace(right, wrong)))

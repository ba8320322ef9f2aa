"""`sfumato methods` and `fit --set`: what is listed can be set, and what is wrong is refused."""

import json
from dataclasses import dataclass
from fractions import Fraction

import pytest

import sfumato
from sfumato.cli._methods import configured, settings_of
from sfumato.methods import METHODS, NEEDS_DELTA
from tests.e2e.cli import BOUNDS, assert_refused, files, fit, run


def test_methods_are_listed_with_their_settings():
    shown = run("methods")
    assert shown.exit_code == 0
    for name in METHODS:
        assert f"{name}: " in shown.stdout
    assert "    iterations=5  (a whole number)\n" in shown.stdout
    assert "    schedule=uniform  (uniform, halving or increasing)\n" in shown.stdout
    assert (
        "    budget=0.02,0.38,0.1,0.2,0.3  (any number with commas, each a number)" in shown.stdout
    )
    listed = json.loads(run("methods", "--json").stdout)["methods"]
    assert [each["name"] for each in listed] == list(METHODS)
    for each in listed:
        assert each["description"]
        assert each["needs_delta"] == (each["name"] in NEEDS_DELTA)
    assert listed[1]["settings"][0] == {
        "name": "iterations",
        "kind": "a whole number",
        "default": "5",
    }


def test_fit_says_how_settings_are_listed():
    shown = " ".join(run("fit", "--help").stdout.split())
    assert "--set NAME=VALUE" in shown
    assert "`sfumato methods` lists the settings" in shown


@pytest.mark.parametrize("method", METHODS)
def test_the_defaults_that_are_listed_can_be_set(method):
    settings = settings_of(METHODS[method])
    texts = [f"{each.name}={each.default}" for each in settings.values()]
    assert configured(method, texts) == METHODS[method]()
    assert configured(method, []) == method


@pytest.mark.parametrize(
    ("method", "texts", "expected"),
    [
        ("dplloyd", ["iterations=3", "schedule=halving"], {"iterations": 3, "schedule": "halving"}),
        ("sukpisit", ["tol = 0.5"], {"tol": 0.5}),
        ("eugkm", ["k_range=3, 9"], {"k_range": (3, 9)}),
        ("balcan", ["deepest=false", "runs=2"], {"deepest": False, "runs": 2}),
        ("balcan", ["law=permute_and_flip", "gamma=none"], {"law": "permute_and_flip"}),
        ("maxcover", ["r_min=1/n"], {"r_min": "1/n"}),
        ("maxcover", ["r_min=0.5", "budget=1,2,3,4,5"], {"r_min": 0.5, "budget": (1, 2, 3, 4, 5)}),
    ],
)
def test_texts_are_read_by_the_types_of_the_settings(method, texts, expected):
    assert configured(method, texts) == METHODS[method](**expected)


def test_fit_with_settings(people):
    shown = fit("people.csv", *BOUNDS, "--method", "dplloyd", "--set", "iterations=3", "--json")
    assert shown.exit_code == 0
    model = sfumato.load("model.json")
    assert model.method == METHODS["dplloyd"](iterations=3)
    assert "3 iterations" in model.receipt_.notes[0]
    shown = fit("people.csv", *BOUNDS, "--method", "eugkm", "--set", "k_range=2,3", k="auto")
    assert sfumato.load("model.json").method.k_range == (2, 3)
    assert "by eugkm" in shown.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "rounds=3"], "the settings of dplloyd are iterations, schedule, noise"),
        (["--set", "iterations"], "NAME=VALUE is needed, such as --set iterations=5"),
        (["--set", "iterations=3.5"], "iterations must be a whole number, got '3.5'"),
        (["--set", "iterations=0"], "iterations must be a whole number of at least 1"),
        (["--set", "schedule=fast"], "schedule must be uniform, halving or increasing"),
        (["--set", "iterations=2", "--set", "iterations=3"], "iterations is set twice"),
        (["--set", "noise=gaussian"], "needs delta > 0"),
        (["--method", "gkm", "--set", "exponent=nan"], "exponent must lie in"),
        (["--method", "magic", "--set", "a=1"], "--method must be one of auto, dplloyd"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_charged(
    people, here, monkeypatch, words, said
):
    def charge(self, *_, **__):
        raise AssertionError("charged")

    monkeypatch.setattr("sfumato._core.curator.Curator.reserve", charge)
    before = files(here)
    assert_refused(fit("people.csv", *BOUNDS, "--method", "dplloyd", *words), "sfumato: ", said)
    assert files(here) == before


@dataclass(frozen=True)
class Odd:
    """Settings that the command line cannot give."""

    part: Fraction = Fraction(1, 2)
    text: str = "a"
    hidden: "Unknown" = None  # noqa: F821


class Plain:
    pass


def test_settings_of_other_kinds(monkeypatch):
    monkeypatch.setattr("sfumato.cli._methods.METHODS", {"odd": Odd, "plain": Plain})
    with pytest.raises(ValueError, match="a value that the command line cannot give"):
        configured("odd", ["part=1/2"])
    with pytest.raises(ValueError, match="plain has no settings"):
        configured("plain", ["part=1/2"])
    monkeypatch.delitem(Odd.__annotations__, "hidden")
    with pytest.raises(ValueError, match="not JSON serializable"):
        configured("odd", ["text=b"])

"""Methods of other packages: found by their entry points, and never in the way of the others."""

import json
import re
import subprocess
import sys
from importlib.metadata import entry_points

import numpy as np
import pytest

from sfumato import METHODS, PrivateKMeans, load, plan
from sfumato.methods import GROUP, NEEDS_DELTA, DPLloyd
from tests.e2e.cli import run

MODULE = '''
from dataclasses import dataclass
from sfumato.methods import DPLloyd, NeedsDelta

@dataclass(frozen=True)
class Mine:
    """Lloyd steps of somebody else."""
    steps: int = 2
    k_range: tuple[int, int] = (2, 4)

    def caps(self, task):
        return DPLloyd(self.steps).caps(task)

    def __call__(self, curator, task, *, account, rng):
        return DPLloyd(self.steps)(curator, task, account=account, rng=rng)

class Approximate(Mine):
    needs_delta = True

    def caps(self, task):
        if not task.delta:
            raise NeedsDelta("delta > 0 is needed")
        return super().caps(task)

class Demanding(Mine):
    def __init__(self, needed):
        self.needed = needed

class Mute:
    def caps(self, task):
        return None

not_a_class = 3
'''
X = np.random.default_rng(0).uniform(size=(80, 2))


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs packages that register methods, as pip would lay them out."""
    (tmp_path / "elsewhere.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("import no_such_module\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def install(entries, package="other-methods"):
        home = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        home.mkdir()
        (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in entries.items()]
        (home / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))
        forget()

    yield install
    forget()
    sys.modules.pop("elsewhere", None)


def forget():
    METHODS.__dict__.pop("_registered", None)
    METHODS._loaded.clear()


BUILT_IN = tuple(METHODS._built_in)


def test_nothing_is_registered_here():
    assert not entry_points(group=GROUP)
    assert tuple(METHODS) == BUILT_IN
    assert len(METHODS) == len(BUILT_IN)


def test_it_is_for_reading():
    assert METHODS["dplloyd"] is DPLloyd
    assert dict(METHODS)["dplloyd"] is DPLloyd
    assert METHODS.get("nothing") is None
    assert "nothing" not in METHODS
    assert "dplloyd" in repr(METHODS)
    with pytest.raises(TypeError):
        METHODS["mine"] = DPLloyd
    with pytest.raises(KeyError):
        METHODS["nothing"]
    assert set(NEEDS_DELTA) == {"maxcover"}
    assert len(NEEDS_DELTA) == 1
    assert "nothing" not in NEEDS_DELTA
    assert 3 not in NEEDS_DELTA


def test_a_method_of_another_package(install, tmp_path):
    install({"mine": "elsewhere:Mine", "approximate": "elsewhere:Approximate"})
    assert tuple(METHODS) == (*BUILT_IN, "mine", "approximate")
    assert len(METHODS) == len(BUILT_IN) + 2
    assert set(NEEDS_DELTA) == {"maxcover", "approximate"}
    fitted = PrivateKMeans(3, bounds=(0, 1), method="mine").fit(X)
    assert fitted.receipt_.method == "Mine"
    rows = {r.method: r for r in plan(n=1000, d=2, k=3, epsilon=1.0).rows}
    assert rows["mine"].fits
    assert rows["approximate"].why_not == "delta > 0 is needed"
    configured = PrivateKMeans(3, bounds=(0, 1), method=METHODS["mine"](steps=4)).fit(X)
    configured.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").method == METHODS["mine"](steps=4, k_range=[2, 4])
    assert "    steps=2  (a whole number)" in run("methods").stdout


def test_a_built_in_name_stays_built_in(install):
    install({"dplloyd": "elsewhere:Mine", "mine": "elsewhere:Mine"})
    assert METHODS["dplloyd"] is DPLloyd
    said = "dplloyd = elsewhere:Mine of the package other-methods is refused.*is built in"
    with pytest.warns(RuntimeWarning, match=said):
        assert tuple(METHODS) == (*BUILT_IN, "mine")
    assert METHODS["dplloyd"] is DPLloyd


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            "broken:Mine",
            "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("elsewhere:Nothing", "cannot be imported: AttributeError"),
        ("elsewhere:not_a_class", "is no method: a class is needed, got 3"),
        ("elsewhere:Mute", "is no method: Mute has no __call__"),
        (
            "elsewhere:Demanding",
            "is no method: Demanding() must work without arguments: missing a required argument",
        ),
    ],
)
def test_a_broken_one_is_named_when_it_is_asked_for_and_breaks_no_other(install, value, said):
    install({"faulty": value, "mine": "elsewhere:Mine"})
    assert tuple(METHODS) == (*BUILT_IN, "faulty", "mine")
    message = f"the entry point faulty = {value} of the package other-methods {said}"
    with pytest.raises(ImportError, match=re.escape(message)):
        METHODS["faulty"]
    with pytest.raises(ImportError, match=re.escape(message)):
        PrivateKMeans(bounds=(0, 1), method="faulty").fit(X)
    assert tuple(METHODS.working()) == (*BUILT_IN, "mine")
    rows = {r.method: r for r in plan(n=1000, d=2, k=3, epsilon=1.0).rows}
    assert message in rows["faulty"].why_not
    assert rows["mine"].fits
    with pytest.raises(ValueError, match="auto, eugkm, hybrid, mine; DPLloyd needs a number"):
        PrivateKMeans("auto", bounds=(0, 1), method="dplloyd").fit(X)
    listed = json.loads(run("methods", "--json").stdout)["methods"]
    assert message in next(each for each in listed if each["name"] == "faulty")["why_not"]
    assert set(NEEDS_DELTA) == {"maxcover"}


def test_two_packages_with_one_name(install):
    install({"mine": "elsewhere:Mine"})
    install({"mine": "elsewhere:Approximate"}, "more-methods")
    with pytest.raises(ImportError, match=r"'mine' is registered twice: .*-methods and .*-methods"):
        METHODS["mine"]


def test_built_in_methods_look_for_no_others():
    code = (
        "import importlib.metadata as m\n"
        "def entry_points(**_): raise AssertionError('looked')\n"
        "m.entry_points = entry_points\n"
        "import sfumato\n"
        "sfumato.METHODS['auto']; assert 'dplloyd' in sfumato.METHODS"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""The version is the one that was installed, and asking for it loads nothing else."""

import subprocess
import sys
import tomllib
from pathlib import Path

import sfumato

ROOT = Path(__file__).parents[2]


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert sfumato.__version__ == project["version"]


def test_the_version_is_no_public_name():
    """A star import must not replace the version of the module that it stands in."""
    assert "__version__" not in sfumato.__all__


def test_asking_for_the_version_is_cheap():
    code = (
        "import sys, sfumato; sfumato.__version__; "
        "print({'numpy', 'sklearn', 'scipy'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


def test_the_citation_has_the_same_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {sfumato.__version__}\n" in citation

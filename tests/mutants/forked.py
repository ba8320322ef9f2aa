"""Runs one test in a process of its own, with libraries that are imported already.

A server imports what the tests need beside the package, and is forked for every planted bug: a copy
of the package is all that a child imports anew.
"""

import multiprocessing
import os
import sys
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
LIBRARIES = (
    "numpy",
    "scipy.special",
    "scipy.stats",
    "scipy.optimize",
    "sklearn.base",
    "sklearn.cluster",
    "sklearn.datasets",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.utils.estimator_checks",
    "cryptography.hazmat.primitives.ciphers",
    "hypothesis.extra.numpy",
    "_hypothesis_pytestplugin",
    "mpmath",
    "numba",
    "pandas",
    "polars",
    "pyarrow.parquet",
    "pytest",
    "rich.console",
    "rich.table",
    "typer.testing",
)


def run_test(name, package, root, output, timeout=900):
    """Run the test of this name on the package in a folder; returns the exit code of pytest."""
    CONTEXT.set_forkserver_preload(list(LIBRARIES))
    child = CONTEXT.Process(target=_run, args=(name, str(package), str(root), str(output)))
    child.start()
    child.join(timeout)
    if child.is_alive():
        child.kill()
        child.join()
        raise TimeoutError(f"{name} took more than {timeout} seconds")
    return child.exitcode


def _run(name, package, root, output):
    """In the child: print to a file, import the package from its folder, run pytest."""
    loaded = [module for module in sys.modules if module.split(".")[0] == "sfumato"]
    assert not loaded, f"the server must not import what is tested: {loaded}"
    with Path(output).open("wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    os.chdir(root)
    os.environ |= {"PYTHONPATH": package, "SFUMATO_HYPOTHESIS": "mutants"}
    for variable in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[variable]
    sys.path[:0] = [root, package]
    import pytest

    # Libraries with plugins for pytest are imported before pytest can rewrite their assertions.
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    code = pytest.main(["-x", "-p", "no:cacheprovider", "-p", "no:xdist", *quiet, name])
    sys.stdout.flush()
    sys.exit(int(code))

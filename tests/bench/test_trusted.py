"""The page of what must be trusted: complete, up to date, and true of the default path."""

import re
import subprocess
import sys

import numpy as np
import pytest

from bench import trusted
from sfumato import PrivateKMeans

LISTED = [name for chapter in trusted.CHAPTERS for name in trusted.files_of(chapter)]

# Runs fits as users do, and prints every file of the package in which a function was called.
WATCHED = """
import inspect, sys, threading
import numpy as np
import sfumato
from pathlib import Path
from sfumato import PrivateKMeans
from sfumato._accounting import composition, gaussian_dp
from sfumato._core.testing import use_loops

root = str(Path(sfumato.__file__).parent)
rng = np.random.default_rng(0)
seen = set()

def watch(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_NEWLOCALS and code.co_name[0] != "<":
        if code.co_filename.startswith(root):
            seen.add(code.co_filename)

for columns in (2, 6, 30):
    X = rng.uniform(size=(3000, columns))
    X[1000:] /= 10
    for delta in (0, 1e-6):
        model = PrivateKMeans(3, epsilon=10.0, delta=delta, bounds=(0, 1), random_state=0)
        if columns > 2 or delta == 0:
            model.fit(X[:50])  # what is imported on first use is imported here
            for cached in (*vars(composition).values(), *vars(gaussian_dp).values()):
                getattr(cached, "cache_clear", bool)()
            threading.setprofile(watch)
            sys.setprofile(watch)
            with use_loops("numpy"):
                model.fit(X).receipt_.spent("pure")
            sys.setprofile(None)
            threading.setprofile(None)
for name in sorted(seen):
    print(Path(name).relative_to(root).as_posix())
"""


def test_the_page_has_the_numbers_of_the_code():
    page = trusted.PAGE.read_text(encoding="utf-8")
    assert page == trusted.written(page), "run `python -m bench trusted`"


def test_every_file_is_there_and_in_one_chapter():
    assert len(LISTED) == len(set(LISTED))
    assert [name for name in LISTED if not (trusted.SOURCE / name).is_file()] == []


def test_no_file_that_holds_rows_noise_or_budget_is_left_out():
    roots = [trusted.SOURCE / name for name in trusted.MUST_BE_LISTED]
    files = [file for root in roots for file in (root.rglob("*.py") if root.is_dir() else [root])]
    names = {file.relative_to(trusted.SOURCE).as_posix() for file in files}
    assert len(names) > 70
    assert names - set(LISTED) - trusted.FOR_TESTS == set()


def test_nothing_in_a_chapter_imports_what_is_for_tests():
    modules = [name.removesuffix(".py").replace("/", ".") for name in trusted.FOR_TESTS]
    for name in LISTED:
        text = (trusted.SOURCE / name).read_text(encoding="utf-8")
        assert not any(f"sfumato.{module}" in text for module in modules), name


def test_every_link_of_the_page_leads_somewhere():
    page = trusted.PAGE.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
    for target in re.findall(r"\]\(([^)]+)\)", page):
        path, _, anchor = target.partition("#")
        assert (trusted.PAGE.parent / path).exists() if path else anchor in anchors, target


def test_what_a_plain_fit_calls_is_on_the_default_path():
    run = [sys.executable, "-c", WATCHED]
    shown = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    path = {name for name in trusted.default_path() if not trusted.is_marker(name)}
    assert set(shown.split()) & set(LISTED) == path


def test_receipts_name_chapters_of_the_page(tmp_path):
    rows = np.random.default_rng(0).uniform(size=(500, 2))
    np.save(tmp_path / "rows.npy", rows)
    titles = {title for title, _ in trusted.CHAPTERS.values()}
    usual = {"Accounting", "Sampling", "Mechanisms and the curator", "Kernels", "Rows in memory"}
    for source, settings, more in (
        (rows, {}, {"Core queries"}),
        (rows, {"bounds": "private"}, {"Core queries", "Private bounds"}),
        (rows, {"method": "gkm"}, {"The papers' queries"}),
        (tmp_path / "rows.npy", {"method": "dplloyd"}, {"Core queries", "Files and engines"}),
    ):
        model = PrivateKMeans(2, **{"bounds": (0, 1), "random_state": 0, **settings}).fit(source)
        assert set(model.receipt_.chapters) - {"Core queries"} == (usual | {"Estimator"} | more) - {
            "Core queries"
        }
        assert set(model.receipt_.chapters) <= titles
        assert more <= set(model.receipt_.chapters)
        assert all(chapter in str(model.receipt_).replace("\n", " ") for chapter in more)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('"""What."""\n\nimport os\n\n\ndef f():\n    """Do."""\n    # why\n    return 1\n', 2),
        ("from a import (\n    b,\n    c,\n)\nx = '''\ntext\n'''\n", 3),
        ("", 0),
    ],
)
def test_lines_of_code_are_without_blanks_comments_docstrings_and_imports(tmp_path, text, code):
    (tmp_path / "some.py").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trusted, "SOURCE", tmp_path)
        assert trusted.size_of("some.py") == trusted.Size(len(text.splitlines()), code)


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="no markers of summary"):
        trusted.written("no table")

"""Pages that run from top to bottom: what they show is what is printed, but for the noise."""

import re

import pytest

from bench.pages import DOCS, PAGES, run, written


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_and_prints_what_it_shows(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    shown = list(run((DOCS / name).read_text("utf-8")))
    for block in shown:
        assert block.right, f"the page shows:\n{block.text}\nprinted was:\n{block.printed}"


CLUSTERS = "scaling.md"
"""Its blocks need clusters and folders of files: tests/engines/test_scaling_page.py runs them."""


def test_every_page_with_code_runs():
    texts = {str(page.relative_to(DOCS)): page.read_text("utf-8") for page in DOCS.rglob("*.md")}
    coded = {name for name, text in texts.items() if re.search(r"^```(python|sh|toml)", text, re.M)}
    assert coded - set(PAGES) == {CLUSTERS}


def test_code_that_is_not_shown_runs_first():
    hidden = "<!-- python\nrows = 17\n-->\n\n```python\nprint(rows)\n```\n\n```text\n17\n```\n"
    assert next(run(hidden)).right
    assert not next(run(hidden.replace("rows = 17", "rows = 18"))).right


def page(printed, shown, kind="text"):
    return f"```python\nprint({printed!r})\n```\n\n```{kind}\n{shown}\n```\n"


def test_a_page_that_shows_something_else_is_found():
    assert next(run(page("one\ntwo", "one\ntwo"))).right
    assert not next(run(page("one\ntwo", "one\nthree"))).right
    assert not next(run(page("one\ntwo", "one"))).right
    assert next(run(page("one\ntwo\nthree\nfour", "one\n…\nfour"))).right
    assert not next(run(page("one\ntwo\nthree", "…\nfour\n…"))).right


def test_an_example_may_differ_in_its_numbers_and_is_written_anew():
    there = page("about 17 rows", "about 12 rows", "text example")
    assert next(run(there)).right
    assert written(there) == page("about 17 rows", "about 17 rows", "text example")
    assert not next(run(page("about 17 rows", "nothing of that", "text example"))).right


def test_a_page_that_shows_something_else_is_not_written():
    with pytest.raises(ValueError, match="printed was:\none"):
        written(page("one", "two"))


def test_files_are_written_and_commands_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = '```toml\n# a.toml\n[columns.age]\nkind = "number"\nlower = 0\nupper = 9\n```\n'
    show = "```sh\nsfumato schema show a.toml  # what is declared\n```\n\n```text\n…\n```\n"
    assert "0 to 9" in next(run(schema + show)).printed
    refused = schema.replace("upper = 9", "upper = 0") + show
    with pytest.raises(ValueError, match=r"ended with 2: .*must lie below"):
        list(run(refused))
    told = refused.replace("# what is declared", "# exit code 2")
    assert "must lie below" in next(run(told)).printed


def test_other_commands_are_refused():
    with pytest.raises(ValueError, match="not a command of sfumato: rm"):
        list(run("```sh\nrm model.json\n```\n"))

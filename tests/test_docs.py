"""Every link, and every path of a source or test file, in every page leads somewhere."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def anchors(page):
    """What GitHub calls the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        where = (page.parent / path).resolve() if path else page
        assert where.exists(), target
        if heading:
            assert heading in anchors(where), target


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_paths_of_code_are_there(page):
    # Decisions and the changelog tell of what was.
    if page.parent.name == "decisions" or page.name == "CHANGELOG.md":
        return
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for path in re.findall(r"`((?:\w+/)+\w+\.py)`", text):
        places = [ROOT / path, ROOT / "src" / "sfumato" / path]
        assert any(place.is_file() for place in places), path


def navigation():
    listed = tomllib.loads((ROOT / "docs" / "navigation.toml").read_text("utf-8"))["section"]
    return [page for section in listed for page in section["pages"]]


def test_the_list_of_pages_names_each_once_and_none_that_is_not_there():
    pages = navigation()
    assert len(pages) == len(set(pages))
    assert "*" in pages
    for page in pages:
        place = ROOT / page[1:] if page.startswith("/") else ROOT / "docs" / page
        assert "*" in page or page == "reference/index" or place.with_suffix(".md").is_file(), page


@pytest.mark.parametrize("folder", ["decisions", "gallery", "papers", "proofs"])
def test_a_folder_of_pages_has_a_list_with_all_of_them(folder):
    place = ROOT / "docs" / folder
    text = (place / "README.md").read_text("utf-8")
    pages = [page.name for page in place.glob("*.md") if page.name != "README.md"]
    assert [name for name in pages if f"({name})" not in text] == []

"""Every link, and every path of a source or test file, in every page leads somewhere."""

import re
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

"""Pictures of the studio, in `docs/figures`, taken in Chromium on made-up tables.

python -m bench screenshots
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).parents[1] / "docs" / "figures"


def main(arguments: list[str]) -> None:
    """Walk through the studio and keep three pictures."""
    from playwright.sync_api import sync_playwright

    from tests.studio.places import declared, people, serving

    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("screenshots need Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        declared(folder)
        people(folder)
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        with serving(folder) as link:
            _walk(browser.new_page(viewport={"width": 1100, "height": 900}), link)
        browser.close()
    for path in sorted(FIGURES.glob("studio-*.png")):
        print(path.name)


def _walk(page: Any, link: str) -> None:
    page.goto(link)
    page.get_by_role("link", name="Plan a fit: clinic").click()
    page.get_by_label("Method", exact=True).select_option("eugkm")
    page.get_by_label("Clusters", exact=True).fill("3")
    page.get_by_text("Made-up clouds").wait_for()
    page.wait_for_timeout(1500)
    page.screenshot(path=FIGURES / "studio-plan.png")
    page.get_by_role("button", name="Spend").click()
    page.get_by_role("dialog").get_by_role("button", name="Spend").click()
    page.get_by_text("The same release, another clustering").wait_for()
    page.screenshot(path=FIGURES / "studio-release.png")
    page.get_by_role("link", name="Learn").click()
    page.get_by_text("Dots are private").wait_for()
    page.screenshot(path=FIGURES / "studio-learn.png")

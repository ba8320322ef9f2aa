"""The studio in a real browser: the whole path, by mouse, by keyboard, on a phone."""

import os
import shutil
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect, sync_playwright

from sfumato import Ledger, Number, Schema
from tests.studio.places import declared, held, people, serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.xdist_group("studio")
if CHROMIUM is None and not os.environ.get("CI"):
    pytestmark = [
        pytestmark,
        pytest.mark.skip(reason="NO BROWSER TESTS: Chromium is missing; apt-get install chromium"),
    ]

PHONE = {"width": 390, "height": 800}
DESK = {"width": 1200, "height": 900}
PATIENCE = 90_000
"""Milliseconds until a page that does not change is a failure, also on a busy machine."""


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    ledger = declared(folder)
    people(folder)
    with serving(folder) as link:
        yield link, ledger


@contextmanager
def opened(browser, place, size=DESK, **settings):
    """A page that entered; errors of its scripts fail the test."""
    context = browser.new_context(viewport=size, **settings)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(place[0])
    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
    assert "key" not in page.url
    yield page
    context.close()
    assert wrong == []


AGAIN = {
    "median": "centres that lower distances",
    "mixture": "Ellipses are two standard deviations",
    "regions": "Each colour is a region",
    "tree": "Dots are the small clusters",
    "kmeans": "Dots are centres.",
}
"""Clusterings of one synopsis, and what stands below their pictures."""


def spent(place):
    return float(Ledger.open(place[1], "clinic").spent[0])


def plan(page, method="eugkm", epsilon="0.2"):
    page.get_by_role("link", name="Plan a fit: clinic").click()
    expect(page.get_by_role("img", name="Predicted error")).to_be_visible()
    page.get_by_label("Method", exact=True).select_option(method)
    page.get_by_label("Clusters", exact=True).fill("3")
    page.get_by_label("ε of this fit", exact=True).first.fill(epsilon)
    return page.get_by_role("button", name=f"Spend ε = {epsilon} of")


def serious(page):
    """Rules of axe-core that are broken seriously."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    bad = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in bad]


def test_the_whole_path(browser, place):
    """Declare, plan, spend with a double click, look, cluster again, compare, download, learn."""
    with opened(browser, place) as page:
        assert serious(page) == []
        page.get_by_role("link", name="Declare: patients").click()
        age = page.get_by_role("group", name="age")
        age.get_by_label("Kind").select_option("number")
        age.get_by_label("Least possible").fill("0")
        page.get_by_role("button", name="Declare, for good").click()
        expect(page.get_by_role("alert")).to_contain_text("fill in")
        age.get_by_label("Largest possible").fill("100")
        age.get_by_label("Where this is known from").fill("a life")
        assert serious(page) == []
        page.get_by_role("button", name="Declare, for good").click()
        expect(page.get_by_role("heading", name="Plan a fit of patients")).to_be_visible()
        page.get_by_role("link", name="Datasets").click()

        before = spent(place)
        spend = plan(page)
        expect(page.get_by_text("Made-up clouds")).to_be_visible()
        assert serious(page) == []
        spend.dblclick()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Left before")
        expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
        expect(dialog).to_have_count(1)
        expect(dialog).to_contain_text("ε = 2.8")
        assert serious(page) == []
        dialog.get_by_role("button", name="Spend ε = 0.2").dblclick()
        expect(page.get_by_role("heading", name="Release of clinic")).to_be_visible()
        assert round(spent(place) - before, 9) == 0.2
        expect(page.get_by_text("The same release, another clustering")).to_be_visible()
        for how, caption in AGAIN.items():
            page.get_by_label("How").select_option(how)
            expect(page.get_by_text(caption)).to_be_visible()
        assert serious(page) == []
        names = ("model.json", "report.html", "dossier.json", "synthetic rows")
        for name in names:
            with page.expect_download() as download:
                page.get_by_role("link", name=name).click()
            assert download.value.path().stat().st_size > 100
        assert round(spent(place) - before, 9) == 0.2
        page.get_by_role("link", name="Learn").click()
        page.get_by_label("ε, from strong").fill("0")
        expect(page.get_by_text("ε = 0.01")).to_be_visible()
        expect(page.get_by_text("Dots are private")).to_be_visible()
        assert serious(page) == []


def test_too_much_is_explained_and_two_releases_are_compared(browser, place):
    with opened(browser, place, color_scheme="dark") as page:
        before = spent(place)
        plan(page, epsilon="50").click()
        expect(page.get_by_role("alert").first).to_contain_text("does not cover")
        assert spent(place) == before
        for amount in (0.1, 0.2):
            page.get_by_role("link", name="Datasets").click()
            plan(page, epsilon="0.1")
            page.get_by_role("button", name="Spend ε = 0.1 of").click()
            page.get_by_role("dialog").get_by_role("button", name="Spend").click()
            expect(page.get_by_role("heading", name="Release of clinic")).to_be_visible()
            assert round(spent(place) - before, 9) == amount
        assert serious(page) == []
        page.get_by_role("link", name="Releases").click()
        expect(page.get_by_role("heading", name="Releases")).to_be_visible()
        for each in range(2):
            page.get_by_role("checkbox").nth(each).check()
        page.get_by_role("button", name="Compare two").click()
        expect(page.get_by_role("heading", name="Centres in pairs")).to_be_visible()
        assert serious(page) == []


def test_a_reload_in_the_middle_of_a_fit_finds_it_again(browser, tmp_path):
    ledger = declared(tmp_path)
    with held(tmp_path) as (link, go, server):
        assert [each.getsockname()[0] for each in server.servers[0].sockets] == ["127.0.0.1"]
        with opened(browser, (link, ledger)) as page:
            plan(page).click()
            page.get_by_role("dialog").get_by_role("button", name="Spend").click()
            expect(page.get_by_text("Running")).to_be_visible()
            page.reload()
            expect(page.get_by_text("Running")).to_be_visible()
            page.get_by_role("link", name="Datasets").click()
            page.get_by_role("link", name="Watch it").click()
            expect(page.get_by_text("Running")).to_be_visible()
            assert serious(page) == []
            go.set()
            expect(page.get_by_role("heading", name="Release of clinic")).to_be_visible()
            assert spent((link, ledger)) == 0.2


def payloads():
    """Names of columns that would be scripts, were they set as HTML."""
    calls = ("hit=1", "window.hit=1", "top.hit=1", "hit`1`", "eval('hit=1')")
    shapes = (
        *("<script>{}</script>", "<img src=x onerror={}>", "<svg onload={}>", '"><b onclick={}>'),
        *("'><body onload={}>", "<iframe src=javascript:{}>", "</legend><script>{}</script>"),
        *("<a href=javascript:{} autofocus onfocus={}>", "javascript:{}", "{{{{{}}}}}", "${{{}}}"),
        *("</script><script>{}</script>", "<style onload={}>", "<x onpointerenter={}>", "`{}`"),
        *(
            "<math><mtext><img src onerror={}>",
            "<details open ontoggle={}>",
            "<!--<img onerror={}>",
        ),
        *(
            "&lt;script&gt;{}&lt;/script&gt;",
            "\\u003cscript\\u003e{}",
            "<input onfocus={} autofocus>",
        ),
        *("<video><source onerror={}>", "<marquee onstart={}>", "<template><script>{}</script>"),
        *("<object data=javascript:{}>",),
    )
    ends = ("", "y", "x", "//")
    return [
        f"{shape.format(*[call] * 2)}{end}" for shape in shapes for call in calls for end in ends
    ]


def test_names_of_columns_are_text_and_nothing_else(browser, tmp_path):
    names = payloads()
    assert len(set(names)) == 500
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    (tmp_path / "wide.csv").write_text(quoted + "\n", encoding="utf-8")
    evil, facts = "<img src=x onerror=hit=1>", Number(0, 1, source="<script>hit=1</script>")
    columns = {name: facts for name in names[:200:60]}
    (tmp_path / f"{evil}.csv").write_text(quoted + "\n" + "0.5,0.25\n" * 2, encoding="utf-8")
    Schema(columns).write(tmp_path / f"{evil}.toml")
    ledger = tmp_path / "sfumato-ledger.db"
    Ledger.create(ledger, evil, epsilon=1.0, bounds={name: [0, 1] for name in columns})
    with serving(tmp_path) as link, opened(browser, (link, ledger)) as page:
        page.on("dialog", lambda dialog: dialog.dismiss())
        page.get_by_role("link", name="Declare: wide").click()
        expect(page.get_by_role("heading", name="Declare wide")).to_be_visible()
        found = page.locator("fieldset.column > legend").all_text_contents()
        assert found == [name.strip() for name in names]
        page.get_by_role("link", name="Datasets").click()
        page.get_by_role("link", name=f"Plan a fit: {evil}").click()
        page.get_by_label("Method", exact=True).select_option("eugkm")
        page.get_by_role("button", name="Spend ε").click()
        page.get_by_role("dialog").get_by_role("button", name="Spend").click()
        expect(page.get_by_role("heading", name="Release of")).to_contain_text(evil)
        expect(page.get_by_role("cell").first).to_be_visible()
        assert page.evaluate(
            "[typeof window.hit, document.querySelectorAll('main script, main img').length]"
        ) == ["undefined", 0]


NAME = """
(e => e.matches('body, main') ? ''
    : e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.innerText || '')
(document.activeElement)
"""
"""Of what has the focus; a page as a whole has no name."""


def reach(page, name, way="Tab"):
    """Move the focus by Tab until it is on an element of this name."""
    for _ in range(60):
        page.keyboard.press(way)
        if name in page.evaluate(NAME):
            return
    raise AssertionError(f"{name} cannot be reached by Tab")


def typed(page, name, text):
    """Type into a field that Tab reaches; what it held is selected, and so replaced."""
    reach(page, name)
    page.keyboard.type(text)


def opens(page, name, heading, way="Enter"):
    """Press what Tab reaches; a page of this heading opens."""
    reach(page, name)
    page.keyboard.press(way)
    expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()


def declare_by_keyboard(page):
    """Two numbers with bounds; the third column is left alone."""
    opens(page, "Declare: visits", "Declare visits")
    for column, most in (("age", "100"), ("hours", "80")):
        typed(page, "Kind", "number")
        expect(page.get_by_role("group", name=column).get_by_label("Least")).to_be_visible()
        typed(page, "Least possible", "0")
        typed(page, "Largest possible", most)
        typed(page, "Where this is known from", "a life")
    typed(page, "Total ε", "2")
    opens(page, "Declare, for good", "Plan a fit of visits")


def spend_by_keyboard(page, ledger):
    """A fit at ε = 0.2, which is asked for twice: the first time it is cancelled."""
    typed(page, "Method", "eugkm")
    typed(page, "ε of this fit", "0.2")
    reach(page, "Spend ε = 0.2 of")
    before = Ledger.open(ledger, "visits").spent[0]
    for key in ("Escape", "Enter"):
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        if key == "Enter":
            reach(page, "Spend ε = 0.2", "Shift+Tab")
        assert Ledger.open(ledger, "visits").spent[0] == before
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="Release of visits")).to_be_visible()
    assert round(float(Ledger.open(ledger, "visits").spent[0] - before), 9) == 0.2


def test_by_keyboard_alone(browser, place):
    """Declare, plan, spend, look, cluster again, download, and compare two, without a mouse."""
    people(place[1].parent, "visits")
    with opened(browser, place) as page:
        declare_by_keyboard(page)
        spend_by_keyboard(page, place[1])
        typed(page, "How", "medians")
        expect(page.get_by_text(AGAIN["median"])).to_be_visible()
        reach(page, "Number of clusters")
        page.keyboard.press("Home")
        expect(page.get_by_role("img", name="clustered again: 1 clusters")).to_be_visible()
        reach(page, "Download model.json")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert '"receipt"' in download.value.path().read_text("utf-8")
        opens(page, "Datasets", "Datasets")
        opens(page, "Plan a fit: visits", "Plan a fit of visits")
        spend_by_keyboard(page, place[1])
        opens(page, "Releases", "Releases")
        for _ in range(2):
            reach(page, "Compare visits of")
            page.keyboard.press("Space")
        opens(page, "Compare two", "Two releases")
        expect(page.get_by_role("heading", name="Centres in pairs")).to_be_visible()


def test_on_a_phone(browser, place):
    with opened(browser, place, PHONE, has_touch=True) as page:
        spend = plan(page, "auto", "0.05")
        expect(page.get_by_text("Made-up clouds")).to_be_visible()
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) <= 0
        spend.tap()
        page.get_by_role("dialog").get_by_role("button", name="Spend").tap()
        expect(page.get_by_role("heading", name="Release of clinic")).to_be_visible()
        assert page.evaluate(wide) <= 0
        assert serious(page) == []

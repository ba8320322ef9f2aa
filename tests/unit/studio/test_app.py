"""Every rule that guards the studio, on the application itself."""

import time
from itertools import product

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

from sfumato import Category, Ledger, Number, PrivateDBSCAN, PrivateKMeans, Schema
from sfumato.studio import _releases as releases
from sfumato.studio._app import CHANGING, READING, Studio
from sfumato.studio._folder import Folder, opaque
from sfumato.studio._guard import HEADERS, LARGEST_BODY, PAGE_KEY, Keys
from tests.studio.places import declared, people

HOST = "http://127.0.0.1:8000"
CLINIC = f"/api/datasets/{opaque('clinic')}"
ASKED = {"k": 3, "epsilon": 0.5, "method": "eugkm", "purpose": "a test"}


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    declared(folder)
    people(folder)
    return Studio(Folder(folder, None), Keys())


def stranger(studio):
    return TestClient(studio.app(), base_url=HOST, headers={"origin": HOST})


@pytest.fixture(scope="module")
def page(studio):
    client = stranger(studio)
    found = client.post("/api/enter", json={"key": studio.keys.entry})
    client.headers[PAGE_KEY] = found.json()["page"]
    return client


def spent(studio):
    return Ledger.open(studio.folder.ledger, "clinic").spent[0]


def released(page, request):
    for _ in range(4000):
        job = page.get(f"/api/jobs/{request}").json()
        if job["state"] not in ("waiting", "running"):
            return job
        time.sleep(0.05)
    raise AssertionError("the fit does not end")


def test_the_cookie_is_strict_and_hidden_from_scripts(studio):
    found = stranger(studio).post("/api/enter", json={"key": studio.keys.entry})
    cookie = found.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert studio.keys.session not in found.text


@pytest.mark.parametrize("key", ["", "0" * 64, None, 3, ["x"]])
def test_another_key_does_not_enter(studio, key):
    found = stranger(studio).post("/api/enter", json={"key": key})
    assert found.status_code == 401
    assert "set-cookie" not in found.headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:9", "evil.example:8000"])
def test_another_host_is_refused(page, host):
    assert page.get("/", headers={"host": host}).status_code == 421
    assert page.get("/api/state", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9", ""])
def test_another_origin_is_refused(page, studio, origin):
    before = spent(studio)
    for answer in (
        page.get("/api/state", headers={"origin": origin}),
        page.post(f"{CLINIC}/quote", json=ASKED, headers={"origin": origin}),
    ):
        assert answer.status_code == 403
    assert spent(studio) == before


def test_a_change_without_an_origin_is_refused(page):
    del page.headers["origin"]
    try:
        assert page.post(f"{CLINIC}/quote", json=ASKED).status_code == 403
        assert page.get("/api/state").status_code == 200
        crossed = page.get("/api/state", headers={"sec-fetch-site": "cross-site"})
        assert crossed.status_code == 403
    finally:
        page.headers["origin"] = HOST


@pytest.mark.parametrize("path", [p for p in READING if "{" not in p] + [CLINIC, f"{CLINIC}/plan"])
def test_nothing_is_shown_without_a_session(studio, path):
    assert stranger(studio).get(path).status_code == 401


@pytest.mark.parametrize("path", [p for p in CHANGING if p != "/api/enter"])
def test_nothing_is_changed_without_both_keys(studio, page, path):
    path = path.replace("{id}", opaque("clinic"))
    without_cookie = stranger(studio)
    assert without_cookie.post(path, json={}).status_code == 401
    headers = {PAGE_KEY: studio.keys.page}
    assert without_cookie.post(path, json={}, headers=headers).status_code == 401
    for wrong in ("", "0" * 64, studio.keys.session):
        assert page.post(path, json={}, headers={PAGE_KEY: wrong}).status_code == 401


@pytest.mark.parametrize("path", list(CHANGING))
def test_no_get_changes_anything(page, path):
    assert page.get(path.replace("{id}", opaque("clinic"))).status_code in (404, 405)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(page, method):
    assert page.request(method, "/api/state").status_code == 405


def test_a_form_of_another_page_is_no_change(page):
    answer = page.post("/api/spend", content="request=1", headers={"content-type": "text/plain"})
    assert answer.status_code == 415


def test_bodies_are_limited_whatever_they_claim(page):
    large = b'{"k": "' + b"x" * LARGEST_BODY + b'"}'
    headers = {"content-type": "application/json"}
    assert page.post("/api/spend", content=large, headers=headers).status_code == 413

    def parts():
        for _ in range(8):
            yield large[: LARGEST_BODY // 4]

    assert page.post("/api/spend", content=parts(), headers=headers).status_code == 413


@pytest.mark.parametrize("body", ["", "[]", "{", "null", "[" * 5000, '"x"'])
def test_what_is_no_object_is_refused_in_words(page, body):
    headers = {"content-type": "application/json"}
    answer = page.post("/api/spend", content=body, headers=headers)
    assert answer.status_code == 409
    assert "error" in answer.json()


@pytest.mark.parametrize(
    "path", ["/", "/static/studio.js", "/api/state", "/nothing", "/api/nothing"]
)
def test_every_answer_has_the_headers(page, path):
    found = page.get(path).headers
    assert {name: found[name] for name in HEADERS} == HEADERS


UP = ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..\\", "..%5c", "....//", "%252e%252e%252f", "/")
WANTED = ("clinic.csv", "sfumato-ledger.db", "etc/passwd", "clinic", "clinic.csv%00", "_app.py")
PLACES = ("/api/datasets/{}", "/api/jobs/{}", "/api/releases/{}/model.json", "/static/{}")


@pytest.mark.parametrize("place", PLACES)
def test_no_path_comes_from_a_page(page, place):
    ways = [up * depth + wanted for up, depth, wanted in product(UP, range(5), WANTED)]
    assert len(ways) * len(PLACES) > 1000
    for way in ways:
        answer = page.get(place.format(way))
        assert answer.status_code in (404, 405), way
        assert not any(text in answer.text for text in ("root:", "age,hours", "SQLite", "import"))


def test_what_was_not_expected_is_told_by_a_number_alone(page, studio, monkeypatch, capsys):
    def broken():
        raise RuntimeError("the age is 41.07")

    monkeypatch.setattr(studio.folder, "datasets", broken)
    answer = page.get("/api/state")
    assert answer.status_code == 500
    assert "41" not in answer.text.partition("number")[0]
    assert answer.json()["error"].rpartition(" ")[2].rstrip(".") in capsys.readouterr().err


def test_no_answer_has_a_folder_or_a_row(page, studio):
    row = (studio.folder.folder / "clinic.csv").read_text("utf-8").splitlines()[1].split(",")
    answers = [page.get(path) for path in ("/api/state", CLINIC, f"{CLINIC}/plan")]
    answers.append(page.post(f"{CLINIC}/declare", json={"columns": {"age": {"kind": "x"}}}))
    for answer in answers:
        assert str(studio.folder.folder) not in answer.text
        assert row[0] not in answer.text


def test_one_confirmation_is_one_charge(page, studio):
    before = spent(studio)
    quote = page.post(f"{CLINIC}/quote", json=ASKED).json()
    assert (quote["before"], quote["after"]) == (3 - before, 3 - before - 0.5)
    assert spent(studio) == before
    answers = [page.post("/api/spend", json={"request": quote["request"]}) for _ in range(5)]
    assert {answer.json()["request"] for answer in answers} == {quote["request"]}
    job = released(page, quote["request"])
    assert job["state"] == "released", job
    assert page.post("/api/spend", json={"request": quote["request"]}).status_code == 200
    assert spent(studio) - before == 0.5
    release = f"/api/releases/{job['release']}"
    found = page.get(release).json()
    assert len(found["picture"]["centers"]) == 3
    for how in ("kmeans", "median", "mixture", "regions", "tree"):
        assert page.get(f"{release}/clusters?how={how}&k=4").status_code == 200
    assert page.get(f"{release}/clusters?how=other").status_code == 400
    assert page.get(f"{release}/curve").json()["best"] >= 2
    assert page.get(f"{release}/model.json").json()["model"] == "kmeans"
    rows = page.get(f"{release}/synthetic.csv?n=20").text.splitlines()
    assert (rows[0], len(rows)) == ("age,hours", 21)
    report = page.get(f"{release}/report")
    assert "sandbox allow-scripts" in report.headers["content-security-policy"]
    assert "clinic" in page.get(f"{release}/dossier.json").json()["title"]
    pairs = page.get(f"/api/compare/{job['release']}/{job['release']}").json()["pairs"]
    assert [pair["distance"] for pair in pairs] == [0, 0, 0]
    assert spent(studio) - before == 0.5


def test_too_much_is_refused_in_words_and_costs_nothing(page, studio):
    before = spent(studio)
    answer = page.post(f"{CLINIC}/quote", json={**ASKED, "epsilon": 50})
    assert answer.status_code == 409
    assert "does not cover" in answer.json()["error"]
    assert page.post("/api/spend", json={"request": "invented"}).status_code == 409
    assert spent(studio) == before


@pytest.mark.parametrize(
    "wrong",
    [
        *({"k": 0}, {"k": 2.5}, {"k": True}, {"k": "many"}, {"method": "nothing"}, {"k": None}),
        *({"epsilon": 0}, {"epsilon": -1}, {"epsilon": "1"}, {"delta": 2}, {"epsilon": None}),
    ],
)
def test_wrong_settings_are_refused_before_they_are_confirmed(page, studio, wrong):
    before = spent(studio)
    assert page.post(f"{CLINIC}/quote", json={**ASKED, **wrong}).status_code in (400, 409)
    assert spent(studio) == before


def test_a_declaration_is_kept_and_never_changes(page, studio):
    place = f"/api/datasets/{opaque('patients')}"
    assert page.get(place).json()["columns"] == ["age", "hours", "person"]
    age = {"kind": "number", "lower": 0, "upper": 100}
    wanted = {"columns": {"age": age}, "groups": "person", "max_rows_per_group": 2, "epsilon": 1}
    assert "come from" in page.post(f"{place}/declare", json=wanted).json()["error"]
    wanted["columns"]["age"]["source"] = "a life"
    assert page.post(f"{place}/declare", json=wanted).status_code == 200
    assert page.post(f"{place}/declare", json=wanted).status_code == 409
    ledger = Ledger.open(studio.folder.ledger, "patients")
    assert ledger.facts.max_rows_per_group == 2
    quote = page.post(f"{place}/quote", json={"k": 2, "epsilon": 0.5}).json()
    page.post("/api/spend", json={"request": quote["request"]})
    assert released(page, quote["request"])["state"] == "released"


@pytest.mark.parametrize("kind", ["array", "twins"])
def test_what_no_fit_could_use_is_not_declared(page, studio, kind):
    """An array has no names to choose columns by, and two columns may have one name."""
    folder = studio.folder.folder
    np.save(folder / "array.npy", np.zeros((3, 2)))
    (folder / "twins.csv").write_text("a,a,b\n1,2,3\n", encoding="utf-8")
    fact = {"kind": "number", "lower": 0, "upper": 1, "source": "a manual"}
    wanted = {"columns": {"column0": fact}, "epsilon": 1}
    place = f"/api/datasets/{opaque(kind)}"
    assert page.post(f"{place}/declare", json=wanted).status_code in (400, 409)
    assert page.get(place).json()["registered"] is False
    assert not (folder / f"{kind}.toml").exists()


def test_people_with_several_rows_make_plans_and_pictures_as_noisy_as_their_fits(page, studio):
    """The same ε protects two rows with twice the noise."""
    one, two = (
        studio_plan(page, studio, name, rows, epsilon)
        for name, rows, epsilon in (("single", None, 0.5), ("double", 2, 1))
    )
    assert one["methods"] == two["methods"]


def studio_plan(page, studio, name, rows, epsilon):
    people(studio.folder.folder, name, n=20)
    groups = {} if rows is None else {"groups": "person"}
    Schema(age=Number(0, 100, source="a life"), **groups).write(
        studio.folder.folder / f"{name}.toml"
    )
    Ledger.create(studio.folder.ledger, name, epsilon=3.0, max_rows_per_group=rows)
    return page.get(f"/api/datasets/{opaque(name)}/plan?epsilon={epsilon}").json()


def test_a_formula_is_no_formula_in_synthetic_rows():
    """A spreadsheet runs cells that begin with =, +, - or @."""
    levels = ("=cmd()", "+1", "-1", "@x", "plain")
    schema = Schema(**{"=sum(a)": Category(*levels, source="a manual"), "b": Number(0, 1)})
    cells = pd.DataFrame({"=sum(a)": levels * 40, "b": np.linspace(-1, 1, 200)})
    model = PrivateKMeans(2, epsilon=1.0, schema=schema, method="eugkm").fit(cells)
    head, *rows = releases.synthetic(model, 200).splitlines()
    assert head == "'=sum(a),b"
    assert {row.partition(",")[0] for row in rows} <= {"'=cmd()", "'+1", "'-1", "'@x", "plain"}


def test_clusters_of_a_synopsis_lie_where_the_rows_are():
    """Centres, ellipses and leaves are drawn in parts of the picture, whatever the units."""
    rng = np.random.default_rng(0)
    rows = rng.normal([30, -2], [4, 0.1], (4000, 2))
    model = PrivateKMeans(2, epsilon=5.0, bounds=([0, -4], [40, 4]), method="eugkm").fit(rows)
    for how in ("kmeans", "median", "mixture"):
        center = releases.clustered(model, how, 1, 0, 1)["centers"][0]
        assert np.allclose(center, [0.75, 0.25], atol=0.03), how
    (along, across, turn), *_ = releases.clustered(model, "mixture", 1, 0, 1)["ellipses"]
    assert along == pytest.approx(2 * 4 / 40, rel=0.3)
    assert across < along / 2
    assert abs(np.sin(np.radians(turn))) < 0.1


def test_a_release_without_centres_is_clustered_by_its_synopsis():
    rows = np.random.default_rng(0).uniform(0, 1, (500, 2))
    model = PrivateDBSCAN(epsilon=1.0, bounds=(0, 1)).fit(rows)
    shown = releases.shown(model)
    assert (shown["table"], shown["picture"]["centers"]) == (None, [])
    assert len(releases.clustered(model, "kmeans", 3, -1, -1)["centers"]) == 3


def test_lessons_and_simulations_need_no_rows(page, studio):
    before = spent(studio)
    assert len(page.get("/api/learn?epsilon=1").json()["private"]) == 15
    made = page.get(f"{CLINIC}/simulation?n=2000&k=3&epsilon=1").json()
    assert made["rows"] == 2000
    assert page.get(f"{CLINIC}/simulation?n=1e99").status_code == 400
    assert page.get("/api/learn?epsilon=nan").status_code == 400
    assert spent(studio) == before

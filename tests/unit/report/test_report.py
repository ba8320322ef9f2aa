"""Reports, dossiers and seals: what is in them, and that every change of them is found."""

import html
import json
import math
import re
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest

from sfumato import plan
from sfumato._accounting.guarantee import Guarantee, finite_precision_delta
from sfumato._report import dossier, page, sign, verify
from sfumato._report.seal import new_key, opened_page, private_key, public_key, signed_page
from sfumato._report.seal import with_seal as written
from sfumato._report.words import after, percent
from tests.unit.releases import KINDS, NASTY, SECRET, release, rows

DATE = datetime(2026, 11, 1, tzinfo=UTC)


def report(kind, **settings):
    return page(release(kind), **settings)


@pytest.fixture
def owner(tmp_path):
    """The paths of a key: private, and public."""
    private, public = new_key()
    (tmp_path / "owner.pem").write_text(private)
    (tmp_path / "owner.pub.pem").write_text(public)
    return tmp_path / "owner.pem", tmp_path / "owner.pub.pem"


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_every_release_stands_alone_and_is_small(kind):
    text = report(kind)
    assert len(text.encode()) < 2_000_000
    body = text[text.index("<body") :]
    # No address that a browser would ask for, and nothing that runs.
    assert not re.findall(r"(?:src|srcset|data|action|xlink:href)=", body)
    assert set(re.findall(r'href="(.)', text)) == {"#"}
    assert "url(" not in text
    assert "@import" not in text
    assert re.findall("<script[^>]*>", text) == ['<script type="application/json" id="dossier">']
    assert "default-src 'none'" in html.unescape(text)
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    assert str(SECRET)[:6] not in text


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_have_texts_and_links_lead_to_sections(kind):
    text = report(kind)
    pictures = re.findall(r'<svg[^>]*role="img"[^>]*aria-label="([^"]*)"', text)
    assert len(pictures) == text.count('role="img"')
    assert all(len(said) > 20 for said in pictures)
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(ids)
    # What is wider than a phone can be scrolled with the keyboard.
    assert text.count('class="scroll" tabindex="0"') == text.count("<table>")


def test_names_of_the_owner_are_no_markup():
    text = page(release("schema"), title="</title><script>x</script>", command="<b>&")
    assert "<script>x" not in text
    assert NASTY not in text
    assert html.escape(NASTY, quote=True) in text
    assert "<i>clinic" not in text


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 10.0])
def test_a_belief_rises_as_bayes_says(epsilon):
    e = math.exp(epsilon)
    for prior in (0.01, 0.5, 0.9):
        # The largest ratio of likelihoods is e^ε.
        assert after(prior, Fraction(epsilon)) == pytest.approx(prior * e / (prior * e + 1 - prior))
    assert after(0.5, Fraction(epsilon), Fraction(1, 100)) == pytest.approx((e + 0.01) / (1 + e))


def test_what_is_called_the_most_is_not_less():
    assert percent(after(0.5, Fraction(1))) == "73.2 %"
    assert percent(0.731) == "73.1 %"
    assert percent(1.0) == "100 %"
    assert after(0.5, Fraction(2000)) == 1


def test_the_guarantee_can_be_quoted():
    text = html.unescape(report("kmeans 2"))
    assert "with a probability of 50 % can believe so with at most 73.2 % after it" in text
    assert "is right with a probability of at most" in html.unescape(report("delta"))


def test_bounds_say_where_they_come_from_or_are_open():
    there = {each["column"]: each["source"] for each in dossier(release("schema"))["bounds"]}
    assert there["age"] == "the law"
    assert there["income"] is None
    stated = dossier(release("schema"), bounds_from="a census")["bounds"]
    assert {each["source"] for each in stated} == {"the law", "a census"}
    assert "the owner must answer" in report("kmeans 2")
    assert "a census" in report("kmeans 2", bounds_from="a census")


def test_a_dossier_is_json_with_all_that_an_officer_asks():
    model = release("kmeans 2")
    found = dossier(model, command="sfumato fit x", date=DATE)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["date"] == "2026-11-01T00:00:00+00:00"
    assert Fraction(found["guarantee"]["epsilon"]) == 1
    assert found["command"] == "sfumato fit x"
    assert found["composition"]["receipts"] == [model.receipt_.to_dict()]
    points = found["nist_sp_800_226"]["points"]
    assert {each["status"] for each in points} == {"answered", "open"}
    assert all((each["answer"] != "") == (each["status"] == "answered") for each in points)
    text = html.unescape(page(model, twin=found))
    assert all(each["question"] in text for each in points)
    entry = found["registry"]["entry"]["deployment"]
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert "commit" in found["registry"]["followed"]


def test_rows_and_models_without_a_fit_have_no_report(tmp_path):
    for make in (page, dossier):
        with pytest.raises(TypeError, match="never of rows"):
            make(rows(2))
    with pytest.raises(TypeError, match="not fitted"):
        type(release("kmeans 2"))(3).report(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def found_in(path, **settings):
    found = verify(path, **settings)
    return {check.name: check.right for check in found.checks}


def test_what_was_signed_is_right(tmp_path, owner):
    key, public = private_key(owner[0]), public_key(owner[1])
    model = release("delta")
    (tmp_path / "report.html").write_text(page(model, signature=key))
    (tmp_path / "dossier.json").write_text(written(sign(dossier(model), key)))
    (tmp_path / "model.json").write_text(written(sign(model.to_dict(), key)))
    checked = [verify(tmp_path / n, key=public) for n in ("report.html", "dossier.json")]
    checked.append(verify(tmp_path / "model.json", key=public))
    assert all(check.right for each in checked for check in each.checks)
    assert len({each.model for each in checked}) == 1
    other = public_key_of_another(tmp_path)
    assert found_in(tmp_path / "report.html", key=other)["signature"] is False


def public_key_of_another(folder):
    (folder / "other.pem").write_text(new_key()[1])
    return public_key(folder / "other.pem")


def test_a_page_that_was_changed_anywhere_is_found(tmp_path, owner):
    text = report("kmeans 2", signature=private_key(owner[0]))
    changed = tmp_path / "report.html"
    rng = np.random.default_rng(0)
    for place in rng.integers(text.index("<style"), len(text), size=30):
        other = "x" if text[place] != "x" else "y"
        changed.write_text(text[:place] + other + text[place + 1 :], encoding="utf-8")
        assert not verify(changed).right
    changed.write_text(text.replace("73.2 %", "63.2 %"), encoding="utf-8")
    assert found_in(changed)["signature"] is False


def test_words_that_say_less_are_found_without_a_signature(tmp_path):
    changed = tmp_path / "report.html"
    blank, _ = opened_page(report("kmeans 2"))
    data, body = blank.index(says := "at most 73.2 %"), blank.index(says, blank.index("<body"))
    assert data < blank.index("<body") < body
    # Whoever changes a page can also take its digest anew: in the data, where it is shown, in both.
    for places in ([data], [body], [data, body]):
        text = blank
        for place in places:
            text = text[:place] + "at most 51.2 %" + text[place + len(says) :]
        changed.write_text(signed_page(text))
        assert found_in(changed) == {
            "digest": True,
            "signature": None,
            "receipt 1": True,
            "guarantee": True,
            "words": False,
        }


def test_a_change_of_a_file_without_a_signature_is_found(tmp_path):
    model = release("kmeans 2")
    files = {
        "report.html": (page(model), "Checklist", "Checkmate"),
        "dossier.json": (written(sign(dossier(model))), '"sfumato"', '"other"'),
        "model.json": (written(sign(model.to_dict())), '"cluster_centers"', '"centres"'),
    }
    for name, (text, right, wrong) in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert found_in(tmp_path / name)["digest"] is True
        assert right in text
        (tmp_path / name).write_text(text.replace(right, wrong), encoding="utf-8")
        assert found_in(tmp_path / name)["digest"] is False


def halved(data):
    data["queries"][0]["cost"] = "1/2"


def cheaper(data):
    data["guarantee"]["epsilon"] = "1/2"


def claimed(data):
    """All that follows from the claim agrees with it; the caps do not."""
    guarantee = data["guarantee"]
    less = Guarantee(guarantee["kind"], Fraction(1, 2), Fraction(guarantee["delta"]), "one row")
    guarantee |= {"epsilon": "1/2", "in_words": less.in_words()}
    data["finite_precision_delta"] = finite_precision_delta(0.5, data["numerical_slack"])


def capped(data):
    data["caps"][0]["pure"] = ["1/2"]


def renamed(data):
    data["queries"][0]["kind"] = "free"


def worded(data):
    data["guarantee"]["in_words"] = "ε = 0.1"


@pytest.mark.parametrize("forge", [halved, cheaper, claimed, capped, renamed, worded])
@pytest.mark.parametrize("kind", ["kmeans 2", "delta"])
def test_spends_that_do_not_add_up_are_found(tmp_path, forge, kind):
    data = json.loads(json.dumps(release(kind).to_dict()))
    path = tmp_path / "model.json"
    path.write_text(written(sign(data)))
    assert found_in(path)["receipt"] is True
    forge(data["receipt"])
    path.write_text(written(sign(data)))
    assert found_in(path) == {"digest": True, "signature": None, "receipt": False}


def test_a_guarantee_that_is_not_the_sum_is_found(tmp_path):
    found = dossier(release("kmeans 2"))
    for name, value in (("epsilon", "1/2"), ("delta", "1/2"), ("unit_of_privacy", "one person")):
        forged = {**found, "guarantee": {**found["guarantee"], name: value}}
        (tmp_path / "dossier.json").write_text(written(sign(forged)))
        assert found_in(tmp_path / "dossier.json")["guarantee"] is False
    twice = {**found["composition"], "receipts": found["composition"]["receipts"] * 2}
    (tmp_path / "dossier.json").write_text(written(sign({**found, "composition": twice})))
    assert found_in(tmp_path / "dossier.json")["guarantee"] is False


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", "[]", '{"a": 1, "a": 2}', '{"a": NaN}', "<html></html>", "{}"]
)
def test_what_is_none_of_ours_is_wrong(tmp_path, text):
    (tmp_path / "file").write_text(text)
    assert not verify(tmp_path / "file").right


def test_a_key_that_is_there_twice_is_no_file_of_ours(tmp_path):
    text = written(sign(release("kmeans 2").to_dict()))
    (tmp_path / "model.json").write_text(text.replace("{", '{"format": 9,', 1))
    (check,) = verify(tmp_path / "model.json").checks
    assert (check.right, check.said) == (False, "a key is there twice")


def test_notebooks_show_models_receipts_plans_and_synopses():
    model = release("grid")
    shown = {
        "model": model._repr_html_(),
        "receipt": model.receipt_._repr_html_(),
        "synopsis": model.synopsis_._repr_html_(),
        "plan": plan(n=1000, d=2, k=3, epsilon=1.0)._repr_html_(),
    }
    for said in shown.values():
        assert said.startswith('<div class="sfumato">')
        assert "<script" not in said
        assert str(SECRET)[:6] not in said
    assert "<svg" in shown["synopsis"]
    assert "auto" in shown["plan"]
    assert "73.2 %" in shown["model"]

"""The long run of audits: what it runs, that it goes on, and what its page says."""

import numpy as np
import pytest

from bench import audit, audit_page
from bench.audit import Job, cells, do, jobs, share_of, worst_pairs
from bench.audit_pairs import KINDS, MOST, five, many
from bench.broken import BROKEN, CORRECT
from bench.growing_tables import append_row, read_rows
from sfumato.methods import METHODS, NEEDS_DELTA


def test_every_method_and_claim_is_attacked_in_every_way():
    found = list(jobs())
    assert len({job.key for job in found}) == len(found)
    assert {cell[0] for cell in cells()} == set(METHODS)
    for kind, times in (("replay", 1), ("likelihood", 5), ("black box", 2)):
        assert sum(job.kind == kind for job in found) == times * len(cells())
    assert all(job.delta for job in found if job.what in NEEDS_DELTA)
    assert len(BROKEN) >= 10
    assert {job.what for job in found if job.kind == "broken"} == {*BROKEN, *CORRECT}


@pytest.mark.parametrize("method", METHODS)
def test_runs_of_a_method_add_up(method):
    mine = [cell for cell in cells() if cell[0] == method]
    assert 0.99 < 5 * len(mine) * share_of(method, audit.RUNS, 5) / audit.RUNS <= 1
    assert 0.99 < 2 * len(mine) * share_of(method, audit.FITS, 2) / audit.FITS <= 1


def test_pairs_are_neighbours_of_few_rows():
    found = many(audit.PAIRS)
    assert len({pair.name for pair in found}) == len(found) == 200
    assert {pair.name.rsplit(" ", 1)[0] for pair in found} == set(KINDS)
    for pair in [*found, *five()]:
        smaller, larger = len(pair.smaller.rows), len(pair.larger.rows)
        assert smaller <= MOST
        if pair.larger.groups is None:
            assert larger == smaller + 1
            rows = [line.tobytes() for line in pair.larger.rows]
            for line in pair.smaller.rows:
                rows.remove(line.tobytes())
            assert len(rows) == 1
        else:
            kept = pair.larger.groups != 99
            np.testing.assert_array_equal(pair.larger.rows[kept], pair.smaller.rows)


QUICK = {
    Job("replay", "sukpisit", 1.0, 0.0): "8",
    Job("likelihood", "sukpisit", 1.0, 0.0, "corner"): "40",
    Job("canaries", "counts of a grid", 1.0, 0.0): "100",
}


@pytest.mark.parametrize("job", QUICK, ids=lambda job: job.kind)
def test_a_job_makes_a_row_of_the_table(job, tmp_path):
    table = tmp_path / "audit.csv"
    row = do((job, float("inf"), 1e-4, table))
    append_row(table, audit.COLUMNS, row)
    (read,) = read_rows(table)
    assert tuple(read[name] for name in audit.COLUMNS[:5]) == job.key
    assert read["runs"] == QUICK[job]
    assert read["wrong"] == "0"
    assert 0 <= float(read["bound"]) <= 1


def test_a_job_that_raises_is_written_down_as_wrong(tmp_path):
    row = do((Job("replay", "no method", 1.0, 0.0), float("inf"), 1e-4, tmp_path / "audit.csv"))
    read = dict(zip(audit.COLUMNS, row, strict=True))
    assert read["wrong"] == 1
    assert read["note"].startswith("raised KeyError")


def test_a_job_is_not_begun_when_the_time_is_over(tmp_path):
    assert do((next(jobs()), 0.0, 1.0, tmp_path / "audit.csv")) is None


def row(kind, what, bound, **more):
    cells = {"epsilon": "1", "delta": "0", "place": "", "runs": "100", "wrong": "0"}
    return {
        **cells,
        "seconds": "2.0",
        "note": "",
        "kind": kind,
        "what": what,
        "bound": bound,
    } | more


def test_the_worst_pairs_are_those_that_showed_most():
    rows = [
        row("likelihood", "auto", "0.9", place="duplicate", epsilon="4"),
        row("likelihood", "auto", "0.3", place="first"),
        row("likelihood", "gkm", "0.9", place="lone"),
    ]
    assert [pair.name for pair in worst_pairs("auto", rows)][:2] == ["first", "duplicate"]


ROWS = [
    row("replay", "auto", "1"),
    row("likelihood", "auto", "0.41"),
    row("likelihood", "auto", "0.2", epsilon="0.5"),
    row("black box", "auto", "1.2", wrong="1"),
    row("broken", next(iter(BROKEN)), "1.5", note="twin: x|y is large (more likely so)"),
    row("broken", next(iter(CORRECT)), "0.2"),
    row("canaries", "counts of a grid", "0.8"),
]


def test_the_page_shows_what_was_found():
    text = audit_page.text(ROWS)
    assert "| auto | 100 | 1.00 | 200 | 0.41 | 100 | 1.20 | 1 of 4 |" in text
    assert f"| {next(iter(BROKEN))} | yes | 1.50 | 100 | 2.0 | twin: x\\|y is large |" in text
    assert f"| {next(iter(CORRECT))} | no | 0.20 | 100 | 2.0 |  |" in text
    assert "| counts of a grid | 1, 0 | 100 | 0.80 |" in text
    assert audit_page.text([]) == ""


def test_page_and_figure_are_written(tmp_path):
    page, figure = tmp_path / "page.md", tmp_path / "figure.png"
    page.write_text(f"before\n{audit_page.BEGIN}\nold\n{audit_page.END}\nafter\n", "utf-8")
    audit_page.write(ROWS, page, figure)
    text = page.read_text("utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "0.41" in text
    assert figure.stat().st_size > 1000


def test_the_page_is_that_of_the_table():
    page = audit_page.PAGE.read_text("utf-8")
    shown = page.split(audit_page.BEGIN)[1].split(audit_page.END)[0].strip()
    assert shown == audit_page.text(read_rows(audit.TABLE)).strip()
    assert not [one for one in read_rows(audit.TABLE) if int(one["wrong"])]

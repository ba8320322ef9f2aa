"""Stories of the gallery: a page, a figure that is small, and one that is drawn here."""

import pytest

from bench.gallery import FIGURES, STORIES, main
from bench.pages import DOCS


@pytest.mark.parametrize("name", STORIES)
def test_a_story_has_a_page_and_a_small_figure(name):
    text = (DOCS / "gallery" / f"{name}.md").read_text("utf-8")
    assert f"../figures/gallery/{name}.png" in text
    assert f"({name}.md)" in (DOCS / "gallery" / "README.md").read_text("utf-8")
    assert (FIGURES / f"{name}.png").stat().st_size < 150_000


def test_the_hospital_needs_no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path / "none"))
    main(["hospital", "--to", str(tmp_path)])
    assert (tmp_path / "hospital.png").stat().st_size < 150_000
    with pytest.raises(SystemExit, match="nothing to measure"):
        main(["adult", "--to", str(tmp_path)])

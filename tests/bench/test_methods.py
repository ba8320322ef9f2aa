"""The pages about methods and data say what the code says."""

from bench.methods import DATA, PAGE, built_in, data_page, page
from sfumato.methods import METHODS


def test_the_pages_are_written():
    assert PAGE.read_text("utf-8") == page(), "run: python -m bench methods"
    text = DATA.read_text("utf-8")
    assert text == data_page(text), "run: python -m bench methods"


def test_every_method_has_a_section():
    assert [name for name in METHODS if name in built_in()] == built_in()
    for name in built_in():
        assert f"\n## {name}\n" in page()

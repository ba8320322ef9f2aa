"""All papers by one command."""

from importlib import import_module

import pytest

from bench.papers.papers import PAPERS, main


@pytest.mark.parametrize(("words", "asked"), [([], PAPERS), (["su2015"], ("su2015",))])
def test_every_paper_is_run_with_what_was_asked(words, asked, monkeypatch):
    calls = []
    for name in PAPERS:
        module = import_module(f"bench.papers.{name}")
        monkeypatch.setattr(module, "main", lambda argv, name=name: calls.append((name, argv)))
    main([*words, "--quick", "--processes", "1"])
    assert calls == [(name, ["all", "--processes", "1", "--quick"]) for name in asked]

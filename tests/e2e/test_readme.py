"""The README's example runs as it stands and prints what it shows, but for the noise."""

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL).group(1)


def shape(text):
    """The words of a text without its numbers, wherever cells of its table are wrapped."""
    text = re.sub(r"-?\d[\d.e+-]*", "#", text)
    return sorted(re.sub(r"[━─┳┻╇┼┴┏┡├└┓┩┤┘│┃\s#.\[\]]+", " ", text).split())


def test_the_example_prints_what_the_readme_shows():
    code = block("python")
    assert len(code.strip().splitlines()) <= 17
    # The noise decides now and then how a radius or a note is worded.
    for _ in range(12):
        printed = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        ).stdout
        if shape(printed) == shape(block("text")):
            break
    assert shape(printed) == shape(block("text"))
    assert "left=(0.1, 0)" in printed

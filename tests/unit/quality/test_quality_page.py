"""The page on quality: its example runs, and says what the page says."""

import re
from pathlib import Path

import numpy as np

PAGE = (Path(__file__).parents[3] / "docs" / "quality.md").read_text("utf-8")
[CODE] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_runs_and_prints_intervals(capsys):
    names = {}
    exec(CODE, names)
    told, model = names["told"], names["model"]
    printed = capsys.readouterr().out
    assert "silhouette" in printed
    assert "0.05" in printed
    assert names["curator"].ledger.left == (0, 0)
    # 52 rows, as the page says, for 12,000: far from it only once in many millions of runs.
    assert abs(told.rows.value - 12_000) < 2500
    far = np.sort(model.transform(names["X"]), axis=1)
    assert abs(told.silhouette.value - (1 - far[:, 0] / far[:, 1]).mean()) < 0.2


def test_the_noise_is_as_the_page_says():
    names = {}
    exec(CODE, names)
    [line] = names["told"].receipt.lines
    assert "51.6 rows" in line.noise

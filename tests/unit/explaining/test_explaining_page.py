"""The page on explanations: its example runs, and says what the page says."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "explain.md").read_text("utf-8")
[CODE] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_runs_and_prints_sentences(capsys):
    names = {}
    exec(CODE, names)
    told = names["told"]
    printed = capsys.readouterr().out
    assert "What tells clusters apart" in printed
    assert told.receipt.epsilon == 0.2
    assert names["curator"].ledger.left == (0, 0)
    assert told.columns[0].name == "age"
    sentences = [" ".join(told.sentences(i)) for i in range(3)]
    assert all(re.match(r"Cluster \d, about [\d,]+ rows: ", text) for text in sentences)
    oldest = max(range(3), key=lambda i: told["age"].median[i])
    assert "older than the rest (median " in sentences[oldest]

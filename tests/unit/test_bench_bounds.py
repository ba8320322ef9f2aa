"""The bench of private bounds: its table, and what the documentation says of it."""

import csv
from pathlib import Path

from bench.bounds import DATASETS, METHODS, TABLE

PAGE = Path(__file__).parents[2] / "docs" / "the-promise.md"


def test_the_page_says_what_the_table_says():
    with TABLE.open(encoding="utf-8") as file:
        lines = {(line["dataset"], line["method"]): line for line in csv.DictReader(file)}
    assert set(lines) == {(dataset, method) for dataset in DATASETS for method in METHODS}
    (runs,) = {line["runs"] for line in lines.values()}
    adult, gowalla = (
        [f"{float(lines[dataset, method]['ratio']):.2f}" for method in METHODS]
        for dataset in DATASETS
    )
    first, second, third = (f"{x} for `{name}`" for x, name in zip(adult, METHODS, strict=True))
    text = PAGE.read_text(encoding="utf-8")
    assert f"`python -m bench bounds`, {runs} runs" in text
    assert f"on Adult (48,842 × 6) {first}, {second} and {third}" in text
    assert f"(138,957 × 2) {gowalla[0]}, {gowalla[1]} and {gowalla[2]}" in text
    exact = float(lines[DATASETS[0], "auto"]["quantiles_without_privacy"])
    assert f"exact 0.5 % and 99.5 % quantiles is at {exact:.2f}" in text
    medians = {key: f"{float(line['ratio_of_medians']):.2f}" for key, line in lines.items()}
    of_auto, of_dplloyd = medians["adult_num", "auto"], medians["gowalla_nyc", "dplloyd"]
    assert f"The medians are {of_auto} for `auto` there and {of_dplloyd} for `dplloyd`" in text

"""Sentences: for every kind of column, readable by somebody who knows no statistics."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato import Category, Cycle, Date, Flag, Number, Ordinal
from sfumato._accounting.guarantee import Guarantee
from sfumato._accounting.receipt import Receipt
from sfumato._explaining.columns import binned
from sfumato._explaining.explanation import Explanation, Sizes, explained
from sfumato._explaining.words import amount, difference, listed, percent, summary

RECEIPT = Receipt("Explanation", Guarantee("pure", Fraction(1, 5), Fraction(0), "one row"), (), 0.0)
STD = 5.0


def column_of(name, column, counts, gaps=False):
    counts = np.array(counts, dtype=float)
    one = binned(name, column, 0, gaps=gaps, slices=counts.shape[1] - gaps)
    return explained(one, counts, STD, Sizes(counts.sum(axis=1), STD))


NUMBERS = [[0, 0, 200, 800], [500, 400, 100, 0]]
KINDS = {
    "age": (Number(0, 80), NUMBERS, "older than the rest (median 67 ± 3, against 20)"),
    "Age": (Number(0, 80), NUMBERS[::-1], "younger than the rest (median 20 ± 3, against 67)"),
    "income": (
        Number(0, 80_000),
        NUMBERS,
        "higher income than the rest (median 67,000 ± 3,000, against 20,000)",
    ),
    "price": (
        Number(0, 0.8),
        NUMBERS[::-1],
        "lower price than the rest (median 0.20 ± 0.03, against 0.67)",
    ),
    "start": (
        Date("2020-01-01", "2020-03-21"),
        NUMBERS,
        "later start than the rest (median 2020-03-08 ± 3 days, against 2020-01-21)",
    ),
    "end": (
        Date("2020-01-01", "2020-01-09"),
        NUMBERS[::-1],
        "earlier end than the rest (median 2020-01-03 ± 1 day, against 2020-01-07)",
    ),
    "school": (
        Ordinal("none at all", "primary", "secondary", "college"),
        NUMBERS,
        "higher school than the rest (median college, against primary)",
    ),
    "work": (
        Category("full-time", "part-time", "no job"),
        [[200, 710, 90], [500, 400, 100]],
        "work is part-time for 71.0 ± 0.4 % (for 40 % of the rest)",
    ),
    "smoker": (
        Flag(),
        [[710, 290], [400, 600]],
        "smoker is no for 71.0 ± 0.4 % (for 40 % of the rest)",
    ),
    "hour": (
        Cycle(24),
        [[100, 100, 700, 100], [250, 250, 250, 250]],
        "hour is 12 to 18 for 70.0 ± 0.5 % (for 25 % of the rest)",
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_differences_of_every_kind(name):
    column, counts, said = KINDS[name]
    assert difference(column_of(name, column, counts), 0) == said


def test_a_middle_that_is_alike_is_told_by_a_slice():
    column = column_of("age", Number(0, 80), [[0, 500, 500, 0], [400, 100, 100, 400]])
    assert difference(column, 0) == "age is 20 to 40 for 50.0 ± 0.5 % (for 10 % of the rest)"
    assert difference(column, 1) == "age is 0 to 20 for 40.0 ± 0.4 % (for 0 % of the rest)"


def test_a_level_that_is_rare_is_told_where_no_other_is_more_common():
    column = column_of(
        "work", Category("a", "b", "c", "d"), [[250, 250, 250, 250], [251, 249, 250, 250]]
    )
    assert difference(column, 0) == ""
    many = column_of("w", Category(*"abcdefgh"), [[0, *[143] * 7], [125] * 8])
    assert difference(many, 1).startswith("w is a for 12.3 ± ")
    assert difference(many, 0) == "w is a for only 0.2 ± 0.5 % (for 12 % of the rest)"


def test_values_that_are_missing_more_often():
    column = column_of(
        "income", Number(0, 80), [[100, 100, 100, 100, 600], [225] * 4 + [100]], True
    )
    assert difference(column, 0) == "income is missing for 60.0 ± 0.5 % (for 10 % of the rest)"
    assert difference(column, 1) == "income is missing for only 10.0 ± 0.4 % (for 60 % of the rest)"


def test_noise_alone_is_not_told():
    assert (
        difference(column_of("age", Number(0, 80), [[26, 24, 25, 25], [250, 250, 249, 251]]), 0)
        == ""
    )


def test_a_difference_of_a_few_points_is_not_told_however_certain():
    column = column_of("sex", Category("F", "M"), [[52_000, 48_000], [50_000, 50_000]])
    assert difference(column, 0) == ""
    column = column_of("sex", Category("F", "M"), [[56_000, 44_000], [50_000, 50_000]])
    assert difference(column, 0) == "sex is F for 56.0 ± 0.1 % (for 50 % of the rest)"


def test_what_a_cluster_alone_is_like():
    assert summary(column_of("age", Number(0, 80), NUMBERS[:1]), 0) == "median age 68 ± 3"
    assert (
        summary(column_of("sex", Category("F", "M"), [[30, 970]]), 0) == "sex is M for 97.0 ± 0.4 %"
    )


def told(sizes, *columns, unit="people", left_out=()):
    return Explanation(np.array(sizes, dtype=float), STD, columns, left_out, unit, RECEIPT)


AGE = column_of("age", *KINDS["age"][:2])
WORK = column_of("work", *KINDS["work"][:2])
SMOKER = column_of("smoker", *KINDS["smoker"][:2])
HOUR = column_of("hour", *KINDS["hour"][:2])
ALIKE = [
    column_of(n, Flag(), [[500, 500], [500, 500]]) for n in ("rain", "sun", "snow", "wind", "fog")
]


def test_two_sentences():
    first, second = told([1203, 998], AGE, WORK, *ALIKE[:2]).sentences(0)
    assert first == (
        "Cluster 0, about 1,200 people: older than the rest (median 67 ± 3, against 20), and work "
        "is part-time for 71.0 ± 0.4 % (for 40 % of the rest)."
    )
    assert second == "In rain and sun it is much like the rest, as far as the noise lets one see."


def test_the_second_sentence_goes_on_or_says_that_there_is_no_more():
    first, second = told([1000, 1000], AGE, WORK, SMOKER, HOUR).sentences(0)
    assert first.count(";") == 0
    assert second == "Also, work is part-time for 71.0 ± 0.4 % (for 40 % of the rest)."
    assert told([1000, 1000], AGE).sentences(0)[1] == "No other column was counted."
    assert (
        told([1000, 1000], AGE, *ALIKE).sentences(0)[1].startswith("In the other 5 columns it is")
    )


@pytest.mark.parametrize(
    ("many", "said"),
    [(1, "In rain it"), (3, "In rain, sun and snow it"), (4, "In rain, sun, snow and wind it")],
)
def test_columns_that_are_alike_are_named_if_there_are_few(many, said):
    assert told([1000, 1000], AGE, *ALIKE[:many]).sentences(0)[1].startswith(said)


def test_clusters_that_are_alike_or_too_small():
    same = told([1000, 1000], *ALIKE).sentences(1)
    assert same == (
        "Cluster 1, about 1,000 people: much like the rest in every column that was counted.",
        "Where it differs, it does by little, or by less than the noise.",
    )
    small = told([4, 1000], AGE, unit="rows").sentences(0)
    assert small[0] == "Cluster 0, fewer than 10 rows: too few to describe with this much noise."
    assert small[1].endswith("would show more.")


def test_one_cluster_has_no_rest():
    alone = column_of("age", Number(0, 80), NUMBERS[:1])
    assert (
        told([1000], alone).sentences(0)[0] == "Cluster 0, about 1,000 people: median age 68 ± 3."
    )


@pytest.mark.parametrize(
    ("size", "std", "unit", "said"),
    [
        (1234, 30, "people", "about 1,230 people"),
        (1234, 60, "people", "about 1,200 people"),
        (1.2, 0.1, "people", "about 1 person"),
        (0.2, 0.1, "rows", "about 1 row"),
        (12, 0.1, "rows", "about 12 rows"),
        (123_456, 800, "rows", "about 123,000 rows"),
    ],
)
def test_sizes_have_as_many_digits_as_their_noise_leaves(size, std, unit, said):
    assert amount(size, std, unit) == said


def test_shares_never_look_certain():
    assert percent(0.714, 0.03) == "71 ± 3 %"
    assert percent(0.714, 0.0042) == "71.4 ± 0.4 %"
    assert percent(1.0, 0.0) == "100.0 ± 0.1 %"


def test_words_in_a_row():
    assert [listed(list("abc")[:n]) for n in range(4)] == ["", "a", "a, and b", "a, b, and c"]


def test_an_explanation_as_text_and_as_data():
    explanation = told([1203, 998], AGE, WORK, left_out=("[height]",))
    text = str(explanation)
    assert all(len(line) <= 100 for line in text.splitlines())
    for part in (
        "What tells clusters apart",
        "Not counted: [height].",
        "Cost: ε = 0.2.",
        "1,203 ± 5",
    ):
        assert part in text
    data = explanation.to_dict()
    assert [cluster["ranked"][0] for cluster in data["clusters"]] == ["age", "age"]
    assert data["clusters"][0]["sentences"] == list(explanation.sentences(0))
    assert data["columns"][1]["bins"] == ["full-time", "part-time", "no job"]
    assert data["columns"][0]["median"] == pytest.approx([67.5, 20.0], abs=0.01)
    assert data["left_out"] == ["[height]"]
    assert explanation["work"] is WORK
    with pytest.raises(KeyError, match="'height' was not explained"):
        explanation["height"]
    for number in (-1, 2):
        with pytest.raises(IndexError, match="clusters 0 to 1"):
            explanation.ranked(number)

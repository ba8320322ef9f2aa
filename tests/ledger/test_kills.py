"""Processes that are killed: no release without its charge, no request with two values."""

import json

import pytest

from tests.ledger.kills import points_of
from tests.ledger.places import run


def test_random_kills(url):
    said = json.loads(run("kills", url, "--kills", 40, "--seed", 7))
    assert said["wrong"] == []
    at = said["at"]["at random"]
    assert at["wrong"] == []
    assert at["killed"] == 40
    assert at["answered"] > 5


@pytest.mark.slow
def test_random_kills_of_real_fits(url):
    said = json.loads(run("kills", url, "--kills", 15, "--seed", 8, "--kmeans"))
    assert said["wrong"] == said["at"]["at random"]["wrong"] == []
    assert said["at"]["at random"]["killed"] == 15


def test_kills_of_real_fits_at_named_points(url):
    points = ["after reading", "release: before COMMIT", "release: after COMMIT"]
    said = json.loads(run("kills", url, "--times", 2, "--kmeans", "--points", *points))
    assert said["wrong"] == []
    for point in points:
        assert said["at"][point]["wrong"] == []
        assert said["at"][point]["killed"] == 2
        assert said["at"][point]["answered"] == (2 if point == points[-1] else 0)


def test_kills_at_every_named_point(url):
    points = points_of(url)
    said = json.loads(run("kills", url, "--times", 2, "--points", *points))
    assert said["wrong"] == []
    for point in points:
        assert said["at"][point]["wrong"] == [], point
        assert said["at"][point]["killed"] == 2, point
    # Before the reservation is on disk, a request can be asked again; later, it stays spent.
    answered = {point: said["at"][point]["answered"] for point in points}
    assert answered["reserve: before COMMIT"] == answered["release: after COMMIT"] == 2
    assert answered["reserve: after COMMIT"] == answered["release: before COMMIT"] == 0

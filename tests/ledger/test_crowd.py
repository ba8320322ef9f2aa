"""Many processes charge one budget at once: exactly what it covers is granted."""

import json

from tests.ledger.places import run


def test_a_crowd_is_granted_exactly_the_budget(url):
    said = json.loads(run("crowd", url, "--processes", 50, "--times", 4, "--budget", 60))
    assert said["wrong"] == []
    assert said["processes"] == 50
    assert (said["granted"], said["reserved"], said["charged"]) == (60, 60, 60)
    assert said["left"] == 0

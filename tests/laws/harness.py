"""What the laws are run with: datasets, neighbours, every question, and curators that remember."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt

import numpy as np

from sfumato._core.curator import Curator
from sfumato._core.mechanisms import Ball, Cube, Cylinder, Gaussian, Laplace, Lines
from sfumato._core.queries.counts import Counts, Cubes, Grid, Nearest, Through, Totals
from sfumato._core.queries.projection import Projection
from sfumato._core.releases.choose import Selection
from sfumato._core.releases.first_below import Crossing
from sfumato._core.releases.max_cover import Covering
from sfumato._core.releases.privtree import Splits
from sfumato._core.sampling.choice import log_probabilities
from sfumato._core.sampling.source import NoNoise, ReplayedNoise
from sfumato._lattice.box import REACH, Box
from sfumato.methods import METHODS, NEEDS_DELTA, Task
from tests.laws.bits import bits_loss
from tests.laws.covers import cover_loss
from tests.laws.crossings import crossing_loss

CENTERS = np.array([[0, 0], [500, -700], [-REACH, REACH], [20_000, 20_000]])
HALVES = Cubes(np.array([[0, -1000], [1000, -1000], [31_000, 32_000], [-33_000, -33_000]]), 1000)
SLANT = Through(
    Projection(np.array([[1, 2]]), np.array([30, -40]), 1), Nearest(np.array([[-900], [0], [900]]))
)

QUESTIONS_UNDER_LAW = {
    "counts-nearest": Counts(Nearest(CENTERS)),
    "counts-grid": Counts(Grid(7, 2)),
    "counts-cubes": Counts(HALVES),
    "counts-through": Counts(SLANT),
    "totals-nearest": Totals(Nearest(CENTERS)),
    "totals-grid": Totals(Grid(5, 2)),
    "totals-through": Totals(SLANT),
    "totals-radius-1": Totals(Nearest(CENTERS), 1),
    "totals-radius": Totals(Nearest(CENTERS), 1234),
    "totals-radius-wide": Totals(Nearest(CENTERS), 2 * REACH),
    "totals-radii": Totals(Nearest(CENTERS), (1234, 1, 2 * REACH, 50)),
}

BUDGETS = {
    "pure": (Fraction(1), Fraction(0)),
    "third": (Fraction(1, 3), Fraction(0)),
    "approximate": (Fraction(1), Fraction(1, 10**6)),
    "gaussian": (Fraction(1, 2), Fraction(1, 100)),
}

# Max cover is (ε, δ)-DP and has no pure mode: it is not asked for where δ is 0.
PAYABLE = [(m, b) for m in METHODS for b in BUDGETS if BUDGETS[b][1] or m not in NEEDS_DELTA]

BOX = Box((0.0, -3.0), (1.0, 3.0))


def exact(question, lattice_rows):
    """The exact answer of a question about lattice rows."""
    state = question.empty()
    question.add(np.asarray(lattice_rows, dtype=np.int16).reshape(-1, 2), state)
    return state


def blobs(n=400, seed=0):
    """Three clumps in BOX, a few rows outside it, and a cell that is not a number."""
    rng = np.random.default_rng(seed)
    middle = np.array([[0.2, -2.0], [0.5, 2.0], [0.8, -1.0]])[rng.integers(3, size=n)]
    rows = middle + rng.normal(0, [0.05, 0.3], (n, 2))
    rows[: n // 50] *= 40
    rows[n // 50 : n // 50 + 1, 0] = np.nan
    return rows


@dataclass
class Transcript:
    """Everything a curator was asked and answered, one step for each charge."""

    questions: list = field(default_factory=list)
    laws: list = field(default_factory=list)
    exact: list = field(default_factory=list)
    released: list = field(default_factory=list)


class Remembering(Curator):
    """Keeps a transcript; given one, it releases the same again whatever its own rows say."""

    def __init__(self, *args, replay=None, **settings):
        super().__init__(*args, **settings)
        self.transcript = Transcript()
        self.replay = replay

    def _release(self, question, *parts):
        self.transcript.questions.append(question)
        return super()._release(question, *parts)

    def choose(self, score, **settings):
        self.transcript.questions.append(score)
        return super().choose(score, **settings)

    def block_means(self, k, *, blocks, key, **settings):
        self.transcript.questions.append(("blocks", k, blocks, key))
        return super().block_means(k, blocks=blocks, key=key, **settings)

    def view(self, projection):
        self.transcript.questions.append(projection)
        return super().view(projection)

    def moments(self, moment, **settings):
        self.transcript.questions.append(moment)
        return super().moments(moment, **settings)

    def first_below(self, counts, threshold, **settings):
        self.transcript.questions.append((counts, threshold))
        return super().first_below(counts, threshold, **settings)

    def _draw(self, law, exact):
        if isinstance(law, Covering):
            return self._cover(law, exact)
        if isinstance(law, Splits):
            return self._splits(law, exact)
        named = (law.share, law.scale, law.law) if isinstance(law, Selection) else law
        return self._remember(named, np.array(exact), super()._draw(law, exact))

    def _perturb(self, mechanism, exact):
        return self._remember(mechanism, exact, super()._perturb(mechanism, exact))

    def cover(self, grids, **settings):
        self.transcript.questions.append((grids, settings.get("picks")))
        return super().cover(grids, **settings)

    def _cover(self, law, cover):
        """All picks of a cover are one step; of a grid its size and its scores are kept."""
        point, mine = super()._draw(law, cover), self._step(law)
        if self.replay is not None:
            point = self.replay.released[len(mine.released) - 1][len(mine.released[-1])]
        mine.exact[-1].append((cover.score(point), cover.classes(), cover.net.size))
        mine.released[-1].append(point)
        return point

    def grow(self, domain, **settings):
        self.transcript.questions.append((domain, settings.get("max_leaves")))
        return super().grow(domain, **settings)

    def _splits(self, law, biased):
        """All levels of a tree are one step."""
        bits, mine = super()._draw(law, biased), self._step(law)
        if self.replay is not None:
            bits = self.replay.released[len(mine.released) - 1][len(mine.released[-1])]
        mine.exact[-1].append(biased)
        mine.released[-1].append(bits)
        return bits

    def _step(self, law):
        """The transcript, with a step of many answers for this law."""
        mine = self.transcript
        if not mine.laws or mine.laws[-1] is not law:
            mine.laws.append(law)
            mine.exact.append([])
            mine.released.append([])
        return mine

    def _remember(self, law, exact, released):
        at = len(self.transcript.released)
        if self.replay is not None:
            released = self.replay.released[at]
        self.transcript.laws.append(law)
        self.transcript.exact.append(exact)
        self.transcript.released.append(released)
        return released


CHOSEN = {Crossing: crossing_loss, Splits: bits_loss, Covering: cover_loss}


def loss(law, released, one, other):
    """Privacy loss of one answer in its own currency: ε, or μ² for Gaussian noise.

    Exact for noise, but for roots, which are cut after twelve digits; for selections and searches,
    whose probabilities are not rational, to eleven and to nine digits.
    """
    if isinstance(law, tuple):
        return selection_loss(law, released, one, other)
    if type(law) in CHOSEN:
        return CHOSEN[type(law)](law, released, one, other)
    moved = [[abs(int(x)) for x in line] for line in np.atleast_2d(one - other)]
    if isinstance(law, Lines | Cylinder):
        return sum(line_loss(law, j, line) for j, line in enumerate(moved))
    if isinstance(law, Laplace):
        return sum(sum(line) for line in moved) / law.scale
    if isinstance(law, Gaussian):
        return sum(x * x for line in moved for x in line) / law.scale**2
    if isinstance(law, Cube):
        return sum(max(line) for line in moved) / law.scale
    assert isinstance(law, Ball)
    return sum(length(line) for line in moved) / law.scale


def line_loss(law, number, line):
    """What one line of an answer loses, where every line has a scale of its own."""
    scale = law.scales[number]
    if isinstance(law, Cylinder):
        return max(line[0] / law.height, length(line[1:]) / scale)
    if law.law == "laplace":
        return sum(line) / scale
    assert law.law == "gaussian"
    return sum(x * x for x in line) / scale**2


def length(line):
    """L2 norm, exact if it is whole and never too long."""
    return Fraction(isqrt(sum(x * x for x in line) * 10**24), 10**12)


def selection_loss(law, released, one, other):
    """How much more likely one dataset makes the released choice than the other, in logarithms."""
    _, scale, name = law
    if name == "permute_and_flip":
        here, there = (flip_chance(scores, released, scale) for scores in (one, other))
        return max(Fraction(abs(float(here - there))) - Fraction(1, 10**11), Fraction(0))
    settings = {"epsilon": 1 / scale, "sensitivity": 1, "monotone": True}
    here, there = (log_probabilities(scores, **settings)[released] for scores in (one, other))
    return Fraction(abs(float(here - there)) * (1 - 1e-12))


def flip_chance(scores, chosen, scale):
    """Logarithm of the chance that permute-and-flip takes one candidate, of up to 10,000.

    A candidate is taken if its coin comes up and it is drawn among all that came up, which is
    ∫ Π(1 − c_j + c_j·t) dt from 0 to 1 over the chances c_j of the others: their product is a
    polynomial in t, whose terms are all positive, so that nothing cancels.
    """
    whole = [int(score) for score in scores]
    best = max(whole)
    gaps = [float((best - score) / scale) for score in whole]
    others = np.exp(-np.delete(gaps, chosen))
    terms = np.ones(1)
    # Coins that all but never come up change no digit of the sum.
    for chance in others[others > 1e-30]:
        terms = np.convolve(terms, [1 - chance, chance])
    return np.log(np.sum(terms / np.arange(1, len(terms) + 1))) - gaps[chosen]


def run(curator, method, *, k=3, budget=None, seed=1):
    """Run one method on one curator; returns its account and its centres."""
    budget = budget or ("approximate" if method in NEEDS_DELTA else "pure")
    epsilon, delta = BUDGETS[budget]
    method = METHODS[method]() if isinstance(method, str) else method
    task = Task(k, curator.box.n_features, epsilon, delta)
    account = curator.reserve("law", method.caps(task))
    centers = method(curator, task, account=account, rng=np.random.default_rng(seed))
    return account, centers


def curator_of(rows, *, noise=None, cls=Remembering, **settings):
    """A curator with budget to spare and noise that can be replayed."""
    return cls(
        rows,
        bounds=(BOX.lower, BOX.upper),
        epsilon=10.0,
        delta=0.1,
        noise=noise or ReplayedNoise(7),
        **settings,
    )


def without_noise(rows, **settings):
    """A curator that answers exactly."""
    return curator_of(rows, noise=NoNoise(), **settings)

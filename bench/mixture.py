"""Mixtures of normal distributions: held-out log-likelihood against DP-EM and scikit-learn.

    SFUMATO_DATA=… python -m bench mixture run     # measures what the table lacks
    python -m bench mixture page                   # writes the table into docs/mixture.md

DP-EM by the book (Park et al. 2017): ten EM steps from a start that looks at no data, each with
noise on all weighted counts, sums and second moments, an equal part of the budget for each step.
Rows are scaled into the unit ball; per step all numbers together move by at most √3 in L2 (1 for
the counts, the sums and the products each), for Gaussian noise composed by Gaussian DP, and by
1 + √d + (d + 1)/2 in L1 for Laplace noise.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.mixture import GaussianMixture

from bench.data import with_data
from bench.growing_tables import append_row, read_rows
from bench.papers.su2015_verdicts import put
from bench.utility_data import file_of, load
from sfumato import PrivateGaussianMixture
from sfumato._accounting.gaussian_dp import mu2_of
from sfumato._base.types import Floats, Rng
from sfumato._lattice.box import Box
from sfumato._synopsis.mixture import Mixture, log_sums
from sfumato._synopsis.signed_kmeans import sphere_packing

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "tables" / "mixture.csv"
COLUMNS = ("table", "method", "run", "score")
PAGE = ROOT / "docs" / "mixture.md"
BEGIN = "<!-- mixture: written by `python -m bench mixture page` -->"
END = "<!-- end of mixture -->"

EPSILON, DELTA = 1.0, 1e-6
RUNS = {"scikit-learn": 3, "pure": 10, "delta": 10, "dp-em pure": 10, "dp-em delta": 10}
STEPS = 10
TRAIN, TEST = 100_000, 20_000

MADE = {
    f"{d} columns, {k} components": (d, k) for d, k in ((2, 3), (2, 8), (5, 5), (10, 3), (10, 8))
}
REAL = {"adult_num": 5, "lifesci": 3, "house_rgb8": 4}


class Problem(NamedTuple):
    """Rows to fit and rows to score, with public bounds and the number of components."""

    train: Floats
    test: Floats
    bounds: tuple[Floats, Floats]
    k: int


@cache
def problem(name: str) -> Problem:
    """A generated mixture, or a real table of which a fifth is held out."""
    if name in REAL:
        data = load(name)
        rows = np.random.default_rng(0).permutation(data.rows.astype(np.float64))
        held = len(rows) // 5
        low, high = (np.broadcast_to(np.asarray(b, dtype=float), data.d) for b in data.bounds)
        return Problem(rows[held:], rows[:held], (low, high), REAL[name])
    d, k = MADE[name]
    rng = np.random.default_rng([d, k])
    means = rng.uniform(-0.6, 0.6, (k, d))
    weights = rng.dirichlet(np.full(k, 5.0))
    spreads = []
    for _ in range(k):
        axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
        spreads.append((axes * 0.12**2 * np.exp(rng.uniform(-1.2, 1.2, d))) @ axes.T)
    rows, own = Mixture(weights, means, np.array(spreads)).sample(TRAIN + TEST, rng)
    rows = rows[rng.permutation(len(own))]
    return Problem(rows[:TRAIN], rows[TRAIN:], (np.full(d, -1.5), np.full(d, 1.5)), k)


def score(method: str, task: Problem, run: int) -> float:
    """Mean log density of the held-out rows, in their own units."""
    if method == "scikit-learn":
        found = GaussianMixture(task.k, n_init=3, random_state=run).fit(task.train)
        return float(found.score(task.test))
    delta = DELTA if method.endswith("delta") else 0.0
    if method.startswith("dp-em"):
        return dp_em(task, delta, np.random.default_rng(run))
    model = PrivateGaussianMixture(
        task.k, epsilon=EPSILON, delta=delta, bounds=task.bounds, random_state=run
    )
    return float(model.fit(task.train).score(task.test))


def dp_em(task: Problem, delta: float, rng: Rng) -> float:
    """DP-EM by the book, in the cube shrunk to the unit ball; its held-out score."""
    d, k = task.train.shape[1], task.k
    box = Box.of(task.bounds, d)
    rows = box.to_cube(task.train) / math.sqrt(d)
    means = sphere_packing(k, d, rng) / 32_767 / math.sqrt(d)
    mixture = Mixture(np.full(k, 1 / k), means, np.tile(np.eye(d) * 0.1 / d, (k, 1, 1)))
    upper = np.triu_indices(d)
    for _ in range(STEPS):
        joint = mixture.log_densities(rows)
        shares = np.exp(joint - log_sums(joint)[:, None])
        exact = np.hstack(
            [
                shares.sum(axis=0)[:, None],
                shares.T @ rows,
                np.array([((rows.T * r) @ rows)[upper] for r in shares.T]),
            ]
        )
        noisy = exact + _noise(exact.shape, d, delta, rng)
        mixture = _from_moments(noisy, d, upper)
    half = (box.step * 32_767) * math.sqrt(d)
    test = box.to_cube(task.test) / math.sqrt(d)
    return float(log_sums(mixture.log_densities(test)).mean() - np.log(half).sum())


def _noise(shape: tuple[int, ...], d: int, delta: float, rng: Rng) -> Floats:
    if delta:
        mu2 = float(mu2_of(Fraction(EPSILON), Fraction(delta))) / STEPS
        return rng.normal(0, math.sqrt(3 / mu2), shape)
    return rng.laplace(0, (1 + math.sqrt(d) + (d + 1) / 2) * STEPS / EPSILON, shape)


def _from_moments(noisy: Floats, d: int, upper: tuple[Floats, Floats]) -> Mixture:
    """A mixture of noisy moments: counts of at least 1 %, covariances made positive."""
    counts = np.maximum(noisy[:, 0], 0.01 * max(noisy[:, 0].sum(), 1.0))
    means = noisy[:, 1 : d + 1] / counts[:, None]
    lengths = np.sqrt(np.square(means).sum(axis=1))
    means /= np.maximum(lengths, 1)[:, None]
    spreads = np.empty((len(counts), d, d))
    for j, line in enumerate(noisy[:, d + 1 :]):
        second = np.zeros((d, d))
        second[upper] = line / counts[j]
        second = second + second.T - np.diag(np.diag(second)) - np.outer(means[j], means[j])
        values, vectors = np.linalg.eigh(second)
        spreads[j] = (vectors * np.clip(values, 1e-4, 1)) @ vectors.T
    return Mixture(counts / counts.sum(), means, spreads)


def run() -> None:
    """Measure what the table lacks."""
    done = {(row["table"], row["method"], int(row["run"])) for row in read_rows(TABLE)}
    for name in with_data({name: file_of(name) for name in (*MADE, *REAL)}):
        for method, runs in RUNS.items():
            for number in range(runs):
                if (name, method, number) not in done:
                    found = score(method, problem(name), number)
                    append_row(TABLE, COLUMNS, (name, method, number, f"{found:.5f}"))
                    print(name, method, number, f"{found:.4f}", flush=True)


def page() -> None:
    """Write the table into the page."""
    rows, lines = read_rows(TABLE), []
    head = ["rows", "scikit-learn", "sfumato, δ = 0", "sfumato, δ = 10⁻⁶"]
    head += ["DP-EM, δ = 0", "DP-EM, δ = 10⁻⁶"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * (len(head) - 1)}"]
    for name in dict.fromkeys(row["table"] for row in rows):
        cells = [name]
        found = {
            method: [float(r["score"]) for r in rows if (r["table"], r["method"]) == (name, method)]
            for method in RUNS
        }
        best = float(np.mean(found["scikit-learn"]))
        cells.append(f"{best:.3f}")
        for method in list(RUNS)[1:]:
            lost = best - np.array(found[method])
            cells.append(f"−{lost.mean():.3f} ± {lost.std():.3f}".replace("−-", "+"))
        lines.append(f"| {' | '.join(cells)} |")
    put(PAGE, "\n".join(lines), BEGIN, END)


def main(arguments: list[str]) -> None:
    """Run, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench mixture")
    parser.add_argument("what", choices=["run", "page"])
    (run if parser.parse_args(arguments).what == "run" else page)()

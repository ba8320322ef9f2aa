"""Speed of the exact integer noise on one core, next to OpenDP's float Laplace in the same run."""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import opendp.prelude as dp
from threadpoolctl import threadpool_limits

from sfumato import NDLaplace
from sfumato._core.sampling.source import SecureNoise

TABLE = Path(__file__).parent / "tables" / "noise.csv"
COLUMNS = ["law", "integers", "best_ms", "million_integers_per_second", "times_opendp"]
SCALE = Fraction(2**20)
DIM = 10


def opendp_laplace() -> Callable[[int], object]:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    measure = dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=float(SCALE))
    return lambda size: measure([0.0] * size)


def reports(dim: int) -> Callable[[int], object]:
    """Perturb rows from end to end: snapped, moved, clamped, back in the user's units."""
    rows = np.random.default_rng(0).uniform(size=(1_000_000 // dim, dim))
    model = NDLaplace(epsilon=30, bounds=(0, 1)).fit(rows)
    return lambda size: model.transform(rows[: size // dim])


def laws(noise: SecureNoise) -> dict[str, tuple[Callable[[int], object], int]]:
    """Each distribution with the integers to draw in one call, first OpenDP's to compare with."""
    return {
        "OpenDP float Laplace": (opendp_laplace(), 20_000),
        "discrete Laplace": (lambda size: noise.laplace(SCALE, size), 1_000_000),
        "rounded Gaussian": (lambda size: noise.gaussian(SCALE, size), 1_000_000),
        f"cube noise, D = {DIM}": (
            lambda size: noise.cube(SCALE, size // DIM, DIM),
            1_000_000,
        ),
        "ball noise, D = 2": (lambda size: noise.ball(SCALE, size // 2, 2), 1_000_000),
        f"ball noise, D = {DIM}": (
            lambda size: noise.ball(SCALE, size // DIM, DIM),
            1_000_000,
        ),
        f"cylinder noise, D = {DIM}": (
            lambda size: noise.cylinder([SCALE] * (size // (DIM + 1)), SCALE, DIM),
            1_100_000,
        ),
        "NDLaplace of rows, D = 2": (reports(2), 1_000_000),
        f"NDLaplace of rows, D = {DIM}": (reports(DIM), 1_000_000),
    }


def best_seconds(draw: Callable[[int], object], size: int, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        draw(size)
        best = min(best, time.perf_counter() - start)
    return best


def one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench noise", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="the best of so many runs counts")
    parser.add_argument("--out", type=Path, default=TABLE, help="where the table goes")
    options = parser.parse_args(argv)
    one_core()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    yardstick = 0.0
    print(f"scale 2^20, one core, best of {options.repeats}")
    print(f"{'law':26}{'integers':>10}{'best ms':>10}{'M per s':>12}{'x OpenDP':>10}")
    with options.out.open("w", newline="") as file, threadpool_limits(1):
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for name, (draw, size) in laws(SecureNoise()).items():
            seconds = best_seconds(draw, size, options.repeats)
            rate = size / seconds
            yardstick = yardstick or rate
            row = (name, size, seconds * 1e3, rate / 1e6, rate / yardstick)
            print("{:26}{:10,}{:10.1f}{:12.3f}{:10.1f}".format(*row), flush=True)
            table.writerow([name, size, *(f"{value:.4g}" for value in row[2:])])
            file.flush()

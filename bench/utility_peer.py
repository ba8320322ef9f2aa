"""Centres of diffprivlib's KMeans, one line of JSON for each run.

Runs in the Python that SFUMATO_DIFFPRIVLIB_PYTHON names, which has neither sfumato nor this
package: `python utility_peer.py rows.npy K EPSILON RUNS SECONDS SEED`. Rows lie in the unit cube.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import KMeans  # type: ignore[import-not-found]


def model_of(k: int, epsilon: float, d: int, seed: int):
    """A model whose counts and coordinates add up to epsilon over all its iterations."""
    declared = KMeans(k, epsilon=epsilon, bounds=(0, 1), random_state=seed)
    count, coordinate = declared._split_epsilon(d, 1)  # noqa: SLF001
    declared.epsilon = epsilon**2 / (count + d * coordinate)
    return declared


def main(path: str, k: int, epsilon: float, runs: int, limit: float, seed: int) -> None:
    """Print the centres of every run, and how long it took, until the time is over."""
    warnings.simplefilter("ignore")
    rows = np.load(path)
    begin = time.perf_counter()
    for number in range(runs):
        model = model_of(k, epsilon, rows.shape[1], seed + number)
        start = time.process_time()
        centers = model.fit(rows).cluster_centers_
        seconds = time.process_time() - start
        print(json.dumps({"seconds": seconds, "centers": centers.tolist()}), flush=True)
        if time.perf_counter() - begin > limit:
            break


if __name__ == "__main__":
    path, k, epsilon, runs, limit, seed = sys.argv[1:]
    main(path, int(k), float(epsilon), int(runs), float(limit), int(seed))

"""Large Parquet files made for a measurement, and fits of them in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from bench.growing_tables import THREADS
from bench.memory import peak

COLUMNS, CLUSTERS = 8, 10
GROUP_ROWS = 500_000


def folder() -> Path:
    """Where the files are made: SFUMATO_BENCH_FOLDER, or the machine's place for such things."""
    default = Path(tempfile.gettempdir()) / "sfumato-bench"
    path = Path(os.environ.get("SFUMATO_BENCH_FOLDER", default))
    path.mkdir(parents=True, exist_ok=True)
    return path


def made(path: Path, rows: int, seed: int = 0) -> Path:
    """Write ten round clusters as Parquet, if they are not there; a file is whole or absent."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.exists():
        return path
    centers = np.random.default_rng(0).uniform(0.1, 0.9, (CLUSTERS, COLUMNS))
    rng = np.random.default_rng([seed, rows])
    schema = pa.schema([(f"x{i}", pa.float64()) for i in range(COLUMNS)])
    unfinished = path.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, rows, GROUP_ROWS):
            block = rng.standard_normal((min(GROUP_ROWS, rows - start), COLUMNS))
            block *= 0.05
            block += centers[rng.integers(CLUSTERS, size=len(block))]
            columns = [np.ascontiguousarray(column) for column in block.T]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=GROUP_ROWS)
    unfinished.replace(path)
    return path


def fit_alone(method: str, files: list[Path], threads: int, repeats: int = 1) -> dict[str, float]:
    """Fit in a process of its own, and say what it took; the best of `repeats` fits."""
    words = [method, str(repeats), *map(str, files)]
    environment = os.environ | dict.fromkeys(THREADS, str(threads))
    command = [sys.executable, "-m", "bench.engines_files", *words]
    shown = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(shown.stdout.splitlines()[-1])
    return found


def _fit(method: str, repeats: int, files: list[str]) -> dict[str, float]:
    from bench.speed import load_compiled
    from sfumato import PrivateKMeans
    from sfumato.engines._progress import watch

    load_compiled()
    model = PrivateKMeans(CLUSTERS, epsilon=1.0, bounds=(0, 1), method=method, random_state=0)
    numbers: list[int] = []
    best = {"seconds": float("inf"), "cpu_seconds": float("inf")}
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        with watch(lambda number, done, total: numbers.append(number)):
            model.fit(files)
        best["seconds"] = min(best["seconds"], time.perf_counter() - wall)
        best["cpu_seconds"] = min(best["cpu_seconds"], time.process_time() - cpu)
    return {**best, "passes": max(numbers), "peak_mb": peak() / 1e6}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(_fit(sys.argv[1], int(sys.argv[2]), sys.argv[3:])))

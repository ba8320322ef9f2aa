"""Tables of van der Ende 2023 that grow as jobs end."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.growing_tables import THREADS, in_processes
from bench.papers.su2015_runs import Point, Result, append, read, tidy
from bench.papers.vanderende2023_data import is_there
from bench.papers.vanderende2023_kinds import KINDS, Job


def measure(job: Job) -> list[Result]:
    """Do all runs of a job: mean and standard deviation of every number that is one."""
    warnings.simplefilter("ignore")
    start = time.process_time()
    runs = [KINDS[job.kind](job, seed) for seed in range(job.runs)]
    seconds = (time.process_time() - start) / job.runs
    results = []
    for name in runs[0]:
        values = np.array([run[name] for run in runs])
        values = values[np.isfinite(values)]
        point = Point(job.dataset, f"{job.kind}.{name}", job.epsilon, 0.0, job.runs)
        mean = float(values.mean()) if len(values) else float("nan")
        sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        results.append(Result(point, mean, sd, seconds))
    return results


def complete(path: Path, jobs: list[Job], processes: int = 2) -> None:
    """Do the jobs that a table lacks; what is there stays."""
    done = read(path)
    left = [
        job
        for job in jobs
        if is_there(job.dataset) and (job.mark not in done or done[job.mark].point.runs < job.runs)
    ]
    print(f"{path.name}: {len(left)} of {len(jobs)} jobs to do", flush=True)
    for number, results in enumerate(_measured(left, processes), 1):
        for result in reversed(results):
            # The mark comes last: a job that was stopped while writing is done again.
            append(path, result)
        first = results[0]
        print(f"  {number}/{len(left)} {first.point.key[:3]}: {first.mean:.4g}", flush=True)
    tidy(path, [Point(*job.mark) for job in jobs])


def _measured(jobs: list[Job], processes: int) -> Iterator[list[Result]]:
    if processes > 1:
        return in_processes(measure, jobs, processes)
    os.environ |= dict.fromkeys(THREADS, "1")
    return map(measure, jobs)

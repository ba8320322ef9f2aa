"""What one run of van der Ende 2023 does: clusterings of reports, and attacks on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.cluster import AffinityPropagation, KMeans
from sklearn.preprocessing import StandardScaler

from bench.papers.vanderende2023_data import ATTACKED_ROWS, HALF_WIDTH, MOST_ROWS, SOURCES, load
from sfumato import LocalClustering, NDLaplace
from sfumato import tuning as choosing
from sfumato._base.types import Floats, Ints
from sfumato.attacks import (
    forest_factory,
    histogram_prior,
    likelihood_ratio_attack,
    reconstruction_attack,
    shadow_attack,
)
from sfumato.evaluate import agreement, center_error, displacement, shape
from sfumato.local import PlanarLaplace

BOUNDS = (-HALF_WIDTH, HALF_WIDTH)
CLEAN = 0.0
SHADOWS = 3
TREES = 30
RATIO_SHADOWS = 16
RECONSTRUCTED = 100
# Sides of the grids of admissible points that reports are remapped to.
ADMISSIBLE = (4, 8, 32)

Numbers = dict[str, float]


@dataclass(frozen=True)
class Job:
    """Some runs at one ε; `kind` is a clusterer or an attack. ε = 0 stands for no noise."""

    dataset: str
    kind: str
    epsilon: float
    runs: int = 10

    @property
    def mark(self) -> tuple[str, str, float, float]:
        """The key of the first number that the job writes."""
        return self.dataset, f"{self.kind}.{FIRST[self.kind]}", self.epsilon, 0.0


def mechanism(epsilon: float, truncation: str = "clamp") -> NDLaplace:
    """NDLaplace in the units of `load`: ε = level / radius, and the radius is 1."""
    return NDLaplace(level=epsilon, radius=1.0, bounds=BOUNDS, truncation=truncation)


def perturbed(rows: Floats, epsilon: float, truncation: str = "clamp") -> Floats:
    """Reports of the rows; the rows themselves for ε = 0."""
    if epsilon == CLEAN:
        return rows
    return np.asarray(mechanism(epsilon, truncation).fit_transform(rows))


def scaled(points: Floats) -> Floats:
    """Standard scaling, which comes after the perturbation (§5.3.3)."""
    return StandardScaler().fit_transform(points)


def clusterer(kind: str, points: Floats, k: int, seed: int = 0):
    """The thesis's clusterer with parameters read off the scaled points that it gets."""
    if kind == "kmeans":
        return KMeans(k, n_init=10, random_state=seed)
    if kind == "dbscan":
        return choosing.dbscan(points)
    return AffinityPropagation(preference=choosing.preference(points), random_state=seed)


@lru_cache(maxsize=32)
def clean_labels(dataset: str, kind: str) -> Ints:
    """What the same clusterer, with parameters for the clean rows, finds without noise."""
    points = scaled(load(dataset))
    return clusterer(kind, points, SOURCES[dataset].k).fit(points).labels_


def utility(job: Job, seed: int) -> Numbers:
    """Cluster reports and compare with the clusters of the clean rows."""
    rows = load(job.dataset)
    reports = perturbed(rows, job.epsilon)
    points = scaled(reports)
    model = clusterer(job.kind, points, SOURCES[job.dataset].k, seed).fit(points)
    settled = job.kind != "ap" or model.n_iter_ < model.max_iter
    return {
        **_agreement(job.dataset, job.kind, model.labels_),
        **_shape("", points, model.labels_),
        **_shape("_rows", scaled(rows), model.labels_),
        "clusters": float(len(np.unique(model.labels_[model.labels_ >= 0]))),
        "unsettled": float(not settled),
    }


def _agreement(dataset: str, kind: str, found: Ints) -> Numbers:
    got = agreement(clean_labels(dataset, kind), found)
    return {"ari": got.ari, "ami": got.ami, "nmi": got.nmi}


def _shape(where: str, points: Floats, found: Ints) -> Numbers:
    got = shape(points, found)
    names = {"silhouette": got.silhouette, "ch": got.calinski_harabasz, "db": got.davies_bouldin}
    return {name + where: value for name, value in names.items()}


def denoising(job: Job, seed: int) -> Numbers:
    """Centres of k-means on the same reports as they are, and with the known noise taken off."""
    rows = load(job.dataset, ATTACKED_ROWS if job.kind == "denoised_many" else MOST_ROWS)
    k = SOURCES[job.dataset].k
    kmeans = KMeans(k, n_init=10, random_state=seed)
    truth = KMeans(k, n_init=10, random_state=0).fit(rows)
    model = LocalClustering(kmeans, perturbation=mechanism(job.epsilon), denoise=True).fit(rows)
    plain = KMeans(k, n_init=10, random_state=seed).fit(model.reports_)
    errors = [center_error(m.cluster_centers_, truth.cluster_centers_) for m in (plain, model)]
    aris = [agreement(truth.labels_, m.labels_).ari for m in (plain, model)]
    return {
        "error": errors[1],
        "plain_error": errors[0],
        "gain": errors[0] - errors[1],
        "ari": aris[1],
        "plain_ari": aris[0],
        "ari_gain": aris[1] - aris[0],
    }


def truncating(job: Job, seed: int) -> Numbers:
    """k-means on reports that were clamped, or drawn until they were inside the bounds."""
    rows, k = load(job.dataset), SOURCES[job.dataset].k
    numbers = {}
    # Drawing until inside costs as much again: at the same ε it draws with ε/2, at 2ε with ε.
    ways = {"ari": ("clamp", 1), "halved_ari": ("resample", 1), "full_ari": ("resample", 2)}
    for name, (truncation, times) in ways.items():
        points = scaled(perturbed(rows, times * job.epsilon, truncation))
        found = KMeans(k, n_init=10, random_state=seed).fit(points).labels_
        numbers[name] = _agreement(job.dataset, "kmeans", found)["ari"]
    return numbers


def remapping(job: Job, seed: int) -> Numbers:
    """k-means on reports that were clamped, or remapped to a public grid of admissible points."""
    rows, k = load(job.dataset), SOURCES[job.dataset].k
    ways = {"clamped_ari": perturbed(rows, job.epsilon)}
    for side in ADMISSIBLE:
        axis = np.linspace(*BOUNDS, side)
        admissible = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        planar = PlanarLaplace(level=job.epsilon, radius=1.0, bounds=BOUNDS, remap=admissible)
        ways[f"ari_{side}"] = np.asarray(planar.fit_transform(rows))
    return {
        name: _agreement(
            job.dataset,
            "kmeans",
            KMeans(k, n_init=10, random_state=seed).fit(scaled(points)).labels_,
        )["ari"]
        for name, points in ways.items()
    }


def membership(job: Job, seed: int) -> Numbers:
    """Attack a forest that learnt the labels of k-means, with three shadow models (Fig. 5.5)."""
    few = job.kind == "few"
    rows = load(job.dataset) if few else load(job.dataset, ATTACKED_ROWS)
    factory = forest_factory(
        KMeans(SOURCES[job.dataset].k, n_init=3, random_state=seed),
        perturbation=None if job.epsilon == CLEAN else mechanism(job.epsilon),
        scale=True,
        n_trees=TREES,
        random_state=seed,
    )
    found = shadow_attack(factory, rows, n_shadows=SHADOWS, n_trees=TREES, random_state=seed)
    return {"advantage": found.advantage, "tpr": found.tpr, "fpr": found.fpr}


def ratio(job: Job, seed: int) -> Numbers:
    """Attack the centres themselves with likelihood ratios of distances."""

    def make(rows: Floats) -> LocalClustering:
        kmeans = KMeans(SOURCES[job.dataset].k, n_init=1, random_state=seed)
        reports = perturbed(rows, job.epsilon)
        return LocalClustering(kmeans, perturbation="done", scale=True).fit(reports)

    rows = load(job.dataset, ATTACKED_ROWS)
    found = likelihood_ratio_attack(
        make, rows, n_models=1, n_shadows=RATIO_SHADOWS, random_state=seed
    )
    return {"advantage": found.advantage, "tpr": found.tpr, "fpr": found.fpr}


def reconstruction(job: Job, seed: int) -> Numbers:
    """Guess rows from their reports, knowing the other rows of the population."""
    rows = load(job.dataset, ATTACKED_ROWS)
    order = np.random.default_rng(seed).permutation(len(rows))
    half = len(rows) // 2
    prior = histogram_prior(rows[order[half:]], np.ones(len(rows) - half))
    found = reconstruction_attack(
        mechanism(job.epsilon), rows[order[: min(half, RECONSTRUCTED)]], prior
    )
    return {"ratio": found.ratio}


def distance(job: Job, seed: int) -> Numbers:
    """How far reports lie from their rows (Fig. 5.6)."""
    rows = load(job.dataset)
    return {
        "clamped": displacement(rows, perturbed(rows, job.epsilon)),
        "free": displacement(rows, perturbed(rows, job.epsilon, "none")),
    }


KINDS: dict[str, Callable[[Job, int], Numbers]] = {
    **dict.fromkeys(("kmeans", "ap", "dbscan"), utility),
    **dict.fromkeys(("denoised", "denoised_many"), denoising),
    "truncated": truncating,
    "remapped": remapping,
    "forest": membership,
    "few": membership,
    "lira": ratio,
    "posterior": reconstruction,
    "distance": distance,
}
FIRST = {
    **dict.fromkeys(("kmeans", "ap", "dbscan", "truncated"), "ari"),
    **dict.fromkeys(("forest", "few", "lira"), "advantage"),
    **dict.fromkeys(("denoised", "denoised_many"), "error"),
    "posterior": "ratio",
    "remapped": "clamped_ari",
    "distance": "clamped",
}

"""The model that the thesis attacks: a random forest that learnt the labels of a clusterer.

Owner-side: reads raw rows. See `sfumato.attacks`.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from sfumato.attacks.outputs import Factory
from sfumato.box import Floats
from sfumato.localclustering import LocalClustering


def forest_factory(
    estimator: Any,  # noqa: ANN401
    *,
    perturbation: Any = None,  # noqa: ANN401
    scale: bool = False,
    n_trees: int = 100,
    random_state: int = 0,
) -> Factory:
    """Return a factory of forests that predict clusters (van der Ende 2023, §5.3.2).

    The rows are perturbed (or left alone where `perturbation` is None), clustered, and a random
    forest learns the cluster of a point. So a clusterer without `predict`, such as DBSCAN, gives a
    model that answers for any row, with probabilities. A callable `estimator` is called with the
    points to be clustered and returns the clusterer for them.
    """

    def make(rows: Floats) -> RandomForestClassifier:
        reports = rows if perturbation is None else clone(perturbation).fit_transform(rows)
        chosen = estimator(reports) if callable(estimator) else estimator
        clusters = LocalClustering(chosen, perturbation="done", scale=scale).fit(reports)
        forest = RandomForestClassifier(n_trees, random_state=random_state)
        return forest.fit(reports, clusters.labels_)

    return make

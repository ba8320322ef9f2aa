"""Membership inference: shadow models (Shokri et al. 2017) and likelihood ratios.

Owner-side: reads raw rows and knows the members. See `sfumato.attacks`. rows: (n, d), in any units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_array

from sfumato._base.types import Floats, Ints
from sfumato._base.validation import check_whole
from sfumato.local._clustering import LocalClustering

Factory = Callable[[Floats], Any]
"""Rows (n, d) in, fitted model out: with `transform` (distances), `predict_proba` or `predict`."""

Guess = Callable[[Floats], Any]
"""What a model says about rows in, (n, m); 1 for those taken for members out, (n,)."""

Learner = Callable[[Floats, Ints, Any], Guess]
"""What shadow models say, (n, m), who was inside, (n,), and the attacked model in; a guess out."""

SEEN = 3
# Added before a logarithm: a forest of a hundred trees resolves probabilities to 0.01, and a
# member may be its own centre.
_DOUBT = 0.01
_CLOSE = 0.3


def outputs(model: Any, rows: Floats) -> Floats:  # noqa: ANN401
    """Return what the model says about each row, (n, d), in an order that does not name clusters.

    (n, 3): the three least distances to centres, or the three largest probabilities, for clusters
    are numbered anew in every fit. A model that has neither shows its labels: (n, 1).
    """
    if hasattr(model, "predict_proba"):
        return _first(-np.sort(-np.asarray(model.predict_proba(rows)), axis=1), "constant")
    if hasattr(model, "transform"):
        return _first(np.sort(np.asarray(model.transform(rows)), axis=1), "edge")
    return np.asarray(model.predict(rows), dtype=np.float64)[:, None]


def score(model: Any, rows: Floats) -> Floats:  # noqa: ANN401
    """Return a number per row, (n,), that is smaller for members: log distance, or log odds."""
    first = outputs(model, rows)[:, 0]
    if hasattr(model, "predict_proba"):
        odds: Floats = np.log(1 + _DOUBT - first) - np.log(first + _DOUBT)
        return odds
    if hasattr(model, "transform"):
        return np.log(first + max(_CLOSE * float(first.mean()), 1e-300))
    return first


def pool_of(rows: ArrayLike) -> Floats:
    """Read the rows of an attack, (n, d), of which there must be some for every part."""
    pool: Floats = check_array(rows, dtype=np.float64, ensure_min_samples=8)
    return pool


def _first(ordered: Floats, padding: Literal["constant", "edge"]) -> Floats:
    missing = max(0, SEEN - ordered.shape[1])
    return np.pad(ordered, ((0, 0), (0, missing)), mode=padding)[:, :SEEN]


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


CONFIDENCE = 0.95


def clopper_pearson(hits: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact interval of a rate that was seen `hits` times in `trials`."""
    others = check_whole(trials, "trials") - check_whole(hits, "hits", least=0)
    if others < 0 or not 0 <= confidence <= 1:
        raise ValueError(
            "hits must be at most the trials and confidence from 0 to 1, got "
            f"hits={hits}, trials={trials}, confidence={confidence}"
        )
    tail = (1 - confidence) / 2
    low, high = stats.beta.ppf((tail, 1 - tail), (hits, hits + 1), (others + 1, others))
    return float(low) if hits else 0.0, float(high) if others else 1.0


@dataclass(frozen=True)
class Membership:
    """Guesses about members and others: of every attacked model, how many were called members.

    `hits[t]` of `members[t]` members and `alarms[t]` of `others[t]` others of model t.
    """

    hits: tuple[int, ...]
    members: tuple[int, ...]
    alarms: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def tpr(self) -> float:
        """Share of members that were called members."""
        return sum(self.hits) / sum(self.members)

    @property
    def fpr(self) -> float:
        """Share of others that were called members."""
        return sum(self.alarms) / sum(self.others)

    @property
    def advantage(self) -> float:
        """The adversary's advantage TPR − FPR (Yeom et al. 2018): 0 is guessing, 1 is certainty."""
        return self.tpr - self.fpr

    @property
    def by_model(self) -> tuple[float, ...]:
        """The advantage over each attacked model; its spread is the thesis's error bar."""
        counts = zip(self.hits, self.members, self.alarms, self.others, strict=True)
        return tuple(hit / inside - alarm / out for hit, inside, alarm, out in counts)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return an interval of the advantage: an exact one for each rate, at half the risk.

        Guesses are taken as independent, which those about the rows of one model nearly are.
        """
        each = (1 + confidence) / 2
        low, high = clopper_pearson(sum(self.hits), sum(self.members), each)
        least, most = clopper_pearson(sum(self.alarms), sum(self.others), each)
        return low - most, high - least


def membership_of(guesses: Sequence[tuple[Any, ...]]) -> Membership:
    """Count guesses: for every model those about its members, and those about others."""
    inside, outside = zip(*((np.asarray(a), np.asarray(b)) for a, b in guesses), strict=True)
    return Membership(
        hits=tuple(int(g.sum()) for g in inside),
        members=tuple(len(g) for g in inside),
        alarms=tuple(int(g.sum()) for g in outside),
        others=tuple(len(g) for g in outside),
    )


_LEAST_SPREAD = 1e-9


def likelihood_ratio_attack(
    make_model: Factory,
    rows: ArrayLike,
    *,
    n_models: int = 4,
    n_shadows: int = 16,
    random_state: int = 0,
) -> Membership:
    """Guess of each row whether its distance is more likely with the row inside than outside.

    Models are trained on random halves of the rows. For each row the log distance to the nearest
    centre is normal with one mean over the models that had the row and another over those that had
    not, and one spread for each of the two. rows: (n, d). `n_models` are attacked, each with
    `n_shadows` others as shadows; the shuffling is fixed by `random_state`.
    """
    pool = pool_of(rows)
    n_models = check_whole(n_models, "n_models")
    n_shadows = check_whole(n_shadows, "n_shadows", least=4)
    inside = _halves(len(pool), n_models, n_shadows, np.random.default_rng(random_state))
    scores = np.array([score(make_model(pool[chosen]), pool) for chosen in inside])
    guesses = []
    for target in range(n_models):
        # The other attacked models are no shadows: guesses about them stay independent of them.
        ratio = _log_ratio(scores[target], scores[n_models:], inside[n_models:])
        guesses.append((ratio[inside[target]] > 0, ratio[~inside[target]] > 0))
    return membership_of(guesses)


def _halves(n: int, n_models: int, n_shadows: int, rng: np.random.Generator) -> np.ndarray:
    """Which rows each model has, (models, n): half of them; attacked models first, then shadows.

    Shadows come in pairs with opposite halves, so that no row is always in or always out. No
    shadow is the opposite of an attacked model, which would reveal its members.
    """
    masks = np.zeros((n_models + n_shadows, n), dtype=bool)
    for model in range(len(masks)):
        if model > n_models and (model - n_models) % 2:
            masks[model] = ~masks[model - 1]
        else:
            masks[model, rng.permutation(n)[: n // 2]] = True
    return masks


def _log_ratio(seen: Floats, scores: Floats, inside: np.ndarray) -> Floats:
    """Log likelihood ratio of scores `seen`, (n,), from (models, n) scores and who was inside."""
    logs = []
    for chosen in (inside, ~inside):
        counts = np.maximum(chosen.sum(axis=0), 1)
        mean = np.where(chosen, scores, 0).sum(axis=0) / counts
        left = np.where(chosen, scores - mean, 0)
        freedom = max(int((chosen.sum(axis=0) - 1).clip(0).sum()), 1)
        spread = max(float(np.sqrt(np.square(left).sum() / freedom)), _LEAST_SPREAD)
        logs.append(-0.5 * np.square((seen - mean) / spread) - np.log(spread))
    difference: Floats = logs[0] - logs[1]
    return difference


_LEAF = 5


def shadow_attack(
    make_model: Factory,
    rows: ArrayLike,
    *,
    n_models: int = 1,
    n_shadows: int = 3,
    n_trees: int = 100,
    random_state: int = 0,
) -> Membership:
    """Guess who was in the training rows of a model from what it says about them.

    The adversary trains shadow models on rows of its own, sees what they say about rows inside and
    outside, and lets a random forest of `n_trees` learn the difference. `make_model` is called with
    rows and returns a fitted model: local or central, private or not. `n_models` models are
    attacked, each trained on a quarter of the `rows`, (n, d); the shuffling is fixed by
    `random_state`.
    """

    def learn(said: Floats, inside: Ints, model: Any) -> Guess:  # noqa: ANN401
        forest = RandomForestClassifier(n_trees, min_samples_leaf=_LEAF, random_state=random_state)
        return forest.fit(said, inside).predict  # type: ignore[no-any-return]

    return _attacked(make_model, learn, rows, n_models, n_shadows, random_state)


def art_attack(
    make_model: Factory,
    rows: ArrayLike,
    *,
    n_models: int = 1,
    n_shadows: int = 3,
    random_state: int = 0,
) -> Membership:
    """Attack as `shadow_attack` does, with the Adversarial Robustness Toolbox (extra `art`).

    On the same parts of the rows, with the toolbox's own forest. It sees the model through its
    answers alone, and learns from the answers of the same kind of shadow models. rows: (n, d).
    """
    from art.attacks.inference.membership_inference import MembershipInferenceBlackBox
    from art.estimators.classification import BlackBoxClassifier

    def classes(said: Floats) -> Floats:
        # Clusters are numbered anew in every model: to the toolbox all rows are of one class.
        return np.tile(np.eye(1, SEEN), (len(said), 1))

    def learn(said: Floats, inside: Ints, model: Any) -> Guess:  # noqa: ANN401
        answering = BlackBoxClassifier(
            lambda points: outputs(model, np.asarray(points)),
            input_shape=np.shape(rows)[1:],
            nb_classes=SEEN,
        )
        attack = MembershipInferenceBlackBox(answering, attack_model_type="rf")
        members, others = said[inside == 1], said[inside == 0]
        attack.fit(pred=members, y=classes(members), test_pred=others, test_y=classes(others))
        return lambda said: attack.infer(None, y=classes(said), pred=said).ravel()

    return _attacked(make_model, learn, rows, n_models, n_shadows, random_state)


def _attacked(
    make_model: Factory, learn: Learner, rows: ArrayLike, n_models: int, n_shadows: int, seed: int
) -> Membership:
    """Attack models, each on rows split anew: 1/4 members, 1/4 others, 1/2 for shadows."""
    pool = pool_of(rows)
    n_models, n_shadows = check_whole(n_models, "n_models"), check_whole(n_shadows, "n_shadows")
    rng = np.random.default_rng(seed)
    quarter = len(pool) // 4
    guesses = []
    for _ in range(n_models):
        mixed = pool[rng.permutation(len(pool))]
        members, others, rest = np.split(mixed, [quarter, 2 * quarter])
        said, inside = [], np.tile(np.repeat([1, 0], quarter), n_shadows)
        for _ in range(n_shadows):
            seen = rest[rng.permutation(len(rest))[: 2 * quarter]]
            said.append(outputs(make_model(seen[:quarter]), seen))
        model = make_model(members)
        guess = learn(np.concatenate(said), inside, model)
        guesses.append(tuple(guess(outputs(model, part)) for part in (members, others)))
    return membership_of(guesses)

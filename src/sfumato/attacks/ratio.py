"""Membership inference by likelihood ratio: the way of Carlini et al. 2022, for clusterings.

Owner-side: reads raw rows and knows the members. See `sfumato.attacks`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sfumato.attacks.outputs import Factory, pool_of, score
from sfumato.attacks.trials import Membership, membership_of
from sfumato.box import Floats
from sfumato.parameters import check_whole

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
    not, and one spread for each of the two. `n_models` are attacked, each with `n_shadows` others
    as shadows; the shuffling is fixed by `random_state`.
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
    """Which rows each model has: half of them, first the attacked models, then the shadows.

    Shadows come in pairs with opposite halves, so that no row is always in or always out. No
    shadow is the opposite of an attacked model: it would tell of its members what it was not shown.
    """
    masks = np.zeros((n_models + n_shadows, n), dtype=bool)
    for model in range(len(masks)):
        if model > n_models and (model - n_models) % 2:
            masks[model] = ~masks[model - 1]
        else:
            masks[model, rng.permutation(n)[: n // 2]] = True
    return masks


def _log_ratio(seen: Floats, scores: Floats, inside: np.ndarray) -> Floats:
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

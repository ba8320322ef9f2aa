"""Membership inference with shadow models: Shokri et al. 2017, with a random forest as attacker.

Owner-side: reads raw rows and knows the members. See `sfumato.attacks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.ensemble import RandomForestClassifier

from sfumato.attacks.outputs import Factory, outputs, pool_of
from sfumato.attacks.trials import Membership, membership_of
from sfumato.box import Floats
from sfumato.parameters import check_whole

_LEAF = 5


@dataclass(frozen=True)
class Trial:
    """One attacked model: its members, others like them, and halves of other rows for shadows."""

    members: Floats
    others: Floats
    shadows: tuple[tuple[Floats, Floats], ...]


def trials(rows: Floats, n_models: int, n_shadows: int, seed: int) -> Iterator[Trial]:
    """Deal the rows anew for each attacked model: a quarter in, a quarter out, half for shadows."""
    rng = np.random.default_rng(seed)
    quarter = len(rows) // 4
    for _ in range(n_models):
        mixed = rows[rng.permutation(len(rows))]
        rest = mixed[2 * quarter :]
        halves = []
        for _ in range(n_shadows):
            order = rng.permutation(len(rest))
            halves.append((rest[order[:quarter]], rest[order[quarter : 2 * quarter]]))
        yield Trial(mixed[:quarter], mixed[quarter : 2 * quarter], tuple(halves))


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
    attacked, each trained on a quarter of the rows; the shuffling is fixed by `random_state`.
    """
    pool = pool_of(rows)
    n_models, n_shadows = check_whole(n_models, "n_models"), check_whole(n_shadows, "n_shadows")
    guesses = []
    for trial in trials(pool, n_models, n_shadows, random_state):
        attacker = RandomForestClassifier(
            n_trees, min_samples_leaf=_LEAF, random_state=random_state
        )
        attacker.fit(*lessons(make_model, trial))
        model = make_model(trial.members)
        guesses.append(
            (
                attacker.predict(outputs(model, trial.members)),
                attacker.predict(outputs(model, trial.others)),
            )
        )
    return membership_of(guesses)


def lessons(make_model: Factory, trial: Trial) -> tuple[Floats, Floats]:
    """What shadow models say about rows inside (1) and outside (0)."""
    said, answers = [], []
    for inside, outside in trial.shadows:
        shadow = make_model(inside)
        for rows, answer in ((inside, 1), (outside, 0)):
            said.append(outputs(shadow, rows))
            answers.append(np.full(len(rows), answer))
    return np.concatenate(said), np.concatenate(answers)

"""The same membership experiment through the Adversarial Robustness Toolbox (extra `art`).

Owner-side: reads raw rows and knows the members. See `sfumato.attacks`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from art.attacks.inference.membership_inference import MembershipInferenceBlackBox
from art.estimators.classification import BlackBoxClassifier
from numpy.typing import ArrayLike

from sfumato._base.types import Floats
from sfumato._base.validation import check_whole
from sfumato.attacks._membership import (
    SEEN,
    Factory,
    Membership,
    lessons,
    membership_of,
    outputs,
    pool_of,
    trials,
)


def art_attack(
    make_model: Factory,
    rows: ArrayLike,
    *,
    n_models: int = 1,
    n_shadows: int = 3,
    random_state: int = 0,
) -> Membership:
    """Attack as `shadow_attack` does, on the same parts of the rows, with the toolbox's forest.

    The toolbox sees the model through its answers alone; its attacker learns from the answers of
    the same kind of shadow models.
    """
    pool = pool_of(rows)
    n_models, n_shadows = check_whole(n_models, "n_models"), check_whole(n_shadows, "n_shadows")
    guesses = []
    for trial in trials(pool, n_models, n_shadows, random_state):
        said, inside = lessons(make_model, trial)
        model = make_model(trial.members)
        attack = MembershipInferenceBlackBox(
            _answering(model, pool.shape[1]), attack_model_type="rf"
        )
        attack.fit(
            pred=said[inside == 1],
            y=_classes(said[inside == 1]),
            test_pred=said[inside == 0],
            test_y=_classes(said[inside == 0]),
        )
        guesses.append(tuple(_guess(attack, model, part) for part in (trial.members, trial.others)))
    return membership_of([(a, b) for a, b in guesses])


def _guess(attack: Any, model: Any, rows: Floats) -> Floats:  # noqa: ANN401
    said = outputs(model, rows)
    found: Floats = attack.infer(None, y=_classes(said), pred=said).ravel()
    return found


def _classes(said: Floats) -> Floats:
    # Clusters are numbered anew in every model: to the toolbox all rows are of one class.
    classes = np.zeros((len(said), SEEN))
    classes[:, 0] = 1
    return classes


def _answering(model: Any, n_features: int) -> BlackBoxClassifier:  # noqa: ANN401
    return BlackBoxClassifier(
        lambda rows: outputs(model, np.asarray(rows)), input_shape=(n_features,), nb_classes=SEEN
    )

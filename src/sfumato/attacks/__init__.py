"""ATTACKS, for the owner of the rows: what an adversary learns from a model or from reports.

Everything here reads raw rows, knows who is a member, and promises nothing. It exists to measure:
fit models on parts of your own rows, attack them, and see how far the adversary gets. None of its
numbers may be published about data that must stay private, and no attack proves safety: a model
that resists these may fall to a better one. What a guarantee bounds is on the receipt.
"""

from __future__ import annotations

from sfumato.attacks._membership import (
    Factory,
    Membership,
    art_attack,
    clopper_pearson,
    forest_factory,
    likelihood_ratio_attack,
    shadow_attack,
)
from sfumato.attacks._reconstruction import (
    Prior,
    Reconstruction,
    estimates,
    histogram_prior,
    reconstruction_attack,
    uniform_prior,
)

__all__ = [
    "Factory",
    "Membership",
    "Prior",
    "Reconstruction",
    "art_attack",
    "clopper_pearson",
    "estimates",
    "forest_factory",
    "histogram_prior",
    "likelihood_ratio_attack",
    "reconstruction_attack",
    "shadow_attack",
    "uniform_prior",
]

"""The local model: each row perturbed on its own, before anybody collects it."""

from sfumato.local._clustering import LocalClustering
from sfumato.local._mechanisms import (
    Duchi,
    Harmony,
    HybridMechanism,
    LaplaceMechanism,
    LocalMechanism,
    Piecewise,
    SquareWave,
    Staircase,
)
from sfumato.local._ndlaplace import (
    NDLaplace,
    PlanarLaplace,
    local_epsilon,
    mean_displacement,
)

__all__ = [
    "Duchi",
    "Harmony",
    "HybridMechanism",
    "LaplaceMechanism",
    "LocalClustering",
    "LocalMechanism",
    "NDLaplace",
    "Piecewise",
    "PlanarLaplace",
    "SquareWave",
    "Staircase",
    "local_epsilon",
    "mean_displacement",
]

"""What users ask for by name: a method, and how many clusters."""

from __future__ import annotations

from sfumato.methods import METHODS, Method
from sfumato.parameters import check_whole


def method_of(method: str | Method) -> Method:
    """A method by its name, or the instance that was given."""
    if not isinstance(method, str):
        if not callable(method) or not hasattr(method, "caps"):
            raise TypeError(f"method must be a name or a method instance, got {method!r}")
        return method
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    return METHODS[method]()


def clusters_of(n_clusters: int | str, method: Method) -> tuple[int, bool]:
    """The number of clusters, or the most of them and that the method chooses."""
    if not isinstance(n_clusters, str):
        return check_whole(n_clusters, "n_clusters"), False
    if n_clusters != "auto":
        raise ValueError(f"n_clusters must be a whole number or 'auto', got {n_clusters!r}")
    k_range: tuple[int, int] | None = getattr(method, "k_range", None)
    if k_range is None:
        able = [name for name, cls in METHODS.items() if hasattr(cls, "k_range")]
        raise ValueError(
            f"n_clusters='auto' needs a method that releases a synopsis: {', '.join(able)}; "
            f"{type(method).__name__} needs a number"
        )
    return k_range[1], True

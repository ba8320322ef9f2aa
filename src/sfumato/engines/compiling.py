"""How loops are compiled by numba, and the arrays they take.

Floats in the loops are whole numbers below 2^53, or such over one power of 2, so contracting a
product and a sum changes nothing, and nor does adding in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import float64, int64, njit, types

_Loop = TypeVar("_Loop", bound=Callable[..., None])

# Readable arrays of either kind may be passed where the loop promises not to write.
ROWS = types.Array(types.int16, 2, "C", readonly=True)
LABELS = types.Array(int64, 1, "C", readonly=True)
POINTS = types.Array(int64, 2, "C", readonly=True)
VECTOR = types.Array(float64, 1, "C", readonly=True)
MATRIX = types.Array(float64, 2, "C", readonly=True)
NODES = types.Array(types.int32, 2, "C", readonly=True)
CUTS = types.Array(types.int32, 3, "C", readonly=True)


def compiled_for(
    *arguments: Any,  # noqa: ANN401
    contract: bool = True,
    any_order: bool = False,
) -> Callable[[_Loop], _Loop]:
    """Compile a loop for arguments of these types, with whichever cache can be written."""
    signature = types.void(*arguments)

    def compile_(loop: _Loop) -> _Loop:
        # By Python's model every division asks whether to raise, and nothing is vectorised.
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        allowed = {"contract"} if contract else set()
        options["fastmath"] = allowed | ({"reassoc", "nsz"} if any_order else set())
        try:
            return cast(_Loop, njit(signature, cache=True, **options)(loop))
        except (RuntimeError, OSError):
            # Neither the package's folder nor the user's cache can be written, or the disk is full.
            return cast(_Loop, njit(signature, **options)(loop))

    return compile_

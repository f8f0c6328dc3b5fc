"""Array types, and numpy imported at first use, because devices do not have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from encoders.late_imports import LateModule

__all__ = ["BoolArray", "ByteArray", "FloatArray", "IntArray", "NDArray", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]
    ByteArray = NDArray[np.uint8]
    BoolArray = NDArray[np.bool_]
else:
    np = LateModule("numpy")
    NDArray = FloatArray = IntArray = ByteArray = BoolArray = Any  # for annotations only

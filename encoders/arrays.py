"""Array types, and numpy imported at first use, because devices do not have it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["BoolArray", "ByteArray", "FloatArray", "IntArray", "NDArray", "np"]


class _LazyModule:
    """Imports a module when the first of its attributes is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # the next use finds it without __getattr__
        return value


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]
    ByteArray = NDArray[np.uint8]
    BoolArray = NDArray[np.bool_]
else:
    np = _LazyModule("numpy")
    NDArray = FloatArray = IntArray = ByteArray = BoolArray = Any  # for annotations only

"""numpy, imported when it is first used: a device, which randomises one row, does without it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["np"]


class _LazyModule:
    """Imports a module when the first of its attributes is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # the next use does not come here
        return value


if TYPE_CHECKING:
    import numpy as np
else:
    np = _LazyModule("numpy")

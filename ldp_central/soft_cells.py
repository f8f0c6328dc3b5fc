"""The soft cells of numbers as an array, see :mod:`encoders.mechanisms.soft_cells`."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from encoders.mechanisms.soft_cells import STEPS, soft_parts
from ldp_aggregator.arrays import IntArray


@lru_cache(maxsize=2)
def soft_cells(can_be_missing: bool) -> IntArray:
    """Return the parts of each grid step, (STEPS + 1, 3).

    If the number can be missing, one more cell and one more step stand for that: (STEPS + 2, 4).
    """
    steps = range(STEPS + 1 + can_be_missing)
    parts = np.array([soft_parts(step, can_be_missing) for step in steps], dtype=np.int64)
    parts.setflags(write=False)
    return parts

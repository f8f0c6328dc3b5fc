"""Bernstein polynomials of degree two: they divide a number between three soft cells.

With t in [0, 1] the place of a number between its public bounds, the cells get (1 - t)^2, 2 t (1 - t) and
t^2. These parts are not negative and add up to one. So a number costs as much epsilon as a category, and its
mean and its mean square are linear in the cells. All parts are integers out of SOFT_UNIT.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ldp_aggregator.arrays import IntArray
from ldp_aggregator.central.coded_rows import STEPS

SOFT_UNIT = STEPS**2
"""The sum of the parts of a number."""


@lru_cache(maxsize=2)
def soft_cells(can_be_missing: bool) -> IntArray:
    """Return the parts of each place on the grid, (STEPS + 1, 3).

    If the number can be missing, one more cell and one more place stand for that: (STEPS + 2, 4).
    """
    step = np.arange(STEPS + 1, dtype=np.int64)
    parts = np.stack([(STEPS - step) ** 2, 2 * step * (STEPS - step), step**2], axis=1)
    if can_be_missing:
        parts = np.pad(parts, ((0, 1), (0, 1)))
        parts[-1, -1] = SOFT_UNIT
    parts.setflags(write=False)
    return parts

"""Bernstein polynomials of degree two: they divide a number between three soft cells, in integers.

With t in [0, 1] the position of a number between its public bounds, the cells get (1 - t)^2, 2 t (1 - t) and
t^2. These parts are not negative and add up to one. So a number costs as much epsilon as a category, and its
mean and its mean square are linear in the cells. All parts are integers out of SOFT_UNIT.
"""

from __future__ import annotations

from encoders.mechanisms.numeric_base import GRID

STEPS = 1 << 10
"""Steps of the grid on which curators and silos place a number of a survey, between its bounds."""
SOFT_UNIT = STEPS**2
"""The sum of the parts of a number."""
SOFT_CELLS = 3


def place_code(code: int) -> int:
    """Return the step 0, ..., STEPS of a number's code; STEPS + 1 if the number is missing."""
    return STEPS + 1 if code > 2 * GRID else (code * STEPS + GRID) // (2 * GRID)


def soft_parts(step: int, can_be_missing: bool) -> tuple[int, ...]:
    """Return the parts of a step, which add up to SOFT_UNIT: three, or four if the number can be missing."""
    rest = STEPS - step
    parts = (rest**2, 2 * step * rest, step**2) if step <= STEPS else (0, 0, 0)
    return (*parts, 0 if step <= STEPS else SOFT_UNIT) if can_be_missing else parts

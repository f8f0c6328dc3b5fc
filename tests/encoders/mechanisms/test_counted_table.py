"""Soft cells of numbers: integer parts that add up to a unit."""

from fractions import Fraction

import pytest

from encoders.mechanisms.counted_table import SOFT_UNIT, STEPS, place_code, soft_parts
from encoders.mechanisms.numeric_base import GRID


@pytest.mark.parametrize("can_be_missing", [False, True])
def test_the_parts_of_every_step_add_up_to_a_unit_and_none_is_negative(can_be_missing):
    for step in range(STEPS + 1 + can_be_missing):
        parts = soft_parts(step, can_be_missing)
        assert len(parts) == 3 + can_be_missing
        assert sum(parts) == SOFT_UNIT == 1 << 20
        assert min(parts) >= 0


def test_a_missing_number_is_in_the_last_cell_alone():
    assert soft_parts(place_code(2 * GRID + 1), True) == (0, 0, 0, SOFT_UNIT)
    assert soft_parts(place_code(2 * GRID), True) == (0, 0, SOFT_UNIT, 0)
    assert soft_parts(place_code(0), False) == (SOFT_UNIT, 0, 0)


def test_a_code_is_placed_at_the_nearest_step():
    codes = [0, 1, GRID // STEPS - 1, GRID // STEPS, GRID // STEPS + 1, GRID, 2 * GRID - 1, 2 * GRID]
    nearest = [int(Fraction(code * STEPS, 2 * GRID) + Fraction(1, 2)) for code in codes]
    assert [place_code(code) for code in codes] == nearest

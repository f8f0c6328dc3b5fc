"""Columns of numbers are read as their cells are."""

import numpy as np
import pytest

from encoders.errors import RowError
from ldp_aggregator.rows.table_input import read_numbers


def test_a_cell_that_is_no_number_is_named_by_row():
    with pytest.raises(RowError, match="hours: row 2: must be a number"):
        read_numbers([1, "two"], "hours")


@pytest.mark.parametrize("kind", [float, np.float32, object])
def test_an_infinite_number_is_named_by_row(kind):
    with pytest.raises(RowError, match="hours: row 3: is infinite"):
        read_numbers(np.array([1.5, np.nan, -np.inf], dtype=kind), "hours")


@pytest.mark.parametrize("kind", [float, np.float32, int, object])
def test_arrays_of_numbers_are_read_as_their_cells_are(kind):
    cells = [1, 2, 3] if kind is int else [1.5, float("nan"), -0.0]
    array = np.array(cells, dtype=kind)
    np.testing.assert_array_equal(read_numbers(array, "hours"), read_numbers(list(array), "hours"))

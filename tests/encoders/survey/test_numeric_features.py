"""Codes of numbers and their squares on the grid, with equal results for rows and columns."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.errors import RowError
from encoders.survey.features import GRID, NumericFeature
from encoders.survey.plan import Plan
from encoders.survey.questions import square_code
from encoders.survey.survey import Survey
from encoders.survey.toml_reader import read_survey
from ldp_aggregator.rows.encode_table import encode_numbers, encode_table
from tests.support import reference
from tests.support.surveys import PROJECTED

INCOME = NumericFeature("income", "-2000.5", "200000", "category")
STRICT = NumericFeature("income", "-2000.5", "200000")
UNIT = NumericFeature("x", "-1", "1")
TENTHS = NumericFeature("x", "0.1", "0.7", "category")
FEATURES = (
    INCOME,
    UNIT,
    TENTHS,
    NumericFeature("x", "0", "0." + "0" * 307 + "5"),
    NumericFeature("x", "-0.3", "9e9"),
)
MISSING = 2 * GRID + 1


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *((-1, 0), (-1.0, 0), (0, GRID), (-0.0, GRID), (1, 2 * GRID), (0.5, GRID + GRID // 2)),
        *((-5, 0), (-1e300, 0), (1e308, 2 * GRID), (10**400, 2 * GRID), (-(10**400), 0)),
        *((Decimal("1e400"), 2 * GRID), (Decimal("-1e400"), 0), (Decimal("0.5"), GRID + GRID // 2)),
        *((np.float32(0.25), GRID + GRID // 4), (np.int8(-1), 0), (np.uint64(1), 2 * GRID)),
        *((1 / GRID, GRID + 1), (0.5 / GRID, GRID + 1), (0.49 / GRID, GRID), (-0.5 / GRID, GRID)),
        *((math.nextafter(1, 2), 2 * GRID), (math.nextafter(1, 0), 2 * GRID), (5e-324, GRID)),
    ],
)
def test_a_number_is_the_nearest_point_of_the_grid(value, code):
    coded = UNIT.code(value)
    assert coded == code
    assert type(coded) is int


@pytest.mark.parametrize("value", [None, "", math.nan, np.float32("nan"), Decimal("sNaN"), pd.NA, pd.NaT])
def test_what_is_missing_is_the_last_code_or_an_error(value):
    assert INCOME.code(value) == MISSING == INCOME.size - 1
    assert STRICT.size == MISSING
    assert not INCOME.is_clipped(value)
    with pytest.raises(RowError, match="is missing"):
        STRICT.code(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, np.float32("inf"), Decimal("-Infinity")])
def test_an_infinite_number_is_refused(value):
    for feature in (INCOME, STRICT):
        with pytest.raises(RowError, match="is infinite: give a finite number"):
            feature.code(value)


@pytest.mark.parametrize("value", [True, "5", "s3cret", [1], 3j, b"1", np.array([1.0]), Fraction(1, 2)])
def test_what_is_no_number_is_refused_without_repeating_it(value):
    for feature in (INCOME, STRICT):
        with pytest.raises(RowError, match="must be a number") as caught:
            feature.code(value)
        assert caught.value.field == "income"
        assert "s3cret" not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"


numbers = st.one_of(
    st.floats(-2100, 200_100), st.floats(-1.1, 1.1), st.floats(allow_nan=False, allow_infinity=False)
)


@pytest.mark.slow
@settings(deadline=None)
@given(st.sampled_from(FEATURES), st.lists(numbers, min_size=2, max_size=9))
def test_device_column_and_document_code_alike_and_in_order(feature, drawn):
    codes = [feature.code(value) for value in sorted(drawn)]
    assert codes == sorted(codes)
    assert all(0 <= code <= 2 * GRID for code in codes)
    assert codes == encode_numbers(feature, np.array(sorted(drawn))).tolist()
    assert codes == [reference.number_code(feature.low, feature.high, "error", x) for x in sorted(drawn)]


@settings(deadline=None)
@given(st.integers(0, 2 * GRID))
def test_a_code_stands_for_the_number_that_has_it(code):
    for feature in (INCOME, UNIT, TENTHS):
        assert feature.code(feature.original((code - GRID) / GRID)) == code


@settings(deadline=None)
@given(st.integers(0, 2 * GRID))
def test_a_square_is_the_nearest_point_of_the_grid(code):
    exact = Fraction(code - GRID, GRID) ** 2 * GRID + GRID
    assert abs(square_code(code) - exact) <= Fraction(1, 2)
    assert square_code(code) == reference.square_of(code) == square_code(2 * GRID - code)


def test_squares_keep_both_ends_the_middle_and_the_missing():
    assert [square_code(code) for code in (0, GRID, 2 * GRID, MISSING)] == [
        2 * GRID,
        GRID,
        2 * GRID,
        MISSING,
    ]
    codes = np.array([0, 1, GRID - 5, GRID, GRID + 700, 2 * GRID - 1, 2 * GRID, MISSING])
    assert square_code(codes).tolist() == [square_code(code) for code in codes.tolist()]


@pytest.mark.parametrize(
    ("value", "clips"), [(0, False), (-2000.5, False), (200_000, False), (200_000.1, True), (-1e300, True)]
)
def test_a_number_beyond_its_bounds_is_known_to_be_clipped(value, clips):
    assert INCOME.is_clipped(value) is clips


# -- whole tables --------------------------------------------------------------------------------

SURVEY: Survey = read_survey(PROJECTED)
PLAN: Plan = SURVEY.compile()
HOURS = [0, 12, 6.1, -3, 1e300, 10**400, Decimal("7.25"), Decimal("1e400"), np.float32(0.1), np.int64(5)]
AGES = [None, 33, 100, math.nan, 0, 0.1, pd.NA, "", Decimal("NaN"), np.uint8(99)]
INCOMES = [0, 21_000, -2000.5, 1e300, -(10**400), Decimal("0.3"), 5.5, 1, np.float64(98999.75), 199_999.99]


def rows_of(columns: dict[str, Any]) -> list[dict[str, Any]]:
    names = list(columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def test_a_table_of_numbers_is_coded_row_by_row_as_a_device_does():
    columns = {"city": ["north"] * 10, "hours": HOURS, "age": AGES, "income": INCOMES, "more": [None] * 10}
    coded = encode_table(PLAN, columns)
    assert coded.dtype == np.int64
    assert coded.tolist() == [list(PLAN.encode_row(row)) for row in rows_of(columns)]
    missing = [row[2:] == [4, MISSING] for row in coded.tolist()]
    assert missing == [age is None or pd.isna(age) or age == "" for age in AGES]


@pytest.mark.parametrize(
    "kind",
    [
        np.array,
        pd.Series,
        lambda cells: np.array(cells, dtype=np.float32),
        lambda cells: np.array(cells, dtype=object),
        lambda cells: pd.array(cells, dtype="Float64"),
        lambda cells: np.ma.array(cells, mask=[0] * len(cells)),
    ],
    ids=["float", "series", "single", "object", "nullable", "masked"],
)
def test_columns_of_every_kind_are_coded_by_their_elements(kind):
    drawn = np.random.default_rng(5)
    columns = {
        "city": np.array(["north", "south"] * 25),
        "hours": kind(drawn.uniform(-1, 13, 50)),
        "age": kind(drawn.uniform(-10, 110, 50)),
        "income": kind(drawn.normal(1e5, 1e5, 50)),
    }
    coded = encode_table(PLAN, columns).tolist()
    assert coded == [list(PLAN.encode_row(row)) for row in rows_of(columns)]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int32, np.uint64, np.float16])
def test_whole_numbers_of_every_width_are_coded_by_their_elements(dtype):
    column = np.array([0, 1, 7, 12, 13, 200], dtype=dtype)
    columns = {"city": ["north"] * 6, "hours": column, "age": column, "income": column}
    assert encode_table(PLAN, columns).tolist() == [list(PLAN.encode_row(row)) for row in rows_of(columns)]


def test_what_is_missing_in_an_array_is_coded_or_refused_by_its_row():
    gaps = np.array([1.0, math.nan, math.nan])
    good = {"city": ["north"] * 3, "hours": [1] * 3, "age": [1] * 3, "income": [1] * 3}
    assert encode_table(PLAN, good | {"age": gaps})[:, 3].tolist()[1:] == [MISSING, MISSING]
    for name in ("hours", "income"):
        with pytest.raises(RowError, match="row 2: is missing") as caught:
            encode_table(PLAN, good | {name: gaps})
        assert caught.value.field == name


@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_infinity_in_an_array_is_refused_by_its_row(infinite):
    good = {"city": ["north"] * 3, "hours": [1] * 3, "age": [1] * 3, "income": [1] * 3}
    for name, row, why in (("age", 3, "infinite"), ("income", 2, "missing"), ("hours", 2, "missing")):
        with pytest.raises(RowError, match=f"^{name}: row {row}: is {why}"):
            encode_table(PLAN, good | {name: np.array([1.0, math.nan, infinite])})


def test_a_projected_name_in_a_table_or_row_is_not_read():
    row = {"city": "north", "hours": 1, "age": 33, "income": 21_000}
    more = row | {"first": "s3cret", "second": object()}
    assert PLAN.encode_row(more) == PLAN.encode_row(row)
    table = {name: [value] for name, value in more.items()}
    assert encode_table(PLAN, table).tolist() == [list(PLAN.encode_row(row))]

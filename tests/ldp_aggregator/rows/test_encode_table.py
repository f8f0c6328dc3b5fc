"""Whole tables are coded exactly as a device codes each row."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from encoders.errors import RowError
from encoders.survey import Plan
from encoders.survey.features import NumericFeature
from ldp_aggregator.rows.encode_table import encode_columns, encode_labels, encode_table
from tests.support.surveys import make_plan


@pytest.fixture(scope="module")
def plan() -> Plan:
    city = {"values": ["north", 3, True], "missing": "category"}
    hours = {"edges": [0, 2.5, 5, 7.5], "missing": "category"}
    return make_plan(features={"city": city, "hours": hours})


CITIES = ["north", 3, 3.0, True, None, "", math.nan, "true", "3", np.int64(3), np.bool_(True), "north"]
HOURS = [1, 1.0, True - 1.0, Decimal("2.5"), None, "", math.nan, 5, np.float32(7.5), -1e300, 10**30, -0.0]


def test_a_table_is_coded_row_by_row_as_a_device_does(plan):
    coded = encode_table(plan, {"city": CITIES, "hours": HOURS, "other": [object()]})
    rows = [{"city": city, "hours": hours} for city, hours in zip(CITIES, HOURS, strict=True)]
    assert coded.dtype == np.int64
    assert coded.tolist() == [list(plan.encode_row(row)) for row in rows]


@pytest.mark.parametrize(
    "hours",
    [
        np.array([1.0, np.nan, 7.5, 2.5]),
        np.array([1, 2, 3, 8], dtype=np.uint8),
        np.array([1, np.nan, 7.5, 2.5], dtype=np.float32),
        pd.Series([1, None, 7.5, 2.5]),
        pd.Series([1, None, 7, 2], dtype="Int64"),
        pd.Series([1, None, "", 2.5], dtype=object),
        np.ma.array([1.0, 9.0, 7.5, 2.5], mask=[0, 1, 0, 0]),
    ],
    ids=["float", "uint8", "float32", "series", "nullable", "object", "masked"],
)
def test_columns_of_every_kind_are_coded_by_their_elements(plan, hours):
    cities = pd.Series(["north", None, "3", "true"], dtype="category")
    coded = encode_table(plan, {"city": cities, "hours": hours})
    rows = [{"city": cities[i], "hours": hours[i]} for i in range(4)]
    assert coded.tolist() == [list(plan.encode_row(row)) for row in rows]


def test_a_data_frame_is_a_table(plan):
    frame = pd.DataFrame({"hours": [0.0, 9.0], "city": ["north", None], "more": [1, 2]})
    assert encode_table(plan, frame).tolist() == [[0, 0], [3, 2]]  # type: ignore[arg-type]


def test_labels_are_coded_as_a_device_does(plan):
    coded = encode_labels(plan, ["yes", "no", np.str_("no")])
    assert coded.dtype == np.int64
    assert coded.tolist() == [0, 1, 1]
    assert encode_labels(plan, []).tolist() == []


def test_an_absent_column_is_named(plan):
    with pytest.raises(RowError, match="the table has no such column") as caught:
        encode_table(plan, {"city": ["north"]})
    assert caught.value.field == "hours"


def test_every_column_that_does_not_fit_is_named(plan):
    with pytest.raises(RowError) as caught:
        encode_table(plan, {"city": ["north", "s3cret"], "hours": [math.inf, 1]})
    assert [each.field for each in caught.value.problems] == ["city", "hours"]
    assert str(caught.value).splitlines() == [str(each) for each in caught.value.problems]
    assert ["row 2: is not one" in str(caught.value), "row 1: is infinite" in str(caught.value)] == [True] * 2
    assert "s3cret" not in str(caught.value)


def test_columns_of_different_lengths_are_no_table(plan):
    for cities, hours in ((2, 1), (1, 2)):
        with pytest.raises(RowError):
            encode_table(plan, {"city": ["north"] * cities, "hours": [1] * hours})


@pytest.mark.parametrize("stranger", [["s3cret"], {"s3cret": 1}, {"s3cret"}])
def test_a_cell_of_many_values_is_refused_by_its_row(plan, stranger):
    with pytest.raises(RowError, match="row 2: must be a single value") as caught:
        encode_table(plan, {"city": ["north"] * 2, "hours": [1, stranger]})
    assert caught.value.field == "hours"
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("stranger", ["s3cret", ("s3cret",), b"s3cret"])
def test_the_first_wrong_row_is_named_without_its_value(plan, stranger):
    for name, good in (("city", "north"), ("hours", 1)):
        columns = {"city": ["north"] * 4, "hours": [1] * 4} | {name: [good, good, stranger, stranger]}
        with pytest.raises(RowError, match="row 3:") as caught:
            encode_table(plan, columns)
        assert caught.value.field == name
        assert "s3cret" not in f"{caught.value} {caught.value.__cause__}"
    with pytest.raises(RowError, match="row 1:"):
        encode_labels(plan, [stranger])


def test_equal_values_of_different_types_have_different_codes(plan):
    # True == 1 == 1.0 in Python: a memory of values alone would code them alike.
    for column in ([True, 1], [1, True], [1.0, True]):
        with pytest.raises(RowError):
            encode_table(plan, {"city": column, "hours": [0, 0]})
    with pytest.raises(RowError, match="row 2: must be a number, not bool"):
        encode_table(plan, {"city": ["north"] * 2, "hours": [1, True]})


def counted_plan() -> Plan:
    return make_plan(label=["0", "1"], features={"grade": ["-3", "10", "2", "70000"], "tea": ["1", "2"]})


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ([-3, 10, 2], np.int8),
        ([2, 10, 10], np.uint16),
        ([2, 10, 2], np.uint64),
        ([2, 70000, -3], np.int64),
        ([], np.int64),
    ],
)
def test_whole_numbers_are_coded_as_their_cells_are(numbers, dtype):
    plan = counted_plan()
    columns = {"grade": np.array(numbers, dtype=dtype), "tea": np.ones(len(numbers), dtype=dtype)}
    cells = {name: column.tolist() for name, column in columns.items()}
    np.testing.assert_array_equal(encode_table(plan, columns), encode_table(plan, cells))


@pytest.mark.parametrize("wrong", [3, -4, -(2**63), 2**63 - 1])
def test_a_whole_number_that_is_no_value_is_refused_by_its_row(wrong):
    plan = counted_plan()
    columns = {"grade": np.array([2, 10, wrong, wrong]), "tea": np.ones(4, dtype=np.int64)}
    with pytest.raises(RowError, match=r"^grade: row 3: is not one of the survey's values"):
        encode_table(plan, columns)


def test_pandas_columns_are_coded_as_arrays(monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("coded value by value")

    feature = NumericFeature(name="x", low="0", high="1", missing="category")
    values = [0.25, None, 7.0]
    expected = encode_columns([feature], {"x": values})
    monkeypatch.setattr("ldp_aggregator.rows.encode_table.encode_values", refuse)
    assert np.array_equal(encode_columns([feature], {"x": pd.Series(values)}), expected)


@pytest.mark.parametrize(
    "make", [list, tuple, set, np.array, pd.Series, lambda ticked: dict.fromkeys(ticked).keys()]
)
def test_any_list_of_ticked_choices_can_be_in_a_cell(make):
    plan = make_plan(
        label=None, features={"cups": {"choices": ["small", "large"]}, "tea": ["black", "green"]}
    )
    columns = {"cups": [make(["large"]), make(["small", "large"]), make([])], "tea": ["green"] * 3}
    assert encode_table(plan, columns).tolist() == [[0, 1, 1], [1, 1, 1], [0, 0, 1]]


@pytest.mark.parametrize("value", [{"small": True}, ["s3cret"], [["small"]], "small"])
def test_a_mistake_in_a_list_of_ticked_choices_is_one_problem(value):
    plan = make_plan(label=None, features={"cups": {"choices": ["small", "large", "glass"]}})
    with pytest.raises(RowError, match=r"cups: row 2: (must be a list of|contains something else)") as caught:
        encode_table(plan, {"cups": [["small"], value]})
    assert len(caught.value.problems) == 1
    assert "s3cret" not in str(caught.value)


def test_choices_are_coded_in_the_order_of_the_features():
    plan = make_plan(
        label=None, features={"cups": {"choices": ["small", "large"]}, "tea": ["black", "green"]}
    )
    small, large, tea = plan.features
    columns = {"cups": [["large"]], "tea": ["green"]}
    assert encode_columns([tea, large, small], columns).tolist() == [[1, 1, 0]]
    with pytest.raises(RowError, match="cups: has 1 rows, but the first column has 2"):
        encode_columns([tea, large], columns | {"tea": ["green", "black"]})

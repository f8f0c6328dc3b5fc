"""A projection is exact on a device and over a table, compared with the definition in fractions."""

import math
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.canonical import decimal_text, dump_canonical_json
from encoders.errors import RowError, SurveyError
from encoders.survey.features import GRID, NumericFeature
from encoders.survey.projection import MAX_SUM, UNIT, Component, Projection
from ldp_aggregator.rows.encode_table import project_columns
from tests.support.mistakes import refuse

AGE = NumericFeature("age", "0", "100")
INCOME = NumericFeature("income", "-2000.5", "200000", "category")
HOURS = NumericFeature("hours", "0", "12")
ONE = Component("one", ("0.25", "-0.75", "1.5"), "0.1")
TWO = Component("two", ("-3", "0", "0.000001"))
PROJECTION = Projection((AGE, INCOME, HOURS), (ONE, TWO))

millionths = st.integers(-(10**9), 10**9).map(lambda whole: decimal_text(Decimal(whole) / UNIT))
components = st.tuples(
    st.lists(st.tuples(millionths, millionths, millionths), min_size=1, max_size=3), millionths
)
numbers = st.one_of(
    st.floats(-300, 300),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**30), 10**30),
    st.sampled_from([0, 100, 12, 200_000, -2000.5, Decimal("33.3"), np.float32(7.1)]),
)
gaps = st.sampled_from([None, math.nan, pd.NA])


def by_definition(projection: Projection, row: dict[str, object]) -> list[float]:
    """Return the components from exact fractions, rounded to doubles once."""
    codes = [feature.code(row[feature.name]) for feature in projection.inputs]
    exact = [Fraction(code - GRID, GRID) for code in codes]
    sums = [
        sum(
            (Fraction(weight) * x for weight, x in zip(each.weights, exact, strict=True)),
            Fraction(each.offset),
        )
        for each in projection.components
    ]
    return [float(total) for total in sums]  # a fraction is rounded correctly


def same(one: float, other: float) -> bool:
    return np.float64(one).tobytes() == np.float64(other).tobytes()


# -- components ---------------------------------------------------------------------------------


def test_the_middle_of_every_range_gives_the_offset():
    assert PROJECTION.apply({"age": 50, "income": (200_000 - 2000.5) / 2, "hours": 6}) == {
        "one": 0.1,
        "two": 0,
    }


def test_the_ends_of_the_ranges_are_minus_one_and_one():
    assert PROJECTION.apply({"age": 100, "income": 200_000, "hours": 0}) == {
        "one": 0.25 - 0.75 - 1.5 + 0.1,
        "two": -3.000001,
    }


@pytest.mark.slow
@settings(deadline=None)
@given(components, st.lists(st.tuples(numbers, st.one_of(numbers, gaps), numbers), min_size=1, max_size=8))
def test_device_table_and_definition_agree_to_the_last_bit(drawn, rows):
    weights, offset = drawn
    named = tuple(Component(f"c{place}", each, offset) for place, each in enumerate(weights))
    projection = Projection((AGE, INCOME, HOURS), named)
    projection.check()
    names = ("age", "income", "hours")
    table = project_columns(projection, dict(zip(names, zip(*rows, strict=True), strict=True)))
    for place, values in enumerate(rows):
        row = dict(zip(names, values, strict=True))
        found = projection.apply(row)
        assert list(found) == list(table) == [each.name for each in named]
        if INCOME.code(row["income"]) == INCOME.size - 1:
            assert set(found.values()) == {None}
            assert all(np.isnan(column[place]) for column in table.values())
            continue
        for name, expected in zip(found, by_definition(projection, row), strict=True):
            assert same(found[name], expected)
            assert same(table[name][place], expected)


def test_the_largest_sums_are_exact():
    most = Component("most", ("4000", "-2000.000001", "1999.999998"), "0.000001")
    projection = Projection((AGE, INCOME, HOURS), (most,))
    projection.check()
    assert MAX_SUM * UNIT * GRID < 2**53
    for row in ({"age": 1e9, "income": -1e9, "hours": 99}, {"age": 99.9, "income": -1e9, "hours": 11.9}):
        assert same(projection.apply(row)["most"], by_definition(projection, row)[0])
        assert same(
            project_columns(projection, {name: [value] for name, value in row.items()})["most"][0],
            by_definition(projection, row)[0],
        )


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        lambda cells: pd.array(cells, dtype="Float64"),
        lambda cells: np.array(cells, dtype=object),
    ],
)
def test_every_kind_of_column_is_read_alike(kind):
    cells = {"age": [20.5, 30.0], "income": [1000.0, 1e9], "hours": [0.5, 7.25]}
    found = project_columns(PROJECTION, {name: kind(values) for name, values in cells.items()})
    for row in range(2):
        expected = PROJECTION.apply({name: values[row] for name, values in cells.items()})
        assert {name: column[row] for name, column in found.items()} == expected


def test_whole_numbers_and_masks_of_an_array_keep_their_meaning():
    masked = np.ma.array([5.0, 6.0], mask=[False, True])
    found = project_columns(
        PROJECTION, {"age": np.array([1, 2]), "income": masked, "hours": np.array([3, 4], np.uint8)}
    )
    assert same(found["one"][0], PROJECTION.apply({"age": 1, "income": 5, "hours": 3})["one"])
    assert np.isnan(found["one"][1])


def test_numbers_beyond_the_bounds_are_clipped_and_named():
    inside, outside = {"age": 100, "income": -2000.5, "hours": 6}, {"age": 101, "income": -1e300, "hours": 6}
    assert PROJECTION.apply(inside) == PROJECTION.apply(outside)
    assert PROJECTION.clipped_inputs(inside) == ()
    assert PROJECTION.clipped_inputs(outside) == ("age", "income")
    assert PROJECTION.clipped_inputs(inside | {"income": None}) == ()


# -- rows that do not fit -----------------------------------------------------------------------


def test_a_missing_input_makes_every_component_missing():
    row = {"age": 50, "income": None, "hours": 6}
    assert PROJECTION.apply(row) == {"one": None, "two": None}
    table = project_columns(PROJECTION, {name: [value] for name, value in row.items()})
    assert all(np.isnan(column).all() for column in table.values())


@pytest.mark.parametrize(
    ("changed", "name", "why"),
    [
        ({"age": None}, "age", "is missing"),
        ({"age": None, "income": None}, "age", "is missing"),
        ({"income": None, "hours": math.nan}, "hours", "is missing"),
        ({"income": None, "hours": "s3cret"}, "hours", "must be a number"),
        ({"age": True}, "age", "must be a number"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_by_the_name_of_the_input(changed, name, why):
    row = {"age": 50, "income": 100, "hours": 6}
    with pytest.raises(RowError, match=why) as caught:
        PROJECTION.apply(row | changed)
    assert caught.value.field == name
    assert "s3cret" not in str(caught.value)
    table = {each: [value, value] for each, value in row.items()}
    for each, value in changed.items():
        table[each][1] = value
    with pytest.raises(RowError, match=f"row 2: .*{why}") as caught:
        project_columns(PROJECTION, table)
    assert caught.value.field == name
    assert "s3cret" not in str(caught.value)


def test_a_gap_in_an_array_is_refused_by_its_row():
    with pytest.raises(RowError, match="age: row 2: is missing"):
        project_columns(PROJECTION, {"age": np.array([1, math.nan]), "income": [1, 2], "hours": [1, 2]})


def test_an_absent_input_is_named():
    for act in (PROJECTION.apply, PROJECTION.clipped_inputs):
        with pytest.raises(RowError, match="hours: the row has no such entry"):
            act({"age": 50, "income": 1})
    with pytest.raises(RowError, match="hours: the table has no such column"):
        project_columns(PROJECTION, {"age": [50], "income": [1]})


def test_columns_of_other_lengths_are_refused():
    with pytest.raises(RowError, match="income: has 2 rows, but the first column has 1"):
        project_columns(PROJECTION, {"age": [50], "income": [1, 2], "hours": [1]})


# -- projections of a plan ----------------------------------------------------------------------


def test_a_projection_survives_its_plan_form():
    PROJECTION.check()
    document = PROJECTION.as_dict()
    assert Projection.from_dict(document) == PROJECTION
    assert list(document) == ["components", "inputs"]
    assert document["components"][0] == {"name": "one", "offset": "0.1", "weights": ["0.25", "-0.75", "1.5"]}
    assert b"." in dump_canonical_json(document)  # canonical JSON takes it: no floats in it


def with_one(**changes: object) -> Projection:
    return replace(PROJECTION, components=(replace(ONE, **changes), TWO))


BROKEN = {
    "two components of a name": (with_one(name="two"), "projection.inputs", "repeated: two"),
    "two inputs of a name": (
        replace(PROJECTION, inputs=(AGE, HOURS, AGE)),
        "projection.inputs",
        "repeated: age",
    ),
    "a component called as an input": (with_one(name="age"), "projection.inputs", "repeated: age"),
    "a sum too large": (with_one(weights=("4000", "-4000", "0.1")), "features.one.weights", "more than 8000"),
    "a sum too large by a millionth": (
        with_one(weights=("0", "-8000", "0"), offset="0.000001"),
        "features.one.weights",
        "scale them down",
    ),
    "an offset too large": (with_one(offset="-9000"), "features.one.weights", "more than 8000"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_named_by_its_entry(name):
    projection, field, why = BROKEN[name]
    with pytest.raises(SurveyError, match=why) as caught:
        projection.check()
    assert caught.value.field == field


NO_DECIMALS = [
    "0.0000001", "1.0", "01", "+1", "-0", "1e3", "1E3", ".5", "5.", "", " 1", "1\n", "nan", "NaN", "inf",
    "-Infinity", "1_000", "1/2", "0x1", "٣", "9" * 21, 1, 1.5, None, True, ["1"],
]  # fmt: skip


@pytest.mark.parametrize("text", NO_DECIMALS)
def test_weights_and_offsets_are_canonical_decimals_of_at_most_six_places(text):
    with pytest.raises(SurveyError, match=r"features\.one\.weights: weights must be finite decimals"):
        with_one(weights=("1", text, "1")).check()
    with pytest.raises(SurveyError, match=r"features\.one\.offset: the offset must be a finite decimal"):
        with_one(offset=text).check()


@settings(deadline=None)
@given(st.integers(-MAX_SUM * UNIT, MAX_SUM * UNIT))
def test_every_number_of_millionths_is_a_weight_in_its_canonical_spelling(whole):
    text = decimal_text(Decimal(whole) / UNIT)
    projection = Projection((AGE,), (Component("one", (text,)),))
    projection.check()
    assert projection.apply({"age": 100}) == {"one": whole / UNIT}


def test_only_numbers_can_be_inputs():
    document = PROJECTION.as_dict()
    document["inputs"][0]["kind"] = "binned"
    assert "inputs of a projection must be numeric" in str(refuse(document, Projection.from_dict))


@pytest.mark.slow
def test_a_device_projects_without_numpy():
    code = (
        "import sys; from encoders.survey.features import NumericFeature\n"
        "from encoders.survey.projection import Component, Projection\n"
        "p = Projection((NumericFeature('x', '0', '1'),), (Component('y', ('2',)),)); p.check()\n"
        "print(p.apply({'x': 1}), 'numpy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "{'y': 2.0} False"

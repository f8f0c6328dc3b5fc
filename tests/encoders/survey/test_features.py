"""Codes of labels and categories; no error contains the value."""

import datetime
import math
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from encoders.errors import RowError
from encoders.survey import BinnedFeature, CategoricalFeature, Label
from encoders.survey.parse_value import MISSING_TEXT

CITY = CategoricalFeature("city", ("north", "south", "3", "true"), "category")
STRICT = CategoricalFeature("city", ("north", "south", "3", "true"))
HOURS = BinnedFeature("hours", ("0", "2.5", "5", "7.5", "10"), "category")
STRICT_HOURS = BinnedFeature("hours", ("0", "2.5", "5", "7.5", "10"))
LABEL = Label("rested", ("yes", "no", "1"))

MISSING = {
    "none": None,
    "empty": "",
    "nan": math.nan,
    "minus nan": -math.nan,
    "numpy nan": np.float64("nan"),
    "numpy single nan": np.float32("nan"),
    "decimal nan": Decimal("NaN"),
    "signalling nan": Decimal("sNaN"),
    "numpy empty": np.str_(""),
    "pandas NA": pd.NA,
    "pandas NaT": pd.NaT,
    "numpy masked": np.ma.masked,
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_value_is_the_last_category_or_an_error(name):
    assert CITY.code(MISSING[name]) == 4 == CITY.size - 1
    assert HOURS.code(MISSING[name]) == 4 == HOURS.size - 1
    for feature in (STRICT, STRICT_HOURS, LABEL):
        with pytest.raises(RowError, match="is missing"):
            feature.code(MISSING[name])


def test_names_of_codes_end_with_the_missing_one():
    assert CITY.texts == ("north", "south", "3", "true", MISSING_TEXT)
    assert STRICT.texts == ("north", "south", "3", "true")
    assert HOURS.texts == ("below 2.5", "2.5 to 5", "5 to 7.5", "7.5 and more", MISSING_TEXT)
    assert STRICT.size == STRICT_HOURS.size == 4
    assert len(CITY.texts) == CITY.size == len(HOURS.texts) == HOURS.size == 5


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def test_values_that_look_alike_are_one_value():
    feature = CategoricalFeature("place", (COMPOSED, "bar"))
    assert feature.code(DECOMPOSED) == feature.code(COMPOSED) == 0
    assert Label("place", (COMPOSED, "bar")).code(DECOMPOSED) == 0
    with pytest.raises(RowError, match="is not one of"):
        feature.code("cafe")


SPELLINGS = [
    ("north", 0),
    (np.str_("south"), 1),
    ("3", 2),
    (3, 2),
    (3.0, 2),
    (np.int64(3), 2),
    (np.uint8(3), 2),
    (np.float32(3), 2),
    (np.float64(3), 2),
    ("true", 3),
    (True, 3),
    (np.bool_(True), 3),
]


@pytest.mark.parametrize(("value", "code"), SPELLINGS)
def test_a_category_has_one_code_in_every_spelling(value, code):
    coded = CITY.code(value)
    assert coded == code
    assert type(coded) is int


def test_a_label_is_coded_like_a_category():
    assert [LABEL.code(value) for value in ("yes", "no", 1, 1.0, np.int8(1), "1")] == [0, 1, 2, 2, 2, 2]


def test_minus_zero_is_zero():
    assert CategoricalFeature("n", ("0", "1")).code(-0.0) == 0


NUMBERS = [
    (0, 0),
    (-1e300, 0),
    (-5, 0),
    (2.4999999999999996, 0),
    (math.nextafter(2.5, 0), 0),
    (2.5, 1),
    (math.nextafter(2.5, 9), 1),
    (np.float64(2.5), 1),
    (np.float32(2.5), 1),
    (np.float16(2.5), 1),
    (np.int32(3), 1),
    (Decimal("4.9"), 1),
    (5, 2),
    (np.uint64(5), 2),
    (Decimal(5), 2),
    (7.499, 2),
    (7.5, 3),
    (10, 3),
    (10.000001, 3),
    (1e308, 3),
    (10**400, 3),
    (-(10**400), 0),
    (Decimal("1e300"), 3),
    (Decimal("1e400"), 3),
    (Decimal("-1e400"), 0),
]


@pytest.mark.parametrize(("value", "code"), NUMBERS)
def test_a_bin_holds_its_lower_edge_and_the_ends_hold_what_lies_beyond(value, code):
    coded = STRICT_HOURS.code(value)
    assert coded == code
    assert type(coded) is int


@pytest.mark.parametrize("value", [math.inf, -math.inf, np.float32("inf"), Decimal("Infinity")])
def test_infinity_is_refused_as_what_it_is(value):
    for feature in (HOURS, STRICT_HOURS):
        with pytest.raises(RowError, match=r"^hours: is infinite: give a finite number"):
            feature.code(value)


def test_edges_are_compared_as_doubles():
    tenths = BinnedFeature("x", ("0", "0.1", "0.2", "0.3", "0.4"))
    values = (0.1, 0.2, 0.3, 0.1 + 0.2, Decimal("0.3"), math.nextafter(0.3, 0))
    assert [tenths.code(value) for value in values] == [1, 2, 3, 3, 3, 2]


SECRET = "s3cret-answer"
STRANGERS: dict[str, object] = {
    "unknown text": SECRET,
    "other case": "North",
    "padded": " north",
    "bytes": b"north",
    "list": ["north"],
    "tuple": ("north",),
    "set": {"north"},
    "dict": {"north": 1},
    "object": object(),
    "function": len,
    "complex": 3 + 0j,
    "numpy complex": np.complex128(3),
    "array": np.array([1, 2]),
    "array of one": np.array(["north"]),
    "empty array": np.array([]),
    "series": pd.Series(["north"]),
    "frame": pd.DataFrame({"city": ["north"]}),
    "date": datetime.date(2026, 1, 2),
    "numpy date": np.datetime64("2026-01-02", "ns"),
    "numpy span": np.timedelta64(3, "ns"),
    "stamp": pd.Timestamp("2026-01-02"),
    "fraction": Fraction(3),
}
NO_CATEGORY = STRANGERS | {
    "number": 4,
    "broken number": 3.5,
    "huge": 10**5000,
    "large": 1e300,
    "false": False,
    "infinity": math.inf,
    "decimal": Decimal(3),
}
NO_NUMBER = STRANGERS | {
    "true": True,
    "numpy true": np.bool_(True),
    "number as text": "5",
    "numpy text": np.str_("5"),
}
REFUSALS = [
    *((CITY, name, value) for name, value in NO_CATEGORY.items()),
    *((LABEL, name, value) for name, value in NO_CATEGORY.items()),
    *((HOURS, name, value) for name, value in NO_NUMBER.items()),
]


@pytest.mark.parametrize(
    ("feature", "value"),
    [pytest.param(feature, value, id=f"{feature.name} {name}") for feature, name, value in REFUSALS],
)
def test_what_is_no_value_is_refused_by_name_without_repeating_it(feature, value):
    with pytest.raises(RowError) as caught:
        feature.code(value)
    error = caught.value
    assert error.field == feature.name
    assert str(error) == f"{feature.name}: {error.why}"
    assert SECRET not in everything_said(error)


def everything_said(error: BaseException | None) -> str:
    """Return the words of an error and of all that a traceback would show before it."""
    texts = ""
    while error is not None:
        texts += f"{error} {error.args} {vars(error)}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return texts


@pytest.mark.parametrize("text", [SECRET, "1,5", "5 h", "--", "0x10", "0b1"])
def test_a_cell_that_is_no_number_is_refused_without_repeating_it(text):
    with pytest.raises(RowError, match="must be a number") as caught:
        HOURS.from_text(text)
    assert text not in everything_said(caught.value)


def test_cells_of_a_csv_file():
    codes = [HOURS.code(HOURS.from_text(text)) for text in ("", "  ", "nan", "3", " 3.0 ", "-1e9", "7.5")]
    assert codes == [4, 4, 4, 1, 1, 0, 3]
    with pytest.raises(RowError, match="is infinite"):
        HOURS.code(HOURS.from_text("-inf"))
    assert [CITY.code(CITY.from_text(text)) for text in ("", "north", "3")] == [4, 0, 2]


SPELLED = CategoricalFeature("smokes", ("True", "False", "1.0"))


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (True, ' (a bool is read as the text "true" or "false")'),
        (np.bool_(False), ' (a bool is read as the text "true" or "false")'),
        (7, ' (a number is read as the text of its digits: 3 and 3.0 as "3")'),
        (np.float64(7), ' (a number is read as the text of its digits: 3 and 3.0 as "3")'),
        ("true", ""),
    ],
)
def test_the_expected_values_are_quoted_and_the_reading_of_other_types_explained(value, hint):
    with pytest.raises(RowError) as caught:
        SPELLED.code(value)
    # the same for every value of the type: it does not depend on the person's value
    assert caught.value.why == f'is not one of the survey\'s values: "True", "False", "1.0"{hint}'


def test_a_long_list_of_values_is_shown_in_part():
    many = CategoricalFeature("n", tuple(f"v{i}" for i in range(100)))
    with pytest.raises(RowError, match=r'"v0", "v1", .*"v11", \.\.\.$'):
        many.code("none of them")


@pytest.mark.parametrize(
    "make",
    [
        lambda: CategoricalFeature("c", ("a", "b"), "category"),
        lambda: BinnedFeature("x", ("0", "1", "2")),
        lambda: Label("y", ("a", "b")),
    ],
)
def test_features_are_values(make):
    one, two = make(), make()
    assert one == two
    assert hash(one) == hash(two)
    with pytest.raises(AttributeError):
        one.name = "other"


def test_codes_fill_the_domain():
    assert {HOURS.code(value) for value in (None, -1, 3, 6, 9)} == set(range(HOURS.size))
    assert {CITY.code(value) for value in (*CITY.values, None)} == set(range(CITY.size))


def test_a_long_text_of_combining_marks_is_refused_at_once():
    marks = "\u0301" * 100_000 + "\u0316" * 100_000  # computing its normal form takes a minute
    start = time.process_time()
    with pytest.raises(RowError, match="is not one of"):
        CITY.code(marks)
    assert time.process_time() - start < 10

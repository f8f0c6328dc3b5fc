"""Tables from a plan are read strictly, also from an untrusted plan."""

import itertools
from decimal import Decimal

import pytest

from encoders.errors import SurveyError
from encoders.mechanisms import MECHANISMS, Mechanism, design, load

every_name = pytest.mark.parametrize("name", sorted(MECHANISMS))


def made(name: str, domain: int) -> Mechanism:
    return design(name, domain, Decimal(1))


BAD_INTEGERS = [
    "-1",
    "0",
    "00",
    "01",
    "+1",
    " 1",
    "1 ",
    "1_0",
    "1e3",
    "0x1",
    "1.0",
    "",
    "\u0661",
    str(1 << 64),
]


@every_name
def test_malformed_tables_are_refused(name):
    tables = dict(made(name, 5).parameters)
    for wrong in ({}, tables | {"more": "1"}, {key: tables[key] for key in list(tables)[1:]}):
        with pytest.raises(SurveyError):
            load(name, 5, wrong)
    integers = [key for key in tables if key not in ("theta", "weights")]
    for key, wrong in itertools.product(
        integers, [*BAD_INTEGERS, "9" * 5000, 1, 1.0, True, None, [], {}, b"1"]
    ):
        with pytest.raises(SurveyError):
            load(name, 5, tables | {key: wrong})
    for domain in (1, 0, -2, True, 2.0, "5", None, (1 << 16) + 1):
        with pytest.raises(SurveyError):
            load(name, domain, tables)


@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("DE", {"keep": "1"}),
        ("DE", {"keep": str(1 << 63)}),
        ("DE", {"keep": str((1 << 63) + 1)}),  # more likely than the other, but not as a double
        ("SUE", {"bits": "8", "p": "9", "q": "9"}),
        ("OUE", {"bits": "8", "p": "9", "q": "100"}),
        ("OUE", {"bits": "64", "p": str((1 << 63) + 1), "q": str(1 << 63)}),
        ("SHE", {"weights": ["2", str((1 << 63) - 1)]}),
    ],
)
def test_uninformative_tables_are_refused(name, tables):
    with pytest.raises(SurveyError):
        load(name, 2, tables)


@pytest.mark.parametrize(
    "theta", [None, 1, 0.5, "", "2", "-0.5", ".5", "0.", "0.1234567", "1.01", "0.\u0665", {}]
)
def test_a_threshold_outside_its_range_or_spelling_is_refused(theta):
    with pytest.raises(SurveyError):
        load("THE", 5, made("THE", 5).parameters | {"theta": theta})


@every_name
def test_tables_that_are_no_object_are_refused(name):
    for tables in (None, [], ["keep"], "keep", 5):
        with pytest.raises(SurveyError):
            load(name, 5, tables)


def test_an_unknown_mechanism_is_refused_by_name():
    for name in ("", "de", "auto", "THE(0.25)", "XYZ", None, ["DE"]):
        with pytest.raises(SurveyError, match="not one of DE, SUE, OUE, SHE, THE"):
            load(name, 5, made("DE", 5).parameters)
    for name in ("", "de", "DE(1)", "THE()", "THE(.5)", "THE(2)", "THE(-0.1)", "THE(0.25", "auto "):
        with pytest.raises(SurveyError, match="threshold"):
            design(name, 5, Decimal(1))

"""Every mechanism for numbers: the design of its tables, and the tables of a plan that are refused."""

import decimal
import itertools
from decimal import Decimal

import pytest

from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms import NumericDomain, design_numeric, load_numeric, numeric_candidates
from encoders.probability_tables import WORD
from tests.support.numeric_mechanisms import NAMES, every_epsilon, every_name, made

# -- design -------------------------------------------------------------------------------------


@every_name
def test_a_design_does_not_depend_on_the_application_s_decimal_context(name):
    epsilon = Decimal("1.23456789")
    expected = design_numeric(name, NumericDomain(3), epsilon)
    with decimal.localcontext() as context:
        context.prec, context.rounding = 2, decimal.ROUND_UP
        assert design_numeric(name, NumericDomain(3), epsilon).parameters == expected.parameters


@every_epsilon
def test_auto_has_the_least_variance_of_all_mechanisms(epsilon):
    for form in (NumericDomain(2), NumericDomain(3, (True,)), NumericDomain(10)):
        best = design_numeric("auto", form, Decimal(epsilon))
        rivals = [made(name, form, epsilon) for name in NAMES]
        assert best.reference_variance == min(each.reference_variance for each in rivals)


@every_epsilon
def test_auto_uses_for_squares_only_mechanisms_that_estimate_the_prior(epsilon):
    for form in (NumericDomain(2, low=0), NumericDomain(3, (True,), 0), NumericDomain(10, low=0)):
        assert all(each.estimates_prior for each in numeric_candidates(form, Decimal(epsilon)))


@pytest.mark.parametrize(
    ("name", "form", "epsilon", "why"),
    [
        ("laplace", NumericDomain(2, (False,) * 101), "8", "1 to 100 numbers"),
        ("laplace", NumericDomain(2), "16.1", "epsilon up to 16"),
        ("sampled-laplace", NumericDomain(2), "32", "epsilon up to 16"),
        ("sampled-laplace", NumericDomain(2), "0.0039", "too many steps: raise epsilon"),
        ("laplace", NumericDomain(2, (False,) * 60), "0.2", "too many steps: raise epsilon"),
        ("piecewise", NumericDomain(600), "1", "sign-vector"),
        ("sign", NumericDomain(2, (False, False)), "1", "one number at a time"),
        *((name, NumericDomain(20_000), "1", "classes") for name in NAMES),
        ("auto", NumericDomain(20_000), "1", "this many classes"),
        ("auto", NumericDomain(2), "0", "epsilon"),
        ("auto", NumericDomain(2), "NaN", "epsilon"),
        ("Laplace", NumericDomain(2), "1", "choose one of"),
    ],
)
def test_what_cannot_be_designed_is_refused_with_a_reason(name, form, epsilon, why):
    with pytest.raises(SurveyError, match=why) as caught:
        design_numeric(name, form, Decimal(epsilon))
    assert not isinstance(caught.value, PrivacyError)


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["512", "511.9", "430.01"])
def test_noise_of_every_scale_that_has_tables_keeps_epsilon(scale):
    epsilon = 2 / Decimal(scale)
    design_numeric(
        "sampled-laplace", NumericDomain(2), epsilon.quantize(Decimal("1e-9"), decimal.ROUND_CEILING)
    )


# -- tables from a plan -------------------------------------------------------------------------

BAD_INTEGERS = ["-1", "00", "01", "+1", " 1", "1_0", "1e3", "1.0", "", "\u0661", str(1 << 64), "9" * 5000]


@every_name
def test_malformed_tables_are_refused(name):
    form = NumericDomain(3, (True,))
    tables = dict(made(name, form).parameters)
    for wrong in (
        {},
        tables | {"more": "1"},
        *({k: v for k, v in tables.items() if k != key} for key in tables),
    ):
        with pytest.raises(SurveyError):
            load_numeric(name, form, wrong)
    integers = [key for key in tables if key not in ("oracle", "weights")]
    for key, wrong in itertools.product(integers, [*BAD_INTEGERS, 1, 1.0, True, None, [], {}, b"1"]):
        with pytest.raises(SurveyError):
            load_numeric(name, form, tables | {key: wrong})
    for wrong in (None, [], "q", 5):
        with pytest.raises(SurveyError):
            load_numeric(name, form, wrong)
    for strange in (
        NumericDomain(1 << 15),
        NumericDomain(3, ()),
        NumericDomain(3, (True,) * 101),
    ):
        with pytest.raises(SurveyError):
            load_numeric(name, strange, tables)


@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("onebit", {"q": "0"}),
        ("onebit", {"q": str(1 << 63)}),
        ("sign-vector", {"q": str((1 << 63) + 1)}),
        ("sign", {"oracle": "SHE", "weights": [str(WORD - 2), "1"]}),
        ("sign", {"oracle": "THE", "bits": "8", "p": "100", "q": "50", "theta": "0.5"}),
        ("sign", {"oracle": ["DE"], "keep": "1"}),
        ("sign", {"oracle": None, "keep": str(WORD // 2)}),
        ("sign", {"oracle": "DE", "keep": "1"}),
        ("sign", {"oracle": "OUE", "keep": str(WORD // 2)}),
        ("piecewise", {"near": "0", "reach": "3"}),
        ("piecewise", {"near": str(WORD), "reach": "3"}),
        ("piecewise", {"near": "1", "reach": "257"}),
        ("sampled-laplace", {"steps": "0", "weights": [str(WORD - 2), "1"]}),
        ("sampled-laplace", {"steps": "1", "weights": [str(WORD - 2), "1"]}),
        ("sampled-laplace", {"steps": "3", "weights": [str(WORD - 10), *"11111"]}),
        ("sampled-laplace", {"steps": "128", "weights": [str(WORD - 400), *["1"] * 200]}),
        ("sampled-laplace", {"steps": "64", "weights": [str(WORD - 1200), *["1"] * 600]}),
        ("sampled-laplace", {"steps": "1", "weights": [str(WORD - 4), "2"]}),
        ("sampled-laplace", {"steps": "1", "weights": [str(WORD - 4), "0", "2"]}),
        ("sampled-laplace", {"steps": "1", "weights": [str(WORD), "1", "1"]}),
        ("sampled-laplace", {"steps": "1", "weights": str(WORD)}),
        ("sampled-laplace", {"steps": "1", "weights": [str(WORD - 2 * 16384), *["1"] * 16384]}),
    ],
)
def test_tables_out_of_range_are_refused(name, tables):
    with pytest.raises(SurveyError):
        load_numeric(name, NumericDomain(2), tables)


def test_piecewise_has_at_most_as_many_cells_as_two_bytes_count():
    tables = {"near": "1", "reach": "0"}
    assert load_numeric("piecewise", NumericDomain(508), tables).domain.slots * 129 <= 1 << 16
    with pytest.raises(SurveyError, match="cells"):
        load_numeric("piecewise", NumericDomain(509), tables)


def test_an_unknown_mechanism_is_refused_by_name():
    for name in ("", "auto", "Sign", "DE", None, ["sign"]):
        with pytest.raises(SurveyError, match="is not one of laplace, onebit, sampled-laplace, sign"):
            load_numeric(name, NumericDomain(2), {"q": "1"})

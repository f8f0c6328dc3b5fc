"""Integer tables: directed rounding against an exact series, and tables that add up."""

import decimal
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import pytest

from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms import MECHANISMS, design
from encoders.probability_tables import WORD, bit_ratio, laplace_cells, laplace_cumulative, shifted_cells
from encoders.table_design import MAX_EPSILON_LOSS, bit_thresholds, keep_threshold, laplace_weights
from tests.support.reference import e_to_the

EPSILONS = ("0.001", "0.1", "0.5", "1", "2", "3.3", "4", "8", "31.999", "32")


@pytest.mark.parametrize(
    ("domain", "epsilon"), list(itertools.product((2, 3, 7, 64, 1024, 1 << 16), EPSILONS))
)
def test_the_threshold_of_direct_encoding_is_the_largest_allowed(domain, epsilon):
    threshold, (below, above) = keep_threshold(domain, Decimal(epsilon)), e_to_the(Fraction(epsilon))
    cell = WORD // (domain - 1)
    assert threshold * WORD <= below * (WORD - threshold) * cell
    assert (threshold + 1) * WORD > above * (WORD - threshold - 1) * cell


PAIRS = [
    (Fraction(a, 1000), Fraction(b, 1000))
    for a, b in ((500, 1), (500, 499), (731, 269), (999, 1), (550, 450), (764, 440))
]


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_bit_thresholds_round_toward_each_other_with_as_few_bits_as_the_loss_allows(p, q):
    bits, big, small = bit_thresholds(p, q)
    whole = 1 << bits
    assert Fraction(big, whole) <= p < Fraction(big + 1, whole)
    assert Fraction(small - 1, whole) < q <= Fraction(small, whole)
    ideal = math.log(p * (1 - q) / (q * (1 - p)))
    assert bit_ratio(bits, big, small) <= p * (1 - q) / (q * (1 - p))
    assert math.log(bit_ratio(bits, big, small)) >= ideal * (1 - MAX_EPSILON_LOSS)
    half, fewer_p, fewer_q = whole // 2, math.floor(p * (whole // 2)), math.ceil(q * (whole // 2))
    coarse = 0 < fewer_q < fewer_p < half
    assert not coarse or math.log(bit_ratio(bits - 1, fewer_p, fewer_q)) < ideal * (1 - MAX_EPSILON_LOSS)


def test_the_ratio_of_bits_is_that_of_the_two_bits_that_differ():
    assert bit_ratio(4, 8, 2) == Fraction(8, 2) * Fraction(14, 8)


@pytest.mark.parametrize("epsilon", ["0.02", "0.1", "0.5", "1", "2", "4", "8", "32"])
def test_a_laplace_table_is_a_symmetric_law(epsilon):
    weights = laplace_weights(2 / Decimal(epsilon))
    cells, ends = laplace_cells(weights), laplace_cumulative(weights)
    zero, one = shifted_cells(weights)
    assert min(weights) > 0
    assert cells == cells[::-1]
    assert sum(cells) == sum(zero) == sum(one) == WORD
    assert len(ends) == len(cells) - 1 == 2 * (len(weights) - 1)
    assert len(zero) == len(one) == len(cells) - 1
    assert ends == sorted(set(ends))
    assert ends[-1] < WORD
    assert all(end - start == cell for start, end, cell in zip([0, *ends], ends, cells, strict=False))
    # the odds of one step are at most e^(eps/2), so that two components together keep e^eps
    odds = [Fraction(a, b) for a, b in zip(one, zero, strict=True)]
    assert max(max(odds), 1 / min(odds)) <= e_to_the(Fraction(epsilon) / 2)[0]


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_a_laplace_table_follows_the_exponential(epsilon):
    weights = laplace_weights(2 / Decimal(epsilon))
    step = math.exp(-float(epsilon) / 2)
    ideal = [(1 - step) / (1 + step) * step**z for z in range(len(weights) - 1)]
    assert [weight / WORD for weight in weights[:-1]] == pytest.approx(ideal, rel=2e-3)
    assert step / WORD <= weights[-1] / WORD < 2 * 2.0**-32 / step  # the tail that clamping gathers


@pytest.mark.parametrize("scale", ["530", "590", "605", "700", "1e9"])
def test_noise_of_too_large_a_scale_is_refused_before_it_is_tabulated(scale):
    with pytest.raises(SurveyError, match="too many steps: raise epsilon") as caught:
        laplace_weights(Decimal(scale))
    assert not isinstance(caught.value, PrivacyError)
    laplace_weights(Decimal(512))


@pytest.mark.parametrize("name", [*sorted(MECHANISMS), "THE(0.25)", "auto"])
def test_every_epsilon_in_range_has_tables_that_prove_themselves(name):
    for hundredths in (*range(2, 100, 7), *range(100, 3201, 290), 3200):
        for domain in (2, 3, 5, 6, 256 if name == "SS" else 257):
            design(name, domain, Decimal(hundredths) / 100)


@pytest.mark.parametrize("epsilon", ["0", "-1", "1e-9", "32.0001", "1000", "Infinity", "-Infinity"])
def test_an_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(SurveyError, match="epsilon must be between"):
        design("DE", 3, Decimal(epsilon))


def test_design_does_not_depend_on_the_application_s_decimal_context():
    names = ("DE", "SUE", "OUE", "SHE", "THE", "THE(0.123456)", "SS", "auto")
    expected = [design(name, 5, Decimal("1.2345")).parameters for name in names]
    with decimal.localcontext() as context:
        context.prec, context.rounding = 2, decimal.ROUND_UP
        assert [design(name, 5, Decimal("1.2345")).parameters for name in names] == expected

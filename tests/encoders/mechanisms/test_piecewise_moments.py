"""One piecewise question for both moments of a number: its counters, its estimates and when it is asked."""

from decimal import Decimal

import numpy as np
import pytest

from encoders.errors import SurveyError
from encoders.mechanisms import NumericDomain, Piecewise, PiecewiseMoments, design_numeric
from encoders.mechanisms.numeric_base import GRID
from encoders.mechanisms.piecewise_moments import SECOND_BIAS
from encoders.randomness import FastStream, GivenBytes
from encoders.survey import Plan
from tests.support.surveys import make_plan

DOMAINS = [NumericDomain(1, both=True), NumericDomain(2, (True,), both=True), NumericDomain(3, both=True)]
NUMBER = {"range": [-1, 1]}


def design(domain: NumericDomain, epsilon: str = "2") -> PiecewiseMoments:
    mechanism = design_numeric("auto", domain, Decimal(epsilon))
    assert isinstance(mechanism, PiecewiseMoments)
    return mechanism


def report_law(mechanism: PiecewiseMoments, value: int) -> np.ndarray:
    return np.array(
        [float(mechanism.probability(each.to_bytes(2, "little"), value)) for each in cells_of(mechanism)]
    )


def cells_of(mechanism: PiecewiseMoments) -> range:
    return range(mechanism.indices)


def contributions(mechanism: PiecewiseMoments) -> np.ndarray:
    return np.array([mechanism.contribution(each.to_bytes(2, "little")) for each in cells_of(mechanism)])


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_device_answers_as_a_question_about_the_mean(domain):
    mechanism = design(domain)
    mean = Piecewise(NumericDomain(domain.labels, domain.missing), mechanism.parameters)
    data = FastStream(1).take(24 * 50)
    values = [each % (mechanism.corners[-1] + 1) for each in range(0, 50 * 104_729, 104_729)]
    for place, value in enumerate(values):
        noise = data[24 * place : 24 * place + 24]
        assert mechanism.perturb(value, GivenBytes(noise)) == mean.perturb(value, GivenBytes(noise))
    assert (mechanism.ratio, mechanism.payload_bytes) == (mean.ratio, mean.payload_bytes)


@pytest.mark.parametrize("domain", DOMAINS)
def test_counters_are_sums_of_powers_of_positions(domain):
    mechanism = design(domain)
    payloads = np.arange(mechanism.indices, dtype="<u2").view(np.uint8).reshape(-1, 2)
    added = contributions(mechanism)
    assert (mechanism.tally(payloads) == added.sum(axis=0)).all()
    counts, positions = added.reshape(-1, 5, domain.slots).sum(axis=2)[:, :2].T
    assert (counts == 1).all()
    assert abs(positions).max() <= 128
    assert (added.reshape(-1, 5, domain.slots).sum(axis=2) == positions[:, None] ** np.arange(5)).all()
    # 10^10 reports fit the 64 bits of a store
    assert int(added.max()) * 10**10 < 2**63
    assert (
        len(mechanism.counter_names(["x"], [str(each) for each in range(domain.labels)])) == mechanism.cells
    )


@pytest.mark.parametrize("domain", DOMAINS)
def test_no_report_adds_more_than_its_range_says(domain):
    mechanism = design(domain)
    weights = np.random.default_rng(1).normal(size=(2, 3, mechanism.cells)) / 64.0 ** np.repeat(
        np.arange(5), domain.slots
    )
    sums = weights @ contributions(mechanism).T
    least, most = mechanism.contribution_range(weights)
    np.testing.assert_allclose(least, sums.min(axis=-1))
    np.testing.assert_allclose(most, sums.max(axis=-1))


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("x", [-1, -0.3, 0, 0.5, 0.7071, 1])
def test_expected_reports_give_both_moments_and_their_covariance(domain, x):
    mechanism, label = design(domain), domain.labels - 1
    code = round((x + 1) * GRID)
    law, added = report_law(mechanism, code * domain.labels + label), contributions(mechanism)
    found = mechanism.moments(law @ added, 1)[0]
    expected = np.zeros((6, domain.labels))
    expected[:, label] = [x, 0, 1, x**2, x**3, x**4]
    np.testing.assert_allclose(found[:3], expected[:3], atol=1e-6)
    assert (abs(found[3] - expected[3]) <= SECOND_BIAS + 1e-6).all()
    np.testing.assert_allclose(found[4:], expected[4:], atol=1e-3)
    one = [mechanism.moments(each, 1)[0, :4] for each in added]
    covariance = np.einsum("c,cik,cjk->ijk", law, one, one) - found[:4, None] * found[:4]
    powers = [expected[each] for each in (2, 0, 3, 4, 5)]
    stated = mechanism.covariance(*powers[:3], expected[1], *powers[3:])
    np.testing.assert_allclose(stated, covariance, rtol=1e-3, atol=2e-4)
    offset = mechanism.class_offsets
    if domain.labels > 1:  # a report is on one line
        between = np.einsum("c,ci,cj->ij", law, *(np.array(one)[:, :, each] for each in (0, label)))
        between -= np.outer(found[:4, 0], found[:4, label])
        product = -np.outer(found[:4, 0] + offset, found[:4, label] + offset)
        np.testing.assert_allclose(between, product, atol=1e-3)


def moments_of(plan: Plan) -> list[int | None]:
    return [each.moment for each in plan.questions]


@pytest.mark.parametrize(
    ("epsilon", "label", "expected"),
    [(1.8, None, [1, 2]), (1.9, None, [3]), (2.3, ["a", "b"], [1, 2]), (2.4, ["a", "b"], [3])],
)
def test_a_number_is_one_question_where_both_moments_gain(epsilon, label, expected):
    plan = make_plan(label=label and {"values": label}, features={"x": NUMBER}, epsilon=epsilon)
    assert moments_of(plan) == expected
    assert Plan.from_json(plan.json).json == plan.json


@pytest.mark.parametrize("domain", DOMAINS)
def test_closed_form_of_the_second_moment_is_the_covariance_of_uniform_numbers(domain):
    mechanism, share = design(domain), np.full(1, 1 / domain.labels)
    uniform = share, 0 * share, share / 3, 0 * share, 0 * share, share / 5
    assert mechanism.second_reference_variance == pytest.approx(mechanism.covariance(*uniform)[3, 3, 0])


def test_an_author_can_ask_for_the_mean_alone():
    plan = make_plan(label=None, features={"x": NUMBER | {"moments": "mean"}, "y": NUMBER}, epsilon=0.5)
    assert moments_of(plan) == [3, 1, 2]
    assert [each.weight for each in plan.questions] == [2, 1, 1]
    assert (plan.questions[0].name, plan.questions[0].kind) == ("x", "number")


@pytest.mark.parametrize("numeric", ["piecewise", "sign", "laplace"])
def test_a_named_mechanism_asks_two_questions(numeric):
    plan = make_plan(label=None, features={"x": NUMBER}, epsilon=4, mechanism={"numeric": numeric})
    assert moments_of(plan) == [1, 2]
    with pytest.raises(SurveyError, match="auto") as caught:
        make_plan(
            label=None,
            features={"x": NUMBER | {"moments": "mean"}},
            epsilon=4,
            mechanism={"numeric": numeric},
        )
    assert caught.value.field == "features.x.moments"


def test_too_many_classes_are_two_questions():
    many = [f"c{each}" for each in range(520)]
    plan = make_plan(label={"values": many}, features={"x": NUMBER}, epsilon=8)
    assert 3 not in moments_of(plan)


@pytest.mark.parametrize("entry", [{"moments": "variance"}, {"moments": 1}])
def test_moments_of_another_word_are_refused(entry):
    with pytest.raises(SurveyError, match=r'must be "both" \(the default\) or "mean"'):
        make_plan(label=None, features={"x": NUMBER | entry})


def test_moments_are_only_for_numbers_without_bins():
    with pytest.raises(SurveyError, match="only for range"):
        make_plan(label=None, features={"x": NUMBER | {"bins": 4, "moments": "mean"}})

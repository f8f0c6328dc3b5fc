"""Two surveys of three labels, populations whose truth is known, and many collections of them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

from encoders.mechanisms import MECHANISMS
from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from ldp_aggregator.estimation import (
    Estimates,
    IntervalEstimate,
    NumberResult,
    feature_result,
    intervals,
    number_result,
    table_result,
)
from ldp_aggregator.estimation.estimators import Gaussian
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.independence import Independence
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import QuestionSummary, compute_raw_estimates
from ldp_aggregator.estimation.relevance import UNKNOWN
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from tests.support.surveys import make_plan, survey_toml

LABEL = {"name": "label", "values": ["a", "b", "rare"]}


def tables_plan(mechanism: str, epsilon: float = 1.0) -> Plan:
    """Return a plan about two discrete features."""
    return make_plan(
        epsilon=epsilon,
        label=LABEL | {"weight": 1},
        features={"four": ["p", "q", "r", "s"], "two": ["x", "y"]},
        mechanism={"frequency": mechanism},
    )


# P(four, label): the label "rare" is rare
JOINT = np.array([[0.20, 0.05, 0.01], [0.15, 0.05, 0.005], [0.05, 0.20, 0.02], [0.20, 0.06, 0.005]])
# P(two = x | label)
GIVEN_LABEL = np.array([0.3, 0.5, 0.9])


@dataclass(frozen=True)
class World:
    """A population's truth, and a way to collect reports from it."""

    plan: Plan
    joint: np.ndarray
    prior: np.ndarray
    two: np.ndarray

    def snapshot(self, users: int, seed: int) -> Snapshot:
        """Draw users at random and let each send one report."""
        rng = np.random.default_rng([seed, 1])
        four, label = np.divmod(rng.choice(self.joint.size, size=users, p=self.joint.ravel()), 3)
        two = (rng.random(users) >= GIVEN_LABEL[label]).astype(np.int64)
        return simulate_reports(self.plan, np.column_stack([four, two]), label, FastStream([seed, 2]))


@pytest.fixture(params=MECHANISMS)
def world(request: pytest.FixtureRequest) -> World:
    return make_world(request.param)


@pytest.fixture
def de_world() -> World:
    return make_world("DE")


def make_world(mechanism: str) -> World:
    plan = tables_plan(mechanism)
    prior = JOINT.sum(axis=0)
    return World(plan, JOINT, prior, np.stack([GIVEN_LABEL, 1 - GIVEN_LABEL]) * prior)


def numbers_toml(mechanism: str = "auto", epsilon: float = 2, most: int = 200) -> str:
    """Return a survey about two numbers; `most` is the highest income."""
    features = {
        "income": {"range": [0, most], "missing": "category"},
        "two": ["x", "y"],
        "degrees": {"range": [-30, 50]},
    }
    return survey_toml(epsilon=epsilon, label=LABEL, features=features, mechanism={"numeric": mechanism})


# values that occur, and how often in each label; the last row of the income is missing
INCOMES = np.array([20.0, 50.0, 90.0, 160.0, np.nan])
INCOME = np.array([[0.4, 0.0, 0.3], [0.3, 0.1, 0.0], [0.2, 0.4, 0.0], [0.0, 0.3, 0.6], [0.1, 0.2, 0.1]])
DEGREES = np.array([-30.0, -5.0, 5.0, 20.0])
DEGREE = np.array([[0.1, 0.0, 0.0], [0.6, 0.3, 0.0], [0.3, 0.3, 1.0], [0.0, 0.4, 0.0]])
PRIOR = np.array([0.5, 0.4, 0.1])


@dataclass(frozen=True)
class NumberWorld:
    """The same for numbers: arrays of the truth have one entry per label."""

    plan: Plan

    def codes(self, users: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw coded rows and labels."""
        rng = np.random.default_rng([seed, 3])
        label = rng.choice(3, size=users, p=PRIOR)
        rows = {"income": draw(rng, INCOMES, INCOME, label), "degrees": draw(rng, DEGREES, DEGREE, label)}
        two = (rng.random(users) >= GIVEN_LABEL[label]).astype(np.int64)
        income, _, degrees = self.plan.features
        codes = [encode_numbers(income, rows["income"]), two, encode_numbers(degrees, rows["degrees"])]
        return np.column_stack(codes), label

    def snapshot(self, users: int, seed: int) -> Snapshot:
        """Draw users at random and let each send one report."""
        codes, label = self.codes(users, seed)
        return simulate_reports(self.plan, codes, label, FastStream([seed, 4]))

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        return moment(INCOMES[:-1], INCOME[:-1], 1), moment(DEGREES, DEGREE, 1)

    @property
    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        return moment(INCOMES[:-1], INCOME[:-1], 2), moment(DEGREES, DEGREE, 2)

    @property
    def variances(self) -> tuple[np.ndarray, ...]:
        return tuple(square - mean**2 for mean, square in zip(self.means, self.squares, strict=True))

    @property
    def missing(self) -> np.ndarray:
        return INCOME[-1]

    @property
    def prior(self) -> np.ndarray:
        return PRIOR


def draw(rng: np.random.Generator, values: np.ndarray, shares: np.ndarray, label: np.ndarray) -> np.ndarray:
    reached = np.cumsum(shares, axis=0)[:, label]
    return values[np.minimum((rng.random(len(label)) >= reached).sum(axis=0), len(values) - 1)]


def moment(values: np.ndarray, shares: np.ndarray, power: int) -> np.ndarray:
    return values**power @ shares / shares.sum(axis=0)


def number_world(mechanism: str = "auto", epsilon: float = 2) -> NumberWorld:
    return NumberWorld(read_survey(numbers_toml(mechanism, epsilon)).compile())


@dataclass(frozen=True)
class RawResults:
    """The estimates for people, named as in `Estimates`, without what compares or weighs the classes.

    Computing them takes about a fifth of the time of `estimate_snapshot`. test_estimates.py shows that both
    give equal estimates.
    """

    raw_prior: IntervalEstimate
    features: dict[int, FeatureResult | NumberResult]


_NOT_COMPARED = {
    "find_differing_statistics": lambda *_: {},
    "estimate_number_relevance": lambda *_: UNKNOWN,
}
_NOT_COMPARED_VALUES = {
    "find_differing_values": lambda raw, *_: np.zeros(0, dtype=bool),
    "estimate_table_relevance": lambda *_: UNKNOWN,
}


def raw_results(snapshot: Snapshot, features: Iterable[int]) -> RawResults:
    """Return the raw estimates of some features with their intervals; the other entries are arbitrary."""
    raw, plan = compute_raw_estimates(snapshot), snapshot.plan
    uniform, question = np.full(raw.k, 1 / raw.k), QuestionSummary(None, 0)
    results: dict[int, FeatureResult | NumberResult] = {}
    for place in features:
        feature, estimate = plan.features[place], raw.feature_estimates[place]
        if isinstance(estimate, ClassMoments):
            gaussian = Gaussian(0 * uniform, uniform, None)
            with patch.multiple(number_result, **_NOT_COMPARED):
                results[place] = NumberResult.from_estimates(
                    feature, [question, question], estimate, gaussian, uniform
                )
        else:
            with patch.multiple(feature_result, **_NOT_COMPARED_VALUES):
                results[place] = FeatureResult.from_estimates(feature, estimate, uniform)
    return RawResults(raw.prior.estimate, results)


def assert_equal_results(whole: Estimates, raw: RawResults) -> None:
    """Check that the estimates contain the raw ones and their intervals."""
    pairs = [(whole.raw_prior, raw.raw_prior)]
    for place, found in raw.features.items():
        feature = whole.features[place]
        is_number = isinstance(feature, NumberResult)
        for people in ("overall", "by_class") if is_number else (None,):
            one, other = (getattr(each, people or "", each) for each in (feature, found))
            names = [name for name, part in vars(one).items() if isinstance(part, IntervalEstimate)]
            assert len(names) >= 3
            pairs += [(getattr(one, name), getattr(other, name)) for name in names]
    for one, other in pairs:
        for part, array in vars(one).items():
            np.testing.assert_array_equal(array, getattr(other, part))


@contextmanager
def without_intervals() -> Iterator[None]:
    """Leave out the ends of intervals and all tests, which take most of the time: only values are right.

    It is for tests that estimate thousands of snapshots and compare values alone.
    """
    independent = Independence(0.0, 1, 1.0)
    with (
        patch.object(intervals, "find_crossing", lambda excess, inside, outside: outside),
        patch.object(table_result, "assess_independence", lambda *_: independent),
        patch.multiple(feature_result, **_NOT_COMPARED_VALUES),
        patch.multiple(number_result, **_NOT_COMPARED),
    ):
        yield


DIFFERING_PRIOR = [0.7, 0.2, 0.1]


@cache
def differing_plan(mechanism: str, epsilon: float, numeric: str = "auto") -> Plan:
    return make_plan(
        epsilon=epsilon,
        label={"values": ["a", "b", "c"]},
        features={"five": ["p", "q", "r", "s", "t"], "number": {"range": [0, 1], "missing": "category"}},
        mechanism={"frequency": mechanism, "numeric": numeric},
    )


def collect_differing(
    mechanism: str, epsilon: float, users: int, seed: int, differ: bool = False
) -> Snapshot:
    """Collect reports of a population whose classes differ, or not."""
    rng = np.random.default_rng([seed, 1])
    labels = rng.choice(3, size=users, p=DIFFERING_PRIOR)
    five = np.where(differ & (rng.random(users) < 0.5), labels, rng.integers(0, 5, users))
    number = (rng.random(users) * 2**20).astype(np.int64) + differ * (labels << 18)
    rows = np.column_stack([five, number])
    return simulate_reports(differing_plan(mechanism, epsilon), rows, labels, FastStream([seed]))

"""The result of a comparison: accuracies, the weakest trust model for one, and the people that it needs.

The variance of estimates falls with one over the number of people. So N people at one epsilon are as precise
as n people at another, where N / n is the ratio of both variances for equally many people. Equal variance is
taken for equal accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from encoders.survey import Survey
from encoders.survey.compiled_plan import LOCAL, AnyPlan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_design.comparison.trusts import NONE, Trust
from ldp_design.simulation.experiment import compile_survey
from ldp_design.simulation.variants import Variant
from ldp_design.sizing.margins import ExpectedTotals, compute_expected_margins

# -- means over overlapping splits, and the epsilon at which a curve reaches a level ----------------


CONFIDENCE = 0.95
_STEPS = (0.1, 0.05, 0.02, 0.01)
_MIN_TARGETS = 3
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Mean:
    """A mean over splits with its 95% interval; the mean of an accuracy is written 91.0% (90.2 to 91.8)."""

    value: float
    stderr: float
    low: float
    high: float

    def __str__(self) -> str:
        low, high = (100 * min(max(end, 0.0), 1.0) for end in (self.low, self.high))
        return f"{100 * self.value:.1f}% ({low:.1f} to {high:.1f})"


def average(values: FloatArray, test_share: float) -> Mean:
    """Return the mean of one number per split, (J,), for J of at least 2.

    The splits share most of their training rows, so the variance of their mean is (1/J + test rows / training
    rows) s^2, where s^2 is their sample variance (Nadeau and Bengio 2003). The interval is that of Student's
    t with J - 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    mean = math.fsum(values) / len(values)
    stderr = math.sqrt((1 / len(values) + test_share) * float(np.var(values, ddof=1)))
    margin = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * stderr
    return Mean(mean, stderr, mean - margin, mean + margin)


@dataclass(frozen=True)
class Crossing:
    """The epsilon from which on a curve is at or above a level, within the tested ones.

    0 stands for the smallest tested epsilon or less, infinity for more than the largest.
    """

    value: float
    low: float
    high: float
    """The ends of the 95% interval."""
    tested: tuple[float, float]
    """The smallest and the largest tested epsilon."""
    is_repeated: bool = False
    """Whether the curve is at or above the level at a smaller tested epsilon too, and below it in between."""

    def __str__(self) -> str:
        smallest, largest = self.tested
        return self.write(lambda epsilon: f"{min(max(epsilon, smallest), largest):.2g}", "or less")

    def write(self, write: Callable[[float], str], or_less: str) -> str:
        """Return the text of the epsilon with its interval, such as "1.4 (1.1 to more than 5)"."""

        def bound(epsilon: float) -> str:
            if epsilon == 0:
                return f"{write(epsilon)} {or_less}"
            return f"more than {write(epsilon)}" if math.isinf(epsilon) else write(epsilon)

        value, low, high = map(bound, (self.value, self.low, self.high))
        is_open = self.low == self.high and self.low in (0, math.inf)
        return value if is_open else f"{value} ({low} to {high})"


def find_crossing(epsilons: Sequence[float], differences: FloatArray, test_share: float) -> Crossing:
    """Return the epsilon from which on the mean of differences is at least zero.

    Between tested values, the mean and the ends of its intervals are interpolated in log epsilon. The
    interval contains the epsilons at which zero is within the interval of the mean; interpolation makes it
    rather too wide. `epsilons` ascend. `differences`, (epsilons, J), are the accuracy minus the level, in
    each split.
    """
    means = [average(each, test_share) for each in differences]
    values = [mean.value for mean in means]
    is_above = [value >= 0 for value in values]
    last_below = max((index for index, above in enumerate(is_above) if not above), default=-1)
    return Crossing(
        value=_cross(epsilons, values),
        low=_cross(epsilons, [mean.high for mean in means]),
        high=_cross(epsilons, [mean.low for mean in means]),
        tested=(epsilons[0], epsilons[-1]),
        is_repeated=any(is_above[: last_below + 1]),
    )


def _cross(epsilons: Sequence[float], values: Sequence[float]) -> float:
    below = [index for index, value in enumerate(values) if value < 0]
    if not below:
        return 0.0
    last = below[-1]
    if last == len(values) - 1:
        return math.inf
    low, high = math.log(epsilons[last]), math.log(epsilons[last + 1])
    share = values[last] / (values[last] - values[last + 1])
    return math.exp(low + share * (high - low))


# -- the result of a comparison ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Curve:
    trust: Trust
    learners: tuple[str, ...]
    """The learner at each epsilon; it follows from public numbers."""
    accuracies: FloatArray
    """Shape (epsilons, splits)."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    trust: Trust
    epsilon: float
    accuracy: Mean


@dataclass(frozen=True, kw_only=True)
class NeededTrust:
    """The weakest trust model that reaches an accuracy at one epsilon."""

    epsilon: float
    reaches: Candidate | None
    """The weakest compared trust model whose whole 95% interval is at or above the accuracy."""
    may_reach: tuple[Candidate, ...]
    """Weaker trust models whose interval contains the accuracy."""
    best: Candidate


@dataclass(frozen=True, kw_only=True)
class TrustComparison:
    plan: AnyPlan
    """That of the survey as it is written."""
    epsilons: tuple[float, ...]
    """Ascending."""
    trusts: tuple[Trust, ...]
    sent: Mapping[tuple[Trust, float], Decimal]
    """The epsilon of all that a device sends to each relay, for each promised epsilon."""
    curves: tuple[Curve, ...]
    """Of the trust models with a promise, in this order."""
    ceilings: Mapping[str, FloatArray]
    """The accuracies without protection, by learner. Dict of str to (splits,) array."""
    majorities: FloatArray
    """The accuracies of always predicting the most frequent label. Shape (splits,)."""
    training_rows: int
    test_rows: int
    """Of each split."""

    @property
    def splits(self) -> int:
        return len(self.majorities)

    @property
    def test_share(self) -> float:
        """Test rows divided by training rows, from which the overlap of the splits follows."""
        return self.test_rows / self.training_rows

    def average(self, values: FloatArray) -> Mean:
        """Return the mean of one number per split, with an interval that allows for overlapping splits."""
        return average(values, self.test_share)

    def find_crossing(self, differences: FloatArray) -> Crossing:
        """Return from which epsilon on differences of accuracies, (epsilons, splits), are at least zero."""
        return find_crossing(self.epsilons, differences, self.test_share)

    @cached_property
    def best_learner(self) -> str:
        return max(self.ceilings, key=lambda name: float(self.ceilings[name].mean()))

    @cached_property
    def ceiling(self) -> Mean:
        return self.average(self.ceilings[self.best_learner])

    @cached_property
    def majority(self) -> Mean:
        return self.average(self.majorities)

    @cached_property
    def ranked(self) -> Sequence[Curve]:
        """The curves of trust models that protect whole rows, the weakest trust model first."""
        return sorted((each for each in self.curves if each.trust.is_ranked), key=lambda c: c.trust.rank)

    def find(self, kind: str) -> Curve | None:
        return next((each for each in self.curves if each.trust.kind == kind), None)

    @property
    def local(self) -> Curve | None:
        return self.find(LOCAL)

    def find_needed_trusts(self, target: float) -> list[NeededTrust]:
        """Return the weakest trust model that an accuracy needs, at each epsilon; empty if none is ranked."""
        found = []
        for index, epsilon in enumerate(self.epsilons if self.ranked else []):
            candidates = [
                Candidate(trust=curve.trust, epsilon=epsilon, accuracy=self.average(curve.accuracies[index]))
                for curve in self.ranked
            ]
            sure = [index for index, each in enumerate(candidates) if each.accuracy.low >= target]
            first = sure[0] if sure else len(candidates)
            found.append(
                NeededTrust(
                    epsilon=epsilon,
                    reaches=candidates[first] if sure else None,
                    may_reach=tuple(each for each in candidates[:first] if each.accuracy.high >= target),
                    best=max(candidates, key=lambda each: each.accuracy.value),
                )
            )
        return found

    def list_lines(self) -> Iterator[Curve]:
        """Yield the curves in the order of the trust models; without protection, a point for each learner."""
        curve_of = {curve.trust: curve for curve in self.curves}
        for trust in self.trusts:
            if trust.kind != NONE:
                yield curve_of[trust]
                continue
            for learner, accuracies in self.ceilings.items():
                yield Curve(trust=trust, learners=(learner,), accuracies=accuracies[None])

    def list_rows(self) -> Iterator[dict[str, Any]]:
        """Yield one object for each trust model and epsilon; without protection, one for each learner."""
        for curve in self.list_lines():
            epsilons = [None] if curve.trust.kind == NONE else self.epsilons
            for epsilon, learner, each in zip(epsilons, curve.learners, curve.accuracies, strict=True):
                mean = self.average(each)
                yield {
                    "trust": curve.trust.text,
                    "learner": learner,
                    "adjacency": curve.trust.adjacency,
                    "epsilon": epsilon,
                    "accuracy": mean.value,
                    "stderr": mean.stderr,
                    "splits": self.splits,
                }

    def as_dict(self) -> dict[str, Any]:
        return {
            "rows": list(self.list_rows()),
            "majority": self.majority.value,
            "non_private": self.ceiling.value,
        }


_MANY_PEOPLE = 10**12
"""With as many people, margins fall exactly with the root of their number."""


@dataclass(frozen=True)
class NoiseLevels:
    """The variance of a local survey's estimates at each epsilon, for equally many people."""

    epsilons: tuple[float, ...]
    """Ascending."""
    variances: FloatArray
    """Shape (epsilons,)."""
    people: int

    def count_people(self, epsilon: float, equivalent: float) -> float:
        """Return the number of people at `epsilon` that is as precise as the known number at `equivalent`."""
        return self.people * self._find_variance(epsilon) / self._find_variance(equivalent)

    def write_people(self, epsilon: float, crossing: Crossing) -> str:
        """Return with two digits how many people at an epsilon replace the larger one."""

        def write(equivalent: float) -> str:
            count = self.count_people(epsilon, equivalent)
            step: int = 10 ** max(math.floor(math.log10(count)) - 1, 0)
            return f"{round(count / step) * step:,}"

        return crossing.write(write, "or fewer")

    def _find_variance(self, epsilon: float) -> float:
        inside = min(max(epsilon, self.epsilons[0]), self.epsilons[-1])
        logs = np.interp(math.log(inside), np.log(self.epsilons), np.log(self.variances))
        return math.exp(float(logs))


def compute_noise_levels(
    survey: Survey, epsilons: Sequence[Decimal], population: SyntheticPopulation, people: int
) -> NoiseLevels | None:
    """Return the noise levels of a survey among people of a population; None without coupled features.

    The variance of a feature is that of P(value | label), averaged over values. Labels are weighted by their
    squared shares, as P(value, label) is what is estimated. Features are averaged geometrically.
    """
    variances = []
    for epsilon in epsilons:
        plan = compile_survey(Variant(epsilon=epsilon, mechanism=survey.frequency).apply(survey))
        margins = compute_expected_margins(ExpectedTotals(plan, population), _MANY_PEOPLE)[1:]
        by_class = [each for each in margins if len(each.class_margins) == len(population.prior)]
        if not by_class:
            return None
        of_features = [
            population.prior**2 @ np.square(each.class_margins) / each.unit**2 for each in by_class
        ]
        variances.append(float(np.exp(np.mean(np.log(of_features)))))
    return NoiseLevels(tuple(map(float, epsilons)), np.array(variances), people)


def choose_targets(majority: float, ceiling: float) -> list[float]:
    """Return round accuracies between that of the majority class and that without protection."""
    found: list[float] = []
    for step in _STEPS:
        first = math.floor(majority / step + _ROUNDING) + 1
        last = math.ceil(ceiling / step - _ROUNDING) - 1
        found = [round(index * step, 2) for index in range(first, last + 1)]
        if len(found) >= _MIN_TARGETS:
            break
    return found

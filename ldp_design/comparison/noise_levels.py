"""How many people a local survey needs at one epsilon for the accuracy that it has at another.

The variance of what reports estimate falls with one over the number of people. So N people at one epsilon
give the estimates the same variance as n people at another epsilon, where N / n is the ratio of both
variances for equally many people. The same variance is taken for the same accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from encoders.survey import Survey
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_aggregator.prediction.scoring import GaussianLikelihood, LogProbabilities
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_design.comparison.trust_comparison import Crossing
from ldp_design.simulation.experiment import compile_survey
from ldp_design.simulation.variants import Variant
from ldp_design.sizing.margins import ExpectedTotals, compute_expected_margins

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
    """The number of people whose accuracy is known."""

    def count_people(self, epsilon: float, equivalent: float) -> float:
        """Return the number of people at `epsilon` that is as precise as the known number at `equivalent`.

        Beyond the tested epsilons, 0 and infinity, the result is that at the smallest and the largest one: a
        bound. Between them, log variances are interpolated in log epsilon.
        """
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
    survey: Survey, epsilons: Sequence[Decimal], baseline: LogProbabilities, people: int
) -> NoiseLevels | None:
    """Return the noise levels of a survey among people like those of a model without protection.

    The variance of a feature is that of P(value | label), averaged over values. Labels are weighted by their
    squared shares, as P(value, label) is what is estimated. Features are averaged geometrically, because
    their scales differ. None if the survey asks about no feature.
    """
    population = _describe_people(baseline)
    variances = []
    for epsilon in epsilons:
        plan = compile_survey(Variant(epsilon=epsilon, mechanism=survey.frequency).apply(survey))
        margins = compute_expected_margins(ExpectedTotals(plan, population), _MANY_PEOPLE)[1:]
        if not margins:
            return None
        of_features = [population.prior**2 @ np.square(each.class_margins) / each.unit**2 for each in margins]
        variances.append(float(np.exp(np.mean(np.log(of_features)))))
    return NoiseLevels(tuple(map(float, epsilons)), np.array(variances), people)


def _describe_people(baseline: LogProbabilities) -> SyntheticPopulation:
    conditionals: list[ClassConditional] = []
    for likelihood in baseline.likelihoods:
        if isinstance(likelihood, GaussianLikelihood):
            missing = None if likelihood.log_missing is None else np.exp(likelihood.log_missing)
            conditionals.append(Gaussian(likelihood.mean, 1 / likelihood.precision, missing))
        else:
            conditionals.append(np.exp(likelihood.log_table))
    return SyntheticPopulation(np.exp(baseline.prior), tuple(conditionals))

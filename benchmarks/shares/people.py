"""The people needed for an interval of a share: a survey without a label, beside one with a label.

Before a label was optional, a survey of shares needed a label too, such as a yes/no question that does not
matter. Each value was then asked together with the label, and the share is a sum over the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.shares.populations import Floats
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from ldp_aggregator.estimation import FeatureResult, estimate_snapshot
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.simulated_population import simulate_reports

VALUES, CLASSES = (2, 5), (2, 3, 5)
PEOPLE = 20_000
MARGIN = 0.03
"""Half the width of the interval."""


@dataclass(frozen=True)
class Detour:
    """A feature with equally frequent values, and the number of classes of a label; 1 without a label."""

    values: int
    classes: int

    def plan(self) -> Plan:
        """Compile a survey about the feature at epsilon 1."""
        label = f'[label]\nname = "c"\nvalues = {_names(self.classes)}' if self.classes > 1 else ""
        return read_survey(
            f'[survey]\nid = "shares"\nepsilon = 1\n{label}\n[features.f]\nvalues = {_names(self.values)}'
        ).compile()

    def people(self) -> float:
        """Return the people needed for the margin: P(value) has the variance of a sum over the classes."""
        plan = self.plan()
        [question] = [each for each in plan.questions if each.feature_indices]
        mechanism = question.mechanism
        assert isinstance(mechanism, FrequencyOracle)
        variance = float(mechanism.variance(1 / self.values, self.classes))
        return variance * (Z95 / MARGIN) ** 2 / plan.question_probability(question)

    def measure(self, surveys: int) -> tuple[Floats, Floats]:
        """Return the widths of the intervals, and the errors of the estimates, (surveys, values)."""
        plan, widths, errors = self.plan(), [], []
        for survey in range(surveys):
            seed = [23, self.values, self.classes, survey]
            rng = np.random.default_rng([*seed, 1])
            labels = rng.integers(0, self.classes, PEOPLE)
            codes = rng.integers(0, self.values, (PEOPLE, 1))
            devices = FastStream(np.random.SeedSequence([*seed, 2]))
            [result] = estimate_snapshot(simulate_reports(plan, codes, labels, devices)).features
            assert isinstance(result, FeatureResult)
            widths.append(result.shares.high - result.shares.low)
            errors.append(result.shares.value - 1 / self.values)
        return np.stack(widths), np.stack(errors)


def _names(count: int) -> str:
    return str([f"v{each}" for each in range(count)]).replace("'", '"')


def measure_people(surveys: int) -> list[dict[str, object]]:
    """Return, for each feature and label, the people needed, and how many times fewer without the label."""
    return list(_measure_all(surveys))


def _measure_all(surveys: int) -> Iterator[dict[str, object]]:
    for values, classes in product(VALUES, CLASSES):
        alone, coupled = Detour(values, 1), Detour(values, classes)
        (width, error), (wide, large) = alone.measure(surveys), coupled.measure(surveys)
        yield {
            "values": values,
            "classes": classes,
            "without": alone.people(),
            "with": coupled.people(),
            "closed_form": coupled.people() / alone.people(),
            "by_width": float((wide.mean() / width.mean()) ** 2),
            "by_error": float((large**2).mean() / (error**2).mean()),
        }

"""Simulates surveys of the people that a size assumes, and measures how far their estimates are off."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from encoders.randomness import FastStream
from encoders.survey import Survey
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import NumberResult, estimate_snapshot
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.estimation.table_result import TableResult
from ldp_aggregator.simulated_population import simulate_survey
from ldp_aggregator.snapshot import Snapshot
from ldp_design.sizing.assumed_people import assume_population
from ldp_design.sizing.forecast import MAX_SIMULATED_USERS
from ldp_design.sizing.margins import ExpectedTotals, find_ask_rate

REPEATS = 100
_CONFIDENCE = 0.95


def simulate_margins(
    survey: Survey, users: int, repeats: int = REPEATS, seed: int = 0
) -> Iterator[list[float]]:
    """Yield the margins after each simulated survey, in the order of :attr:`ExpectedMargins.margins`.

    An estimate is off by at most its margin in 19 of 20 cases: it is the 95% quantile of the errors of all
    surveys so far, values and classes, and infinite if too many surveys have no estimate. A survey of more
    than a million people is simulated with a million: margins fall with the root of the number of people.
    Raises SurveyError if the survey cannot be compiled.
    """
    plan, simulated = survey.compile(), min(users, MAX_SIMULATED_USERS)
    population = assume_population(plan, None, None)
    truth = [*_list_estimates(survey, ExpectedTotals(plan, population).snapshot(simulated))]
    errors: list[list[FloatArray]] = [[] for _ in truth]
    for repeat in range(repeats):
        people, devices = np.random.SeedSequence(seed, spawn_key=(repeat,)).spawn(2)
        rng, source = np.random.default_rng(people), FastStream(devices)
        found = _list_estimates(survey, simulate_survey(plan, population, simulated, rng, source))
        for each, estimate, true in zip(errors, found, truth, strict=True):
            each.append(np.nan_to_num(np.abs(estimate - true), nan=np.inf))
        margins = (np.quantile(each, _CONFIDENCE, method="higher") for each in errors)
        yield [math.sqrt(simulated / users) * float(each) for each in margins]


def _list_estimates(survey: Survey, snapshot: Snapshot) -> Iterator[FloatArray]:
    """Yield the estimates of the label, of each asked feature and of each table."""
    plan, estimates, raw = snapshot.plan, estimate_snapshot(snapshot), compute_raw_estimates(snapshot)
    if plan.label.exists:
        yield estimates.raw_prior.value
    for index, result in enumerate(estimates.features):
        if find_ask_rate(plan, index):
            if isinstance(result, NumberResult):
                yield result.by_class.means.value
            elif plan.label.exists and raw.feature_estimates[index]:
                yield result.conditionals.value
            else:  # without classes
                yield result.shares.value
    indices = {each.feature_indices for each in survey.tables}
    for each in raw.tables:
        if each.question.feature_indices in indices:
            yield TableResult.from_frequencies(each).row_shares.value

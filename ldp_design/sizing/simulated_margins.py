"""Simulates a survey of the people that a size assumes, and measures the margins of its estimates."""

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
from ldp_design.simulation.experiment import Progress, run_trials
from ldp_design.sizing.assumed_people import assume_population
from ldp_design.sizing.forecast import MAX_SIMULATED_USERS
from ldp_design.sizing.margins import ExpectedTotals, find_ask_rate

REPEATS = 100
CONFIDENCE = 0.95


def simulate_margins(
    survey: Survey, users: int, repeats: int = REPEATS, seed: int = 0, progress: Progress = int
) -> list[float]:
    """Return the simulated margins, in the order of :attr:`ExpectedMargins.margins`.

    In 19 of 20 cases, an estimate is off by at most its margin: it is the 95% quantile of the errors over all
    repeats, values and classes, and infinite if too many surveys have no estimate. More than a million people
    are not simulated: margins fall with the root of their number.
    Raises SurveyError if the survey cannot be compiled.
    """
    plan, simulated = survey.compile(), min(users, MAX_SIMULATED_USERS)
    population = assume_population(plan, None, None)
    truth = [*_list_estimates(survey, ExpectedTotals(plan, population).snapshot(simulated))]

    def trial(_repeat: int, seeds: np.random.SeedSequence) -> list[FloatArray]:
        people, devices = seeds.spawn(2)
        rng, source = np.random.default_rng(people), FastStream(devices)
        found = _list_estimates(survey, simulate_survey(plan, population, simulated, rng, source))
        return [each - true for each, true in zip(found, truth, strict=True)]

    seeds = (np.random.SeedSequence(seed, spawn_key=(repeat,)) for repeat in range(repeats))
    errors = zip(*run_trials(trial, range(repeats), seeds, progress), strict=True)
    scale = math.sqrt(simulated / users)
    return [scale * _find_margin(np.abs(each)) for each in errors]


def _find_margin(errors: FloatArray) -> float:
    known = np.nan_to_num(errors, nan=np.inf)
    return float(np.quantile(known, CONFIDENCE, method="higher"))


def _list_estimates(survey: Survey, snapshot: Snapshot) -> Iterator[FloatArray]:
    """Yield the estimates of label, asked features and tables: values x classes."""
    plan, estimates, raw = snapshot.plan, estimate_snapshot(snapshot), compute_raw_estimates(snapshot)
    if plan.label.exists:
        yield estimates.raw_prior.value[np.newaxis]
    for index, result in enumerate(estimates.features):
        if find_ask_rate(plan, index):
            is_number = isinstance(result, NumberResult)
            yield result.by_class.means.value[np.newaxis] if is_number else result.conditionals.value
    indices = {each.feature_indices for each in survey.tables}
    for each in raw.tables:
        if each.question.feature_indices in indices:
            yield TableResult.from_frequencies(each).row_shares.value.T

"""Simulates a survey without a label on rows, and measures the errors of its shares and means.

The rows are the population. In each repeat, people are drawn from it with replacement, and each sends one
randomised report. The estimates are compared with the shares and means of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from encoders.randomness import FastStream
from encoders.survey import Feature, NumericFeature, Survey
from encoders.survey.numeric_features import GRID
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import FeatureResult, IntervalEstimate, NumberResult, estimate_snapshot
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.simulated_population import simulate_reports
from ldp_design.simulation.rows import LabelledTable, read_labelled_table
from ldp_design.simulation.trial import compile_survey, encode_columns, seed_cell
from ldp_design.simulation.variants import NO_PROJECTION, SimulationError, SimulationGrid, Variant


@dataclass(frozen=True, kw_only=True)
class ShareErrors:
    """How precise the estimates of one feature are under one variant."""

    epsilon: float
    mechanism: str
    numeric: str
    """`mechanism` and `numeric`: see :class:`~ldp_design.simulation.variants.Variant`."""
    feature: str
    estimate: str
    """"share", of each value, or "mean", of a number in its own unit."""
    error: float
    """Root mean square error over the repeats and the values; infinite if a repeat has no estimate."""
    margin: float
    """Half of a 95% interval: the root mean square over the repeats and the values."""
    coverage: float
    """Share of the 95% intervals that contain the truth."""
    repeats: int

    def as_dict(self) -> dict[str, Any]:
        """Return the errors for JSON; infinite numbers become None."""
        entries = asdict(self).items()
        return {key: None if isinstance(each, float) and math.isinf(each) else each for key, each in entries}


def simulate_shares(
    survey: Survey,
    rows: Any,
    grid: SimulationGrid = SimulationGrid(),  # noqa: B008
    *,
    repeats: int = 10,
    seed: int = 0,
    users: int = 0,
    progress: Callable[[int], object] | None = None,
) -> list[ShareErrors]:
    """Simulate a survey without a label, and return the errors of each variant's shares and means.

    Parameters
    ----------
    survey : Survey
        Its epsilon and mechanism are replaced.
    rows : DataFrame, list of dicts, or dict of columns
        A column for each feature of the survey.
    grid : SimulationGrid
        The variants to try: values of epsilon, and mechanisms.
    repeats : int
    seed : int
        Equal seeds give equal results.
    users : int
        Number of people; 0 stands for as many as there are rows.
    progress : callable, optional
        Called with 1 after every repeat.

    Raises
    ------
    SurveyError, RowError, SimulationError
        If the survey has a label or cannot be compiled, a row does not fit it, or the grid needs a model.
    """
    if survey.label.exists:
        raise SimulationError("the survey has a label to predict: simulate its accuracy")
    if (*grid.projections, *grid.rounds, grid.validate) != (NO_PROJECTION, 1, False):
        raise SimulationError("projections, further rounds and validations need a label, and there is none")
    table = read_labelled_table(survey, rows)
    if not len(table.labels) or repeats < 1:
        raise SimulationError("a simulation needs at least one row and one repeat")
    found: list[ShareErrors] = []
    for variant in grid.list_variants(survey, "default"):
        found += _simulate_variant(table, variant, repeats, seed, users, progress or int)
    return found


def _simulate_variant(
    table: LabelledTable,
    variant: Variant,
    repeats: int,
    seed: int,
    users: int,
    progress: Callable[[int], object],
) -> Iterator[ShareErrors]:
    """Yield the errors of each feature that the survey asks about."""
    plan = compile_survey(variant.apply(table.survey))
    codes, count = encode_columns(table, plan), len(table.labels)
    trials = []
    for repeat in range(repeats):
        people = np.random.default_rng((seed, repeat)).integers(count, size=users or count)
        source = FastStream(seed_cell(seed, repeat, *astuple(variant)))
        snapshot = simulate_reports(plan, codes, table.labels, source, users=people)
        trials.append(estimate_snapshot(snapshot).features)
        progress(1)
    asked = {index for question in plan.questions for index in question.feature_indices}
    for index in sorted(asked):
        feature = plan.features[index]
        truth = _find_truth(feature, codes[:, index])
        estimates = [_find_estimate(trial[index]) for trial in trials]
        errors = np.concatenate([each.value - truth for each in estimates])
        margins = Z95 * np.concatenate([each.stderr for each in estimates])
        hits = [(each.low <= truth) & (truth <= each.high) for each in estimates]
        yield ShareErrors(
            epsilon=float(variant.epsilon),
            mechanism=variant.mechanism,
            numeric=variant.numeric,
            feature=feature.name,
            estimate="mean" if isinstance(feature, NumericFeature) else "share",
            error=float(np.sqrt(np.mean(np.nan_to_num(errors, nan=math.inf) ** 2))),
            margin=float(np.sqrt(np.mean(margins**2))),
            coverage=float(np.mean(hits)),
            repeats=repeats,
        )


def _find_truth(feature: Feature, codes: IntArray) -> FloatArray:
    """Return the shares of the values among all rows, or the mean of the numbers that are present, (1,)."""
    if isinstance(feature, NumericFeature):
        present = codes[codes <= 2 * GRID]
        if not len(present):
            raise SimulationError(f"{feature.name}: is missing in all rows, so it has no mean")
        return np.array([feature.original(float(np.mean((present - GRID) / GRID)))])
    return np.bincount(codes, minlength=feature.size) / len(codes)


def _find_estimate(result: FeatureResult | NumberResult) -> IntervalEstimate:
    return result.overall.means if isinstance(result, NumberResult) else result.shares

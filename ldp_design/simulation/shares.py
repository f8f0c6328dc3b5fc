"""Simulates a survey without a label on people drawn from rows; measures the errors of shares and means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from encoders.randomness import FastStream
from encoders.survey import Feature, NumericFeature, Survey
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import (
    Estimates,
    IntervalEstimate,
    NumberResult,
    estimate_snapshot,
)
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.rows.encode_table import project_columns
from ldp_design.simulation.experiment import (
    EncodedRows,
    Progress,
    RowSplit,
    read_labelled_table,
    run_variants,
)
from ldp_design.simulation.variants import SimulationError, Variant


@dataclass(frozen=True, kw_only=True)
class ShareErrors:
    """The errors of a feature's shares, or of a number's mean in its own unit."""

    epsilon: float
    mechanism: str
    numeric: str
    feature: str
    estimate: str
    """What is estimated: "mean" or "share"."""
    error: float
    """Root mean square error of the consistent estimates, over the repeats and the values; infinite if a
    repeat has no estimate."""
    margin: float
    """Half of a 95% interval, averaged likewise."""
    coverage: float
    """Share of the 95% intervals that contain the share or the mean of all rows."""

    @classmethod
    def measure(
        cls,
        variant: Variant,
        feature: str,
        estimate: str,
        truth: FloatArray,
        found: Sequence[IntervalEstimate],
        shown: Sequence[FloatArray],
    ) -> Self:
        """Compare the estimates of each repeat, and the values that are shown, with the truth."""
        errors = np.nan_to_num([each - truth for each in shown], nan=np.inf)
        return cls(
            epsilon=float(variant.epsilon),
            mechanism=variant.mechanism,
            numeric=variant.numeric,
            feature=feature,
            estimate=estimate,
            error=float(np.sqrt(np.mean(errors**2))),
            margin=Z95 * float(np.sqrt(np.mean([each.stderr**2 for each in found]))),
            coverage=float(np.mean([(each.low <= truth) & (truth <= each.high) for each in found])),
        )


def use_all_rows(rows: int, users: int, repeats: int, seed: int) -> list[RowSplit]:
    """Return a split for each repeat, in which all rows are people who may answer."""
    everybody, nobody = np.arange(rows), np.arange(0)
    return [RowSplit(everybody, nobody, nobody, users or rows, (seed, repeat)) for repeat in range(repeats)]


def simulate_shares(
    survey: Survey,
    rows: Any,
    variants: Sequence[Variant],
    repeats: int = 10,
    seed: int = 0,
    users: int = 0,
    progress: Progress = int,
) -> Iterator[ShareErrors]:
    """Simulate a survey without a label; yield the errors of each variant and feature.

    `users` is the number of people, 0 for as many as there are rows. The other parameters are those of
    :func:`~ldp_design.simulation.accuracies.simulate`; variants are without a model.
    Raises SurveyError, RowError or SimulationError if the survey cannot be compiled, or a row does not fit
    it.
    """
    table = read_labelled_table(survey, rows)
    if not len(table.labels):
        raise SimulationError("a simulation needs at least one row")
    splits = use_all_rows(len(table.labels), users, repeats, seed)
    for variant, encoded, trials in run_variants(_estimate, table, splits, variants, seed, progress):
        plan, codes, columns = encoded[0].plan, encoded[0].codes, table.columns
        if plan.projection:
            columns = columns | project_columns(plan.projection, columns)
        for index in sorted({index for question in plan.questions for index in question.feature_indices}):
            feature = plan.features[index]
            is_number = isinstance(feature, NumericFeature)
            truth = (
                _find_mean(feature, columns[feature.name][table.kept])
                if is_number
                else np.bincount(codes[:, index], minlength=feature.size) / len(codes)
            )
            results = [trial.features[index] for trial in trials]
            found = [
                each.overall.means if isinstance(each, NumberResult) else each.shares for each in results
            ]
            # of a number, its mean; the shares are consistent, as they are published
            shown = [
                estimate.value if isinstance(each, NumberResult) else each.make_consistent(estimate)
                for each, estimate in zip(results, found, strict=True)
            ]
            estimate = "mean" if is_number else "share"
            yield ShareErrors.measure(variant, feature.name, estimate, truth, found, shown)


def _estimate(variant: Variant, rows: EncodedRows, seed: np.random.SeedSequence) -> Estimates:
    survey = variant.apply(rows.table.survey)
    return estimate_snapshot(rows.simulate_reports(survey, rows.split.draw_people(), FastStream(seed)))


def _find_mean(feature: Feature, numbers: FloatArray) -> FloatArray:
    """Return the mean of the numbers that are present, (1,); they are not clipped, as their reports are."""
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        raise SimulationError(f"{feature.name}: is missing in all rows, so it has no mean")
    return np.array([present.mean()])

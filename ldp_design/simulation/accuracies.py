"""Simulates a survey: runs the whole protocol on labelled rows many times, and measures accuracy.

Each repeat splits the rows 80/20. Every training row sends one randomised report; the model is trained on
the totals and predicts the test rows. Non-private Naive Bayes and the majority class use the same splits
(Yilmaz et al. 2019, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from encoders.randomness import FastStream
from encoders.survey import Survey
from ldp_aggregator.classifiers.prediction_quality import PredictionQuality
from ldp_design.simulation import experiment
from ldp_design.simulation.variants import NO_PROJECTION, SimulationError, SimulationGrid, Variant

__all__ = ["Simulation", "SimulationError", "SimulationGrid", "SimulationRow", "simulate"]

UNCOVERED_WARNING = "Projections (dca, pca) were fitted on the rows that report: epsilon does NOT cover that."


@dataclass(frozen=True, kw_only=True)
class SimulationRow:
    epsilon: float
    mechanism: str
    numeric: str
    projection: str
    estimator: str
    """`mechanism`, `numeric`, `projection` and `estimator`: see
    :class:`~ldp_design.simulation.variants.Variant`."""
    accuracy: float
    """Mean share of correct predictions on test rows."""
    stderr: float
    """Standard error of that mean: from the spread of the repeats; binomial if there is only one repeat."""
    non_private: float
    """Accuracy of the same classifier trained on the rows themselves."""
    repeats: int
    balanced_accuracy: float
    """Mean share of correct predictions on the test rows of each class, averaged over the classes."""
    log_loss: float
    calibration_error: float
    """Of the probabilities predicted for the test rows, see
    :class:`~ldp_aggregator.classifiers.prediction_quality.PredictionQuality`; means over the repeats."""
    beats_majority: bool
    """Whether the accuracy exceeds that of the majority class by more than two standard errors of the
    difference."""
    validated: bool = False
    """Whether some people validate the model."""

    @classmethod
    def from_trials(
        cls, variant: Variant, found: Sequence[PredictionQuality], encoded: Sequence[experiment.EncodedRows]
    ) -> Self:
        """Average what was measured in a variant's trials over their repeats."""
        accuracies = [each.accuracy for each in found]
        mean = _average(accuracies)
        gains = [accuracy - rows.majority for accuracy, rows in zip(accuracies, encoded, strict=True)]
        if len(found) == 1:
            stderr = gain_stderr = math.sqrt(mean * (1 - mean) / len(encoded[0].split.test))
        else:
            stderr, gain_stderr = (
                float(np.std(each, ddof=1)) / math.sqrt(len(found)) for each in (accuracies, gains)
            )
        return cls(
            **asdict(variant) | {"epsilon": float(variant.epsilon)},
            accuracy=mean,
            stderr=stderr,
            non_private=_average([rows.non_private for rows in encoded]),
            repeats=len(found),
            balanced_accuracy=_average([each.balanced_accuracy for each in found]),
            log_loss=_average([each.log_loss for each in found]),
            calibration_error=_average([each.calibration_error for each in found]),
            beats_majority=_average(gains) > 2 * gain_stderr,
        )


@dataclass(frozen=True)
class Simulation:
    """The result of :func:`simulate`."""

    rows: tuple[SimulationRow, ...]
    """One per variant of the grid, ordered by numeric, projection, epsilon and mechanism."""
    majority: float
    """Accuracy of always predicting the most frequent label."""
    majority_class: str
    """The most frequent label of all rows."""
    public_share: float = 0.0
    """Share of the training rows that projections were fitted on. If it is 0, they were fitted on the rows
    that report, which epsilon does NOT cover."""

    @property
    def uncovered(self) -> bool:
        """Whether a projection was fitted on the rows that report, which epsilon does not cover."""
        return not self.public_share and any(row.projection != NO_PROJECTION for row in self.rows)

    @property
    def non_private(self) -> float:
        """Accuracy without privacy of the first variant; each row has a separate value."""
        return self.rows[0].non_private

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "non_private": self.non_private,
            "majority": self.majority,
            "majority_class": self.majority_class,
            "public_share": self.public_share,
        }


def simulate(
    survey: Survey,
    rows: Any,
    grid: SimulationGrid = SimulationGrid(),  # noqa: B008
    *,
    estimator: str = "default",
    repeats: int = 10,
    seed: int = 0,
    public_share: float = 0.0,
    users: int = 0,
    progress: experiment.Progress = int,
) -> Simulation:
    """Simulate a survey in memory, and return the accuracy of each variant's models.

    Parameters
    ----------
    survey : Survey
        See :func:`encoders.survey.read_survey`; its epsilon and mechanism are replaced. If it has no
        `users`, this is the number of people who report.
    rows : DataFrame, list of dicts, or dict of columns
        A column for each feature of the survey, and one for the label, named as in the survey or "class".
    grid : SimulationGrid
        The variants to try; epsilon 1 and everything else as authored by default.
    estimator : {"default", "paper"}
        "paper" follows Yilmaz et al. 2019 exactly: a label question beside the coupled ones, all equally
        likely, negative counts set to 1, and THE at its threshold of .25.
    repeats : int
    seed : int
        Equal seeds give equal results. A row of the result does not depend on the rest of the grid.
    public_share : float
        Share of the training rows that a projection is fitted on; they are public and do not report.
        If it is 0, the projection is fitted on the training rows that report, as in Yilmaz et al. 2019;
        epsilon does NOT cover that.
    users : int
        Number of people, drawn with replacement from the training rows; 0 stands for one person per row.
    progress : callable, optional
        Called with 1 after every trial.

    Raises
    ------
    SurveyError, RowError, FitError, SimulationError
        If the survey has no label, cannot be compiled or projected, or a row does not fit it.

    Examples
    --------
    >>> from encoders.survey import read_survey
    >>> survey = read_survey('''
    ... survey = {id = "tea", epsilon = 2}
    ... label = {name = "smoker", values = ["yes", "no"]}
    ... features.tea.values = ["never", "daily"]
    ... ''')
    >>> rows = [{"tea": "daily", "smoker": "yes"}, {"tea": "never", "smoker": "no"}] * 1000
    >>> [result] = simulate(survey, rows, SimulationGrid(epsilons=[2.0]), repeats=2).rows
    >>> result.accuracy, result.non_private
    (1.0, 1.0)
    """
    if not survey.label.exists:
        raise SimulationError("the survey has no label to predict, so there is no accuracy")
    # Read the labelled rows, and list the variants to try.
    table = experiment.read_labelled_table(survey, rows)
    if len(table.labels) < 2 or repeats < 1:
        raise SimulationError("a simulation needs at least two rows and one repeat")
    if users < 0:
        raise SimulationError("users must be at least 1, or 0 for one person per training row")
    variants = grid.list_variants(survey, estimator)
    # Split the rows of each repeat: four fifths report, one fifth tests.
    splits = experiment.split_rows(len(table.labels), repeats, seed, public_share, users)
    results: list[SimulationRow] = []
    encoded: list[experiment.EncodedRows] = []
    # One trial of a variant in each repeat: compile the plan, simulate reports, estimate and train, then test
    # on the rows that did not report.
    for variant, encoded, found in experiment.run_variants(
        _test_variant, table, splits, variants, seed, progress
    ):
        results.append(SimulationRow.from_trials(variant, found, encoded))
    return Simulation(
        rows=tuple(results),
        majority=math.fsum(each.majority for each in encoded) / repeats,
        majority_class=survey.label.values[np.bincount(table.labels).argmax()],
        public_share=public_share,
    )


def _test_variant(
    variant: Variant, rows: experiment.EncodedRows, seed: np.random.SeedSequence
) -> PredictionQuality:
    return experiment.run_trial(rows, variant, FastStream(seed)).quality


def _average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)

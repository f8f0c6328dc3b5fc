"""From a snapshot of totals to everything that is known about a survey's population."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.survey import Plan, Question
from ldp_aggregator.estimation.consistency import FloatArray
from ldp_aggregator.estimation.figures import Figure, conditional_figure, frequency_figure, jsonable, unknown
from ldp_aggregator.estimation.frequencies import Frequencies, estimate_frequencies
from ldp_aggregator.estimation.recipes import ESTIMATORS, Answers, EstimationError, Probabilities, Recipe
from ldp_aggregator.snapshot import Snapshot, Total


@dataclass(frozen=True)
class FeatureEstimate:
    """What is known about one feature; arrays have shape (values, labels).

    Attributes
    ----------
    name : str
    values : tuple of str
        Names of the feature's values, in the order of their codes.
    mechanism : str or None
        None if the survey does not ask about this feature.
    n : int
        Number of reports.
    frequencies : Figure
        P(value, label), raw.
    conditionals : Figure
        P(value | label), raw, for people.
    smoothed : array
        P(value | label), consistent, for the classifier.
    """

    name: str
    values: tuple[str, ...]
    mechanism: str | None
    n: int
    frequencies: Figure
    conditionals: Figure
    smoothed: FloatArray

    @property
    def noise(self) -> float:
        """Root mean square standard error of a frequency."""
        return float(np.sqrt(np.mean(self.frequencies.stderr**2)))

    @property
    def drowned(self) -> bool:
        """Whether a frequency's standard error exceeds the average frequency."""
        return self.noise > 1.0 / self.smoothed.size

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate for JSON."""
        return {
            "name": self.name,
            "values": list(self.values),
            "mechanism": self.mechanism,
            "n": self.n,
            "frequencies": self.frequencies.as_dict(),
            "conditionals": self.conditionals.as_dict(),
            "smoothed": jsonable(self.smoothed),
        }


@dataclass(frozen=True)
class Estimates:
    """What is known about a survey's population.

    Attributes
    ----------
    survey, plan_digest, estimator : str
    label : str
        Name of the label.
    classes : tuple of str
        The labels, in the order of their codes.
    label_n : int or None
        Reports of the label question; None if the survey does not ask it.
    reports : int
        Reports of all questions together.
    raw_prior : Figure
        (k,) P(label), unbiased, for people.
    prior : (k,) array
        P(label), consistent, for the classifier.
    features : tuple of FeatureEstimate
    """

    survey: str
    plan_digest: str
    estimator: str
    label: str
    classes: tuple[str, ...]
    label_n: int | None
    reports: int
    raw_prior: Figure
    prior: FloatArray
    features: tuple[FeatureEstimate, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the figures, one sentence each."""
        return tuple(_warnings(self))

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON; unknown and infinite figures become None."""
        return {
            "survey": self.survey,
            "plan_digest": self.plan_digest,
            "estimator": self.estimator,
            "reports": self.reports,
            "label": {
                "name": self.label,
                "values": list(self.classes),
                "n": self.label_n,
                "prior": self.raw_prior.as_dict(),
                "smoothed": jsonable(self.prior),
            },
            "features": [feature.as_dict() for feature in self.features],
            "warnings": list(self.warnings),
        }


def estimate_snapshot(snapshot: Snapshot, estimator: str = "default") -> Estimates:
    """Estimate priors and conditionals, each with its standard error, from a survey's totals.

    Parameters
    ----------
    snapshot : Snapshot
        The plan and the totals of its questions; questions without totals count as zero reports.
    estimator : {"default", "paper"}
        The recipe for the classifier's probabilities; raw figures do not depend on it, except that
        "paper" takes the prior from the label question alone.

    Raises
    ------
    EstimationError
        On an unknown estimator, or one that needs a question the survey does not ask.
    """
    plan, answers = snapshot.plan, hear(snapshot)
    chosen = _recipe(estimator)(answers)
    asked = [each for each in (*answers.coupled, answers.label) if each is not None]
    return Estimates(
        survey=plan.id,
        plan_digest=plan.digest,
        estimator=estimator,
        label=plan.label.name,
        classes=tuple(plan.label.values),
        label_n=answers.label.n if answers.label else None,
        reports=sum(each.n for each in asked),
        raw_prior=chosen.raw_prior,
        prior=chosen.prior,
        features=tuple(
            _feature(plan, index, heard, table, answers.k)
            for index, (heard, table) in enumerate(zip(answers.coupled, chosen.conditionals, strict=True))
        ),
    )


def estimate_probabilities(snapshot: Snapshot, estimator: str = "default") -> Probabilities:
    """Estimate only what a classifier needs, see :func:`estimate_snapshot`: the short way for simulations."""
    return _recipe(estimator)(hear(snapshot))


def _recipe(estimator: str) -> Recipe:
    if estimator not in ESTIMATORS:
        raise EstimationError(f"estimator {estimator!r} is not one of {', '.join(ESTIMATORS)}")
    return ESTIMATORS[estimator]


def hear(snapshot: Snapshot) -> Answers:
    """Return the raw frequencies of every question of a survey."""
    plan = snapshot.plan
    label: Frequencies | None = None
    coupled: list[Frequencies | None] = [None] * len(plan.features)
    for question in plan.questions:
        heard = estimate_frequencies(question, _total(snapshot, question))
        if question.feature_index is None:
            label = heard
        else:
            coupled[question.feature_index] = heard
    sizes = [feature.size for feature in plan.features]
    return Answers(len(plan.label.values), sizes, label, coupled)


def _total(snapshot: Snapshot, question: Question) -> Total:
    empty = Total(0, np.zeros(question.domain, dtype=np.int64))
    return snapshot.totals.get(question.key, empty)


def _feature(plan: Plan, index: int, heard: Frequencies | None, table: FloatArray, k: int) -> FeatureEstimate:
    feature = plan.features[index]
    nothing = unknown((feature.size, k))
    return FeatureEstimate(
        name=feature.name,
        values=tuple(feature.texts),
        mechanism=heard.question.mechanism.name if heard else None,
        n=heard.n if heard else 0,
        frequencies=frequency_figure(heard, k) if heard else nothing,
        conditionals=conditional_figure(heard, k) if heard else nothing,
        smoothed=table,
    )


def _warnings(estimates: Estimates) -> Iterator[str]:
    if estimates.reports == 0:
        yield "there are no reports yet: every figure is a guess"
        return
    for feature in estimates.features:
        if feature.mechanism is None:
            yield f"{feature.name}: the survey does not ask about it, so it cannot inform a prediction"
        elif feature.n == 0:
            yield f"{feature.name}: no reports"
        elif feature.drowned:
            average = 1.0 / feature.smoothed.size
            yield (
                f"{feature.name}: mostly noise. With {feature.n} reports a frequency is off by "
                f"{feature.noise:.2g}, and the average one is {average:.2g}"
            )
    if not math.isfinite(float(estimates.raw_prior.stderr.max())):
        yield f"{estimates.label}: nothing is known about the prior"

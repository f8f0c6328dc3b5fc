"""Which figures each question informs, and so which ones made-up reports at that question could move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.number_result import NumberResult
from ldp_aggregator.estimation.numeric.moments import Moments
from ldp_aggregator.estimation.numeric.number import Number
from ldp_aggregator.estimation.poisoning.influence import (
    Influence,
    number_prior,
    of_conditionals,
    of_frequencies,
    of_number,
    of_prior,
)
from ldp_aggregator.estimation.poisoning.summary import Poisoning, measure
from ldp_aggregator.estimation.raw_estimates import RawEstimates, total_of
from ldp_aggregator.snapshot import Snapshot


def measure_estimates(
    snapshot: Snapshot,
    answers: RawEstimates,
    features: Sequence[FeatureResult | NumberResult],
    prior: IntervalEstimate,
) -> Poisoning:
    """Return what the poisoning meter says of a survey's estimates.

    Parameters
    ----------
    snapshot : Snapshot
    answers : RawEstimates
        What was heard of it.
    features : sequence of (FeatureResult or NumberResult)
        What was made of that, for the standard errors.
    prior : IntervalEstimate
        The raw prior that is shown: the pooled one, or the label question's.
    """
    weights = answers.prior.weights
    if prior is not answers.prior.estimate and answers.label:
        weights = {answers.label.question.index: 1.0}
    found: dict[int, list[Influence]] = defaultdict(list)
    for index, influence in _influences(snapshot, answers, features):
        found[index].append(influence)
    for heard in _told(answers):
        index, weight = heard.question.index, weights.get(heard.question.index, 0.0)
        if weight and isinstance(heard, Frequencies):
            found[index].append(of_prior(heard, prior, weight))
        elif weight and isinstance(heard, Moments):
            total = total_of(snapshot, heard.question)
            found[index].append(number_prior(heard, total, prior, weight))
    return measure(snapshot, found)


def _influences(
    snapshot: Snapshot, answers: RawEstimates, features: Sequence[FeatureResult | NumberResult]
) -> Iterator[tuple[int, Influence]]:
    """Yield what can be moved of each feature, with the index of the question that does."""
    for heard, estimate in zip(answers.feature_estimates, features, strict=True):
        if isinstance(heard, Frequencies) and heard.n and isinstance(estimate, FeatureResult):
            of = f" of {estimate.name}" if len(heard.question.feature_indices) > 1 else ""
            yield heard.question.index, of_frequencies(heard, estimate.frequencies, of)
            yield heard.question.index, of_conditionals(heard, estimate.conditionals, of)
        elif isinstance(heard, Number) and heard.prior.known and isinstance(estimate, NumberResult):
            yield from _of_number(snapshot, heard, estimate)


def _of_number(snapshot: Snapshot, heard: Number, estimate: NumberResult) -> Iterator[tuple[int, Influence]]:
    width, several = estimate.width, f" of {estimate.name}"
    for told in _moments(heard):
        question, total = told.question, total_of(snapshot, told.question)
        name = several if question.mechanism.multivariate else ""
        ratios = [
            (f"means{name}", heard.first, heard.present, estimate.means, width),
            (f"variances{name}", heard.deviation, heard.present, estimate.variances, width**2),
            (f"missing{name}", heard.missing, heard.share, estimate.missing, 1.0),
        ]
        for figure_name, top, bottom, figure, unit in ratios:
            if top is not None and figure is not None:
                yield question.index, of_number(figure_name, top.over(bottom), told, total, figure, unit)


def _moments(heard: Number) -> list[Moments]:
    """Return what was heard of a number, question by question."""
    return [each for each in (heard.mean_question, heard.square_question) if each is not None]


def _told(answers: RawEstimates) -> list[Frequencies | Moments]:
    """Return what every question said; one that asks for several numbers tells nothing of the label."""
    heard = [
        each
        for each in (answers.label, *answers.feature_estimates)
        if isinstance(each, Frequencies) and each.n
    ]
    coupled = {each.question.index: each for each in heard}
    return [*coupled.values(), *(each for number in answers.numbers for each in _moments(number))]

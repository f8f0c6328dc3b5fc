"""States in words what a comparison found; every number has its 95% interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from encoders.survey.plan_checks import CENTRAL
from ldp_aggregator.central.learner import NAIVE_BAYES
from ldp_design.comparison.curves import Crossing, Mean, find_crossing
from ldp_design.comparison.needed_trust import NeededTrust, find_needed_trusts
from ldp_design.comparison.people import NoiseLevels
from ldp_design.comparison.result import Curve, TrustComparison
from ldp_design.comparison.trusts import LABELS
from ldp_design.comparison.unprotected import TITLES

UNCOVERED = (
    "This output is not covered by any epsilon: do not publish it unless the rows are public or made up."
)
LABELS_NOTE = (
    "labels is another promise: only the label is protected, and somebody holds everybody's features. It is "
    "therefore never named as the weakest trust model. This project does not offer such a survey."
)
ADJACENCY_NOTE = (
    "learner is the kind of model; nb is Naive Bayes. adjacency is what epsilon hides: replace hides the "
    "content of a person's row, replace-label only their label. Curator and silos are compared at replace, "
    "because a local survey hides as much. To keep this promise, train with ldp-central --adjacency replace, "
    "or write half of this epsilon into a survey of silos."
)
_NOBODY = "no compared trust model reliably"


@dataclass(frozen=True)
class Statements:
    """A heading and sentences below it."""

    heading: str
    sentences: tuple[str, ...]


def describe_setting(comparison: TrustComparison) -> str:
    """Return what was compared, and the accuracies without protection and of the majority class."""
    return (
        f"Each of {comparison.splits} splits trains on {comparison.training_rows:,} rows and tests on "
        f"{comparison.test_rows:,} others. Without protection, the best of {len(TITLES)} learners "
        f"({TITLES[comparison.best_learner]}) has an accuracy of {describe_mean(comparison.ceiling)}; always "
        f"guessing the most frequent class has {describe_mean(comparison.majority)}. Brackets contain 95% "
        "intervals."
    )


def describe_mean(mean: Mean) -> str:
    """Return an accuracy with its interval: 91.0% (90.2 to 91.8)."""
    low, high = (100 * min(max(end, 0.0), 1.0) for end in (mean.low, mean.high))
    return f"{100 * mean.value:.1f}% ({low:.1f} to {high:.1f})"


# -- the trust model that an accuracy needs -----------------------------------------------------------


def describe_target(comparison: TrustComparison, target: float) -> Statements:
    """State the weakest trust model for an accuracy at each epsilon, and the epsilon that each one needs."""
    wanted = f"{100 * target:.4g}%"
    sentences = [_describe_needed(each) for each in find_needed_trusts(comparison, target)]
    if not comparison.ranked:
        sentences = ["none of the compared ones protects whole rows"]
    sentences += _describe_crossings(comparison, target, wanted)
    return Statements(f"The weakest trust model that reaches an accuracy of {wanted}", tuple(sentences))


def _describe_needed(needed: NeededTrust) -> str:
    """Return the weakest trust model that reaches an accuracy at one epsilon, and those that may reach it."""
    possible = ", ".join(f"{each.trust.text} {describe_mean(each.accuracy)}" for each in needed.may_reach)
    text = _NOBODY
    if needed.reaches:
        trust, accuracy = needed.reaches.trust, needed.reaches.accuracy
        text = f"{trust.text}, where {trust.meaning}: {describe_mean(accuracy)}"
    elif needed.best and not possible:
        text = (
            f"no compared trust model; the most accurate is {needed.best.trust.text}, "
            f"{describe_mean(needed.best.accuracy)}"
        )
    if possible:
        text += f"; possible: {possible}"
    return f"epsilon {needed.epsilon:g}: {text}"


def _describe_crossings(comparison: TrustComparison, target: float, wanted: str) -> Iterator[str]:
    labels = comparison.find(LABELS)
    curves: list[Curve] = [*comparison.ranked, *([labels] if labels else [])]
    if not curves:
        return
    texts = []
    for curve in curves:
        crossing = find_crossing(comparison.epsilons, curve.accuracies - target, comparison.test_share)
        other = ", another promise," if curve is labels else ""
        texts.append(f"{curve.trust.text}{other} {describe_epsilon(comparison, crossing)}")
    yield f"the epsilon from which on {wanted} is reached: {'; '.join(texts)}"


# -- what it costs to trust nobody -------------------------------------------------------------------


def describe_cost(comparison: TrustComparison, levels: NoiseLevels | None) -> Statements | None:
    """State what a local survey needs for the accuracy of a curator; None unless both are compared."""
    local, central = comparison.local, comparison.find(CENTRAL)
    if local is None or central is None:
        return None
    name, naive = central.trust.text, comparison.ceilings[NAIVE_BAYES]
    sentences, is_beyond = [], False
    for place, epsilon in enumerate(comparison.epsilons):
        gap = comparison.average(local.accuracies[place] - central.accuracies[place])
        # The splits are paired: the accuracies of one split are subtracted from each other.
        differences = local.accuracies - central.accuracies[place]
        crossing = find_crossing(comparison.epsilons, differences, comparison.test_share)
        sentence = f"epsilon {epsilon:g}: {_describe_gap(gap, name)}"
        if gap.high < 0:
            sentence += f"; it needs an epsilon of {describe_epsilon(comparison, crossing)}"
            if math.isinf(crossing.value) and comparison.average(naive - central.accuracies[place]).high < 0:
                sentence, is_beyond = f"{sentence}, probably more than any", True
            elif levels:
                sentence += f", or {_describe_people(levels, epsilon, crossing)} people"
        sentences.append(sentence)
    if is_beyond:
        limit = describe_mean(comparison.average(naive))
        sentences.append(
            f"Naive Bayes, which local trains, has {limit} without protection: where {name} is better, "
            "probably no epsilon and no number of people is enough"
        )
    people = f" ({comparison.training_rows:,} people)"
    return Statements(f"What it costs to trust nobody: local instead of {name}{people}", tuple(sentences))


def _describe_gap(gap: Mean, name: str) -> str:
    low, value, high = (round(100 * each, 1) + 0.0 for each in (gap.low, gap.value, gap.high))
    if gap.low <= 0 <= gap.high:
        return f"local and {name} do not clearly differ ({value:+.1f} points, {low:+.1f} to {high:+.1f})"
    if value < 0:
        return f"local is {-value:.1f} points less accurate ({-high:.1f} to {-low:.1f}) than {name}"
    return f"local is {value:.1f} points more accurate ({low:.1f} to {high:.1f}) than {name}"


# -- ranges ------------------------------------------------------------------------------------------


def describe_epsilon(comparison: TrustComparison, crossing: Crossing) -> str:
    """Return an epsilon with its interval: 1.4 (1.1 to more than 5)."""
    smallest, largest = comparison.epsilons[0], comparison.epsilons[-1]
    text = _describe_range(crossing, lambda epsilon: _round(epsilon, smallest, largest), "or less")
    return f"{text}, crossed more than once" if crossing.is_repeated else text


def _round(epsilon: float, smallest: float, largest: float) -> str:
    return f"{min(max(epsilon, smallest), largest):.2g}"


def _describe_people(levels: NoiseLevels, epsilon: float, crossing: Crossing) -> str:
    def write(equivalent: float) -> str:
        count = levels.count_people(epsilon, equivalent)
        step: int = 10 ** max(math.floor(math.log10(count)) - 1, 0)
        return f"{round(count / step) * step:,}"

    text = _describe_range(crossing, write, "or fewer")
    return f"about {text}" if 0 < crossing.value < math.inf else text


def _describe_range(crossing: Crossing, write: Callable[[float], str], or_less: str) -> str:
    """Return the value and its interval; 0 is at most the smallest value, infinity is above the largest."""

    def bound(number: float) -> str:
        if number == 0:
            return f"{write(number)} {or_less}"
        return f"more than {write(number)}" if math.isinf(number) else write(number)

    value, low, high = map(bound, (crossing.value, crossing.low, crossing.high))
    is_open = crossing.low == crossing.high and crossing.low in (0, math.inf)
    return value if is_open else f"{value} ({low} to {high})"

"""Recommends a trust model and an epsilon in one sentence, or says why the rows do not decide."""

from __future__ import annotations

from ldp_design.authoring.overview import DEFAULT_MAX_EPSILON
from ldp_design.comparison.needed_trust import find_needed_trusts
from ldp_design.comparison.result import TrustComparison
from ldp_design.comparison.statements import describe_mean

ACCEPTED_LOSS = 0.05
"""If no accuracy is wanted, the recommendation is for this much less than without protection."""


def recommend(comparison: TrustComparison, target: float | None) -> str:
    """Return which trust model and epsilon to choose, and why.

    It is the weakest trust model that reliably reaches the accuracy with an epsilon that clients accept by
    default, at the smallest such epsilon.
    """
    wanted = target or comparison.ceiling.value - ACCEPTED_LOSS
    level = f"{100 * wanted:.4g}%" + ("" if target else ", 5 points less than without protection")
    if not comparison.ranked:
        return "Nothing is recommended: no compared trust model protects whole rows."
    if comparison.ceiling.high < wanted:
        ceiling = describe_mean(comparison.ceiling)
        return (
            f"Nothing is recommended: even without protection the accuracy is {ceiling}, less than {level}."
        )
    if comparison.majority.high >= wanted:
        guess = f"always guessing the most frequent class has {describe_mean(comparison.majority)}"
        return f"The rows do not decide: {guess}; choose an --accuracy above it, instead of {level}."
    needed = find_needed_trusts(comparison, wanted)
    accepted = [each for each in needed if each.epsilon <= DEFAULT_MAX_EPSILON]
    sure = [(each.reaches, each.epsilon) for each in accepted if each.reaches]
    possible = [(candidate, each.epsilon) for each in accepted for candidate in each.may_reach]
    limit = f"with an epsilon of at most {DEFAULT_MAX_EPSILON}"
    if sure:
        best, epsilon = min(sure, key=lambda pair: pair[0].trust.rank)
        accuracy = f"its accuracy of {describe_mean(best.accuracy)} reliably reaches {level}"
        text = (
            f"Recommended: {best.trust.text} at epsilon {epsilon:g}, where {best.trust.meaning}: {accuracy}"
        )
        if best.trust != comparison.ranked[0].trust:
            text += f"; no compared trust model that needs less trust does so {limit}"
        weaker = dict.fromkeys(each.trust.text for each, _ in possible if each.trust.rank < best.trust.rank)
        return f"{text}, but {' or '.join(weaker)} may." if weaker else f"{text}."
    if possible:
        best, epsilon = max(possible, key=lambda pair: pair[0].accuracy.value)
        text = (
            f"{best.trust.text} at epsilon {epsilon:g} may reach {level}, with {describe_mean(best.accuracy)}"
        )
        return f"The rows do not decide: {text}, but none does so reliably {limit}; use more rows."
    larger = [f", but {each.reaches.trust.text} at {each.epsilon:g} does" for each in needed if each.reaches]
    text = f"no compared trust model reaches {level} {limit}{larger[0] if larger else ''}"
    return f"Nothing is recommended: {text}; accept a lower accuracy, or ask more people."

"""Describes a payload in words, and the probability of the payload for each true answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from encoders.canonical import decimal_text
from encoders.epsilon_proof import exp_bounds
from encoders.explain.text import Wording, format_table, sentence, wrap_text
from encoders.mechanisms import DE, SHE, FrequencyOracle, NumericMechanism
from encoders.mechanisms.numeric_base import GRID
from encoders.mechanisms.probability_text import choose_unit, percent, round_up
from encoders.survey.plan import Plan
from encoders.survey.questions import Question

MAX_LISTED_ANSWERS = 16
"""Number of possible answers that are listed; of a larger domain the likeliest are listed."""


def describe_payload(question: Question, payload: bytes, wording: Wording) -> list[str]:
    cells, mechanism = question.mechanism.contribution(payload), question.mechanism
    if isinstance(mechanism, NumericMechanism):
        return _describe_numeric_payload(question, mechanism, cells)
    assert isinstance(mechanism, FrequencyOracle)
    if isinstance(mechanism, DE):
        return [wording.answer(question.meaning(cells.index(1)))]
    if isinstance(mechanism, SHE):
        return [f"a noisy number for each of the {len(cells)} possible answers"]
    return [f"yes to {sum(cells)} of the {len(cells)} possible answers"]


def _describe_numeric_payload(
    question: Question, mechanism: NumericMechanism, cells: Sequence[int]
) -> list[str]:
    names = mechanism.counter_names(
        [feature.name for feature in question.asked_features], question.label_texts
    )
    counted = [(name, cell) for name, cell in zip(names, cells, strict=True) if cell]
    if not counted:
        return [f"0 in each of {len(cells)} places"]
    if len(counted) > MAX_LISTED_ANSWERS:
        return [f"numbers other than 0 in {len(counted)} of {len(cells)} places"]
    words = {1: "yes", -1: "no"} if {cell for _, cell in counted} <= {1, -1} else {}
    return format_table([[words.get(cell, f"{cell:+d}"), f"for {name}"] for name, cell in counted], "><")


def describe_likelihoods(
    plan: Plan, question: Question, payload: bytes, wording: Wording, truth: Any = None
) -> list[str]:
    """Return the probability of a payload for each true answer, as lines of text; `truth` is marked."""
    chances = compute_likelihoods(question, payload, truth)
    order = sorted(chances, key=lambda value: -chances[value])
    shown = order[:MAX_LISTED_ANSWERS] + [value for value in order[MAX_LISTED_ANSWERS:] if value == truth]
    rest = [f"  ... and {len(chances) - len(shown)} more"] if len(shown) < len(chances) else []
    every = "some true answers" if question.moment else "the possible true answers"
    return [
        *wrap_text(
            "Nobody can be certain of the true answer: every possible answer can lead to this report. The "
            f'table lists {every}. "chance" is the probability of this report for a person with that answer. '
            '"belief" is the probability of that answer after this report, if all of them were equally '
            "likely before."
        ),
        *_likelihood_table(question, payload, chances, shown, truth, wording),
        *rest,
        *_describe_bound(plan, question, chances),
    ]


def _describe_bound(plan: Plan, question: Question, chances: Mapping[Any, Fraction]) -> list[str]:
    epsilon, most = decimal_text(plan.epsilon), round_up(exp_bounds(plan.epsilon)[1], 4)
    ratio = round_up(max(chances.values()) / min(chances.values()), 4)
    reached = (
        f"The highest chance is {ratio} times the lowest. So this report changes the odds between two of "
        "these answers by at most that factor."
    )
    if question.moment:  # the ratio of two numbers that are not listed may be greater
        reached = "Numbers that are not listed may have a higher or a lower chance."
    spent = f"{sentence('bound', epsilon, most)} {sentence('spends', epsilon)}"
    if plan.asks_all:
        spent = sentence("spendsAll", epsilon)
    return wrap_text(f"{reached} {spent}; sending the same bytes again spends no more.")


def compute_likelihoods(question: Question, payload: bytes, truth: Any = None) -> dict[Any, Fraction]:
    """Return P[payload | value] of each value; of a number: of the lowest, middle, highest and true value."""
    mechanism = question.mechanism
    if isinstance(mechanism, NumericMechanism):
        return {value: mechanism.probability(payload, value) for value in _sample_values(mechanism, truth)}
    return dict(enumerate(mechanism.likelihood(payload)))


def _sample_values(mechanism: NumericMechanism, truth: Any) -> list[Any]:
    lowest, k, missing = GRID * (1 + mechanism.domain.low), mechanism.domain.labels, mechanism.domain.missing
    codes = [lowest, (lowest + 2 * GRID) // 2, 2 * GRID] + [2 * GRID + 1] * all(missing)
    values: list[Any] = [code * k + label for label in range(k) for code in codes]
    if mechanism.multivariate:
        values = [(value,) * len(missing) for value in values]
    return values if truth is None or truth in values else [*values, truth]


def _likelihood_table(
    question: Question,
    payload: bytes,
    chances: Mapping[Any, Fraction],
    shown: Sequence[Any],
    truth: Any,
    wording: Wording,
) -> list[str]:
    total = sum(chances.values(), Fraction(0))
    odds = choose_unit([chances[value] for value in shown])
    rows = [["  true answer", "chance", "belief", ""]]
    for value in shown:
        mark = "<- the truth" if value == truth else ""
        believed = percent(chances[value] / total)
        rows.append([f"  {wording.answer(question.meaning(value))}", odds(chances[value]), believed, mark])
    if not question.moment:  # a counter of a question about a number belongs to more than one answer
        for row, observed in zip(rows, ["sent", *_observed_values(question, payload, shown)], strict=True):
            row.insert(1, observed)
    return format_table(rows, "<" + ">" * (len(rows[0]) - 2) + "<")


def _observed_values(question: Question, payload: bytes, shown: Sequence[int]) -> list[str]:
    cells = question.mechanism.contribution(payload)
    if isinstance(question.mechanism, SHE):
        return [str(cells[value]) for value in shown]
    return [("no", "yes")[cells[value]] for value in shown]

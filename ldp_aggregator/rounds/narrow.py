"""Rounds that narrow: what turns out to tell nothing of the label is asked no more.

A later round asks some of the first one's questions, as often in proportion as before. So the reports of
all rounds add up, and what is left is heard by more people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from encoders.mechanisms import NumericMechanism
from encoders.survey import Plan, Question, Survey
from encoders.survey.plan_checks import MAX_WEIGHT
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.estimation.relevance import compute_relevance
from ldp_aggregator.snapshot import Snapshot

HOLDS = 0.9
"""A round keeps the fewest questions that hold so much of what all of them explain of the label."""
CLEAR = 1.0
"""Nothing is left out while the median feature's relevance, between 0 and 1, has a larger standard error."""
GAIN = 1.1
"""Nothing is left out unless as many people again would tell so many times as much as by the same round."""
MAX_ROUNDS = 10
"""More were never found to gain anything."""
_LABEL_OFF = 0.05
_MOST_TIMES = 1000
Places = tuple[int, ...]
"""The features of a question."""


class Told(NamedTuple):
    """What the reports so far say of a feature.

    Attributes
    ----------
    explained : float
        How much of the label it explains as the classifier sees it, see :func:`relevance.explained`.
    error : float
        Standard error of its raw relevance; infinite where nothing is known.
    noise : float
        What noise alone adds up to in it.
    """

    explained: float
    error: float
    noise: float


def compute_round_ends(people: int, rounds: int) -> list[int]:
    """Return how many people have answered by the end of each round: half in the first, the others evenly."""
    shares = [1.0] if rounds == 1 else [0.5, *(0.5 / (rounds - 1) for _ in range(rounds - 1))]
    return [round(people * share) for share in accumulate(shares)]


def next_round(survey: Survey, snapshot: Snapshot, validation: Snapshot | None = None) -> Survey:
    """Return the survey of the next round, by the reports of all rounds so far; see :func:`narrowed`."""
    found = estimate_snapshot(snapshot, validation=validation)
    told = [
        Told(
            compute_relevance(each.smoothed, found.prior),
            float(each.relevance.estimate.stderr),
            each.relevance.noise,
        )
        for each in found.features
    ]
    result = found.validation.validation_result if found.validation else None
    if result is None:
        return narrowed(survey, told)
    return narrowed(
        survey, told, validated_features(survey, result.selected_features, result.selected is not None)
    )


def validated_features(survey: Survey, kept: frozenset[int], chosen: bool) -> frozenset[int]:
    """Return what a judged model keeps, if its devices chose that or it is less than asked; else nothing."""
    asked = {place for place, weight in enumerate(survey.weights[1:]) if weight}
    return kept if chosen or asked - kept else frozenset()


def narrowed(survey: Survey, told: Sequence[Told], chosen: AbstractSet[int] = frozenset()) -> Survey:
    """Return the survey of the next round: what tells too little has weight 0, and is asked no more.

    It is the survey itself where nothing should be left out: where noise is so large that nobody can tell
    what, see CLEAR; where all questions are needed to hold a share of HOLDS; and where features are known so
    well, or are so much alike, that there is little to gain, see GAIN.

    Parameters
    ----------
    survey : Survey
        Of the round before.
    told : sequence of Told
        Of each of its features, by the reports of all rounds so far.
    chosen : set of int
        The features, by their places, that a model was found to do better with alone, if it was: then the
        next round asks about these, whatever else they tell.
    """
    plan = survey.compile()
    asked: dict[Places, int] = {}
    for question in plan.questions:
        if question.feature_indices:
            asked[question.feature_indices] = asked.get(question.feature_indices, 0) + question.weight
    relevance = {places: sum(told[place].explained for place in places) for places in asked}
    if chosen:
        kept = {places for places in asked if not chosen.isdisjoint(places)}
    else:
        kept = _most_relevant(relevance)
        if median_stderr(survey, told) > CLEAR or _gain(asked, kept, told) < GAIN:
            return survey
    kept = _with_label(kept, plan, relevance) if kept else set(asked)
    if kept == set(asked):
        return survey
    return _asking(survey, plan, {place for places in kept for place in places})


def median_stderr(survey: Survey, told: Sequence[Told]) -> float:
    """Return the median standard error of the features that a survey asks about."""
    asked = zip(told, survey.weights[1:], strict=True)
    return float(np.median([each.error for each, weight in asked if weight]))


def _most_relevant(relevance: Mapping[Places, float]) -> set[Places]:
    """Return the fewest that hold a share of HOLDS of all of it."""
    order = sorted(relevance, key=lambda each: -relevance[each])
    held = np.cumsum([relevance[each] for each in order])
    return set(order[: int(np.searchsorted(held, HOLDS * held[-1])) + 1])


def _with_label(kept: set[Places], plan: Plan, relevance: Mapping[Places, float]) -> set[Places]:
    """Keep one question more if no other tells of the label: most mechanisms for numbers do not."""
    telling = {question.feature_indices for question in plan.questions if _tells_label(question)}
    if () in telling or telling & kept:
        return kept
    return kept | {max(telling, key=lambda places: relevance[places])}


def _tells_label(question: Question) -> bool:
    mechanism = question.mechanism
    return mechanism.estimates_prior if isinstance(mechanism, NumericMechanism) else True


def _gain(asked: Mapping[Places, int], kept: set[Places], told: Sequence[Told]) -> float:
    """Return how much more of the label the features would tell if as many people again answered the rest.

    What a feature explains, r, is told but for noise, as r / (r + noise): the more people hear of it, the
    less there is.
    """
    more = 1 + sum(asked.values()) / sum(asked[places] for places in kept)
    same = narrow = 0.0
    for places in asked:
        for place in places:
            same += _known(told[place], 2.0)
            narrow += _known(told[place], more if places in kept else 1.0)
    return narrow / same if same else 1.0


def _known(told: Told, people: float) -> float:
    """Return how much a feature would tell, heard by so many times as many people."""
    return told.explained**2 / (told.explained + told.noise / people) if told.explained else 0.0


def _asking(survey: Survey, plan: Plan, asking: set[int]) -> Survey:
    """Return the survey that asks about these features alone, and for the label as often in proportion.

    Weights are multiplied by what it takes for that to be so within a twentieth.
    """
    pairs = enumerate(survey.weights[1:])
    weights = [(weight or 0) if place in asking else 0 for place, weight in pairs]
    wanted = _label_weight(plan, asking)
    if not wanted:
        # where the author leaves it to the number of users, fewer features could have it asked anew
        label = survey.weights[0] if survey.users is None else 0
        return replace(survey, weights=(label, *weights))
    most = max(1, min(_MOST_TIMES, MAX_WEIGHT // max(weights)))
    off = {times: abs(round(times * wanted) / (times * wanted) - 1) for times in range(1, most + 1)}
    times = next((each for each in off if off[each] <= _LABEL_OFF), min(off, key=lambda each: off[each]))
    label = max(round(times * wanted), 1)
    return replace(survey, weights=(label, *(times * weight for weight in weights)))


def _label_weight(plan: Plan, asking: set[int]) -> Fraction:
    """Return the label's weight, exactly, for which it is asked as often, in proportion, as before."""
    asked = [(question.weight, question.feature_indices) for question in plan.questions]
    alone = sum(weight for weight, places in asked if not places)
    before = sum(weight for weight, places in asked if places)
    after = sum(weight for weight, places in asked if places and asking.issuperset(places))
    # beside numbers, which are two questions each, all other weights count double
    scale = 2 if any(question.moment for question in plan.questions) else 1
    return Fraction(alone * after, before * scale)

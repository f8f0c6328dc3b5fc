"""A plan at a glance: what each question costs, and what its author should think about."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from encoders.epsilon_proof import realised_epsilon
from encoders.explain.nonresponse import silence_warnings
from encoders.report import ID_BYTES, Report, pack
from encoders.survey import CategoricalFeature, Plan, Question
from encoders.survey.questions import MEAN
from encoders.text_table import format_table

DEFAULT_MAX_EPSILON = Decimal(2)
"""What a client grants a survey by default; the client's own tests hold it to this."""

LARGE_DOMAIN = 100


def overview(plan: Plan) -> str:
    """Return the table of questions, the warnings and the digest."""
    count = len(plan.questions)
    asked = "1 question" if count == 1 else f"{count} questions, of which each person answers one"
    head = ["question", "asks for", "mechanism", "realised epsilon", "lost", "asked", "report"]
    rows = [_row(plan, question) for question in plan.questions]
    lines = [f"{plan.id}: epsilon {plan.epsilon.normalize():f}, {asked}", ""]
    lines += format_table([head, *rows], "<>>>>>>")
    if plan.by_invitation:
        lines += ["", "answered by invitation: ldp-collector tokens create prints the tokens to give out"]
    lines += ["", *(f"warning: {each}" for each in warnings(plan))]
    return "\n".join([*lines, f"digest {plan.digest}"])


def report_bytes(plan: Plan, question: Question) -> int:
    """Return the length of every report that answers this question."""
    payload = bytes(question.mechanism.payload_bytes)
    return len(pack(Report(plan.digest_bytes, question.index, bytes(ID_BYTES), payload)))


def warnings(plan: Plan) -> list[str]:
    """Return what is allowed, but seldom meant."""
    found = []
    if plan.epsilon > DEFAULT_MAX_EPSILON:
        found.append(
            f"epsilon is above {DEFAULT_MAX_EPSILON}, the most that clients grant by default: an application "
            "refuses, or must raise its max_epsilon"
        )
    asked = {place for question in plan.questions for place in question.feature_indices}
    left = [feature.name for place, feature in enumerate(plan.features) if place not in asked]
    if left and plan.family == plan.id:
        found.append(f"{', '.join(left)}: never asked (weight 0): the model learns nothing from that")
    elif left:
        found.append(
            f"{', '.join(left)}: not asked in this round (weight 0): it takes others to tell of that"
        )
    found += [f"{name} says the same of everybody: {why}" for name, why in _idle_components(plan)]
    for question in plan.questions:
        # what is told of several features are sums over many answers
        if len(question.feature_indices) < 2 and not question.moment and question.domain > LARGE_DOMAIN:
            found.append(
                f"{question.name} has {question.domain} possible answers: each is rare beside the noise; "
                "merge values, or take fewer bins"
            )
    return found + silence_warnings(plan)


def _idle_components(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the components whose weighted sums never get inside their range, and why."""
    features = {feature.name: feature for feature in plan.features}
    for component in plan.projection.components if plan.projection else ():
        feature = features[component.name]
        assert not isinstance(feature, CategoricalFeature)
        offset, reach = Decimal(component.offset), sum(abs(Decimal(text)) for text in component.weights)
        least, most = offset - reach, offset + reach
        low, high = feature.bounds
        if not reach:
            yield component.name, "all its weights are 0"
        elif most <= low or high <= least:
            yield component.name, f"its sums are from {least:f} to {most:f}, none of them inside its range"


def _row(plan: Plan, question: Question) -> list[str]:
    mechanism = question.mechanism
    spent = realised_epsilon(mechanism.ratio)
    return [
        question.name,
        _size(question),
        mechanism.name,
        f"{spent:.9f}",
        f"{1 - spent / plan.epsilon:.4%}",
        f"{plan.question_probability(question):.1%}",
        f"{report_bytes(plan, question)} bytes",
    ]


def _size(question: Question) -> str:
    *sizes, classes = question.shape
    if question.moment:
        return f"{'number' if question.moment == MEAN else 'square'} x {classes}"
    return " x ".join(map(str, question.shape)) + f" = {question.domain}" if sizes else str(classes)

"""Formats an overview of a plan: a table of its questions, and warnings for its author."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from encoders.canonical import decimal_text
from encoders.epsilon_proof import realised_epsilon
from encoders.explain.nonresponse import locate_nonresponse
from encoders.explain.text import Counted, format_table, wrap_text
from encoders.survey import BinnedFeature, CategoricalFeature, Label, NumericFeature, Plan, Question
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.conditions import KEY, Term
from encoders.survey.features import Choices
from encoders.survey.questions import MEAN, SQUARE
from encoders.survey.texts import ABOUT_KEYS
from encoders.survey.waves import Waves
from ldp_aggregator.statements.model import explain_mechanisms
from ldp_design.authoring import TEXTS
from ldp_design.authoring.relay_overview import find_relay_warnings, format_relay
from ldp_design.authoring.toml_edit import is_whole_number

DEFAULT_MAX_EPSILON = Decimal(2)
"""The largest epsilon that a client accepts by default; a test compares it with the client's."""

LARGE_DOMAIN = 100
_MAX_LISTED = 6

_UNUSED = "unused is the share of epsilon that the integer probabilities of the devices leave unused. "
_SERIES = (
    "one of the series {}: people who agreed to the series are not asked again, unless this plan asks, sends "
    "or spends more than they were shown; sign it with the key of the series, which is"
)
_LEGEND = "asked is the probability of the question."


@dataclass(frozen=True)
class SurveyWarning:
    path: tuple[str, ...]
    """The path of the entry in the survey file, the first one if the warning is about several."""
    message: str


def format_overview(plan: Plan) -> str:
    unused = [] if plan.asks_all else ["unused"]  # the parts of epsilon may differ
    head = ["question", "asks for", "mechanism", "realised epsilon", *unused, "asked", "report"]
    rows = [_question_row(plan, question) for question in plan.questions]
    lines = [f"{plan.id}: epsilon {decimal_text(plan.epsilon)}, {count_questions(plan)}", ""]
    lines += format_table([head, *rows], "<" + ">" * len(head[1:]))
    mechanisms = explain_mechanisms(question.mechanism.name for question in plan.questions)
    lines += ["", *wrap_text(" ".join([_UNUSED * bool(unused) + _LEGEND, *mechanisms]))]
    if plan.by_invitation:
        lines += ["", "answered by invitation: ldp-collector tokens create prints the tokens to give out"]
    if plan.series:
        lines += ["", *wrap_text(_SERIES.format(plan.series.name)), plan.series.key]
    if plan.waves:
        lines += ["", *wrap_text(_describe_waves(plan.waves))]
    if plan.relay:
        lines += ["", f"relay {plan.relay.url}"]
        lines += [line for each in format_relay(plan, plan.relay) for line in wrap_text(each)]
    lines += ["", *(f"warning: {each.message}" for each in find_warnings(plan))]
    return "\n".join([*lines, *describe_texts(plan), f"digest {plan.digest}"])


def longest_report(plan: Plan, question: Question) -> int:
    return plan.report_bytes(plan.counted_questions[question.index - len(plan.questions)])


def _describe_waves(waves: Waves) -> str:
    days = [f"{datetime.fromtimestamp(each.opens, UTC):%Y-%m-%d}" for each in waves.list]
    return (
        f"{len(days)} waves, of which each person answers one: {waves.list[0].name} opens on {days[0]}, and "
        f"{waves.list[-1].name}, the last one, on {days[-1]} (midnight UTC)"
    )


def count_questions(plan: Plan) -> str:
    """Return the numbers of features and questions, and why they differ."""
    count = len(plan.questions)
    answered = "all" if plan.asks_all else "one"
    questions = "1 question" if count == 1 else f"{count} questions, of which each person answers {answered}"
    if plan.validation:
        return questions
    features = len({index for question in plan.questions for index in question.feature_indices})
    stated = TEXTS.section(
        "questions",
        has_numbers=any(each.moment == MEAN for each in plan.questions),
        has_tables=any(len(each.feature_indices) > 1 and not each.moment for each in plan.questions),
        has_levels=any(each.width > 1 for each in plan.questions),
        has_label=any(not each.feature_indices for each in plan.questions),
    )
    reasons = list(map(str, stated))
    if reasons and plan.asks_all:
        reasons.append("each costs a part of epsilon")
    asked = f"{Counted(features, 'feature')}, asked in "
    if reasons:
        questions = questions.replace(",", f" ({', '.join(reasons)}),", 1)
    return asked + questions


def find_warnings(plan: Plan) -> list[SurveyWarning]:
    """Return warnings about nonresponse, and about settings that are allowed but seldom intended."""
    return find_setting_warnings(plan) + [SurveyWarning(*each) for each in locate_nonresponse(plan)]


def find_setting_warnings(plan: Plan) -> list[SurveyWarning]:
    """Return the warnings that are not about people who cannot answer."""
    return [SurveyWarning(*each) for each in _find_setting_warnings(plan)]


def _find_setting_warnings(plan: Plan) -> Iterator[tuple[tuple[str, ...], str]]:
    promised, table = (plan.relay.epsilon, "relay") if plan.relay else (plan.epsilon, "survey")
    if plan.relay:
        yield from find_relay_warnings(plan, plan.relay)
    if promised > DEFAULT_MAX_EPSILON:
        yield (table, "epsilon"), TEXTS.write("warnings.epsilon", most=DEFAULT_MAX_EPSILON)
    asked = {index for question in plan.questions for index in question.feature_indices}
    if left := [feature.name for index, feature in enumerate(plan.features) if index not in asked]:
        facts = {"features": ", ".join(left), "never": plan.family == plan.id}
        yield ("features", left[0], "weight"), TEXTS.write("warnings.not-asked", **facts)
    if uncoupled := _find_uncoupled(plan):
        yield ("features", uncoupled[0]), TEXTS.write("warnings.uncoupled", features=", ".join(uncoupled))
    yield from _find_constant_components(plan)
    yield from _find_never_asked(plan)
    for question in plan.questions:
        # the estimates of one feature among several sum over many answers
        indices = question.feature_indices
        if len(indices) < 2 and not question.moment and question.domain > LARGE_DOMAIN:
            path = ("features", plan.features[indices[0]].name) if indices else ("label",)
            yield path, TEXTS.write("warnings.domain", question=question.name, answers=question.domain)


def _find_never_asked(plan: Plan) -> Iterator[tuple[tuple[str, ...], str]]:
    several = {each.name for each in plan.entries if isinstance(each, Choices)}
    for name, condition in plan.texts.conditions.items() if plan.texts else ():
        if condition.key != "any" and exclude_each_other(condition.terms, several):
            yield ("features", name, KEY), TEXTS.write("warnings.never-asked", feature=name)


def _find_uncoupled(plan: Plan) -> list[str]:
    """Return the features that a survey with a label asks for in tables without it, and nowhere else."""
    coupled, others = (
        {place for each in plan.questions if each.label.exists is asked for place in each.feature_indices}
        for asked in (True, False)
    )
    return [plan.features[place].name for place in sorted(others - coupled)] if plan.label.exists else []


def _find_constant_components(plan: Plan) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield warnings of components without weights, or without a sum inside their range."""
    features = {feature.name: feature for feature in plan.features}
    for component in plan.projection.components if plan.projection else ():
        feature = features[component.name]
        assert not isinstance(feature, CategoricalFeature)
        offset = Decimal(component.offset)
        radius = sum(abs(Decimal(text)) for text in component.weights)
        least, most = offset - radius, offset + radius
        low, high = feature.bounds
        if not radius or most <= low or high <= least:
            facts = {"has_weights": bool(radius), "least": f"{least:f}", "most": f"{most:f}"}
            yield ("features", feature.name), TEXTS.write("warnings.constant", feature=feature.name, **facts)


def _question_row(plan: Plan, question: Question) -> list[str]:
    mechanism = question.mechanism
    spent = realised_epsilon(mechanism.ratio)
    return [
        question.name,
        _describe_domain(question),
        mechanism.name,
        f"{spent:.9f}",
        *([] if plan.asks_all else [f"{1 - spent / plan.epsilon:.4%}"]),
        f"{plan.question_probability(question):.1%}",
        f"{longest_report(plan, question)} bytes",
    ]


def _describe_domain(question: Question) -> str:
    factors = [str(size) for size in describe_shape(question)]
    if question.moment:
        return " x ".join(["square" if question.moment == SQUARE else "number", *factors[1:]])
    return " x ".join(factors) + (f" = {question.domain}" if len(factors) > 1 else "")


def describe_shape(question: Question) -> tuple[int, ...]:
    """Return the shape of a question's counters, without the one class of a survey that has no label."""
    return question.shape if question.label.exists else question.shape[:-1]


# -- texts ------------------------------------------------------------------------------------------


def describe_texts(plan: AnyPlan) -> list[str]:
    """Return a line for each language of a survey's texts, with the texts that it lacks."""
    if not plan.texts:
        return ["texts: their file is not beside the plan"] if plan.texts_digest else []
    lines = [f"texts of the survey, SHA-256 {plan.texts_digest}"]
    for language, table in plan.texts.languages.items():
        missing = list(find_missing_texts(plan, table))
        listed = ", ".join(missing[:_MAX_LISTED])
        more = f" and {len(missing) - _MAX_LISTED} more" if len(missing) > _MAX_LISTED else ""
        lines.append(f"  {language}: " + (f"missing {listed}{more}" if missing else "complete"))
    return lines


def find_missing_texts(plan: AnyPlan, table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the titles and texts of values that a language lacks; whole numbers need no text."""
    if "title" not in table:
        yield "title"
    assert plan.texts
    first, *others = plan.texts.languages.values()
    stated = [plan.texts.about, *(each.get("about", {}) for each in (first, *others))]
    own = {**table.get("about", {}), **(plan.texts.about if table is first else {})}
    for key in ABOUT_KEYS[1:]:
        if key not in own and any(key in each for each in stated):
            yield f"about.{key}"
    features = table.get("features", {})
    entries: Iterable[tuple[str, Label | CategoricalFeature | BinnedFeature | NumericFeature, Any]] = [
        *(("label", plan.row_label, table.get("label", {})) for _ in plan.row_label.names),
        *((f"features.{each.name}", each, features.get(each.name, {})) for each in plan.entries),
    ]
    for path, entry, texts in entries:
        if "title" not in texts:
            yield f"{path}.title"
        values = entry.values if isinstance(entry, Label | CategoricalFeature) else ()
        known = texts.get("values", {})
        for value in values:
            if value not in known and not is_whole_number(value):
                yield f"{path}.values.{value}"


def exclude_each_other(terms: Collection[Term], several: Collection[str]) -> bool:
    """Return whether terms can never hold together; `several` are the questions with several answers."""
    given = {(each.feature, each.value) for each in terms if not each.is_negated}
    single = [feature for feature, _ in given if feature not in several]
    negated = {(each.feature, each.value) for each in terms if each.is_negated}
    return len(set(single)) < len(single) or not given.isdisjoint(negated)

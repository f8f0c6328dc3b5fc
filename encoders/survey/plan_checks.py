"""Checks that every plan must pass, including a plan from an untrusted collector."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from math import prod

from encoders.canonical import BAD_NAMES, NAME_FORM, decimal_text, is_text, look_of
from encoders.epsilon_proof import MAX_EPSILON, check_epsilon, require_private
from encoders.errors import SurveyError, map_collecting_errors
from encoders.mechanisms import FrequencyOracle, NumericMechanism
from encoders.report import MAX_REPORT_BYTES, OVERHEAD_BYTES
from encoders.survey.compiled_plan import check_id
from encoders.survey.features import (
    NO_LABEL,
    SEPARATOR,
    BinnedFeature,
    CategoricalFeature,
    Choices,
    Feature,
    Label,
    NumericFeature,
    row_entries,
)
from encoders.survey.parse_value import MISSING_TEXT
from encoders.survey.projection import Projection
from encoders.survey.questions import BOTH, MEAN, SQUARE, Question
from encoders.survey.relay import CODE_BYTES, LENGTH_BYTES, MAX_ENVELOPE_BYTES, SEAL_BYTES
from encoders.survey.validation_round import Validation

MAX_SUM, MAX_EACH = Decimal(64), Decimal(4)
"""The largest epsilon of all answers of a person together, and of each, if they answer all questions."""
MAX_COLUMNS = 256
"""The most questions that a person answers at once."""
MAX_WEIGHT = 10**6
WEIGHT_SCALE = 12
"""The most parts into which the weight of a feature is divided: by two moments and up to four levels."""


def check_plan(
    survey: object,
    label: Label,
    features: Sequence[Feature],
    questions: Sequence[Question],
    projection: Projection | None,
) -> None:
    """Check all but what a plan spends; raise SurveyError, with one of `problems` for each part."""
    check_id(survey)
    check_row_schema(label, features, projection)
    _check_questions(questions, features)
    map_collecting_errors(_check_size, questions)


def check_spending(epsilon: Decimal, questions: Sequence[Question], *, asks_all: bool) -> None:
    """Prove that one report, or those of all questions, spend at most epsilon; PrivacyError if not."""
    check_epsilon(epsilon, MAX_SUM if asks_all else MAX_EPSILON)
    most = epsilon
    if asks_all:
        check_count(len(questions))
        if any(each.weight != 1 for each in questions):
            raise SurveyError("everybody answers every question, so each weight must be 1", "questions")
        most = min(epsilon, MAX_EACH)
    for question in questions:
        question.mechanism.prove(most)
    if asks_all:
        ratios = [each.mechanism.ratio for each in questions]
        require_private(prod(ratios, start=Fraction(1)), epsilon)


def check_count(questions: int) -> None:
    if not 2 <= questions <= MAX_COLUMNS:
        fix = "ask fewer, or delete it" if questions > 1 else "delete it"
        raise SurveyError(
            f'"all" is for 2 to {MAX_COLUMNS} questions, and this survey has {questions:,}: {fix}',
            "relay.ask",
        )


def check_envelope(longest: Sequence[int]) -> None:
    """Raise SurveyError unless a person's sealed reports, of these lengths, fit into one message."""
    size = sum(LENGTH_BYTES + each + SEAL_BYTES for each in longest) + SEAL_BYTES + CODE_BYTES
    if size > MAX_ENVELOPE_BYTES:
        raise SurveyError(
            f"all answers of a person make {size:,} bytes, and at most {MAX_ENVELOPE_BYTES:,} are sent: ask "
            "fewer questions, or use a mechanism with shorter reports",
            "questions",
        )


def check_validation(
    validation: Validation, label: Label, features: Sequence[Feature], questions: Sequence[Question]
) -> None:
    """Raise SurveyError unless a model is valid and the plan asks about all of its outcomes."""
    check_row_schema(validation.label, validation.features, validation.projection)
    if not validation.label.exists:
        raise SurveyError("needs a label that the model predicts", "validation.label")
    validation.check()
    if label != validation.question_label or tuple(features) != validation.question_features:
        raise SurveyError("the label and the features of a validation must be its outcomes", "validation")
    if {index for question in questions for index in question.feature_indices} != set(range(len(features))):
        raise SurveyError("a validation must ask about each of its top k", "questions")


def check_row_schema(label: Label, features: Sequence[Feature], projection: Projection | None = None) -> None:
    """Raise SurveyError unless a label, features and a projection can code rows."""
    if label != NO_LABEL and not (label.exists and len(label.values) > 1):
        raise SurveyError("needs at least two values", "label")
    inputs = projection.inputs if projection else ()
    choices = [each for each in row_entries(features) if isinstance(each, Choices)]
    names = [*label.names, *(each.name for each in (*features, *inputs, *choices))]
    if not all(map(is_text, names)):
        raise SurveyError(BAD_NAMES, "features")
    if twice := [name for name, following in pairwise(sorted(map(look_of, names))) if name == following]:
        raise SurveyError(f"names must differ; repeated: {twice[0]}", "features")
    if label.exists:
        _check_texts(label.values, label.name)
    map_collecting_errors(_check_feature, (*features, *inputs, *choices))
    if projection:
        _check_projection(projection, features)


def _check_projection(projection: Projection, features: Sequence[Feature]) -> None:
    projection.check()
    takers = {feature.name: feature for feature in features}
    for component in projection.components:
        taker = takers.get(component.name)
        if taker is None or isinstance(taker, CategoricalFeature):
            raise SurveyError("a component needs a feature of its name, with a range", component.name)
        if taker.missing == "error" and any(each.missing == "category" for each in projection.inputs):
            raise SurveyError('an input may be missing, so add missing = "category" here', component.name)


def _check_feature(feature: Feature) -> None:
    if feature.missing not in ("category", "error"):
        raise SurveyError('missing must be "category" or "error"', feature.name)
    if isinstance(feature, NumericFeature):
        _check_numbers((feature.low, feature.high), feature.name)
        return
    if isinstance(feature, BinnedFeature):
        _check_numbers(feature.edges, feature.name)
    elif isinstance(feature, Choices) and (len(feature.values) < 2 or SEPARATOR in "".join(feature.values)):
        raise SurveyError(f"needs at least two choices, without {SEPARATOR!r}", feature.name)
    elif MISSING_TEXT in feature.values:
        raise SurveyError(f"{MISSING_TEXT!r} is the name of a missing value", feature.name)
    elif feature.values or feature.missing == "error":
        _check_texts(feature.values, feature.name)


def _check_numbers(texts: Sequence[object], name: str) -> None:
    numbers = list(_doubles(texts, name))
    if len(numbers) < 2 or any(low >= high for low, high in pairwise(numbers)):
        raise SurveyError("edges must increase, as double-precision numbers too", name)
    if not math.isfinite(numbers[-1] - numbers[0]):
        raise SurveyError("edges have a range too large for double-precision numbers", name)


def _doubles(texts: Sequence[object], name: str) -> Iterator[float]:
    for text in texts:
        try:
            canonical = isinstance(text, str) and decimal_text(Decimal(text)) == text
        except (InvalidOperation, ValueError):
            canonical = False
        if not canonical or not math.isfinite(float(text)):  # type: ignore[arg-type]
            raise SurveyError("edges must be finite decimal strings", name)
        yield float(text)  # type: ignore[arg-type]


def _check_texts(values: Sequence[object], name: str) -> None:
    if not values or len({look_of(str(each)) for each in values if is_text(each)}) < len(values):
        raise SurveyError(f"values must be texts that look different, {NAME_FORM}", name)


def _check_questions(questions: Sequence[Question], features: Sequence[Feature]) -> None:
    if not questions:
        raise SurveyError("no question has a positive weight", "questions")
    for index, question in enumerate(questions):
        numbers = len(question.asked_features) if question.mechanism.multivariate else 1
        most = WEIGHT_SCALE * MAX_WEIGHT * numbers
        if type(question.weight) is not int or not 0 < question.weight <= most:
            raise SurveyError(f"weights must be whole numbers from 1 to {most}", f"questions.{index}")
        _check_kind(question, f"questions.{index}")
    # the order is: the label, then by the first feature, all numbers at once
    order = [_order(question, len(features)) for question in questions]
    if order != sorted(order):
        raise SurveyError("must be in the order of their first features", "questions")
    asked = [(each.feature_indices, each.moment, each.width) for each in questions]
    if len(set(asked)) < len(asked):
        raise SurveyError("each question is asked at most once", "questions")
    means, squares = (
        [each.feature_indices for each in questions if (each.moment or 0) & moment]
        for moment in (MEAN, SQUARE)
    )
    if means != squares or len({place for each in means for place in each}) < sum(map(len, means)):
        raise SurveyError(
            "each number is asked for by one mean and one square question, or one for both", "questions"
        )


def _order(question: Question, features: int) -> tuple[int, int]:
    if question.mechanism.multivariate:
        return features, question.moment or 0
    return (question.feature_indices or (-1,))[0], question.moment or 0


def _check_kind(question: Question, field: str) -> None:
    if question.moment not in (None, MEAN, SQUARE, BOTH) or isinstance(question.moment, bool):
        raise SurveyError("a moment must be 1, 2 or 3", field)
    numeric = [isinstance(feature, NumericFeature) for feature in question.asked_features]
    if question.moment is None and any(numeric):
        raise SurveyError("a question about a number must ask for a moment", field)
    if question.moment is not None and not (numeric and all(numeric)):
        raise SurveyError("only a question about numbers may ask for a moment", field)
    if list(question.feature_indices) != sorted(set(question.feature_indices)):
        raise SurveyError("the features of a question must be in the order of the plan", field)


def _check_size(question: Question) -> None:
    mechanism = question.mechanism
    field = (*question.asked_features, question.label)[0].name
    if isinstance(mechanism, FrequencyOracle):
        fits = question.moment is None and mechanism.domain == question.domain
    else:
        fits = isinstance(mechanism, NumericMechanism) and mechanism.domain == question.numeric_domain
        fits = fits and question.moment is not None
    if not fits:
        raise SurveyError("the mechanism does not fit this question", field)
    if mechanism.payload_bytes + OVERHEAD_BYTES > MAX_REPORT_BYTES:
        raise SurveyError(
            f"{mechanism.cells} counters of the question {question.name!r} make {mechanism.name} reports "
            f"longer than {MAX_REPORT_BYTES} bytes; use fewer values, or another mechanism",
            field,
        )

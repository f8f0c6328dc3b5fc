"""What every plan must satisfy, whoever wrote it: the author's tools, or a collector one should not trust."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from encoders.errors import SurveyError
from encoders.report import MAX_REPORT_BYTES, OVERHEAD_BYTES
from encoders.survey.canonical import decimal_text
from encoders.survey.features import MISSING_TEXT, BinnedFeature, CategoricalFeature, Feature, Label
from encoders.survey.questions import Question
from encoders.tables import MAX_EPSILON, MIN_EPSILON

MAX_WEIGHT = 10**6
MAX_TEXT = 200
_TEXT = f"printable and of 1 to {MAX_TEXT} characters"
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def is_survey_id(value: object) -> bool:
    """Tell whether a value can be a survey's id: it goes into URLs, file names and counters."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def check_plan(
    survey: object, epsilon: Decimal, label: Label, features: Sequence[Feature], questions: Sequence[Question]
) -> None:
    """Check every part of a plan.

    Raises
    ------
    SurveyError
        At the first part that is not as it must be.
    PrivacyError
        If a question's tables spend more than epsilon.
    """
    if not is_survey_id(survey):
        raise SurveyError("needs 1 to 64 of a-z, 0-9 and '-'", "id")
    if not (epsilon.is_finite() and MIN_EPSILON <= epsilon <= MAX_EPSILON):
        raise SurveyError(f"epsilon must be between {MIN_EPSILON} and {MAX_EPSILON}", "epsilon")
    if len(label.values) < 2:
        raise SurveyError("needs at least two values", "label")
    names = [label.name, *(feature.name for feature in features)]
    if not all(is_text(name) for name in names) or len(set(names)) < len(names):
        raise SurveyError(f"label and features need names, each another one, {_TEXT}", "features")
    _check_texts(label.values, label.name)
    for feature in features:
        _check_feature(feature)
    _check_questions(questions, len(features))
    for question in questions:
        _check_size(question)
        question.mechanism.prove(epsilon)


def _check_feature(feature: Feature) -> None:
    if feature.missing not in ("category", "error"):
        raise SurveyError('missing is "category" or "error"', feature.name)
    if isinstance(feature, BinnedFeature):
        edges = list(_edges(feature))
        if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
            raise SurveyError("edges must increase, as double-precision numbers too", feature.name)
    if MISSING_TEXT in feature.texts[:-1]:
        raise SurveyError(f"{MISSING_TEXT!r} is the name of a missing value", feature.name)
    if isinstance(feature, CategoricalFeature) and (feature.values or feature.missing == "error"):
        _check_texts(feature.values, feature.name)


def _edges(feature: BinnedFeature) -> Iterator[float]:
    for text in feature.edges:
        try:
            canonical = isinstance(text, str) and decimal_text(Decimal(text)) == text
        except (InvalidOperation, ValueError):
            canonical = False
        if not canonical or not math.isfinite(float(text)):
            raise SurveyError("edges are finite decimal strings", feature.name)
        yield float(text)


def _check_texts(values: Sequence[object], name: str) -> None:
    if not values or not all(is_text(text) for text in values) or len(set(values)) < len(values):
        raise SurveyError(f"values are texts, each another one, {_TEXT}", name)


def is_text(value: object) -> bool:
    """Tell whether a value can be a name or a category: people read them, on screens and in logs."""
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT and value.isprintable()


def _check_questions(questions: Sequence[Question], features: int) -> None:
    if not questions:
        raise SurveyError("no question has a positive weight", "questions")
    for index, question in enumerate(questions):
        if type(question.weight) is not int or not 0 < question.weight <= MAX_WEIGHT:
            raise SurveyError(f"weights are whole numbers up to {MAX_WEIGHT}", f"questions.{index}")
    # the label's question first, then the features', in their order and each once
    asked = [-1 if question.feature_index is None else question.feature_index for question in questions]
    if asked != sorted(set(asked)) or not -1 <= asked[0] <= asked[-1] < features:
        raise SurveyError("each feature is asked at most once, in the order of the features", "questions")


def _check_size(question: Question) -> None:
    mechanism = question.mechanism
    if mechanism.domain != question.domain:
        raise SurveyError("the mechanism's domain is not the question's", question.name)
    if mechanism.payload_bytes + OVERHEAD_BYTES > MAX_REPORT_BYTES:
        raise SurveyError(
            f"{question.domain} values make {mechanism.name} reports longer than {MAX_REPORT_BYTES} bytes; "
            "use fewer values or DE",
            question.name,
        )

"""Builds the validation of a model on devices, and writes the survey file of the round that asks for it.

Devices test the model with all of its features, and with only the top-k features. Their answers decide which
features the model keeps, see :mod:`ldp_aggregator.estimation.validation_result`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from encoders.errors import LdpError
from encoders.mechanisms import FrequencyOracle
from encoders.survey import Feature, NumericFeature, Plan, Survey, read_survey
from encoders.survey.compiled_plan import TOKEN
from encoders.survey.features import GRID
from encoders.survey.validation_round import BINS, LOWEST, NATS, Scores, Validation
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, Gaussian, NaiveBayesParameters
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.estimation.relevance import compute_relevance
from ldp_aggregator.prediction.scoring import GaussianLikelihood
from ldp_aggregator.results import Results
from ldp_aggregator.snapshot import SnapshotError, choose_covering_plan
from ldp_design.authoring.toml_edit import (
    WORDS,
    add_suffix,
    format_array,
    format_comment,
    format_key,
    quote,
    read_editable_survey,
    rename_survey,
    replace_epsilon,
)

VALIDATION_SHARE = 0.2
_MIN_RELEVANCE = 1e-9
_HUNDREDTH = Decimal("0.01")

_ASSUMED_ANSWERS = 10_000
_ASSUMED_OUTCOMES = np.array([0.1, 0.1, 0.1, 0.7])
"""Shares of wrong and right predictions with few and with all features; the two differ for 20% of people."""


class ValidationError(LdpError):
    """A model that cannot be validated, because there is nothing to compare or the survey does not fit."""


def build_validation(plan: Plan, prior: FloatArray, conditionals: Sequence[ClassConditional]) -> Validation:
    """Return the Validation that devices need: the model's scores as integers, and the top-k sizes to test.

    `prior`, (k,), and `conditionals`, (A_i, k) arrays and Gaussians, are those of the classifier. Raises
    ValidationError if fewer than two of its features are informative about the label.
    """
    relevances = np.array([compute_relevance(each, prior) for each in conditionals])
    by_relevance = np.argsort(-relevances, kind="stable")
    order = [int(index) for index in by_relevance if relevances[index] > _MIN_RELEVANCE]
    if len(order) < 2:
        raise ValidationError(
            f"the model uses {len(order)} of its features, and fewer than two leave nothing to compare: with "
            "these reports the others are uninformative about the label, or a validation left them out. "
            "Collect more reports first"
        )
    pairs = zip(plan.features, conditionals, strict=True)
    return Validation(
        label=plan.label,
        features=plan.features,
        order=tuple(order),
        top_k=top_k_sizes(len(order)),
        prior=_round_logs(_log(prior)[None, :])[0],
        scores=tuple(_round_logs(_compute_log_scores(*pair)) for pair in pairs),
        projection=plan.projection,
    )


def top_k_sizes(count: int) -> tuple[int, ...]:
    """Return the top-k sizes to test besides all features: 1, 2, 3, 5, 8 ... (Fibonacci), up to half."""
    sizes = [1, 2]
    while sizes[-1] + sizes[-2] <= count / 2:
        sizes.append(sizes[-1] + sizes[-2])
    return tuple(size for size in sizes if size == 1 or size <= count / 2)


def write_validation_round(text: str, model: Results, source: str) -> str:
    """Return the text of a round in which devices validate a model.

    `text` is the authored survey of any round that the model was trained on; the result has another id, its
    family, and the model's scores. `source` is the name of the model in comments.
    Raises ValidationError if there is nothing to compare, or the model belongs to another survey, and
    SurveyError or LdpError if the text has no label, or the scores are too many for a plan.
    """
    text, survey = read_editable_survey(text)
    if not survey.label.exists:
        raise LdpError("the survey has no label to predict: to ask more people, keep this survey open")
    model_plan = _find_plan(model, survey)
    if model_plan is None:
        why = "was not trained on this survey: give the survey that the model's reports answer, unchanged"
        raise ValidationError(f"{quote(source)} {why}")
    assert isinstance(model.classifier, NaiveBayesParameters)
    found = model.classifier
    tables = _format_tables(build_validation(model_plan, found.prior, found.conditionals))
    family = "" if survey.family else survey.id
    renamed = rename_survey(text, add_suffix(survey.id, "-validation"), family).rstrip("\n")
    changed = f"{renamed}\n\n{tables}"
    if survey.asks_all:
        changed = _share_epsilon(changed, survey.epsilon / len(model_plan.questions))
    plan = read_survey(changed).compile()
    return f"{_format_comments(survey, model, plan, source)}\n{changed}"


def _share_epsilon(text: str, each: Decimal) -> str:
    """Return a round of which each person answers all questions, with this epsilon for each, or less."""
    count = len(read_survey(text).features)
    changed = replace_epsilon(text, (count * each).quantize(_HUNDREDTH, ROUND_FLOOR), asks_all=count > 1)
    return replace_epsilon(changed, read_survey(changed).fit_promise().epsilon, asks_all=count > 1)


def _find_plan(model: Results, survey: Survey) -> Plan | None:
    """Return the plan of a model that was trained on a survey, alone or with other rounds; else None."""
    if not isinstance(model.plan, Plan):
        return None
    try:
        covering = choose_covering_plan(model.plan, survey.compile())
    except SnapshotError:
        return None
    return model.plan if covering == model.plan else None


def _format_tables(validation: Validation) -> str:
    names = [feature.name for feature in validation.features]
    lines = [
        format_comment("A label's score is the sum of these; they are thousandths of logarithms.").rstrip(),
        "[validation]",
        format_array("order", [quote(names[index]) for index in validation.order]),
        format_array("tops", map(str, validation.top_k)),
        format_comment(f"for each of {', '.join(validation.label.values)}").rstrip(),
        format_array("prior", map(str, validation.prior)),
        "",
        "[validation.scores]",
        *(
            format_array(format_key(name), (str(list(row)) for row in table))
            for name, table in zip(names, validation.scores, strict=True)
        ),
    ]
    return "\n".join([*lines, ""])


def _format_comments(survey: Survey, model: Results, plan: Plan, source: str) -> str:
    validation = plan.validation
    assert validation is not None
    accuracy_stderr, gain_stderr = _expected_stderrs(plan)
    words: dict[str, Any] = {
        "old": quote(survey.id),
        "family": quote(plan.family),
        "source": quote(source),
        "reports": f"{model.estimates.reports:,}",
        "label": quote(survey.label.name),
        "all": len(validation.order),
        "top_k": " or ".join(map(str, validation.top_k)),
        "right": Z95 * accuracy_stderr,
        "gain": Z95 * gain_stderr,
    }
    notes = ["tokens"] * (survey.enrolment == TOKEN) + ["relay"] * bool(survey.relay)
    paragraphs = ["origin", *notes, "question", "precision", "training"]
    return format_comment(*(WORDS["validation"][each].format(**words) for each in paragraphs))


def _expected_stderrs(plan: Plan) -> tuple[float, float]:
    """Return the standard errors of the accuracy and of the least precise gain, for the assumed answers."""
    precision = 0.0
    gain_variances = []
    for question in plan.questions:
        oracle = question.mechanism
        assert isinstance(oracle, FrequencyOracle)
        n = round(_ASSUMED_ANSWERS * plan.question_probability(question))
        precision += n / oracle.uniform_variance(2)
        variance = FrequencyCovariance.from_mechanism(oracle, _ASSUMED_OUTCOMES, n).independent_variance
        gain_variances.append(variance[1] + variance[2])
    return 1 / math.sqrt(precision), math.sqrt(max(gain_variances))


# -- scores as integers, which devices add up -----------------------------------------------------


def _compute_log_scores(feature: Feature, conditional: ClassConditional) -> FloatArray:
    """Return log P(value | label), (values, k); for a number, its log-density in the middle of each bin."""
    if not isinstance(conditional, Gaussian):
        return _log(conditional)
    assert isinstance(feature, NumericFeature)
    ends = (2 * GRID + 1) * np.arange(BINS + 1) // BINS
    codes = [(low + high) // 2 for low, high in pairwise(ends.tolist())]
    if conditional.missing is not None:
        codes.append(2 * GRID + 1)
    logs = np.zeros((len(conditional.mean), len(codes)))
    GaussianLikelihood.from_gaussian(conditional).add_to(logs, np.array(codes))
    return logs.T


def _log(shares: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(shares)
    return logs


def _round_logs(logs: FloatArray) -> Scores:
    """Return integer scores in thousandths of nats; the largest of each row is 0."""
    scores = np.rint(NATS * (logs - logs.max(axis=1, keepdims=True)))
    return tuple(map(tuple, np.maximum(scores, LOWEST).astype(np.int64).tolist()))

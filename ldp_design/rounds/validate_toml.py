"""Writes the survey file of a further round in which devices validate a model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from encoders.mechanisms import FrequencyOracle
from encoders.survey import Plan, Survey, read_survey
from encoders.survey.toml_lines import parse_toml
from encoders.survey.validation_round import Validation
from ldp_aggregator.classifiers.model_file import Model
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.intervals import Z95
from ldp_design.authoring.toml_edit import (
    add_suffix,
    check_edit,
    format_array,
    format_comment,
    format_key,
    quote,
    read_editable_survey,
    rename_survey,
    rename_tables,
)
from ldp_design.rounds.further_round import further_round_entry, is_trained_on, list_notes, require_label
from ldp_design.rounds.validate import ValidationError, build_validation

_ORIGIN = (
    "The survey {old} once more, to validate the model {source}, trained on {reports} randomised reports. "
    "It is a further round of the family {family}: a device that answered another round does not answer this "
    "one. Serve it at the address of the other rounds, unless apps pin the author's key."
)
_QUESTION = (
    "A device is not asked about the features below, and their weights do not count here. It predicts "
    "{label} by the scores at the end of this file, and is asked whether the prediction is right: with all "
    "{all} features of the model, and with the top {top_k} alone. That answer is randomised like any other."
)
_PRECISION = (
    "10,000 answers estimate the model's accuracy within about +-{right:.1%}, and how much more accurate "
    "the top features alone are within about +-{gain:.1%} (95% intervals); four times as many halve the "
    "margins."
)
_TRAINING = (
    "Then train on it and on all other rounds: the model keeps the features with which it is most accurate."
)
_ASSUMED_ANSWERS = 10_000
_ASSUMED_OUTCOMES = np.array([0.1, 0.1, 0.1, 0.7])
"""Shares of wrong and right predictions with few and with all features; the two differ for 20% of people."""


def write_validation_round(text: str, model: Model, source: str) -> str:
    """Return the text of a round in which devices validate a model.

    Parameters
    ----------
    text : str
        The authored survey of any round that the model was trained on.
    model : Model
    source : str
        Name of the model in comments.

    Returns
    -------
    str
        TOML that :func:`encoders.survey.read_survey` accepts: the same text with another id, its family, and
        the model's scores.

    Raises
    ------
    ValidationError
        If there is nothing to compare, or the model belongs to another survey.
    LayoutError
        If the tables of the text cannot be found.
    SurveyError, LdpError
        If the text is not a survey or has no label, or the scores are too many for a plan.
    """
    text, survey = read_editable_survey(text)
    require_label(survey)
    if not is_trained_on(model, survey):
        why = "was not trained on this survey: give the survey that the model's reports answer, unchanged"
        raise ValidationError(f"{quote(source)} {why}")
    tables = _format_tables(build_validation(model.people_plan, model.prior, model.conditionals))
    entry = further_round_entry(survey, add_suffix(survey.id, "-validation"))
    renamed = rename_survey(text, survey.id, entry).rstrip("\n")
    changed = f"{renamed}\n\n{tables}"
    document = parse_toml(text)
    check_edit(changed, {**document, **rename_tables(document, entry), **parse_toml(tables)})
    plan = read_survey(changed).compile()
    return f"{_format_comments(survey, model, plan, source)}\n{changed}"


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


def _format_comments(survey: Survey, model: Model, plan: Plan, source: str) -> str:
    validation = plan.validation
    assert validation is not None
    accuracy_stderr, gain_stderr = _expected_stderrs(plan)
    words: dict[str, Any] = {
        "old": quote(survey.id),
        "family": quote(plan.family),
        "source": quote(source),
        "reports": f"{model.reports:,}",
        "label": quote(survey.label.name),
        "all": len(validation.order),
        "top_k": " or ".join(map(str, validation.top_k)),
        "right": Z95 * accuracy_stderr,
        "gain": Z95 * gain_stderr,
    }
    paragraphs = [_ORIGIN, *list_notes(survey), _QUESTION, _PRECISION, _TRAINING]
    return format_comment(*(each.format(**words) for each in paragraphs))


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

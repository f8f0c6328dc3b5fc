"""The result of `ldp-survey check --json`: the problems of a survey file, and the facts of its plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import SurveyError
from encoders.survey import Plan, Question, Survey
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.plan_checks import LOCAL
from encoders.survey.questions import MEAN
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.toml_lines import find_line
from ldp_design.authoring.central_overview import describe_central_survey, find_central_warnings
from ldp_design.authoring.overview import SurveyWarning, describe_shape, find_warnings, report_bytes
from ldp_design.authoring.relay_overview import describe_relay
from ldp_design.authoring.silo_overview import describe_silo_plan, find_silo_warnings
from ldp_design.authoring.survey_texts import find_missing_texts


def describe_any_plan(plan: Plan | SiloPlan | Survey, file: str, text: str) -> dict[str, Any]:
    """Return the result for a survey of any kind that can be used; see :func:`describe_plan`."""
    if isinstance(plan, Plan):
        return describe_plan(plan, file, text)
    if isinstance(plan, Survey):
        warnings, survey = list(find_central_warnings(plan)), describe_central_survey(plan)
        texts = _describe_texts(replace(plan, kind=LOCAL).compile())
    else:
        warnings, survey = find_silo_warnings(plan), describe_silo_plan(plan)
        texts = _describe_texts(plan)
    return {"valid": True, "problems": _warnings(warnings, file, text), "survey": survey | {"texts": texts}}


def describe_plan(plan: Plan, file: str, text: str) -> dict[str, Any]:
    """Return the result for a local survey that can be used.

    Parameters
    ----------
    plan : Plan
    file : str
        Name of the file.
    text : str
        Content of the file, in which the lines of warnings are found if it is TOML.
    """
    problems = _warnings(find_warnings(plan), file, text)
    survey = {
        "id": plan.id,
        "family": plan.family,
        "digest": plan.digest,
        "epsilon": float(plan.epsilon),
        "by_invitation": plan.by_invitation,
        **({"label": plan.row_label.name} if plan.row_label.exists else {}),
        **({"relay": describe_relay(plan.relay, plan.ratio)} if plan.relay else {}),
        "features": [each.name for each in plan.features],
        "questions": [_describe_question(plan, each) for each in plan.questions],
        "texts": _describe_texts(plan),
    }
    return {"valid": True, "problems": problems, "survey": survey}


def describe_mistakes(error: SurveyError) -> dict[str, Any]:
    """Return the result for a survey that cannot be used: its mistakes, in the order of the file."""
    problems = [
        _problem("error", error.file, each.line, each.field, each.why or str(each)) for each in error.problems
    ]
    return {"valid": False, "problems": problems, "survey": None}


def describe_unreadable(file: str, message: str) -> dict[str, Any]:
    """Return the result for a file that cannot be opened."""
    return {"valid": False, "problems": [_problem("error", file, None, "", message)], "survey": None}


def _warnings(warnings: Iterable[SurveyWarning], file: str, text: str) -> list[dict[str, Any]]:
    return [
        _problem("warning", file, find_line(text, each.path), ".".join(each.path), each.message)
        for each in warnings
    ]


def _problem(severity: str, file: str, line: int | None, field: str, message: str) -> dict[str, Any]:
    return {"severity": severity, "file": file, "line": line, "field": field or None, "message": message}


def _describe_question(plan: Plan, question: Question) -> dict[str, Any]:
    moment = ("mean" if question.moment == MEAN else "square") if question.moment else None
    return {
        "name": question.name,
        "features": [each.name for each in question.asked_features],
        "moment": moment,
        "shape": list(describe_shape(question)),
        "mechanism": question.mechanism.name,
        "realised_epsilon": float(realised_epsilon(question.mechanism.ratio)),
        "probability": plan.question_probability(question),
        "report_bytes": report_bytes(plan, question),
    }


def _describe_texts(plan: AnyPlan) -> dict[str, Any] | None:
    """Return the missing texts of each language; None without texts, empty if their file was not found."""
    if not plan.texts_digest:
        return None
    missing = None
    if plan.texts:
        languages = plan.texts.languages.items()
        missing = {name: list(find_missing_texts(plan, table)) for name, table in languages}
    return {"sha256": plan.texts_digest, "missing": missing}

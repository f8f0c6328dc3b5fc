"""What `ldp-survey check` says about a survey's text, for the page: tables, mistakes, warnings and facts."""

from __future__ import annotations

from typing import Any

from encoders.errors import SurveyError
from encoders.survey import Plan, Survey, read_survey
from encoders.survey.plan_files import named_lines
from encoders.survey.toml_lines import find_line
from ldp_aggregator.form_page.words import ENGLISH, find_untranslated
from ldp_design.authoring.overview import find_warnings
from ldp_design.authoring.relay_overview import describe_relay
from ldp_design.authoring.survey_texts import find_missing_texts
from ldp_design.studio.edits import parse_tables


def compile_survey(text: str) -> tuple[Survey, Plan]:
    """Return a survey and its plan; raises SurveyError with the field and line of every mistake."""
    survey = read_survey(text)
    with named_lines(text, survey.features):
        return survey, survey.compile()


def describe_text(text: str) -> dict[str, Any]:
    """Return the tables of a survey, its problems, and facts about its plan, None if there are mistakes."""
    try:
        tables: dict[str, Any] | None = parse_tables(text)
    except ValueError:
        tables = None
    try:
        _, plan = compile_survey(text)
    except SurveyError as error:
        problems = [
            _problem("error", each.field, each.line, each.why or str(each)) for each in error.problems
        ]
        return {"tables": tables, "problems": problems, "facts": None}
    problems = [
        _problem("warning", ".".join(each.path), find_line(text, each.path), each.message)
        for each in find_warnings(plan)
    ]
    return {"tables": tables, "problems": problems, "facts": _describe_plan(plan)}


def _describe_plan(plan: Plan) -> dict[str, Any]:
    languages = plan.texts.languages if plan.texts else {}
    untranslated = find_untranslated(languages, {})
    return {
        "id": plan.id,
        "digest": plan.digest,
        "epsilon": float(plan.epsilon),
        "questions": len(plan.questions),
        "asked": [each.name for each in plan.questions],
        "missing": {name: list(find_missing_texts(plan, table)) for name, table in languages.items()},
        "untranslated": [name for name, words in untranslated.items() if len(words) == len(ENGLISH)],
        "relay": describe_relay(plan, plan.relay) if plan.relay else None,
    }


def _problem(severity: str, field: str, line: int | None, message: str) -> dict[str, Any]:
    return {"severity": severity, "field": field, "line": line, "message": message}

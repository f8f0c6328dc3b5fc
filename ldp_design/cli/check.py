"""ldp-survey check: prints the mistakes in a survey, or an overview of it, as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import SurveyError
from encoders.explain.text import Counted
from encoders.survey import Plan, Question, Survey
from encoders.survey.any_survey import load_checked_file
from encoders.survey.compiled_plan import LOCAL, AnyPlan
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.toml_reader import find_line
from ldp_aggregator.cli.help import Command, argument, option
from ldp_design.authoring import overview
from ldp_design.authoring.organisation_overview import (
    describe_central_survey,
    describe_silo_plan,
    find_central_warnings,
    find_silo_warnings,
    format_central_overview,
    format_silo_overview,
)
from ldp_design.authoring.relay_overview import describe_relay


class _CheckedFile(click.Path):
    """A file to check; with --json, the error that it cannot be opened is JSON too."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if ctx is None or not ctx.params.get("as_json"):
                raise
            problem = _problem("error", Path(value).name, None, "", error.message)
            click.echo(json.dumps({"valid": False, "problems": [problem], "survey": None}))
            raise click.exceptions.Exit(error.exit_code) from error


@click.command(cls=Command)
@argument("survey", type=_CheckedFile(), help="A survey, as a TOML file or a compiled plan.")
@option(
    "--json",
    "as_json",
    is_flag=True,
    is_eager=True,  # known when SURVEY is read
    help="Print the overview or the mistakes as JSON.",
)
def check(survey: Path, as_json: bool) -> None:
    """Print the mistakes in SURVEY, or an overview of it.

    Each mistake is printed with its line and field. The overview shows what the survey asks for, and how much
    noise protects the answers. The exit code is 1 if there is a mistake, and 2 if the file cannot be opened.

    $ ldp-survey check survey.toml
    $ ldp-survey check survey.toml --json
    """
    try:
        plan = load_checked_file(survey)
    except SurveyError as error:
        count = len(error.problems)
        if as_json:
            click.echo(json.dumps(describe_mistakes(error)))
        else:
            click.echo(f"{error}\n{Counted(count, 'mistake')}", err=True)
        raise click.exceptions.Exit(1) from error
    if as_json:
        click.echo(json.dumps(describe_survey(plan, survey.name, survey.read_text("utf-8-sig"))))
    elif isinstance(plan, Survey):
        click.echo(format_central_overview(plan))
    elif isinstance(plan, SiloPlan):
        click.echo(format_silo_overview(plan))
    else:
        click.echo(overview.format_overview(plan))


# -- the result as JSON -----------------------------------------------------------------------------


def describe_survey(plan: Plan | SiloPlan | Survey, file: str, text: str) -> dict[str, Any]:
    """Return the result for a survey that can be used; lines of warnings are found in `text`, if TOML."""
    warnings: Iterable[overview.SurveyWarning]
    if isinstance(plan, Survey):
        warnings, facts = find_central_warnings(plan), describe_central_survey(plan)
    elif isinstance(plan, SiloPlan):
        warnings, facts = find_silo_warnings(plan), _describe_plan(plan) | describe_silo_plan(plan)
    else:
        relay = {"relay": describe_relay(plan, plan.relay)} if plan.relay else {}
        questions = [_describe_question(plan, each) for each in plan.questions]
        warnings, facts = (
            overview.find_warnings(plan),
            _describe_plan(plan) | relay | {"questions": questions},
        )
    texts = _describe_texts(replace(plan, kind=LOCAL).compile() if isinstance(plan, Survey) else plan)
    problems = [
        _problem("warning", file, find_line(text, each.path), ".".join(each.path), each.message)
        for each in warnings
    ]
    return {"valid": True, "problems": problems, "survey": facts | {"texts": texts}}


def _describe_plan(plan: AnyPlan) -> dict[str, Any]:
    return {
        "id": plan.id,
        "family": plan.family,
        "digest": plan.digest,
        "epsilon": float(plan.epsilon),
        "by_invitation": plan.by_invitation,
        **({"label": plan.row_label.name} if plan.row_label.exists else {}),
        "features": [each.name for each in plan.features],
    }


def describe_mistakes(error: SurveyError) -> dict[str, Any]:
    """Return the result for a survey that cannot be used: its mistakes, in the order of the file."""
    problems = [
        _problem("error", error.file, each.line, each.field, each.why or str(each)) for each in error.problems
    ]
    return {"valid": False, "problems": problems, "survey": None}


def _problem(severity: str, file: str, line: int | None, field: str, message: str) -> dict[str, Any]:
    return {"severity": severity, "file": file, "line": line, "field": field or None, "message": message}


def _describe_question(plan: Plan, question: Question) -> dict[str, Any]:
    return {
        "name": question.name,
        "features": [each.name for each in question.asked_features],
        "moment": question.kind if question.moment else None,
        "shape": list(overview.describe_shape(question)),
        "mechanism": question.mechanism.name,
        "realised_epsilon": float(realised_epsilon(question.mechanism.ratio)),
        "probability": plan.question_probability(question),
        "report_bytes": overview.longest_report(plan, question),
    }


def _describe_texts(plan: AnyPlan) -> dict[str, Any] | None:
    """Return the missing texts of each language; None without texts, empty if their file was not found."""
    if not plan.texts_digest:
        return None
    missing = None
    if plan.texts:
        languages = plan.texts.languages.items()
        missing = {name: list(overview.find_missing_texts(plan, table)) for name, table in languages}
    return {"sha256": plan.texts_digest, "missing": missing}

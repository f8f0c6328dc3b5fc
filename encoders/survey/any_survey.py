"""Reads surveys of all kinds, and plans of people or of silos: for collectors, trainers and authors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from encoders.errors import SurveyError
from encoders.survey.compiled_plan import CENTRAL, LOCAL, REFUSALS, SILO
from encoders.survey.plan import Plan
from encoders.survey.plan_files import PlanReader, load_file, named_errors, named_lines, read_text
from encoders.survey.schema_tables import survey_kind
from encoders.survey.silo_plan import SiloPlan, SiloSurvey, read_silo_tables
from encoders.survey.survey import Survey
from encoders.survey.survey_tables import read_tables
from encoders.survey.toml_reader import check_tables, find_line, parse_survey_file

ReadT = TypeVar("ReadT")
OF_PEOPLE = 'this survey is answered by people: a silo survey has kind = "silo"'


def read_any_survey(text: str) -> Survey | SiloSurvey:
    """Read an authored survey of any kind; see :func:`~encoders.survey.toml_reader.read_survey`."""
    document = parse_survey_file(text)
    if survey_kind(document) == SILO:
        return check_tables(read_silo_tables(document), text)
    return check_tables(read_tables(document), text)


def read_survey_file(path: Path, read: Callable[[str], ReadT]) -> ReadT:
    """Read an authored survey: pass its text to `read`, and return the result.

    Raises SurveyError, with the file's name in each line, if the file cannot be read, is of another kind, or
    `read` raises it.
    """
    with named_errors(path, "a survey file: give the TOML survey", "survey"):
        return read(read_text(path))


def load_checked_file(path: Path) -> Plan | SiloPlan | Survey:
    return load_file(path, _check_text, ANY_PLANS.from_json)


def _check_text(text: str) -> Plan | SiloPlan | Survey:
    survey = read_any_survey(text)
    if survey.kind != CENTRAL:
        return _compile(text)
    assert isinstance(survey, Survey)
    with named_lines(text, survey.features):
        replace(survey, kind=LOCAL).compile()  # finds mistakes
    return survey


def _compile(text: str) -> Plan | SiloPlan:
    survey = read_any_survey(text)
    with named_lines(text, survey.features):
        return survey.compile()


def _compile_silos(text: str) -> SiloPlan:
    kind = survey_kind(parse_survey_file(text))
    if kind in (LOCAL, CENTRAL):
        raise SurveyError(REFUSALS.get(kind, OF_PEOPLE), "survey.kind", find_line(text, ("survey", "kind")))
    plan = _compile(text)
    assert isinstance(plan, SiloPlan)  # an unknown kind is a mistake of the file
    return plan


def _read_any_plan(data: bytes) -> Plan | SiloPlan:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    is_silo = isinstance(document, dict) and document.get("kind") == SILO
    return SiloPlan.from_json(data) if is_silo else Plan.from_json(data)


SILO_PLANS = PlanReader((SiloPlan,), SiloPlan.from_json, _compile_silos)
ANY_PLANS: PlanReader[Plan | SiloPlan] = PlanReader((Plan, SiloPlan), _read_any_plan, _compile)

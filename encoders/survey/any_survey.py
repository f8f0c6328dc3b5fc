"""Reads surveys of all kinds, and plans of people or of silos: for collectors, trainers and authors."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

from encoders.errors import SurveyError
from encoders.survey.plan import Plan
from encoders.survey.plan_checks import CENTRAL, LOCAL, REFUSALS, SILO
from encoders.survey.plan_files import load_file, named_lines
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.silo_survey import SiloSurvey, read_silo_tables
from encoders.survey.survey import Survey
from encoders.survey.survey_tables import read_tables
from encoders.survey.table_entries import survey_kind
from encoders.survey.toml_lines import find_line
from encoders.survey.toml_reader import check_tables, parse_survey_file

OF_PEOPLE = 'this survey is answered by people: a silo survey has kind = "silo"'
"""Why a local survey is refused where a silo survey is needed."""


def read_any_survey(text: str) -> Survey | SiloSurvey:
    """Read an authored survey of any kind; see :func:`~encoders.survey.toml_reader.read_survey`."""
    document = parse_survey_file(text)
    if survey_kind(document) == SILO:
        return check_tables(read_silo_tables(document), text)
    return check_tables(read_tables(document), text)


def read_any_plan(data: bytes) -> Plan | SiloPlan:
    """Read a plan of either kind and check everything in it.

    Raises
    ------
    SurveyError, PrivacyError
        As for `Plan.from_json` and `SiloPlan.from_json`.
    """
    return SiloPlan.from_json(data) if _is_silo_plan(data) else Plan.from_json(data)


def load_any_plan_file(path: Path, *, of_silos: bool = False) -> Plan | SiloPlan:
    """Load a plan of either kind; see :func:`~encoders.survey.plan_files.load_plan_file`.

    If it must be `of_silos`, an authored survey of another kind is refused whatever its other entries are.
    """
    return load_file(path, partial(_compile_text, of_silos=of_silos), read_any_plan)


def load_checked_file(path: Path) -> Plan | SiloPlan | Survey:
    """Load a plan as :func:`load_any_plan_file`, or a central survey, which has no plan."""
    return load_file(path, _check_text, read_any_plan)


def _check_text(text: str) -> Plan | SiloPlan | Survey:
    survey = read_any_survey(text)
    if not (isinstance(survey, Survey) and survey.kind == CENTRAL):
        return _compile_text(text)
    with named_lines(text, survey.features):
        replace(survey, kind=LOCAL).compile()  # finds mistakes
    return survey


def _compile_text(text: str, of_silos: bool = False) -> Plan | SiloPlan:
    kind = survey_kind(parse_survey_file(text)) if of_silos else SILO
    if kind in (LOCAL, CENTRAL):
        raise SurveyError(REFUSALS.get(kind, OF_PEOPLE), "survey.kind", find_line(text, ("survey", "kind")))
    survey = read_any_survey(text)
    with named_lines(text, survey.features):
        return survey.compile()


def _is_silo_plan(data: bytes) -> bool:
    """Return whether a document calls itself a silo's; the reader of that kind then checks all of it."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("kind") == SILO

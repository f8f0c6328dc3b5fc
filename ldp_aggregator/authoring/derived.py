"""A survey made from another: what its comments say, its id, and the family that makes it a further round."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from encoders.survey import Survey
from encoders.survey.toml_lines import find_line
from ldp_aggregator.authoring.toml_edit import LayoutError
from ldp_aggregator.models.model_file import Model
from ldp_aggregator.snapshot import SnapshotError, choose_covering_plan

TOKENS = "Invite others than were invited before: a token of this round counts, whoever has it."
_WIDTH = 105
_MOST_ID = 64


def is_trained_on(model: Model, survey: Survey) -> bool:
    """Tell whether a model was trained on a survey, or on it and other rounds."""
    try:
        return choose_covering_plan(model.plan, survey.compile()) == model.plan
    except SnapshotError:
        return False


def add_suffix(name: str, suffix: str) -> str:
    """Return an id that ends in a suffix, cut to what an id may be long."""
    return name[: _MOST_ID - len(suffix)] + suffix


def further_round_entry(survey: Survey, name: str) -> dict[str, str]:
    """Return what becomes of a survey's id, and of its family, if it is made a further round."""
    return {"id": name} if survey.family else {"id": name, "family": survey.id}


def comment(*paragraphs: str) -> str:
    """Return paragraphs as a comment, its lines broken."""
    filled = (
        textwrap.fill(each, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
        for each in paragraphs
    )
    return "\n#\n".join(filled) + "\n"


def renamed(text: str, old: str, entry: Mapping[str, str]) -> str:
    """Exchange the id in its line, and add the family below; no id holds a quote or an escape."""
    lines = text.split("\n")
    place = (find_line(text, ("survey", "id")) or 1) - 1
    marks = (f'"{old}"', f"'{old}'")
    written = min((mark for mark in marks if mark in lines[place]), key=lines[place].find, default=old)
    lines[place] = lines[place].replace(written, f'"{entry["id"]}"', 1)
    if "family" in entry:
        lines.insert(place + 1, f'family = "{entry["family"]}"  # who answered one round answers no other')
    return "\n".join(lines)


def parsed(text: str) -> dict[str, Any]:
    """Return what a TOML text says, its fractions as decimals."""
    return tomllib.loads(text, parse_float=Decimal)


def prove(changed: str, expected: Mapping[str, Any]) -> None:
    """Make sure that a changed text says what it should.

    Raises
    ------
    LayoutError
        If it does not: its lines were taken for others.
    """
    try:
        same = parsed(changed) == expected
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise LayoutError(
            "the survey is laid out too freely: write its id and each table on lines of its own"
        )

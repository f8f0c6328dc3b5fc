"""Writes entries and comments of a survey file, and edits the author's file with its layout, by tomlkit."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from decimal import Decimal
from importlib.resources import files

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from encoders.canonical import decimal_text
from encoders.errors import LdpError
from encoders.survey import Survey, read_survey
from encoders.survey.parse_value import category_text
from encoders.survey.toml_reader import parse_toml
from ldp_aggregator.estimation.validation_result import refuse_validation

_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LEADING_NUMBER = re.compile(r"-?[0-9]{1,18}")
_MARK = "\0"
"""Marks the header of a removed table; no TOML contains it."""
_REMOVED = re.compile(rf"^(?:[ \t]*#.*\n)*[ \t]*\[.*{_MARK}\n(?:(?:[ \t]*#.*\n)*(?=\n|\Z))?\n*", re.MULTILINE)
"""A removed table with the comments directly above and below it, except those directly above a header."""
WORDS: dict[str, dict[str, str]] = parse_toml(files(__package__).joinpath("words.toml").read_text("utf-8"))
"""The words of the files that commands write, with holes for :meth:`str.format`."""
_LINE_WIDTH = 100
_COMMENT_WIDTH = 105
_MAX_PLAIN_DIGITS = 18
_MAX_ID_LENGTH = 64


class LayoutError(LdpError):
    """A survey file whose layout cannot be edited; the message explains how to write it."""


# -- text ---------------------------------------------------------------------------------------


def quote(text: str) -> str:
    return "".join(map(_escape_unprintable, tomlkit.string(text).as_string()))


def _escape_unprintable(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def format_key(name: str) -> str:
    return name if tomlkit.key(name).as_string() == name else quote(name)


def format_values(texts: Sequence[str], last: Sequence[str] = (), name: str = "values") -> str:
    """Return ``values = [...]``, sorted, then `last`; bare if all are numbers, or true and false."""
    ordered = [*sorted(texts, key=_natural_order), *last]
    is_bare = all(map(is_whole_number, ordered)) or set(ordered) == {"true", "false"}
    return format_array(name, ordered if is_bare else [quote(text) for text in ordered])


def _natural_order(text: str) -> tuple[float, str]:
    number = _LEADING_NUMBER.match(text)
    return (float(number[0]) if number else math.inf, text)


def is_whole_number(text: str) -> bool:
    """Return whether a text is a whole number in the survey's form: no sign +, no leading zero."""
    return bool(_WHOLE_NUMBER.fullmatch(text)) and category_text(int(text)) == text


def format_decimal(number: Decimal) -> str:
    """Return a number as text, in scientific notation if it would be too long otherwise."""
    text = decimal_text(number)
    return text if len(text) <= _MAX_PLAIN_DIGITS else f"{number.normalize():E}"


def format_array(name: str, items: Iterable[str]) -> str:
    items = list(items)
    line = f"{name} = [{', '.join(items)}]"
    if len(line) <= _LINE_WIDTH:
        return line
    lines = [f"{name} = ["]
    for item in items:
        if lines[-1].startswith("    ") and len(lines[-1]) + len(item) + 2 <= _LINE_WIDTH:
            lines[-1] += f" {item},"
        else:
            lines.append(f"    {item},")
    return "\n".join([*lines, "]"])


def format_comment(*paragraphs: str) -> str:
    wrapped = (
        textwrap.fill(
            each, _COMMENT_WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
        )
        for each in paragraphs
    )
    return "\n#\n".join(wrapped) + "\n"


def read_editable_survey(text: str) -> tuple[str, Survey]:
    """Return a survey's text with LF line ends, and the survey; raise SurveyError for a validation round."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    survey = read_survey(text)
    refuse_validation(survey)
    return text, survey


# -- editing ------------------------------------------------------------------------------------


def add_suffix(name: str, suffix: str) -> str:
    """Return an id followed by a suffix; the id is shortened so that both fit into the maximum length."""
    return name[: _MAX_ID_LENGTH - len(suffix)] + suffix


def rename_survey(text: str, name: str, family: str = "") -> str:
    """Return a survey's text with another id, also in the address at a relay, and perhaps a family."""
    document = _parse(text)
    survey, relay = document["survey"], document.get("relay")
    if relay:
        relay["url"] = relay["url"].removesuffix(survey["id"]) + name
    survey["id"] = name
    if family:
        survey["family"] = tomlkit.string(family).comment("each person answers one round only")
    return tomlkit.dumps(document)


def replace_epsilon(text: str, epsilon: Decimal, *, asks_all: bool) -> str:
    """Return the text of a survey with a relay, with another epsilon, of all answers or of one."""
    document = _parse(text)
    document["survey"]["epsilon"] = tomlkit.value(decimal_text(epsilon))
    for name in () if asks_all else ("ask", "divide"):
        document["relay"].pop(name, None)
    return tomlkit.dumps(document)


def replace_features(text: str, names: Iterable[str], new: str) -> str:
    """Replace tables [features.NAME], including the comments at their headers and ends.

    `text` has LF line ends. `new`, which ends in a line break, stands in the place of the first of `names`.
    Raises LayoutError, with the name, if a feature has no header ``[features.NAME]``.
    """
    document = _parse(text if text.endswith("\n") else f"{text}\n")
    for name in names:
        table = document["features"][name]
        if not (isinstance(table, Table) and table.display_name):
            raise LayoutError(f"features.{name}: needs a separate table with the header [features.NAME]")
        body = table.value.body
        del body[: 1 + max(index for index, (key, _) in enumerate(body) if key)]
        table.trivia.comment_ws, table.trivia.comment = "", _MARK
    places = iter([new])
    return _REMOVED.sub(lambda _: next(places, ""), tomlkit.dumps(document)).rstrip("\n") + "\n"


def _parse(text: str) -> TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        why = "write each table once, with its header on a separate line"
        raise LayoutError(f"the layout of the survey cannot be edited: {why} ({error})") from error

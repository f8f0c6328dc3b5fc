"""Writes and edits TOML as text: quoting, reading, and edits that keep the author's layout."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from encoders.errors import LdpError
from encoders.survey import Survey, read_survey
from encoders.survey.decimals import decimal_text
from encoders.survey.parse_value import category_text
from encoders.survey.toml_lines import find_line, parse_toml
from ldp_aggregator.estimation.validation_result import refuse_validation

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LEADING_NUMBER = re.compile(r"-?[0-9]{1,18}")
_VALUE = re.compile(r"(=\s*)[^\s#]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LINE_WIDTH = 100
_COMMENT_WIDTH = 105
_MAX_PLAIN_DIGITS = 18
_MAX_ID_LENGTH = 64


class LayoutError(LdpError):
    """A survey file whose layout cannot be edited by lines; the message explains how to write it."""


# -- text ---------------------------------------------------------------------------------------


def quote(text: str) -> str:
    """Return a text as a TOML basic string on one line; unprintable characters are escaped."""
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def format_key(name: str) -> str:
    """Return a TOML key, without quotes if TOML allows that."""
    return name if _BARE_KEY.fullmatch(name) else quote(name)


def format_values(texts: Sequence[str], last: Sequence[str] = (), name: str = "values") -> str:
    """Return ``values = [...]``, or another name, sorted, then `last`.

    Values are bare if all of them are numbers, or if they are true and false.
    """
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
    """Return ``name = [...]``, over several lines if it is long."""
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
    """Return paragraphs as the lines of a TOML comment."""
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


def rename_survey(text: str, old: str, entry: Mapping[str, str]) -> str:
    """Return the TOML text with the new id of `entry`, and its family, if any, on the next line.

    Ids contain no quotes and no escapes. The address at a relay ends with the id, and is renamed too.
    """
    lines = text.split("\n")
    if relay := find_line(text, ("relay", "url")):
        end = rf"/{re.escape(old)}(?=[\"'])"
        lines[relay - 1] = re.sub(end, f"/{entry['id']}", lines[relay - 1], count=1)
    index = (find_line(text, ("survey", "id")) or 1) - 1
    quoted = (f'"{old}"', f"'{old}'")
    written = min((each for each in quoted if each in lines[index]), key=lines[index].find, default=old)
    lines[index] = lines[index].replace(written, f'"{entry["id"]}"', 1)
    if "family" in entry:
        lines.insert(index + 1, f'family = "{entry["family"]}"  # each person answers one round only')
    return "\n".join(lines)


def rename_tables(document: Mapping[str, Any], entry: Mapping[str, str]) -> dict[str, Any]:
    """Return the tables of a survey that :func:`rename_survey` changes, as they then are."""
    tables: dict[str, Any] = {"survey": {**document["survey"], **entry}}
    if relay := document.get("relay"):
        base = relay["url"].removesuffix(document["survey"]["id"])
        tables["relay"] = {**relay, "url": f"{base}{entry['id']}"}
    return tables


def replace_tables(text: str, paths: Iterable[tuple[str, ...]], new: str) -> str:
    """Replace tables, including the comments at their headers and ends, by new ones in the first's place.

    Parameters
    ----------
    text : str
        Valid TOML.
    paths : iterable of tuple of str
        The tables to remove, at least one.
    new : str
        Lines of TOML to insert; the last one ends in a line break.

    Raises
    ------
    LayoutError
        If a table has no header ``[...]``; the message names the first one.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    spans = sorted(_find_span(lines, _find_header(text, lines, path)) for path in paths)
    kept = [*lines[: spans[0][0]], *new.split("\n")]
    for (_, end), (start, _) in zip(spans, [*spans[1:], (len(lines), 0)], strict=True):
        kept += lines[end:start]
    return "\n".join(kept).rstrip("\n") + "\n"


def set_entry(text: str, path: tuple[str, ...], value: int) -> str:
    """Set an entry of a table in its line; a new entry is added below the table's header.

    Raises
    ------
    LayoutError
        If the table has no header ``[...]``; the message names it.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    header = _find_header(text, lines, path[:-1])
    line = find_line(text, path)
    assert line is not None
    if line - 1 == header:  # find_line returns the table's line where the entry is not there
        lines.insert(line, f"{path[-1]} = {value}")
    else:
        lines[line - 1] = _VALUE.sub(rf"\g<1>{value}", lines[line - 1], count=1)
    return "\n".join(lines)


def check_edit(changed: str, expected: Mapping[str, Any]) -> None:
    """Check that a changed text parses to the expected document.

    Raises
    ------
    LayoutError
        If it does not, which means that the edit changed a wrong line.
    """
    try:
        same = parse_toml(changed) == expected
    except ValueError:
        same = False
    if not same:
        raise LayoutError(
            "the layout of the survey cannot be edited: write its id and each table header on separate lines"
        )


def _find_header(text: str, lines: list[str], path: tuple[str, ...]) -> int:
    line = find_line(text, path)
    if line is None or not _is_header(lines[line - 1]):
        name = ".".join((*path[:-1], "NAME")) if len(path) > 1 else path[0]
        raise LayoutError(f"{'.'.join(path)}: needs a separate table with the header [{name}]")
    return line - 1


def _find_span(lines: list[str], header: int) -> tuple[int, int]:
    """Return the first line of a table, and the first line that follows it."""
    start = header
    while start and _is_comment(lines[start - 1]):
        start -= 1
    following = next((at for at in range(header + 1, len(lines)) if _is_header(lines[at])), len(lines))
    end = 1 + max(at for at in range(header, following) if lines[at].strip() and not _is_comment(lines[at]))
    after = end
    while after < following and _is_comment(lines[after]):
        after += 1
    if after < following or following == len(lines):  # otherwise the comments belong to the next header
        end = after
    while end < following and not lines[end].strip():
        end += 1
    return start, end


def _is_header(line: str) -> bool:
    return line.lstrip().startswith("[")


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")

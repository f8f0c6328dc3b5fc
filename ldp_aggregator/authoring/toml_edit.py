"""Tables and entries of a TOML text exchanged for others, all else of it kept as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterable

from encoders.errors import LdpError
from encoders.survey.toml_lines import find_line

_VALUE = re.compile(r"(=\s*)[^\s#]+")


class LayoutError(LdpError):
    """A text whose entries cannot be told apart by their lines; says how to write them."""


def exchange(text: str, paths: Iterable[tuple[str, ...]], new: str) -> str:
    """Cut tables out, each with the comments at its header and at its end; put others where the first was.

    Parameters
    ----------
    text : str
        Valid TOML.
    paths : iterable of tuple of str
        The tables to cut out, at least one.
    new : str
        Lines of TOML to put in, the last one ending.

    Raises
    ------
    LayoutError
        Naming the first of `paths` that has no header ``[...]``.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    spans = sorted(_span(lines, _header(text, lines, path)) for path in paths)
    kept = [*lines[: spans[0][0]], *new.split("\n")]
    for (_, end), (start, _) in zip(spans, [*spans[1:], (len(lines), 0)], strict=True):
        kept += lines[end:start]
    return "\n".join(kept).rstrip("\n") + "\n"


def assign(text: str, path: tuple[str, ...], value: int) -> str:
    """Give an entry of a table a value, in its own line or, if it is new, below the table's header.

    Raises
    ------
    LayoutError
        Naming the table, if it has no header ``[...]``.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    header = _header(text, lines, path[:-1])
    line = find_line(text, path)
    assert line is not None
    if line - 1 == header:  # the table's own, since the entry is not there
        lines.insert(line, f"{path[-1]} = {value}")
    else:
        lines[line - 1] = _VALUE.sub(rf"\g<1>{value}", lines[line - 1], count=1)
    return "\n".join(lines)


def _header(text: str, lines: list[str], path: tuple[str, ...]) -> int:
    line = find_line(text, path)
    if line is None or not _is_header(lines[line - 1]):
        name = ".".join((*path[:-1], "NAME")) if len(path) > 1 else path[0]
        raise LayoutError(f"{'.'.join(path)}: needs a table of its own, under a header [{name}]")
    return line - 1


def _span(lines: list[str], header: int) -> tuple[int, int]:
    """Return the first line of a table, and the first line that follows it."""
    start = header
    while start and _is_comment(lines[start - 1]):
        start -= 1
    following = next((at for at in range(header + 1, len(lines)) if _is_header(lines[at])), len(lines))
    end = 1 + max(at for at in range(header, following) if lines[at].strip() and not _is_comment(lines[at]))
    after = end
    while after < following and _is_comment(lines[after]):
        after += 1
    if after < following or following == len(lines):  # otherwise they are the next header's
        end = after
    while end < following and not lines[end].strip():
        end += 1
    return start, end


def _is_header(line: str) -> bool:
    return line.lstrip().startswith("[")


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")

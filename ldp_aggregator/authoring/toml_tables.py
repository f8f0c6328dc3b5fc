"""Tables of a TOML text exchanged for others, all else of it kept as it was written."""

from __future__ import annotations

from collections.abc import Iterable

from encoders.survey.toml_lines import line_of


class LayoutError(ValueError):
    """An entry that is not written as a table of its own, under a header."""


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


def _header(text: str, lines: list[str], path: tuple[str, ...]) -> int:
    line = line_of(text, path)
    if line is None or not _is_header(lines[line - 1]):
        raise LayoutError(".".join(path))
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

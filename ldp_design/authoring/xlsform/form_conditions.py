"""Parses the boolean expressions of an XLSForm, and simplifies them to the conditions of a survey."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

from encoders.survey import conditions
from ldp_design.authoring.toml_edit import quote

MAX_LENGTH = 5_000
"""Largest number of characters of all conditions of a question, and of a constraint."""
_MAX_DEPTH = 30
_TOKEN = re.compile(
    r"""\s*(?:\$\{\s*(?P<answer>[^{}\s]+)\s*\}
    |(?P<value>'[^']*'|"[^"]*")
    |(?P<number>-?\d{1,15}(?:\.\d{1,4})?)(?![\w.])
    |(?P<word>[A-Za-z_][\w.:-]*)
    |(?P<sign><=|>=|!=|[=<>(),.]))\s*""",
    re.VERBOSE,
)
_OPPOSITES = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "selected": "not selected"}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}

Token = tuple[str, str]


class ExpressionError(ValueError):
    """An expression that a survey cannot have; the message is the key of the reason."""


class Term(conditions.Term):
    """A condition on one answer, written as TOML."""

    def __str__(self) -> str:
        term = f"{{ feature = {quote(self.feature)}, value = {quote(self.value)} }}"
        return f"{{ not = {term} }}" if self.is_negated else term


class Group(NamedTuple):
    """Conditions of which any or all must hold."""

    kind: str
    """ "any" or "all"."""
    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return f"{{ {self.kind} = [{', '.join(map(str, self.parts))}] }}"


Formula = Group | Hashable
"""A group, or what the caller of :func:`parse_expression` makes of a comparison, for example a term."""
Compare = Callable[[Token, str, Token], Formula]
ALWAYS, NEVER = Group("all", ()), Group("any", ())


def join(kind: str, parts: Iterable[Formula]) -> Formula:
    """Join formulas with "any" or "all"; groups of the same kind, repetitions and constants are dropped."""
    flat: dict[Formula, None] = {}
    for part in parts:
        if isinstance(part, Group) and part.kind == kind:
            flat.update(dict.fromkeys(part.parts))
        elif part in (ALWAYS, NEVER):  # the whole depends on it
            return part
        else:
            flat[part] = None
    return next(iter(flat)) if len(flat) == 1 else Group(kind, tuple(flat))


def parse_expression(text: str, compare: Compare) -> Formula:
    """Parse comparisons and calls of `selected`, joined by `and`, `or` and `not`.

    `compare` gets the operands and the operator of each comparison, into which negations are moved. Raises
    ExpressionError if the expression contains anything else, or is too long or too deeply nested.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError("long")
    tokens = deque(_read_tokens(text))
    formula = _parse_joined(tokens, compare, "or", is_negated=False, depth=0)
    if tokens:
        raise ExpressionError("condition")
    return formula


def _read_tokens(text: str) -> Iterator[Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise ExpressionError("condition")
        token = match[match.lastgroup]
        yield match.lastgroup, token[1:-1] if match.lastgroup == "value" else token
        position = match.end()


def _take(tokens: deque[Token], *expected: str) -> Token:
    if not tokens or (expected and tokens[0] not in [("sign", each) for each in expected]):
        raise ExpressionError("condition")
    return tokens.popleft()


def _parse_joined(
    tokens: deque[Token], compare: Compare, word: str, *, is_negated: bool, depth: int
) -> Formula:
    """Parse parts between "or", or parts between "and", which binds more strongly."""
    if depth > _MAX_DEPTH:
        raise ExpressionError("condition")
    parts: list[Formula] = []
    while not parts or (tokens and tokens[0] == ("word", word)):
        if parts:
            tokens.popleft()
        if word == "or":
            parts.append(_parse_joined(tokens, compare, "and", is_negated=is_negated, depth=depth))
        else:
            parts.append(_parse_part(tokens, compare, is_negated=is_negated, depth=depth))
    return join("any" if (word == "or") != is_negated else "all", parts)


def _parse_part(tokens: deque[Token], compare: Compare, *, is_negated: bool, depth: int) -> Formula:
    left = _take(tokens)
    if left == ("sign", "(") or (left == ("word", "not") and _take(tokens, "(")):
        inverts = left[0] == "word"
        formula = _parse_joined(tokens, compare, "or", is_negated=is_negated != inverts, depth=depth + 1)
        _take(tokens, ")")
        return formula
    if left[0] == "word":  # a function
        _take(tokens, "(")
        if left[1] in ("true", "false"):
            _take(tokens, ")")
            return ALWAYS if (left[1] == "true") != is_negated else NEVER
        if left[1] != "selected":
            raise ExpressionError("condition")
        left, _, right = _take(tokens), _take(tokens, ","), _take(tokens)
        operator = "selected" if left[0] == "answer" else "="  # the whole answer is in a list of one value
        _take(tokens, ")")
    else:
        operator, right = _take(tokens, "=", "!=", "<", "<=", ">", ">=")[1], _take(tokens)
    if right[0] == "answer" or right == ("sign", "."):
        left, right, operator = right, left, _MIRRORED.get(operator, operator)
    return compare(left, _OPPOSITES[operator] if is_negated else operator, right)

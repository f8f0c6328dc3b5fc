"""Drafts a survey from a public sample; the author confirms every guess."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from encoders.canonical import is_text, to_nfc
from encoders.errors import LdpError, SurveyError
from encoders.survey import read_survey
from ldp_design.authoring.column_types import (
    MAX_VALUES,
    LeftOut,
    count_values,
    find_choices,
    find_spelling_hints,
    format_value_list,
    infer_feature,
)
from ldp_design.authoring.toml_edit import WORDS, format_comment, format_key, quote

_IDENTIFIER = re.compile(r"(?i:(^|[\W_])(id|uuid|nr|no|number|key|token|index|row|case)([\W_]|$))|I[dD]$")
_PERSONAL = re.compile(r"latitude|longitude|\b(lat|lon|lng)\b|(first|last|sur|full)[ _]?name", re.IGNORECASE)
_WORDS = WORDS["draft"]


class DraftError(LdpError):
    """A sample from which no survey can be drafted."""


def draft_survey(
    columns: Mapping[str, Sequence[str]],
    label: str | None,
    source: str,
    *,
    choices: Mapping[str, Sequence[str]] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Draft a survey from a public sample: TOML, without texts that a single cell contains.

    `label` is the column to predict, or by whose values people are compared, or None. `source` becomes the
    survey's id. `choices` and `notes` are as :func:`read_sample` returns them.
    Raises DraftError if there are no rows, no label column that fits, or no column that can be a feature.
    """
    label = None if label is None else to_nfc(label)
    if label is not None and label not in columns:
        known = ", ".join(map(quote, columns))
        raise DraftError(f"the sample has no column {quote(label)} for the label; it has {known}")
    features: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    for name in [each for each in columns if each != label]:
        try:
            features[name] = _infer_column(name, columns[name], (choices or {}).get(name, ()))
        except LeftOut as error:
            left_out[name] = str(error)
    if not (rows := len(next(iter(columns.values())))):
        raise DraftError("the sample needs at least one row")
    header = "".join(format_comment(note) for note in notes)
    header = _WORDS["header"].format(source=quote(source), rows=rows) + (f"{header}\n" if header else "")
    header += format_survey_table("file's name", source)
    labels = [] if label is None else [_format_label(label, columns[label])]
    parts = [header, *labels, format_features_note(has_label=bool(labels))]
    if not features:
        raise DraftError("\n".join(["no column can be a feature:", *_format_reasons(left_out)]))
    parts += [
        "\n".join([f"[features.{format_key(name)}]", *entries, ""]) for name, entries in features.items()
    ]
    texts_of_label = '# [texts.en.label]\n# title = "..."\n' if labels else ""
    texts = _WORDS["texts"].format(feature=format_key(next(iter(features))), label=texts_of_label)
    parts.append(_WORDS["about"] + texts)
    if left_out:
        parts.append("\n".join(["# Left out:", *(f"# {reason}" for reason in _format_reasons(left_out)), ""]))
    text = "\n".join(parts)
    try:
        read_survey(text).compile()
    except SurveyError as error:
        why = [f"{each.field}: {each.why}" for each in error.problems]
        raise DraftError("\n".join(["leave out or shorten these columns of the sample:", *why])) from error
    return text


def format_features_note(*, has_label: bool) -> str:
    return _WORDS["features"].format(coupled=_WORDS["coupled" if has_label else "alone"])


def format_survey_table(origin: str, source: str) -> str:
    return _WORDS["survey"].format(origin=origin, id=make_survey_id(source))


def make_survey_id(source: str) -> str:
    """Return a valid survey id made from a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", source.lower()).strip("-")[:64] or "my-survey"


def _infer_column(name: str, cells: Sequence[str], choices: Sequence[str]) -> list[str]:
    if not name:
        raise LeftOut("a column without a name, usually a row number")
    if not is_text(name):
        raise LeftOut("a name that is not printable")
    if _PERSONAL.search(name):
        raise LeftOut("a place or a name, which identifies people")
    found = infer_feature(cells, choices)
    if _IDENTIFIER.search(name) and len(set(cells)) == len(cells) > 9:
        raise LeftOut("a different value in every row, as its name says: an identifier")
    return found


def _format_label(name: str, cells: Sequence[str]) -> str:
    counts = count_values(cells)
    texts = [text for text, count in counts.items() if count > 1]
    if not name:
        raise DraftError("name the label's column")
    if not all(map(is_text, [name, *texts])):
        raise DraftError(f"the label {quote(name)} needs a printable, short name, and such values")
    if find_choices(counts):
        raise DraftError(f"cells of the label {quote(name)} list several values: choose another column")
    if not 2 <= len(texts) <= MAX_VALUES:
        raise DraftError(
            f"the label {quote(name)} has {len(counts)} values; choose a label with 2 to {MAX_VALUES} "
            "that occur at least twice"
        )
    hints = find_spelling_hints(counts)
    if "" in cells:
        hints.append(f"{cells.count('')} of {len(cells)} rows have no label: such people cannot report")
    lines = ["[label]", f"name = {quote(name)}"]
    lines += ["# guess: all values that occur at least twice; confirm", *(f"# {hint}" for hint in hints)]
    return "\n".join([*lines, *format_value_list(texts, is_open=len(texts) < len(counts)), ""])


def _format_reasons(left_out: Mapping[str, str]) -> list[str]:
    return [f"  {quote(name)}: {reason}" for name, reason in left_out.items()]

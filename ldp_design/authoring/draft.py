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
from ldp_design.authoring.toml_edit import format_comment, format_key, quote

_HEADER = """\
# A draft: check every "guess", then run  ldp-survey check  and  ldp-survey preview.
#
# Values, ranges and bins were inferred from {source} ({rows} rows). A survey is public, and so is
# everything that is inferred here: draft only from a PUBLIC sample. Values and ranges that are inferred from
# private rows leak these rows.

"""

SURVEY_TABLE = """\
[survey]
# guess: from the {origin}; confirm
id = "{id}"
# Limits what a person's report, their only one, reveals. Choose: .5 to 1 is strict, 2 is the maximum that
# clients accept by default.
epsilon = 1.0
"""

_FEATURES_NOTE = """\
# {coupled}
# Without missing = "category" a missing answer is refused, and this person sends no report. An answer that
# is not in a list is refused too: applications pass "other" for it if the list has that value.
"""

_IDENTIFIER = re.compile(r"(?i:(^|[\W_])(id|uuid|nr|no|number|key|token|index|row|case)([\W_]|$))|I[dD]$")
_PERSONAL = re.compile(r"latitude|longitude|\b(lat|lon|lng)\b|(first|last|sur|full)[ _]?name", re.IGNORECASE)
_COUPLED = "Each feature is coupled with the label in a question, and each person answers one question."
_ALONE = "Each person answers one question, about one feature."

ABOUT = """\
# What a review board, and the person, read about the survey. Plain text; it is public.
# [about]
# title = "..."
# purpose = "why the data are collected"
# contact = "name, e-mail or address"
# ethics = "the board that approved the survey, and the number of its approval"
# retention = "how long counters and models are kept"
"""

_TEXTS = """
# What people read when they are asked, in each language. Without texts, applications display the names.
# [texts.en]
# title = "..."
{label}# [texts.en.features.{feature}]
# title = "..."
"""


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
    header = _HEADER.format(source=quote(source), rows=rows) + (f"{header}\n" if header else "")
    header += SURVEY_TABLE.format(origin="file's name", id=make_survey_id(source))
    labels = [] if label is None else [_format_label(label, columns[label])]
    parts = [header, *labels, format_features_note(has_label=bool(labels))]
    if not features:
        raise DraftError("\n".join(["no column can be a feature:", *_format_reasons(left_out)]))
    parts += [
        "\n".join([f"[features.{format_key(name)}]", *entries, ""]) for name, entries in features.items()
    ]
    texts_of_label = '# [texts.en.label]\n# title = "..."\n' if labels else ""
    parts.append(ABOUT + _TEXTS.format(feature=format_key(next(iter(features))), label=texts_of_label))
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
    return _FEATURES_NOTE.format(coupled=_COUPLED if has_label else _ALONE)


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

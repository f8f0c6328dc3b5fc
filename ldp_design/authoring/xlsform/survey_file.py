"""Writes the survey file of an XLSForm, and lists what it does not keep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from pyxform.aliases import yes_no

from encoders.errors import SurveyError, escape_unprintable
from encoders.nfc import to_nfc
from encoders.survey import read_survey
from ldp_design.authoring.draft import ABOUT, SURVEY_TABLE, DraftError, format_features_note, make_survey_id
from ldp_design.authoring.toml_edit import format_array, format_comment, format_key, quote
from ldp_design.authoring.xlsform.form import Question, read_form
from ldp_design.authoring.xlsform.questions import UNLIMITED, decide

_HEADER = "A draft from the XLSForm {}: check it, then run  ldp-survey check  and  ldp-survey preview."
_NO_TAG = (
    "survey sheet, row 1: the language {} has no tag, so its texts are comments: rename its columns, for "
    'example to "label::English (en)", or write default_language into the settings sheet'
)
_NOT_KEPT = ("default", "guidance_hint", "media")
_TAG = re.compile(r"(?:.*\()?([a-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4})\)?")
_PLACE = re.compile(r"# (\w+ sheet, row \d+)$", re.MULTILINE)


def convert_xlsform(path: Path, label: str | None) -> tuple[str, list[str]]:
    """Convert an XLSForm (.xlsx or .xls) to a survey file.

    Returns
    -------
    tuple of str and list of str
        The survey file, and a line for everything that it does not keep.

    Raises
    ------
    DraftError
        If the form cannot be converted, `label` is not the name of a question that can be the label, or no
        question is kept.
    """
    try:
        form, questions = read_form(path)
        decide(questions, form.get("choices", {}))
        asked = [each for each in questions if each.reason in ("", UNLIMITED)]
        labelled = None if label is None else _find_label(to_nfc(label), asked)
        tags = _find_tags(asked, form["default_language"])
        notes = [_NO_TAG.format(quote(language)) for language, tag in tags.items() if not tag]
        notes += [escape_unprintable(note) for note in _list_notes(questions, are_translated=len(tags) > 1)]
        if all(each.reason for each in asked if each is not labelled):
            raise DraftError("\n".join(["no question can be asked privately", *notes]))
        head = [_HEADER.format(quote(path.name)), *notes]
        text = "".join(map(format_comment, head)) + "\n" + _write_survey(form, asked, labelled, tags)
        _check(text)
    except DraftError as error:
        raise DraftError(f"{path.name}: {error}") from error
    return text, notes


def _write_survey(
    form: Mapping[str, Any], asked: Sequence[Question], label: Question | None, tags: Mapping[str, str]
) -> str:
    environment = Environment(  # noqa: S701 - TOML, not HTML
        loader=PackageLoader(__package__), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"quote": quote, "key": format_key, "comment": _comment}
    form_id, title = form["id_string"], form["title"]
    text = environment.get_template("survey.toml").render(
        survey=SURVEY_TABLE.format(origin=f"form's id, {quote(form_id)}", id=make_survey_id(form_id)),
        label=label,
        questions=[each for each in asked if each is not label],
        tags=tags,
        title=to_nfc(title) if title != form_id else "",
        note=format_features_note(has_label=label is not None),
        about=ABOUT,
        format_array=format_array,
        find_text=partial(_find_text, form["default_language"]),
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def _comment(text: str, is_needed: object) -> str:
    return re.sub(r"^(?=.)", "# ", text, flags=re.MULTILINE) if is_needed else text


def _find_label(name: str, asked: Sequence[Question]) -> Question:
    """Return the question that becomes the label."""
    known = {each.name: each for each in asked if each.tag == "select1"}
    if name not in known:
        listed = ", ".join(map(quote, known)) or "none"
        raise DraftError(f"--label: {quote(name)} is not a select_one question that can be asked: {listed}")
    if known[name].ask_if:
        why = "is not asked of everybody: delete its condition (relevant), or choose another question"
    elif known[name].is_optional:
        why = 'may be left empty: write yes into the column required, and add a choice "prefer not to say"'
    else:
        return known[name]
    raise DraftError(f"--label: {known[name].place}: {quote(name)} {why}")


def _list_notes(questions: Iterable[Question], *, are_translated: bool) -> Iterator[str]:
    for each in questions:
        rows = (each.cells, *(each.choices or {}).values())
        lost = [column for column in _NOT_KEPT if any(column in row for row in rows)]
        lost += ["constraint"] if "constraint" in each.bind and each.tag != "input" else []
        lost += ["required"] if each.bind.get("required", "no") not in yes_no else []
        subject = f"{each.place}: {quote(each.name)} ({each.type})"
        if each.reason:
            yield f"{subject} is left out: {each.reason}"
        elif lost:
            yield f"{subject} is kept without its {', '.join(lost)}"
        if not each.reason and are_translated and "or_other" in each.type:
            yield f'{subject} has the English text "Other" in every language: translate it'


def _find_tags(asked: Iterable[Question], default: str) -> dict[str, str]:
    """Return the tag of each language that has texts, the default language first; "" if it has no tag."""
    rows = [row for each in asked for row in (each.cells, *(each.choices or {}).values())]
    names = {
        name: 0 for row in rows for column in ("label", "hint") for name in _translate(row, column, default)
    }
    tags: dict[str, str] = {}
    for name in sorted(names, key=lambda name: name != default):
        match = _TAG.fullmatch(name)
        tag = match[1] if match else ""
        if other := [each for each in tags if tag and tags[each].lower() == tag.lower()]:
            both = f"{quote(other[0])} and {quote(name)}"
            raise DraftError(f"survey sheet, row 1: {both} have one language tag: change one")
        tags[name] = tag
    return tags


def _translate(row: Mapping[str, Any], column: str, default: str) -> Mapping[str, str]:
    """Return the texts of a cell by language."""
    cell = row.get(column, {})
    return cell if isinstance(cell, dict) else {default: cell}


def _find_text(default: str, question: Question, column: str, language: str, choice: str = "") -> str:
    """Return a text of a question, or of one of its choices, in a language; "" if there is none."""
    row = question.choices[choice] if question.choices and choice else question.cells
    text = _translate(row, column, default).get(language, "")
    if "${" in text:
        why = "inserts another answer (${...}), which only a form can do: write the text without it"
        raise DraftError(f"{question.place}: the {column} of {quote(choice or question.name)} {why}")
    return to_nfc(" ".join(text.split()))


def _check(text: str) -> None:
    """Raise DraftError, which names rows of the form, if the survey cannot be compiled."""
    try:
        read_survey(text).compile()
    except SurveyError as error:
        lines, whys = text.split("\n"), []
        for each in error.problems:
            places = _PLACE.findall("\n".join(lines[: each.line or 0]))
            whys.append(": ".join([*places[-1:], each.field, each.why]))
        raise DraftError("\n".join(whys)) from error

"""Writes the survey file of an XLSForm, and lists what it does not keep."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import unescape
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from pyxform.aliases import yes_no

from encoders.canonical import look_of, to_nfc
from encoders.errors import SurveyError, escape_unprintable
from encoders.survey import read_survey
from encoders.survey.texts import SPACING
from ldp_design.authoring.draft import DraftError, format_features_note, format_survey_table
from ldp_design.authoring.toml_edit import WORDS, format_array, format_comment, format_key, quote
from ldp_design.authoring.xlsform.form import Form, Question, Row, read_form
from ldp_design.authoring.xlsform.form_questions import UNLIMITED, decide

_HEADER = "A draft from the XLSForm {}: check it, then run  ldp-survey check  and  ldp-survey preview."
_NO_TAG = (
    "survey sheet, row 1: the language {} has no tag, so its texts are comments: add --language {} to the "
    'command, with the right tag, or rename its columns, for example to "label::English (en)"'
)
_INSERTS = "it inserts another answer (${...}), which only a form can do: write the text without it"
_TOO_MANY_TEXTS = "has more than 256 KiB of texts, or more than 100 languages: delete languages or questions"
_OMITTED = "{}: {} is a comment: {}"
_NOT_KEPT = ("default", "guidance_hint", "media")
_TAG = re.compile(r"(?:.*\()?([a-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4})\)?")
_ROW = re.compile(r"# (\w+ sheet, row \d+)$")
_ATTRIBUTE = r"""\s+[\w:-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s<>"']+)"""
_MARKUP = [
    (re.compile(rf"</?[A-Za-z][A-Za-z0-9]*(?:{_ATTRIBUTE})*\s*/?>|^#{{1,6}}\s", re.MULTILINE), " "),
    (re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)"), r"\1"),
    (re.compile(r"(\*\*|__)(?=\S)([^*_]+)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!\w)([*_])(?=\S)([^*_]+)(?<=\S)\1(?!\w)"), r"\2"),
]
"""HTML tags and Markdown, and what people would see of them."""


def convert_xlsform(path: Path, label: str | None, languages: Sequence[str] = ()) -> tuple[str, list[str]]:
    """Convert an XLSForm (.xlsx or .xls) to a survey file; return it, and lines on what it does not keep.

    `label` is the name of the question that becomes the label, and `languages` the tags of languages, such as
    "English=en"; without a name, that of the default language.
    Raises DraftError if the form cannot be converted, `label` or `languages` do not fit the form, or no
    question is kept.
    """
    try:
        form = read_form(path)
        leave_out_followers = decide(form)
        asked = _list_asked(form)
        labelled = None if label is None else _find_label(to_nfc(label), asked)
        tags = _find_tags(asked, form.default_language, languages)
        text, omitted = _write_checked(form, labelled, tags, leave_out_followers)
        untagged = [
            _NO_TAG.format(quote(name), "en" if name == form.default_language else shlex.quote(f"{name}=en"))
            for name, tag in tags.items()
            if not tag
        ]
        listed = _list_notes(form.questions, are_translated=len(tags) > 1)
        notes = [escape_unprintable(note) for note in (*untagged, *form.notes, *listed, *omitted.values())]
        if not text:
            why = " besides the label: a survey needs another one" if labelled else ""
            raise DraftError("\n".join([f"no question can be asked privately{why}", *notes]))
    except DraftError as error:
        raise DraftError(f"{path.name}: {error}") from error
    head = "".join(map(format_comment, [_HEADER.format(quote(path.name)), *notes]))
    return f"{head}\n{text}", notes


def _list_asked(form: Form) -> list[Question]:
    return [each for each in form.questions if each.reason in ("", UNLIMITED)]


def _write_checked(
    form: Form, label: Question | None, tags: Mapping[str, str], leave_out_followers: Callable[[], None]
) -> tuple[str, dict[str, str]]:
    """Return a survey that compiles, or "", and lines about the texts that it cannot have, by their path."""
    omitted: dict[str, str] = {}
    while True:  # each round leaves something out
        asked = _list_asked(form)
        if all(each.reason for each in asked if each is not label):
            return "", omitted
        text = _write_survey(form, asked, label, tags, omitted)
        problems = _find_problems(text)
        if not problems:
            return text, omitted
        kept = [each for each in asked if not each.reason and each is not label]
        by_place = {key: each for each in kept for key in (each.place, f"features.{each.name}")}
        unsolved = []
        for place, path, why in problems:
            if path.startswith("texts.") and place and path not in omitted:
                omitted[path] = _OMITTED.format(place, path, why)
            elif path != "texts" and (found := by_place.get(place) or by_place.get(path)):
                found.reason = f"{path}: {why}"
            else:
                parts = [_TOO_MANY_TEXTS] if path == "texts" else filter(None, (place, path, why))
                unsolved.append(": ".join(parts))
        if unsolved:
            raise DraftError("\n".join(unsolved))
        leave_out_followers()


def _find_problems(text: str) -> list[tuple[str, str, str]]:
    """Return the place in the form, the path and the reason of each mistake in a survey file."""
    try:
        read_survey(text).compile()
    except SurveyError as error:
        places = [""]
        for line in text.split("\n"):
            match = _ROW.search(line)
            places.append(match[1] if match else places[-1])
        return [(places[each.line or 0], each.field, each.why) for each in error.problems]
    return []


def _write_survey(
    form: Form,
    asked: Sequence[Question],
    label: Question | None,
    tags: Mapping[str, str],
    omitted: dict[str, str],
) -> str:
    environment = Environment(  # noqa: S701 - TOML, not HTML
        loader=PackageLoader(__package__), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"quote": quote, "key": format_key, "comment": _comment}
    text = environment.get_template("survey.toml").render(
        survey=format_survey_table(f"form's id, {quote(form.form_id)}", form.form_id),
        label=label,
        questions=[each for each in asked if each is not label],
        tags=tags,
        title=_clean(form.title),
        note=format_features_note(has_label=label is not None),
        about=WORDS["draft"]["about"],
        format_array=format_array,
        write_texts=partial(_write_texts, form.default_language, omitted),
        write_text=partial(_write_text, omitted),
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def _comment(text: str, is_needed: object) -> str:
    return re.sub(r"^(?=.)", "# ", text, flags=re.MULTILINE) if is_needed else text


def _find_label(name: str, asked: Sequence[Question]) -> Question:
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
        subject = f"{each.place}: {quote(each.form_name)} ({each.type})"
        if each.reason:
            yield f"{subject} is left out: {each.reason}"
            continue
        yield from (f"{subject} {note}" for note in each.notes)
        if lost:
            yield f"{subject} is kept without its {', '.join(lost)}"
        if are_translated and "or_other" in each.type:
            yield f'{subject} has the English text "Other" in every language: translate it'


def _find_tags(asked: Iterable[Question], default: str, languages: Sequence[str]) -> dict[str, str]:
    """Return the tag of each language that has texts, the default language first; "" if it has no tag."""
    rows = [row for each in asked for row in (each.cells, *(each.choices or {}).values())]
    names = dict.fromkeys(
        name for row in rows for column in ("label", "hint") for name in _translate(row, column, default)
    )
    matches = {name: _TAG.fullmatch(name) for name in sorted(names, key=lambda name: name != default)}
    tags = {name: match[1] if match else "" for name, match in matches.items()}
    untagged = next((name for name, tag in tags.items() if not tag), default)
    for each in languages:
        name, _, tag = each.rpartition("=")
        match = _TAG.fullmatch(tag)
        if (name or untagged) not in tags or not match or match[1] != tag:
            listed = ", ".join(map(quote, tags)) or "none"
            why = "is not a tag, such as en, or a language of the form and its tag, such as English=en"
            raise DraftError(f"--language: {quote(each)} {why}; languages of the form: {listed}")
        tags[name or untagged] = tag
    former: dict[str, str] = {}
    for name, tag in tags.items():
        if tag and (other := former.setdefault(tag.lower(), name)) != name:
            both = f"{quote(other)} and {quote(name)}"
            raise DraftError(f"survey sheet, row 1: {both} have one language tag: change one")
    return tags


# -- texts --------------------------------------------------------------------------------------


def _translate(row: Row, column: str, default: str) -> Mapping[str, str]:
    cell = row.get(column, {})
    texts = cell if isinstance(cell, dict) else {default: cell}
    return {language: text for language, text in texts.items() if isinstance(text, str)}


def _write_texts(
    default: str, omitted: dict[str, str], question: Question, language: str, path: str, *, are_values: bool
) -> list[str]:
    if are_values:
        found = [(name, row, "label") for name, row in (question.choices or {}).items()]
    else:
        found = [("title", question.cells, "label"), ("help", question.cells, "hint")]
    lines, former = [], set()
    for key, row, column in found:
        text = _clean(_translate(row, column, default).get(language, ""))
        if are_values and text and look_of(text) in former:
            text = f"{text} ({key})"
            note = f"has two choices with one text in {quote(language)}; one becomes {quote(text)}"
            question.notes += [] if note in question.notes else [note]
        former.add(look_of(text))
        lines += [_write_text(omitted, question.place, path, key, text)] if text else []
    return lines


def _write_text(omitted: dict[str, str], place: str, path: str, key: str, text: str) -> str:
    path = f"{path}.{key}"
    if "${" in text:
        omitted[path] = _OMITTED.format(place, path, _INSERTS)
    return f"{'# ' if path in omitted else ''}{format_key(key)} = {quote(text)}"


def _clean(text: str) -> str:
    for pattern, plain in _MARKUP:
        text = pattern.sub(plain, text)
    words = " ".join(unescape(text).split())
    return to_nfc("".join(each for each in words if each.isprintable() or each in SPACING)).strip()

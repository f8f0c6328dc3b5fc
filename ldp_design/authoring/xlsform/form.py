"""Reads the questions and the lists of choices of an XLSForm, each question with its row in the worksheet."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from textwrap import shorten
from typing import Any
from zipfile import ZipFile

from openpyxl import load_workbook
from pyxform import aliases
from pyxform.constants import SUPPORTED_SHEET_NAMES
from pyxform.errors import PyXFormError
from pyxform.parsing.sheet_headers import dealias_and_group_headers, process_header, to_snake_case
from pyxform.question_type_dictionary import QUESTION_TYPE_DICT
from pyxform.xls2json import RE_SELECT
from pyxform.xls2json_backends import DefinitionData, get_xlsform

from encoders.canonical import to_nfc
from ldp_design.authoring.draft import DraftError
from ldp_design.authoring.toml_edit import quote
from ldp_design.authoring.xlsform.form_conditions import Formula

_MAX_FILE_BYTES = 10_000_000
_MAX_UNPACKED_BYTES = 20_000_000
_MAX_CELLS = 200_000
_MAX_CHARACTERS = 2_000_000
_MAX_COLUMNS = 1_000
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""The first bytes of the files .xlsx and .xlsm, and of .xls."""
_TOO_LARGE = "has too large worksheets: delete empty rows and columns, long texts, and other worksheets"
_MAX_QUESTIONS = 2_000
_SURVEY = "type name $autoname label hint choice_filter parameters disabled bind control"
_SPELT = "type name label hint relevant required constraint appearance parameters choice_filter calculation"
_SETTINGS = "title id_string default_language allow_choice_duplicates"
_COLUMNS = {
    "survey": (aliases.survey_header, frozenset(_SURVEY.split())),
    "choices": (aliases.list_header, frozenset({"list name", "name", "label"})),
    "settings": (aliases.settings_header, frozenset(_SETTINGS.split())),
}
"""The other names of the columns of each worksheet, and the columns that are read."""
_CONTROL = re.compile(r"(begin|end)[ _](\S+)( group)?.*", re.IGNORECASE)
_CASES = {"group": "", "repeat": "repeated", "loop": "repeated"}
"""Why the questions in a group of a kind are left out; "" if they are kept."""

Row = Mapping[str, Any]
"""The cells of a row by column; those of columns such as "label::English (en)" are grouped."""


@dataclass(kw_only=True, eq=False)
class Question:
    """A question of a form, or a group, and what it becomes in a survey."""

    row: int
    form_name: str
    name: str
    """Its name in the survey, which differs if several questions have one name in the form."""
    type: str
    """The cell of the column type, such as "select_one yes_no"."""
    list_name: str
    tag: str
    """How an XForm asks the question, such as "select1", "input" or "upload"; empty if it does not."""
    bind: Mapping[str, str]
    """The type of the answer, and the columns required, constraint, calculation and read_only."""
    cells: Row
    groups: Sequence[str]
    conditions: Sequence[str]
    """The cells of the column relevant of the enclosing groups, and of the question."""
    enclosing: str
    """The key of the reason why an enclosing group is left out; empty if it is kept."""
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    choices: Mapping[str, Row] | None = None
    """The rows of its list of choices by name; None for another question."""
    bounds: Sequence[Decimal] = ()
    """The lower and the upper limit of a number; empty if the form does not give both."""
    codes: Sequence[Decimal] = ()
    """Numbers outside the limits that stand for a missing answer."""
    ask_if: Formula | None = None
    """The answers to other questions after which this one is asked; None if it is always asked."""

    @property
    def place(self) -> str:
        return f"survey sheet, row {self.row}"

    @property
    def is_optional(self) -> bool:
        return bool(self.ask_if or self.codes) or not aliases.yes_no.get(self.bind.get("required"), False)


@dataclass(kw_only=True, eq=False)
class Form:
    """The settings, the questions in the order of their rows, and the rows of each list of choices."""

    form_id: str
    title: str
    default_language: str
    allows_duplicates: bool
    """Whether two choices of a list may have one name."""
    questions: Sequence[Question]
    lists: Mapping[str, Sequence[Row]]
    notes: Sequence[str]
    """The columns and the choices that are not read because of a mistake."""


def get_cell(cells: Row, *path: str) -> str:
    found: Any = cells
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""


def read_form(path: Path) -> Form:
    """Read an XLSForm; raise DraftError if it is too large or damaged, or lacks values or ends of groups."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl's, about parts of a workbook that are not read
            problems = _check_workbook(path)
            workbook = get_xlsform(path)
        settings = next(filter(None, _read_sheet(workbook, "settings")), {})
        language = get_cell(settings, "default_language") or "default"
        rows = _read_sheet(workbook, "survey", language)
        lists: dict[str, list[Row]] = {}
        notes, unnamed = list(_find_misspelt(workbook)), []
        for number, row in enumerate(_read_sheet(workbook, "choices", language), 2):
            if get_cell(row, "name") and get_cell(row, "list name"):
                cells = {column: cell for column, cell in row.items() if column != "list name"}
                lists.setdefault(get_cell(row, "list name"), []).append(cells)
            elif {"name", "label"} & row.keys():
                unnamed.append(f"{number}")
        if unnamed:
            listed = shorten(", ".join(unnamed), 60)
            notes.append(f"choices sheet, row {listed}: each choice needs a list_name and a name")
        filled = [number for number, row in enumerate(rows, 2) if row]
        if len(filled) > _MAX_QUESTIONS:
            place = f"survey sheet, row {filled[_MAX_QUESTIONS]}"
            raise DraftError(f"{place}: the form has more than {_MAX_QUESTIONS:,} questions: split it")
        questions = list(_read_questions(rows, lists, problems))
    except DraftError:
        raise
    except PyXFormError as error:
        raise DraftError(f"not a valid XLSForm: {' '.join(str(error).split())}") from error
    except Exception as error:  # the libraries raise errors of many types for a damaged file
        why = "cannot be read: check the names of columns in row 1, or save it again as .xlsx"
        raise DraftError(why) from error
    if problems:
        raise DraftError("\n".join(problems))
    return Form(
        form_id=get_cell(settings, "id_string") or path.stem,
        title=get_cell(settings, "title"),
        default_language=language,
        allows_duplicates=aliases.yes_no.get(get_cell(settings, "allow_choice_duplicates"), False),
        questions=questions,
        lists=lists,
        notes=notes,
    )


def _check_workbook(path: Path) -> list[str]:
    """Check the size of a workbook; list the cells that are read and contain a formula without a value."""
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise DraftError(f"is larger than {_MAX_FILE_BYTES // 10**6} MB: delete images and other worksheets")
    is_old = path.suffix.lower() == ".xls"
    with path.open("rb") as file:
        if file.read(4) != (_OLE if is_old else _ZIP):
            raise DraftError("is not an Excel workbook of this type: save it as .xlsx")
    if is_old:
        return []  # not compressed, and contains the values of formulas
    with ZipFile(path) as archive:
        if sum(each.file_size for each in archive.infolist()) > _MAX_UNPACKED_BYTES:
            raise DraftError(_TOO_LARGE)
    formulas: dict[tuple[str, str], str] = {}
    is_read: dict[tuple[str, int], bool] = {}
    for sheet, cell in _iterate_cells(path, are_values=False):
        if cell.row == 1:
            is_read[sheet, cell.column] = cell.data_type == "f" or _is_read(sheet, str(cell.value))
        if cell.data_type == "f" and is_read.get((sheet, cell.column)):
            formulas[sheet, cell.coordinate] = f"{sheet} sheet, row {cell.row}, cell {cell.coordinate}"
    for sheet, cell in _iterate_cells(path, are_values=True) if formulas else ():
        is_empty_text = cell.value is None and cell.data_type == "str"
        if is_empty_text or (cell.value is not None and cell.data_type != "e"):
            formulas.pop((sheet, cell.coordinate), None)
    why = "the formula has no stored value: save the form in a spreadsheet program, or write the value"
    return [f"{place}: {why}" for place in formulas.values()]


def _iterate_cells(path: Path, *, are_values: bool) -> Iterator[tuple[str, Any]]:
    """Yield the worksheet's name and each cell, with its stored value or its formula; check the size."""
    cells = characters = 0
    with closing(load_workbook(path, read_only=True, data_only=are_values)) as workbook:
        for sheet in workbook.worksheets:
            sheet.reset_dimensions()  # a worksheet may claim to have all rows and columns
            title, is_only = sheet.title.lower(), len(workbook.worksheets) == 1
            for row in sheet.iter_rows() if title in SUPPORTED_SHEET_NAMES or is_only else ():
                texts = [each.value for each in row if isinstance(each.value, str)]
                cells += len(row)
                characters += sum(map(len, texts))
                if cells > _MAX_CELLS or characters > _MAX_CHARACTERS or len(texts) > _MAX_COLUMNS:
                    raise DraftError(_TOO_LARGE)
                yield from ((title, each) for each in row if hasattr(each, "coordinate"))


def _is_read(sheet: str, header: str) -> bool:
    if sheet not in _COLUMNS and sheet in SUPPORTED_SHEET_NAMES:
        return False
    other_names, columns = _COLUMNS.get(sheet, _COLUMNS["survey"])  # the only worksheet may have any name
    _, (column, *rest) = process_header(header.strip(), False, other_names, columns)
    return column in columns and not any(each.startswith("jr:") for each in rest)  # such as messages


def _find_misspelt(workbook: DefinitionData) -> Iterator[str]:
    headers = [header for row in workbook.survey_header or () for header in row]
    is_double = any("::" in header for header in headers)
    for header in headers:
        _, (column, *_) = process_header(header, is_double, *_COLUMNS["survey"])
        word, *rest = header.split(":")
        close = get_close_matches(to_snake_case(word), _SPELT.split(), n=1, cutoff=0.8)
        if close and column not in _COLUMNS["survey"][1]:
            name = "::".join([*close, *rest[-1:]])
            yield f"survey sheet, row 1: the column {quote(header)} is not read: write {quote(name)}"


def _read_sheet(workbook: DefinitionData, sheet: str, language: str = "default") -> Sequence[Row]:
    other_names, columns = _COLUMNS[sheet]
    rows: Sequence[Row] = dealias_and_group_headers(
        sheet_name=sheet,
        # a column without a language comes first, or it would replace those with languages
        sheet_data=[
            dict(sorted(row.items(), key=lambda cell: ":" in cell[0]))
            for row in getattr(workbook, sheet) or ()
        ],
        sheet_header=getattr(workbook, f"{sheet}_header") or (),
        header_aliases=other_names,
        header_columns=columns | {"guidance_hint", "default", "media"},
        headers_required={"type"} if sheet == "survey" else None,
        default_language=language,
        strip_whitespace=sheet == "survey",
    ).data
    return rows


def _read_questions(
    rows: Sequence[Row], lists: dict[str, list[Row]], problems: list[str]
) -> Iterator[Question]:
    open_groups: list[tuple[str, Question]] = []
    for row, cells in enumerate(rows, 2):
        type_ = get_cell(cells, "type")
        is_comment = not type_ and "name" not in cells and "label" not in cells
        if is_comment or aliases.yes_no.get(get_cell(cells, "disabled")):
            continue
        control = None if type_ in QUESTION_TYPE_DICT else _CONTROL.fullmatch(type_.lower())
        kind = aliases.control.get("".join(control.groups("")[1:]), control[2]) if control else ""
        if control and control[1] == "end":
            if not open_groups or open_groups.pop()[0] != kind:
                problems.append(f"survey sheet, row {row}: {quote(type_)} does not end the last open group")
            continue
        question = _read_question(row, type_, cells, [each for _, each in open_groups])
        if control:
            question.enclosing = question.enclosing or _CASES.get(kind, "foreign")
            open_groups.append((kind, question))
        if kind not in _CASES:
            yield question
        if question.list_name and re.search(r"or(_| specify | )other$", type_):
            _add_other(lists.get(question.list_name, []))
            name = f"{question.name}_other"
            yield replace(question, form_name=name, name=name, type="text", tag="input", notes=[])
    for _, group in open_groups:
        problems.append(f"{group.place}: the group {quote(group.name)} has no end: add a row that ends it")


def _read_question(row: int, type_: str, cells: Row, groups: Sequence[Question]) -> Question:
    select = RE_SELECT.search(type_)
    kind = aliases.select[select["select_command"]] if select else type_
    known = QUESTION_TYPE_DICT.get(kind) or QUESTION_TYPE_DICT.get(kind.lower(), {})
    written = cells["bind"] if isinstance(cells.get("bind"), dict) else {}
    bind = {key: text for key, text in {**known.get("bind", {}), **written}.items() if isinstance(text, str)}
    text = bind.get("relevant", "")
    relevant = (aliases.BINDING_CONVERSIONS.get(text, text),) if text else ()  # "yes" means "true()"
    name = "audit" if kind == "audit" else to_nfc(get_cell(cells, "name") or get_cell(cells, "$autoname"))
    return Question(
        row=row,
        form_name=name,
        name=name,
        type=type_,
        list_name=select["list_name"] if select else "",
        tag=known.get("control", {}).get("tag", ""),
        bind=bind,
        cells=cells,
        groups=[each.name for each in groups],
        conditions=(*groups[-1].conditions, *relevant) if groups else relevant,
        enclosing=groups[-1].enclosing if groups else "",
    )


def _add_other(rows: list[Row]) -> None:
    if rows and not any(get_cell(row, "name") == "other" for row in rows):
        languages = [
            language for row in rows if isinstance(row.get("label"), dict) for language in row["label"]
        ]
        rows.append({"name": "other", "label": dict.fromkeys(languages, "Other") or "Other"})

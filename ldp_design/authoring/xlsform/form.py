"""Reads the questions of an XLSForm with pyxform, each with its row in the worksheet."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from openpyxl import load_workbook
from pyxform.aliases import yes_no
from pyxform.builder import create_survey_element_from_dict
from pyxform.constants import SUPPORTED_SHEET_NAMES
from pyxform.errors import PyXFormError
from pyxform.question_type_dictionary import QUESTION_TYPE_DICT
from pyxform.xls2json import workbook_to_json
from pyxform.xls2json_backends import get_xlsform

from encoders.nfc import to_nfc
from ldp_design.authoring.draft import DraftError

_MAX_FILE_BYTES = 10_000_000
_MAX_UNPACKED_BYTES = 20_000_000
_MAX_CELLS = 200_000
_MAX_CHARACTERS = 2_000_000
_MAX_COLUMNS = 1_000
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""The first bytes of the files .xlsx and .xlsm, and of .xls."""
_TOO_LARGE = "has too large worksheets: delete empty rows and columns, long texts, and other worksheets"
_MAX_QUESTIONS = 2_000
_ROW = "ldp_row"
"""A column that carries the row and the type through pyxform; what pyxform adds to a form has none."""


@dataclass(kw_only=True, eq=False)
class Question:
    """A question of a form, and what it becomes in a survey."""

    row: int
    name: str
    type: str
    """The cell of the column type, such as "select_one yes_no"."""
    tag: str
    """How an XForm asks the question, such as "select1", "input" or "upload"; empty if it does not."""
    bind: Mapping[str, str]
    """The type of the answer, and the columns required, constraint, calculation and read_only."""
    cells: Mapping[str, Any]
    """All cells of the row, as pyxform groups them."""
    conditions: Sequence[str]
    """The cells of the column relevant of the enclosing groups, and of the question."""
    is_repeated: bool
    reason: str = ""
    """Why the question is left out; empty if it is kept."""
    choices: Mapping[str, Mapping[str, Any]] | None = None
    """The rows of its list of choices by name; None for another question."""
    bounds: Sequence[object] = ()
    """The lower and the upper limit of a number; empty if the form does not give both."""
    ask_if: Sequence[str] = ()
    """The name and the value of another question, if this one is asked only after that answer."""

    @property
    def place(self) -> str:
        """The worksheet and the row, for messages."""
        return f"survey sheet, row {self.row}"

    @property
    def is_optional(self) -> bool:
        """Whether the answer can be missing."""
        return bool(self.ask_if) or not yes_no.get(self.bind.get("required"), False)


def read_form(path: Path) -> tuple[dict[str, Any], list[Question]]:
    """Return an XLSForm as pyxform's JSON, and its questions in the order of their rows.

    Raises
    ------
    DraftError
        If the file is too large, or if pyxform cannot read it or refuses it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl's, about parts of a workbook that are not read
            _check_workbook(path)
            workbook = get_xlsform(path)
            filled = [(number, row) for number, row in enumerate(workbook.survey or (), 2) if row]
            if len(filled) > _MAX_QUESTIONS:
                place = f"survey sheet, row {filled[_MAX_QUESTIONS][0]}"
                raise DraftError(f"{place}: the form has more than {_MAX_QUESTIONS:,} questions: split it")
            for number, row in filled:
                row[_ROW] = (number, row.get("type"))
            for header in workbook.survey_header or ():
                header[_ROW] = None
            form = workbook_to_json(workbook, fallback_form_name=path.stem)
            create_survey_element_from_dict(form)  # refuses unknown types
    except DraftError:
        raise
    except PyXFormError as error:
        raise DraftError(f"not a valid XLSForm: {' '.join(str(error).split())}") from error
    except Exception as error:  # the libraries raise errors of many types for a damaged file
        why = "cannot be read: check the names of columns in row 1, or save it again as .xlsx"
        raise DraftError(why) from error
    return form, sorted(_list_questions(form, (), is_repeated=False), key=lambda each: each.row)


def _check_workbook(path: Path) -> None:
    """Check the size of a workbook, and that no cell is a formula, whose value may be missing."""
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise DraftError(f"is larger than {_MAX_FILE_BYTES // 10**6} MB: delete images and other worksheets")
    is_old = path.suffix.lower() == ".xls"
    with path.open("rb") as file:
        if file.read(4) != (_OLE if is_old else _ZIP):
            raise DraftError("is not an Excel workbook of this type: save it as .xlsx")
    if is_old:
        return  # not compressed, and contains the values of formulas
    with ZipFile(path) as archive:
        if sum(each.file_size for each in archive.infolist()) > _MAX_UNPACKED_BYTES:
            raise DraftError(_TOO_LARGE)
    cells = characters = 0
    with closing(load_workbook(path, read_only=True)) as workbook:
        for sheet in workbook.worksheets:
            sheet.reset_dimensions()  # a worksheet may claim to have all rows and columns
            is_read = sheet.title.lower() in SUPPORTED_SHEET_NAMES or len(workbook.worksheets) == 1
            for row in sheet.iter_rows() if is_read else ():
                texts = [each.value for each in row if isinstance(each.value, str)]
                cells += len(row)
                characters += sum(map(len, texts))
                if cells > _MAX_CELLS or characters > _MAX_CHARACTERS or len(texts) > _MAX_COLUMNS:
                    raise DraftError(_TOO_LARGE)
                if cell := next((each for each in row if each.data_type == "f"), None):
                    place = f"{sheet.title} sheet, row {cell.row}, cell {cell.coordinate}"
                    raise DraftError(f"{place}: replace the formula of the spreadsheet by its value")


def _list_questions(
    parent: Mapping[str, Any], outer: Sequence[str], *, is_repeated: bool
) -> Iterator[Question]:
    row = 0
    for cells in parent["children"]:
        bind = cells.get("bind", {})
        row, type_ = cells.get(_ROW, (row, cells["type"]))  # what or_other adds has the row before it
        conditions = (*outer, bind["relevant"]) if "relevant" in bind else outer
        if "children" in cells:
            repeated = is_repeated or cells["type"] in ("repeat", "loop")
            yield from _list_questions(cells, conditions, is_repeated=repeated)
        elif _ROW in cells or cells["type"] == "text":
            known = QUESTION_TYPE_DICT.get(cells["type"], {})
            yield Question(
                row=row,
                name=to_nfc(cells["name"]),
                type=type_ or cells["type"],
                tag=known.get("control", {}).get("tag", ""),
                bind={**known.get("bind", {}), **bind},
                cells=cells,
                conditions=conditions,
                is_repeated=is_repeated,
            )

"""Writes forms, which the tests write as tables of Markdown, to workbooks."""

from pathlib import Path

from pyxform.xls2json_backends import md_table_to_workbook, md_to_dict

FORMS = sorted((Path(__file__).parent / "forms").glob("*.md"))
"""Forms after the patterns of surveys in public health and humanitarian aid. Their column `expected` says
what a survey keeps of each question, and after a hyphen why it is left out."""


def write_workbook(table: str, path: Path) -> Path:
    """Write a form to a workbook."""
    md_table_to_workbook(table).save(path)
    return path


def list_rows(table: str) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of the survey sheet of a form, with their numbers."""
    return list(enumerate(md_to_dict(table)["survey"], 2))

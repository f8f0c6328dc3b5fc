"""HTML of receipts, plans, previews and models for notebooks; all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def table_html(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a table with a title and rows of a name and a text."""
    cells = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th>'
        f'<td style="text-align: left">{escape(text)}</td></tr>'
        for name, text in rows
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"


def text_html(warning: str, text: str) -> str:
    """Return a warning, and a text with its lines as in a terminal."""
    return f"<p><strong>{escape(warning)}</strong></p><pre>{escape(text)}</pre>"

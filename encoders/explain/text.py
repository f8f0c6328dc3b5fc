"""Formats text for people: paragraphs, and answers in words."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping


def wrap_text(text: str, indent: str = "") -> list[str]:
    """Break text into lines of 100 characters."""
    return textwrap.wrap(
        text,
        100,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,  # names contain them
    )


def format_answer(answer: Mapping[str, str]) -> str:
    """Return an answer as ``age = young, paid = no``."""
    return ", ".join(f"{name} = {value}" for name, value in answer.items())

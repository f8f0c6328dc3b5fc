"""What a model shows to people in one line, in a few lines, as HTML, and as a card in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from encoders.explain.text import format_table
from encoders.notebook_html import table_html
from ldp_aggregator.render.document import Section
from ldp_aggregator.render.markdown import write_document


@dataclass(frozen=True, kw_only=True)
class ModelDescription:
    """What descriptions of a model are made from."""

    name: str
    """The name of the class, or of the classifier, and the survey."""
    line: Mapping[str, str]
    facts: Mapping[str, str]
    """The facts of one line, and of a few lines, by name."""
    title: str
    """The title of the card."""
    build_sections: Callable[[], Sequence[Section]]
    """Returns the sections of the card."""

    def format_line(self, name: str) -> str:
        """Return one line, for `repr`."""
        return f"{name}({', '.join(f'{key}={value}' for key, value in self.line.items())})"

    def format_lines(self) -> str:
        """Return a few lines, for `print`."""
        rows = [[f"  {key}", value] for key, value in self.facts.items()]
        return "\n".join([self.name, *format_table(rows, "<<")])

    def format_html(self) -> str:
        """Return a small HTML table, in which all texts are escaped."""
        return table_html(self.name, self.facts.items())

    def format_card(self) -> str:
        """Return the model card in Markdown."""
        return write_document(self.title, self.build_sections())

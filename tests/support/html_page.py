"""Reads an HTML page in tests: its tags, links, and the texts of its sections and tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from unittest.mock import patch

from markupsafe import Markup

from ldp_aggregator.render.html import write_statement
from ldp_aggregator.wording.statement import Statement

_PARAGRAPHS = {"h1", "h2", "h3", "p", "li", "dt", "dd", "caption", "figcaption"}
_INVISIBLE = {"head", "style", "script", "svg"}
_VOID = {"meta", "link", "br", "img", "rect", "line", "circle"}

_HIDDEN = {"head", "svg"}
_BLOCKS = {"h1": "# ", "h2": "\n## ", "h3": "\n### ", "caption": "table: "} | dict.fromkeys(
    ("p", "li", "dt", "dd"), ""
)
"""Elements with one text, and what is written before it."""


@dataclass
class Node:
    """An element with its attributes and content."""

    tag: str
    attributes: dict[str, str]
    content: list[Node | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text in the element, with single spaces."""
        texts = (each if isinstance(each, str) else each.text for each in self.content)
        return " ".join("".join(texts).split())

    def find(self, tag: str) -> list[Node]:
        """Return all elements with a tag below this one."""
        nodes = [each for each in self.content if isinstance(each, Node)]
        return [found for each in nodes for found in ([each] if each.tag == tag else []) + each.find(tag)]

    def section(self, name: str) -> Node:
        """Return the section with an id."""
        [found] = [each for each in self.find("section") if each.attributes.get("id") == name]
        return found

    def table(self, caption: str) -> Node:
        """Return the only table whose caption begins with a text."""
        [found] = [each for each in self.find("table") if each.find("caption")[0].text.startswith(caption)]
        return found

    def statements(self) -> list[Node]:
        """Return the elements that show a statement, in order."""
        nodes = [each for each in self.content if isinstance(each, Node)]
        own = [self] if "data-finding" in self.attributes else []
        return own + [found for each in nodes for found in each.statements()]

    def lines(self) -> list[str]:
        """Return the visible texts, one for each paragraph or row, after the id of their statement."""
        if self.tag in _HIDDEN:
            return []
        if self.tag == "tr":
            return [" | ".join(each.text for each in self.content if isinstance(each, Node))]
        if name := self.attributes.get("data-finding"):
            return [f"[{name}] {self.text}"]
        if self.tag in _BLOCKS and not self.statements():
            return [f"{_BLOCKS[self.tag]}{self.text}"]
        return [line for each in self.content if isinstance(each, Node) for line in each.lines()]

    def rows(self) -> list[list[str]]:
        """Return the texts of the body of a table; a cell that spans rows is repeated in each."""
        rows: list[list[str]] = []
        for body in self.find("tbody"):
            group = ""
            for row in body.find("tr"):
                cells = [each for each in row.content if isinstance(each, Node)]
                texts = [each.text for each in cells]
                if cells[0].attributes.get("scope") == "rowgroup":
                    group = texts[0]
                elif group:
                    texts.insert(0, group)
                rows.append(texts)
        return rows


def list_lines(node: Node) -> Iterator[str]:
    """Yield the visible text below an element, a line for each paragraph and each row of a table."""
    for each in node.content:
        if isinstance(each, Node) and each.tag == "tr":
            yield " | ".join(cell.text for cell in each.content if isinstance(cell, Node))
        elif isinstance(each, Node) and each.tag in _PARAGRAPHS:
            yield each.text
        elif isinstance(each, Node) and each.tag not in _INVISIBLE:
            yield from list_lines(each)


@contextmanager
def named_statements() -> Iterator[None]:
    """Let pages that are rendered meanwhile show the identifier and the basis of each statement."""

    def write(statement: Statement) -> Markup:
        if statement.id.startswith("page."):  # words of a template are no statement
            return write_statement(statement)
        return Markup("[{}, {}] {}").format(statement.id, statement.basis, write_statement(statement))

    with patch("ldp_aggregator.render.html.write_statement", write):
        yield


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].content.append(node)
        if tag not in _VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open.pop().tag == tag, f"an element is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)


def parse_page(data: bytes) -> Node:
    """Return the tree of a page; every element must be closed in order."""
    reader = _Reader()
    reader.feed(data.decode())
    reader.close()
    assert len(reader.open) == 1
    return reader.open[0]

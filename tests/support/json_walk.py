"""Walks over JSON documents."""

from collections.abc import Iterator
from typing import Any

Path = tuple[Any, ...]


def leaves_of(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every place of a document that is no object or list, and what stands there."""
    if isinstance(node, dict | list):
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves_of(child, (*path, key))
    else:
        yield path, node


def objects_of(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every object and list of a document, itself the first."""
    if isinstance(node, dict | list):
        yield path, node
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from objects_of(child, (*path, key))


def inner(node: Any, path: Path) -> Any:
    """Return what stands at a place."""
    for key in path:
        node = node[key]
    return node

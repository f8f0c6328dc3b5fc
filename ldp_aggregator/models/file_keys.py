"""The keys of a model file that differ from those of :meth:`Estimates.as_dict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FILE_KEYS = {
    "simultaneous": "together",
    "non_uniform": "uneven",
    "distinguishable_entries": "apart",
    "validation_result": "verdicts",
    "accuracy": "right",
    "top_k": "tops",
    "selected_k": "kept",
}
"""Keys of :meth:`Estimates.as_dict` that differ in a file of version 1."""
ESTIMATE_KEYS = {name: key for key, name in FILE_KEYS.items()}
"""The reverse of FILE_KEYS."""


def rename_keys(nested: Any, names: Mapping[str, str]) -> Any:
    """Return nested objects and lists with some keys renamed."""
    if isinstance(nested, dict):
        return {names.get(key, key): rename_keys(value, names) for key, value in nested.items()}
    return [rename_keys(value, names) for value in nested] if isinstance(nested, list) else nested

"""Reads [tables.NAME]: several features whose values are asked for together."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from encoders.mechanisms.frequency_oracle import MAX_DOMAIN
from encoders.survey.features import ChoiceFeature, Feature, Label, NumericFeature
from encoders.survey.schema_tables import Path, SchemaReader, Table

MAX_TABLES = 32
_MOST_FEATURES = 3
_KEYS = ("features", "label", "weight")


class CrossTable(NamedTuple):
    """One question about all combinations of the values of several features."""

    feature_indices: tuple[int, ...]
    """In the order of the plan."""
    with_label: bool
    """Whether the combinations include the label."""
    weight: int


def read_cross_tables(
    reader: SchemaReader, entries: Table, label: Label, features: Sequence[Feature]
) -> tuple[CrossTable, ...]:
    if len(entries) > MAX_TABLES:
        reader.note(("tables",), f"has {len(entries)} tables, more than {MAX_TABLES}: delete some")
    found: dict[tuple[int, ...], CrossTable] = {}
    for name, entry in entries.items():
        path = ("tables", name)
        reader.check_name(name, path)
        table = _read(reader, entry, path, label, features)
        if table and table.feature_indices in found:
            reader.note((*path, "features"), "are the features of another table: delete one of them")
        elif table:
            found[table.feature_indices] = table
    return tuple(found.values())


def _read(
    reader: SchemaReader, entry: Any, path: Path, label: Label, features: Sequence[Feature]
) -> CrossTable | None:
    if not isinstance(entry, dict):
        reader.note(path, f"must be a table: [{'.'.join(path)}]")
        return None
    reader.check_keys(entry, _KEYS, path)
    with_label = entry.get("label", False)
    is_label_wrong = not isinstance(with_label, bool) or (with_label and not label.exists)
    if is_label_wrong:
        why = "must be true or false" if label.exists else "the survey has no label: delete this entry"
        reader.note((*path, "label"), why)
    weight = reader.read_weight(entry, path, 1)
    indices = _read_features(reader, entry.get("features"), (*path, "features"), label, features)
    if weight == 0:
        reader.note((*path, "weight"), "0 never asks for this table: delete the table")
    if is_label_wrong or not (indices and weight):
        return None
    cells = prod(features[index].size for index in indices) * (len(label.values) if with_label else 1)
    if cells > MAX_DOMAIN:
        why = f"have {cells:,} combinations, and one question asks for at most {MAX_DOMAIN:,}"
        reader.note((*path, "features"), f"{why}: merge rare values, or use fewer bins or features")
    return CrossTable(indices, with_label, weight)


def _read_features(
    reader: SchemaReader, names: Any, path: Path, label: Label, features: Sequence[Feature]
) -> tuple[int, ...]:
    listed = names if isinstance(names, list) else []
    if not (2 <= len(listed) <= _MOST_FEATURES and all(isinstance(name, str) for name in listed)):
        reader.note(path, f"needs a list of the names of 2 to {_MOST_FEATURES} features")
        return ()
    if len(set(listed)) < len(listed):
        reader.note(path, "has the same feature twice: delete one of them")
        return ()
    known = {feature.name: index for index, feature in enumerate(features)}
    faults = [(name, _find_fault(name, label, features)) for name in listed]
    for name, why in faults:
        if why:
            reader.note(path, f"{name!r} {why}", name)
    return () if any(why for _, why in faults) else tuple(sorted(known[name] for name in listed))


def _find_fault(name: str, label: Label, features: Sequence[Feature]) -> str:
    if label.exists and name == label.name:
        return "is the label: write label = true instead"
    choices = [each for each in features if isinstance(each, ChoiceFeature) and each.row_name == name]
    if choices:
        return f"has several answers: name one of its choices, for example {choices[0].name!r}"
    feature = next((each for each in features if each.name == name), None)
    if feature is None:
        return "is not a feature of this survey"
    if isinstance(feature, NumericFeature):
        return "is a number without bins: give it bins = N or edges = [...]"
    return ""

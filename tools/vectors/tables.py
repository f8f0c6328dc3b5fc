"""Vectors of plans with tables of several features, and with ordered features that have levels."""

from __future__ import annotations

from typing import Any

from encoders.survey import Plan, read_survey

LABEL = '[label]\nname = "rested"\nvalues = ["never", "sometimes", "often"]\nweight = 1\n'
SURVEY = """
[survey]
id = "{id}"
epsilon = 1
{label}
[features.smokes]
values = [true, false]
alone = true
[features.age]
values = ["young", "middle", "old"]
ordered = true
missing = "category"
[features.hours]
range = [0, 12]
bins = 50
missing = "category"
weight = 2
[features.score]
values = [{scores}]
ordered = true
[features.pets]
choices = ["cat", "dog"]
[features.sleep]
range = [0, 12]
[tables.smoking]
features = ["smokes", "age"]
[tables.cats]
features = ["age", "pets: cat"]
{with_label}
"""
ROWS: list[tuple[dict[str, Any], str]] = [
    ({"smokes": True, "age": "old", "hours": 0.3, "score": 0, "pets": ["cat"], "sleep": 8}, "never"),
    ({"smokes": False, "age": None, "hours": None, "score": "44", "pets": [], "sleep": 6.5}, "often"),
    (
        {"smokes": False, "age": "young", "hours": 11.99, "score": 17, "pets": ["dog", "cat"], "sleep": 0},
        "sometimes",
    ),
    ({"smokes": True, "age": "middle", "hours": 7, "score": "1", "pets": ["dog"], "sleep": 12}, "often"),
    ({"smokes": True, "age": "", "hours": 4.8, "score": 26, "pets": ["cat"], "sleep": 7.25}, "never"),
]


def plan_with_tables(labelled: bool) -> Plan:
    """Return a plan about single features and tables, and without a label about intervals too."""
    text = SURVEY.format(
        id="vectors-tables" if labelled else "vectors-tables-unlabelled",
        label=LABEL if labelled else "",
        scores=", ".join(f'"{score}"' for score in range(45)),
        with_label="label = true" if labelled else "",
    )
    return read_survey(text).compile()


def rows(labelled: bool) -> list[tuple[dict[str, Any], str | None]]:
    """Return rows with their labels."""
    return [(row, label if labelled else None) for row, label in ROWS]

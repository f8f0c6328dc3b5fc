"""Surveys that several tests share: one that each test can change, and files that are used as they are."""

import json
import re
from typing import Any

from encoders.survey import Plan, read_survey

_TEA: dict[str, Any] = {
    "survey": {"id": "tea", "epsilon": 1.0},
    "label": {"name": "tired", "values": ["yes", "no"]},
    "features": {
        "tea": {"values": ["black", "green"]},
        "hours": {"range": [0, 12], "bins": 2, "missing": "category"},
    },
}


def survey_toml(**changes: Any) -> str:
    """Return a small survey as TOML: tea and hours of sleep, and whether people are tired.

    A change that is a dictionary is a table, and its entries replace those of the survey. `features` replaces
    all features, and a list is the values of a feature or of the label. Other changes are entries of
    [survey]. None removes an entry, and `label=None` the label. For example: survey_toml(epsilon=2.0,
    features={"tea": ["black", "green"]}, label={"weight": 1}, mechanism={"frequency": "OUE"})
    """
    tables = {name: dict(table) for name, table in _TEA.items()}
    for name, change in changes.items():
        change = {"values": change} if name == "label" and isinstance(change, list) else change
        if name == "label" and change is None:
            del tables["label"]
            continue
        if name == "features":
            tables[name] = {
                each: {"values": entries} if isinstance(entries, list) else entries
                for each, entries in change.items()
            }
        elif isinstance(change, dict):
            tables[name] = tables.get(name, {}) | change
        else:
            tables["survey"][name] = change
    return "".join(_write_table(name, table) for name, table in tables.items())


def _write_table(name: str, table: dict[str, Any]) -> str:
    lines, inner = [f"[{name}]\n"], []
    for key, value in table.items():
        if isinstance(value, dict):
            named = key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key, ensure_ascii=False)
            inner.append(_write_table(f"{name}.{named}", value))
        elif value is not None:  # strings, numbers and lists of them are written in TOML as in JSON
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}\n")
    return "".join([*lines, *inner])


def make_plan(**changes: Any) -> Plan:
    """Return the plan of :func:`survey_toml` with these changes."""
    return read_survey(survey_toml(**changes)).compile()


SLEEP = """\
[survey]
id = "sleep"
epsilon = 1.0

[label]
name = "rested"
values = ["yes", "no"]

[features.age]
values = ["young", "old"]
missing = "category"

[features.hours]
range = [0, 12]
bins = 4
"""
"""Two features: the survey of tests of devices, stores and the collector."""

SLEEP_TEXTS = """
[about]
title = "Sleep"
purpose = "To learn who sleeps well."
contact = "A. Researcher, 1 Main Street"

[texts.en]
title = "Sleep and shift work"
help = "It takes one minute."

[texts.en.label]
title = "Do you feel rested?"
values = { yes = "Yes", no = "No" }

[texts.en.features.age]
title = "How old are you?"
help = "In years."
values = { young = "Under 40", old = "40 or older", "(missing)" = "I prefer not to answer" }

[texts.de]
title = "Schlaf und Schichtarbeit"

[texts.de.label]
title = "Sind Sie ausgeruht?"
values = { yes = "Ja", no = "Nein" }
"""
"""Texts of SLEEP, to be added to it: complete in no language."""

TEA = """\
[survey]
id = "tea"
epsilon = 1.0

[label]
name = "tired"
values = ["yes", "no"]

[features.tea]
values = ["black", "green"]

[features.hours]
range = [0, 12]
bins = 2
missing = "category"
"""
"""Two features: the survey of tests of commands, rounds and training."""

TEA_OF_THREE = """\
[survey]
id = "tea"
epsilon = 1.0
[label]
name = "tired"
values = ["yes", "no"]
[features.tea]
values = ["black", "green", "mint"]
[features.hours]
range = [0, 12]
bins = 3
missing = "category"
weight = 3
"""
"""Three kinds of tea: the survey of tests of `ldp-survey`."""

GOOD = """\
[survey]
id = "sleep-2026"
epsilon = 1.5

[label]
name = "rested"
values = ["yes", "no"]

[features.age]
values = ["young", "old"]
missing = "category"

[features.hours]
range = [0, 10]
bins = 4
weight = 3

[mechanism]
frequency = "OUE"
"""
"""A survey with every kind of entry but projections; tests of mistakes change one place of it."""

PROJECTED = """\
[survey]
id = "sleep-2026"
epsilon = 1.5

[label]
name = "rested"
values = ["yes", "no"]

[projection.inputs.age]
range = [0, 100]
missing = "category"

[projection.inputs.income]
range = [-2000.5, 200_000]

[features.city]
values = ["north", "south"]

[features.hours]
range = [0, 12]

[features.first]
range = [-1, 1]
bins = 4
weights = [0.25, -0.75]
missing = "category"

[features.second]
range = [-2, 2]
weights = [-3, 0.000001]
offset = 0.1
missing = "category"
weight = 2

[mechanism]
frequency = "DE"
"""

PARTS = ", ".join(f"[0, {-part}]" for part in range(64))
VALIDATED = f"""\
{PROJECTED}
[validation]
order = ["hours", "second", "city"]
tops = [1, 2]
prior = [0, -20]

[validation.scores]
city = [[0, -700], [-300, 0]]
first = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]]
hours = [{PARTS.replace("[0, ", "[-32, ")}]
second = [{PARTS}, [-5, 0]]
"""

RELAYED = """\
[survey]
id = "night-work"
epsilon = 2
users = 1000
[relay]
url = "https://relay.example/night-work"
batch = 600
honest = 0.73
epsilon = 1
delta = 1e-6
opens = 2026-11-01T00:00:00Z
closes = 2026-12-31T00:00:00Z
[features.nights]
values = ["none", "some", "many", "other"]
missing = "category"
[features.rested]
values = [true, false]
missing = "category"
"""
"""A survey without a label, with a relay that has no keys yet."""
RELAY_KEYS = """\
collector_key = "AQAgAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8AAQAB"
relay_key = "AgAgICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8AAQAB"
"""
"""Entries of RELAYED: two public keys, to which nobody has the private ones."""

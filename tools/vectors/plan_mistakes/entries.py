"""Bad plans with one entry of the honest plan that is wrong, missing, or added."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from encoders.canonical import BLANKS
from tools.vectors.plan_mistakes.honest import edited, question, silo_text, text_of

ENTRIES: dict[str, tuple[str, Any]] = {
    "format 2": ("format", 2),
    "format 0": ("format", 0),
    "format as text": ("format", "1"),
    "format true": ("format", True),
    "no format": ("format", ...),
    "an unknown entry": ("more", "1"),
    "an unknown entry of a question": ("questions/0/more", 1),
    "an unknown entry of a feature": ("features/0/more", 1),
    "an unknown entry of the label": ("label/more", "1"),
    "an entry that is null": ("projection", None),
    "no id": ("id", ...),
    "id empty": ("id", ""),
    "id in capitals": ("id", "Plans"),
    "id of 65 characters": ("id", "a" * 65),
    "id with a slash": ("id", "plans/.."),
    "id with a hyphen first": ("id", "-plans"),
    "id with a line feed behind it": ("id", "plans\n"),
    "id with a letter beyond ASCII": ("id", "pl\u00e4ne"),
    "family equal to the id, which is the default": ("family", "plans"),
    "family empty": ("family", ""),
    "family null": ("family", None),
    "family in capitals": ("family", "Plans"),
    "enrolment open, which is the default": ("enrolment", "open"),
    "enrolment of a kind that is unknown": ("enrolment", "invitation"),
    "enrolment true": ("enrolment", True),
    "texts empty": ("texts", ""),
    "texts null": ("texts", None),
    "texts as an object": ("texts", {}),
    "texts as a number": ("texts", int("1" * 64)),
    "texts of 63 digits": ("texts", "a" * 63),
    "texts of 65 digits": ("texts", "a" * 65),
    "texts in capitals": ("texts", "A" * 64),
    "texts of digits that are not hexadecimal": ("texts", "g" * 64),
    "texts of digits beyond ASCII": ("texts", "\u0661" * 64),
    "texts with a line feed behind it": ("texts", "a" * 64 + "\n"),
    "epsilon 0": ("epsilon", "0"),
    "epsilon negative": ("epsilon", "-1"),
    "epsilon below 0.001": ("epsilon", "0.0009"),
    "epsilon above 32": ("epsilon", "32.000001"),
    "epsilon with a trailing zero": ("epsilon", "1.0"),
    "epsilon with an exponent": ("epsilon", "1e0"),
    "epsilon with a sign": ("epsilon", "+1"),
    "epsilon as a number": ("epsilon", 1),
    "epsilon NaN": ("epsilon", "NaN"),
    "epsilon infinite": ("epsilon", "Infinity"),
    "epsilon less than what is spent": ("epsilon", "0.999999"),
    "one class": ("label/values", ["yes"]),
    "a class twice": ("label/values", ["yes", "yes"]),
    "a class more than the domain says": ("label/values", ["yes", "no", "maybe"]),
    "a class that is empty": ("label/values/0", ""),
    "a class with a line feed": ("label/values/0", "y\nes"),
    "a class of 201 characters": ("label/values/0", "y" * 201),
    "a class that is a number": ("label/values/0", 1),
    "the label named as a feature": ("label/name", "age"),
    "two features of one name": ("features/1/name", "age"),
    "a feature without a name": ("features/1/name", ""),
    "a kind that is unknown": ("features/0/kind", "ordinal"),
    "a kind of another feature": ("features/0/kind", "binned"),
    "missing neither category nor error": ("features/0/missing", "ignore"),
    "missing contradicts the domain": ("features/0/missing", "error"),
    "a category twice": ("features/0/values", ["old", "old"]),
    "a category named as the missing one": ("features/0/values/0", "(missing)"),
    "a category less than the domain says": ("features/0/values", ["old"]),
    "a category that is true": ("features/0/values/0", True),
    "edges that fall": ("features/1/edges", ["0", "12", "4.5"]),
    "edges equal as doubles": ("features/1/edges", ["0", "0.1", "0.10000000000000000001"]),
    "edges as numbers": ("features/1/edges", [0, 4, 12]),
    "an edge with an exponent": ("features/1/edges/2", "1e2"),
    "an edge with a trailing zero": ("features/1/edges/1", "4.50"),
    "an edge with a leading zero": ("features/1/edges/1", "04.5"),
    "an edge with a sign": ("features/1/edges/1", "+4.5"),
    "an edge of minus zero": ("features/1/edges/0", "-0"),
    "an edge with white space": ("features/1/edges/1", " 4.5"),
    "an edge with an underscore": ("features/1/edges/2", "1_2"),
    "an edge beyond the doubles": ("features/1/edges/2", "1" + "0" * 400),
    "an edge that is infinite": ("features/1/edges/2", "Infinity"),
    "edges further apart than the doubles reach": (
        "features/1/edges",
        ["-1" + "0" * 308, "0", "1" + "0" * 308],
    ),
    "one edge": ("features/1/edges", ["0"]),
    "low above high": ("features/2/low", "13"),
    "low equal to high": ("features/2/low", "12"),
    "low as a number": ("features/2/low", 0),
    "no questions": ("questions", []),
    "a question about no feature of the plan": ("questions/1/feature", 9),
    "a question about feature -1": ("questions/1/feature", -1),
    "a question about feature true": ("questions/2/feature", True),
    "a question about another feature": ("questions/1/feature", 1),
    "a question about the label with a feature": ("questions/0/feature", 0),
    "a domain that does not follow": ("questions/1/domain", 7),
    "a domain as text": ("questions/1/domain", "6"),
    "a weight of 0": ("questions/1/weight", 0),
    "a weight below 0": ("questions/1/weight", -1),
    "a weight that is true": ("questions/0/weight", True),
    "a weight as text": ("questions/1/weight", "1"),
    "a weight above 12000000": ("questions/1/weight", 12000001),
    "a mechanism that is unknown": ("questions/1/mechanism", "RAPPOR"),
    "a mechanism in small letters": ("questions/1/mechanism", "de"),
    "a mechanism of other tables": ("questions/1/mechanism", "OUE"),
    "a mechanism for numbers asks a category": ("questions/1/mechanism", "sign"),
    "a moment of a category": ("questions/1/moment", 1),
    "a moment and a domain": ("questions/3/domain", 4),
    "moment 3, of a mechanism that cannot estimate both": ("questions/3/moment", 3),
    "moment 4": ("questions/3/moment", 4),
    "moment true": ("questions/3/moment", True),
    "moment as text": ("questions/3/moment", "1"),
    "moment null": ("questions/1/moment", None),
    "a mean without its square": ("questions/4", ...),
    "a square without its mean": ("questions/3", ...),
    "a list of one feature where a category is due": ("questions/1/feature", [0]),
    "a list of one feature where a number is due": ("questions/3/feature", [2]),
    "a ratio that is smaller than the tables'": ("questions/1/ratio/0", "1"),
    "a ratio as numbers": ("questions/1/ratio", [2, 1]),
    "a ratio of one part": ("questions/1/ratio", ["2"]),
    "no ratio": ("questions/1/ratio", ...),
    "a realised epsilon that is smaller than the tables'": ("questions/1/epsilon", "0.5"),
    "a realised epsilon of more digits": ("questions/1/epsilon", question(1)["epsilon"] + "1"),
    "a key of no tables": ("questions/1/tables", "0123456789abcdef"),
    "a key of other tables": ("questions/1/tables", question(0)["tables"]),
    "a key of tables in a list": ("questions/1/tables", [question(1)["tables"]]),
    "tables that nobody uses": ("tables/0123456789abcdef_", {"keep": "1"}),
    "tables that are a list": (f"tables/{question(1)['tables']}", []),
    "an entry more in the tables": (f"tables/{question(1)['tables']}/more", "1"),
    "tables changed, all else as it was": (f"tables/{question(1)['tables']}/keep", "9000000000000000000"),
    "a class that begins with a selector": ("label/values/0", "\ufe0fyes"),
    "a category of a selector alone": ("features/0/values/0", "\U000e0100"),
    "a selector between letter and accent": ("label/values", ["\u00e9", "e\ufe00\u0301"]),
    "two features that differ in a selector": ("features/1/name", "age\ufe0f"),
    "the label named as a feature with a selector": ("label/name", "age\u180b"),
}
UNSEEN = (*BLANKS, *"\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u2060\u2063\ufeff\U0001d173\U000e0061")
"""Characters that show nothing."""
CHOSEN_SELECTORS = "\u180b\u180d\u180f\ufe00\ufe0e\ufe0f\U000e0100\U000e01ef"


def entries() -> Iterator[tuple[str, str]]:
    for name, (path, value) in ENTRIES.items():
        yield name, edited(path, value)
    for unseen in UNSEEN:
        yield (
            f"a class with U+{ord(unseen):04X}, which shows nothing",
            edited("label/values/0", f"yes{unseen}"),
        )
    for selector in CHOSEN_SELECTORS:
        classes = ["yes", f"yes{selector}"]
        yield f"two classes that differ in U+{ord(selector):04X}", edited("label/values", classes)
    ratio = question(1)["ratio"]
    yield (
        "a ratio not in its lowest terms",
        edited("questions/1/ratio", [str(2 * int(part)) for part in ratio]),
    )
    yield "a ratio above the tables'", edited("questions/1/ratio/0", str(int(ratio[0]) + 1))
    named = edited("features/0/values", ["young", "old", "(missing)"])
    yield (
        "the last category named as the missing one, with none missing",
        edited("features/0/missing", "error", named),
    )
    yield "a survey of silos", silo_text()
    yield "a kind of survey, silo", edited("kind", "silo")
    yield "a kind of survey, person", edited("kind", "person")
    listed = json.loads(text_of())["questions"]
    yield "questions in another order", edited("questions", [*listed[1:], listed[0]])
    yield "the square before the mean", edited("questions", [*listed[:3], listed[4], listed[3]])
    yield "a feature asked twice", edited("questions", [*listed[:2], *listed[1:]])

"""Bad plans with waves: an overlap, another order, and entries that are wrong, missing or added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from encoders.survey import read_survey
from encoders.survey.relay import LAST_TIME
from tools.vectors.plan_mistakes.honest import Document, edited

A, B, C = ({"closes": 10 + at, "name": f"w-{at}", "opens": at} for at in (10, 20, 40))
ENTRIES: dict[str, tuple[str, Any]] = {
    "waves that are null": ("waves", None),
    "waves that are a list": ("waves", [A, B, C]),
    "waves that are empty": ("waves", {}),
    "an unknown entry of the waves": ("waves/more", 1),
    "no assign of the waves": ("waves/assign", ...),
    "an assign that is unknown": ("waves/assign", "chosen"),
    "an assign that is null": ("waves/assign", None),
    "an assign in capitals": ("waves/assign", "Drawn"),
    "no list of waves": ("waves/list", ...),
    "a list of waves that is an object": ("waves/list", {"0": A, "1": B}),
    "no wave": ("waves/list", []),
    "one wave": ("waves/list", [A]),
    "a wave that is null": ("waves/list/1", None),
    "an unknown entry of a wave": ("waves/list/1/more", 1),
    "a wave without a name": ("waves/list/1/name", ...),
    "a wave that does not open": ("waves/list/1/opens", ...),
    "a wave that does not close": ("waves/list/1/closes", ...),
    "waves in another order": ("waves/list", [B, A, C]),
    "the last wave before the others": ("waves/list", [C, A, B]),
    "waves that overlap by a second": ("waves/list/1/opens", 19),
    "a wave that begins with the one before it": ("waves/list/1/opens", 10),
    "a wave within another": ("waves/list", [A | {"closes": 60}, B, C]),
    "a wave that closes when it opens": ("waves/list/1/closes", 20),
    "a wave that closes before it opens": ("waves/list/2/closes", 39),
    "a wave that opens in 1970": ("waves/list/0/opens", 0),
    "a wave that opens before 1970": ("waves/list/0/opens", -1),
    "a wave that closes beyond the last time": ("waves/list/2/closes", LAST_TIME),
    "a wave that opens at a fraction of a second": ("waves/list/1/opens", 20.5),
    "a wave that opens at a text": ("waves/list/1/opens", "20"),
    "a wave that opens at true": ("waves/list/0/opens", True),
    "a wave that closes at null": ("waves/list/1/closes", None),
    "two waves of one name": ("waves/list/1/name", "w-10"),
    "a wave with an empty name": ("waves/list/1/name", ""),
    "a wave with a name in capitals": ("waves/list/1/name", "W-20"),
    "a wave with a name of 33 characters": ("waves/list/1/name", "w" * 33),
    "a wave with a name with a slash": ("waves/list/1/name", "w/20"),
    "a wave with a name with a line feed behind it": ("waves/list/1/name", "w-20\n"),
    "a wave with digits beyond ASCII": ("waves/list/1/name", "w-\u0662"),
    "a wave with a name that is a number": ("waves/list/1/name", 20),
    "a wave called all": ("waves/list/1/name", "all"),
    "a wave called last": ("waves/list/1/name", "last"),
}


def waves() -> Iterator[tuple[str, str]]:
    base = edited("waves", {"assign": "drawn", "list": [A, B, C]})
    for name, (path, value) in ENTRIES.items():
        yield name, edited(path, value, base)
    yield "401 waves", edited("waves/list", _days(401), base)
    many = edited("waves", {"assign": "drawn", "list": _days(373)}, _eleven_questions())
    yield "373 waves of 11 questions", many


def _days(count: int) -> list[Document]:
    return [{"closes": day + 1, "name": str(day), "opens": day} for day in range(1, count + 1)]


def _eleven_questions() -> str:
    head = '[survey]\nid = "plans"\nepsilon = 1\n[mechanism]\nfrequency = "DE"\n'
    features = "".join(f'[features.f{number}]\nvalues = ["a", "b"]\n' for number in range(11))
    return read_survey(head + features).compile().json.decode()

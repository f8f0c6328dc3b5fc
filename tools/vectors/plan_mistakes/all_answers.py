"""Plans in which each person answers every question through a relay: valid ones, and some just above a limit.

Clients that cannot use a relay refuse all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import Any

from encoders.canonical import decimal_text, dump_canonical_json
from encoders.composition import composed_delta
from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms import DE
from encoders.survey import Plan, read_survey
from tools.vectors.envelopes import PUBLIC_KEYS

Document = dict[str, Any]
HEAD = """
[survey]
id = "all-answers"
epsilon = {each}
[relay]
url = "https://relay.example/all-answers"
batch = 10_000_000
honest = 1
epsilon = 4
delta = 1e-6
opens = 2026-11-01T00:00:00Z
closes = 2026-12-31T00:00:00Z
collector_key = "{collector}"
relay_key = "{relay}"
[mechanism]
frequency = "{frequency}"
"""
QUARTER = "[features.{name}]\nvalues = [1, 2, 3, 4]\n"
MIXED = """
[features.two]
values = [1, 2]
[features.three]
values = [1, 2, 3]
[features.six]
values = [1, 2, 3, 4, 5, 6]
[features.number]
range = [0, 12]
"""
"""Five questions, because a number has two. Their messages have all forms of the bound."""
LETTERS = "abcdefgh"
_DELTA = 1e-6


def all_answers() -> Document:
    """Return the plans to accept and to refuse, and the bounds of messages of direct encoding."""
    good = {name: _text(document) for name, document in _good()}
    bad = {name: _text(document) for name, document in _bad()}
    for text in good.values():
        Plan.from_json(text.encode())
    for name, text in bad.items():
        try:
            Plan.from_json(text.encode())
        except (PrivacyError, SurveyError):
            continue
        raise AssertionError(f"{name}: accepted")
    return {
        "good": [{"name": name, "plan": text} for name, text in good.items()],
        "bad": [{"name": name, "plan": text} for name, text in bad.items()],
        "messages": list(_messages()),
    }


def _messages() -> Iterator[Document]:
    """Yield numbers of values and tables of direct encoding, with their bounds as doubles."""
    for domain in (2, 3, 4, 7, 300, 60_000):
        for epsilon in ("0.05", "1.5", "4"):
            mechanism = DE.design(domain, Decimal(epsilon))
            yield {"domain": domain, "tables": mechanism.parameters} | mechanism.message._asdict()


def _good() -> Iterator[tuple[str, Document]]:
    yield "two questions", _document(2, "1")
    yield "epsilon 64", _document(16, "4")
    yield "256 questions", _many(256)
    yield "an envelope of 59,780 bytes", _long(44)
    yield "the smallest batch", _mixed(**_smallest_batch())


def _bad() -> Iterator[tuple[str, Document]]:
    yield "epsilon above 64", _document(17, "3.76", epsilon="64.000001")
    yield "one answer above epsilon 4", _document(2, "4.000001", epsilon="20")
    yield "one of several answers above epsilon 4", _with_one_of(_document(4, "1"), _document(2, "4.01"))
    yield "257 questions", _many(257)
    yield "one question", _document(1, "1")
    yield "the product is above e^epsilon", _document(2, "1", epsilon="1.999")
    yield "the sum is above epsilon by a unit of the sixth digit", _document(3, "1", epsilon="2.999999")
    yield "epsilon is that of one answer", _document(3, "1", epsilon="1")
    yield "an envelope above 60,000 bytes", _long(45)
    for name, value in (("a question with weight 2", 2), ("a question with weight 0", 0)):
        document = _document(2, "1")
        document["questions"][1]["weight"] = value
        yield name, document
    document = _document(2, "1")
    for question in document["questions"]:
        question["weight"] = 2
    yield "each weight is 2", document
    asks: tuple[object, ...] = ("one", "All", "", "two", None, True, ["all"])
    for ask in asks:
        document = _document(2, "1")
        document["relay"]["ask"] = ask
        yield f"ask is {json.dumps(ask)}", document
    document = _document(2, "1", epsilon="1")
    document["relay"]["ask"] = "one"
    yield "ask is written though each person answers one", document
    document = _mixed(**_smallest_batch())
    document["relay"]["batch"] -= 1
    yield "one person too few", document
    document = _mixed(**_smallest_batch())
    document["relay"] |= {"batch": 2 * document["relay"]["batch"] - 2, "honest": "0.5"}
    yield "one honest person too few", document
    yield "the promise holds without one question", _mixed(**_smallest_batch(questions=4))
    yield "the promise holds for one question", _mixed(**_smallest_batch(questions=1))
    fits = _smallest_batch()
    yield (
        "the promise holds if people are multiplied by questions",
        _mixed(batch=-(-fits["batch"] // 5), promise=fits["promise"]),
    )
    document = _document(2, "1")
    document["enrolment"] = "token"
    yield "with invitations", document
    for name in ("opens", "closes"):
        document = _document(2, "1")
        opens, closes = document["relay"]["opens"], document["relay"]["closes"]
        waves = [{"name": "a", "opens": opens, "closes": opens + 1}]
        waves += [{"name": "b", "opens": opens + 1, "closes": closes}]
        document["waves"] = {"assign": "drawn", "list": waves}
        Plan.from_json(_text(document).encode())
        document["relay"][name] -= 1
        yield f"the relay {name} before the waves", document


def _document(
    count: int,
    each: str,
    epsilon: str | None = None,
    batch: int = 10_000_000,
    promise: str = "4",
    frequency: str = "DE",
    features: str | None = None,
) -> Document:
    """Return a plan's document with so many questions, each with this epsilon; it need not be valid."""
    names = [f"{LETTERS[i // 8]}{LETTERS[i % 8]}" for i in range(min(count, 64))]
    text = "".join(QUARTER.format(name=name) for name in names) if features is None else features
    # without `ask`, the survey compiles, whatever the limits of "all" say
    survey = HEAD.format(each=each, frequency=frequency, **PUBLIC_KEYS) + text
    plan: Document = json.loads(read_survey(survey).compile().json)
    for question in plan["questions"]:
        question["weight"] = 1
    plan["epsilon"] = epsilon or decimal_text(Decimal(each) * count)
    plan["relay"] |= {"ask": "all", "batch": batch, "epsilon": promise}
    return plan


def _with_one_of(document: Document, other: Document) -> Document:
    """Return a plan whose second question has the mechanism of another plan's."""
    document["questions"][1] = other["questions"][1] | {"feature": 1}
    return document | {"epsilon": "20", "tables": document["tables"] | other["tables"]}


def _many(count: int) -> Document:
    """Return a plan with many questions: numbers of two values, of which each is one question."""
    listed = "".join(f"[features.f{number}]\nvalues = [0, 1]\n" for number in range(count))
    return _document(count, "0.2", features=listed)


def _long(values_of_first: int) -> Document:
    """Return a plan whose envelope is long: 15 tables of two features, most of them with 44 values each."""
    listed = {name: range(values_of_first if name == "a" else 44) for name in LETTERS[:6]}
    features = "".join(f"[features.{name}]\nvalues = {list(values)}\n" for name, values in listed.items())
    pairs = [(one, other) for one in listed for other in listed if one < other]
    tables = "".join(f'[tables.{one}{other}]\nfeatures = ["{one}", "{other}"]\n' for one, other in pairs)
    return _document(len(pairs), "1", frequency="SHE", features=features + tables)


def _mixed(**relay: Any) -> Document:
    """Return a plan with questions of different forms, each with epsilon 1.5."""
    return _document(5, "1.5", features=MIXED, **relay)


@cache
def _smallest_batch(questions: int = 5) -> dict[str, Any]:
    """Return the smallest batch, all honest, in which so many of these questions keep epsilon 1."""
    messages = Plan.from_json(_text(_mixed()).encode()).messages[:questions]
    least, most = 1, 10_000
    while most - least > 1:
        middle = (least + most) // 2
        if composed_delta(messages, middle, 1.0) <= _DELTA:
            most = middle
        else:
            least = middle
    return {"batch": most, "promise": "1"}


def _text(document: Document) -> str:
    return dump_canonical_json(document).decode()

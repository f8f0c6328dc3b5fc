"""Write the test vectors: ``python -m tools.vectors.generate``.

good-MECHANISM.json holds a plan and, for rows and explicit random bytes, the codes, the question, the value
and the report that must follow; good-numeric-MECHANISM.json the same for numbers, and
good-numeric-projection.json for numbers made of others; good-together.json for features that are asked about
together; good-tables*.json for tables of several features and for intervals of ordered ones (tables.py);
good-values.json for every value that a row may hold (values.py); good-validation.json and
good-validation-together.json for a model that devices validate (validations.py); good-texts.json for a plan
with the SHA-256 of its texts, and the texts that each language displays (texts.py). good-unlabelled*.json,
good-choices*.json and bad-*-unlabelled.json are about surveys without a label, and features with several
answers (without_label.py and plan_mistakes/without_label.py). normal-forms.json holds rows and plans with
texts in several Unicode normal forms, and good-emoji.json texts with variation selectors (normal_forms.py).
bad.json holds reports that a collector of its plan must refuse, and the reason; bad-rows.json and
bad-rows-validation.json rows that a client must refuse, and the field; bad-plans.json plans that it must
refuse (bad_plans.py and plan_mistakes/); tokens.json invitations, some of them to refuse (tokens.py);
relay-addresses.json addresses of relays, to take and to refuse (relays.py); compositions.json bounds on the
privacy of people who answer every question through a relay (compositions.py); envelopes.json what they send
(envelopes.py); relay-plans.json plans of such surveys, to take and to refuse (plan_mistakes/all_answers.py).
good-large-sets.json is about subset selection of more than 64 values (large_sets.py); good-waves.json and
tokens-waves.json are about surveys that are asked again and again (waves.py); the plan of good-series.json
belongs to a series.
Random bytes are SHA-256 in counter mode, so that a port can make more of them, or stand at the exact limits
of a mechanism (limits.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack

from encoders.mechanisms import MECHANISMS, NUMERIC_MECHANISMS
from encoders.randomness import GivenBytes
from encoders.report import MAX_REPORT_BYTES, Report, pack
from encoders.survey import Plan, read_survey
from encoders.survey.questions import Question
from encoders.survey.waves import Series
from tools.vectors import (
    bad_plans,
    compositions,
    envelopes,
    large_sets,
    limits,
    normal_forms,
    relays,
    tables,
    texts,
    tokens,
    validations,
    values,
    waves,
    without_label,
)
from tools.vectors.common import case, first_draws, random_bytes, words
from tools.vectors.plan_mistakes.all_answers import all_answers
from tools.vectors.plan_mistakes.series import GOOD as SERIES

VECTORS = Path(__file__).resolve().parents[2] / "tests" / "vectors"
SURVEY = """
[survey]
id = "vectors"
epsilon = {epsilon}
[label]
name = "rested"
values = ["never", "sometimes", "often"]
weight = 1
[features.smokes]
values = [true, false]
[features.age]
values = ["young", "middle", "old"]
missing = "category"
weight = 2
[features.hours]
edges = [0, 4.5, 7.5, 12]
missing = "category"
[features.district]
values = [{districts}]
weight = 5
[mechanism]
frequency = "{frequency}"
"""
ROWS: list[tuple[dict[str, Any], str]] = [
    ({"smokes": True, "age": "young", "hours": 0, "district": 1000}, "never"),
    ({"smokes": "false", "age": "old", "hours": 7.5, "district": "1089"}, "often"),
    ({"smokes": False, "age": None, "hours": None, "district": 1042.0}, "sometimes"),
    ({"smokes": "true", "age": "", "hours": 4.499999999999999, "district": 1001, "more": "ignored"}, "never"),
    ({"smokes": False, "age": "middle", "hours": -3, "district": "1088"}, "sometimes"),
    ({"smokes": True, "age": "middle", "hours": 1e300, "district": 1059}, "often"),
]
KINDS = {
    "DE": "1",
    "SUE": "0.5",
    "OUE": "1",
    "SHE": "2",
    "THE": "1",
    "THE(0.25)": "4",
    "SS": "0.5",
    "auto": "1.25",
}

NUMERIC_SURVEY = """
[survey]
id = "numeric-vectors"
epsilon = {epsilon}
[label]
name = "rested"
values = ["never", "sometimes", "often"]
weight = 1
[features.sleep]
range = [0, 12]
[features.smokes]
values = [true, false]
weight = 2
[features.income]
range = [-2000.5, 200_000]
missing = "category"
weight = 3
{projection}
[mechanism]
frequency = "DE"
numeric = "{numeric}"
"""
PROJECTION = """
[features.first]
range = [-1, 1]
bins = 4
weights = [0.25, -0.75, 1]
missing = "category"
[features.second]
range = [-0.3, 1.7]
weights = [-1.5, 0.000001, 0.333333]
offset = 0.1
missing = "category"
[projection.inputs.age]
range = [0, 100]
[projection.inputs.distance]
range = [0.1, 0.7]
missing = "category"
[projection.inputs.height]
range = [1.4, 2.1]
"""
NUMERIC_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"sleep": 7.5, "smokes": True, "income": 21_000}, "never"),
    ({"sleep": 0, "smokes": False, "income": None}, "often"),
    ({"sleep": 12, "smokes": "true", "income": 1e300}, "sometimes"),
    ({"sleep": 6.1, "smokes": "false", "income": -2000.5, "more": "ignored"}, "never"),
    ({"sleep": 0.1, "smokes": False, "income": 98999.75}, "sometimes"),
    ({"sleep": -3, "smokes": True, "income": 0.3}, "often"),
]
INPUTS: list[dict[str, Any]] = [
    {"age": 33, "distance": 0.3, "height": 1.71},
    {"age": 100, "distance": None, "height": 1.8},
    {"age": 0, "distance": 0.7, "height": 1e300},
    {"age": 50, "distance": 0.4, "height": 1.75, "second": "ignored"},
    {"age": 99.9, "distance": 0.1, "height": 1.4},
    {"age": -1, "distance": 0.65, "height": 2.0999999999999996},
]
NUMERIC_KINDS = {
    "laplace": "2",
    "onebit": "1",
    "piecewise": "4",
    "sampled-laplace": "8",
    "sign": "1",
    "sign-vector": "0.5",
}

TOGETHER_SURVEY = """
[survey]
id = "vectors-together"
epsilon = 5
[label]
name = "rested"
values = ["never", "sometimes", "often"]
weight = 1
[features.smokes]
values = [true, false]
[features.age]
values = ["young", "middle", "old"]
missing = "category"
weight = 2
[features.hours]
edges = [0, 4.5, 7.5, 12]
[features.sleep]
range = [0, 12]
[features.sugar]
values = ["none", "some", "much"]
weight = 2
[features.tea]
values = ["no", "yes"]
"""


def numeric_plan_of(numeric: str, epsilon: str, projection: str = "") -> Plan:
    text = NUMERIC_SURVEY.format(numeric=numeric, epsilon=epsilon, projection=projection)
    return read_survey(text).compile()


def plan_of(frequency: str, epsilon: str) -> Plan:
    few = [*range(16), 42, 59, 88, 89]  # domain 60: a set of one word
    listed = few if frequency == "SS" else range(90)  # domain 270: indices of two bytes
    districts = ", ".join(str(1000 + i) for i in listed)
    return read_survey(SURVEY.format(frequency=frequency, epsilon=epsilon, districts=districts)).compile()


def cases(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield every question with drawn noise for some rows, and with the extreme noise for one."""
    for question, middle in zip(plan.questions, first_draws(plan), strict=True):
        rows = ROWS[:2] if question.domain > 100 else ROWS
        for number, (row, label) in enumerate(rows):
            noise = random_bytes(f"{plan.id}/{question.index}/{number}", 16 + question.mechanism.random_bytes)
            yield case(plan, row, label, words(middle) + noise)
        if question.domain <= 100 or question.mechanism.name == "DE":
            yield from limit_cases(plan, question, *rows[1], middle)
    for byte in (b"\x00", b"\xff"):
        wanted = plan.questions[0 if byte == b"\x00" else -1].mechanism.random_bytes
        yield case(plan, *ROWS[2], byte * (24 + wanted))


def numeric_cases(plan: Plan, rows: Sequence[tuple[dict[str, Any], str | None]]) -> Iterator[dict[str, Any]]:
    """Yield every question with drawn noise for every row, and with the extreme noise for one."""
    for question, middle in zip(plan.questions, first_draws(plan), strict=True):
        wanted, first = question.mechanism.random_bytes, words(middle)
        for number, (row, label) in enumerate(rows):
            noise = random_bytes(f"{plan.id}/{question.index}/{number}", 16 + wanted)
            yield case(plan, row, label, first + noise)
        for number, byte in ((1, b"\x00"), (2, b"\xff")):
            yield case(plan, *rows[number], first + byte * (16 + wanted))
        for number in (1, 3, 4) if question.moment else (1,):
            yield from limit_cases(plan, question, *rows[number], middle)


def limit_cases(
    plan: Plan, question: Question, row: dict[str, Any], label: str | None, draw: int
) -> Iterator[dict[str, Any]]:
    """Yield one row with noise at the exact limits of the question's mechanism."""
    report_id = random_bytes(f"{plan.id}/{question.index}/limits", 16)
    for noise in limits.noises(question, question.value(*plan.encode(row, label))):
        yield case(plan, row, label, words(draw) + report_id + noise)


def good(frequency: str) -> dict[str, Any]:
    plan = plan_of(frequency, KINDS[frequency])
    return {"cases": list(cases(plan)), "digest": plan.digest, "plan": plan.json.decode()}


def good_series() -> dict[str, Any]:
    plan = replace(plan_of("DE", "1.25"), series=Series(**SERIES))
    return {"cases": list(cases(plan)), "digest": plan.digest, "plan": plan.json.decode()}


def good_numeric(numeric: str) -> dict[str, Any]:
    plan = numeric_plan_of(numeric, NUMERIC_KINDS[numeric])
    listed = list(numeric_cases(plan, NUMERIC_ROWS))
    return {"cases": listed, "digest": plan.digest, "plan": plan.json.decode()}


def good_both() -> dict[str, Any]:
    """Return the vectors of numbers that are one question each, next to one with two questions."""
    listed = NUMERIC_SURVEY.replace("weight = 3\n", 'weight = 3\nmoments = "mean"\n')
    plan = read_survey(listed.format(numeric="auto", epsilon="2.5", projection=PROJECTION)).compile()
    rows = [(inputs | row, label) for inputs, (row, label) in zip(INPUTS, NUMERIC_ROWS, strict=True)]
    return {"cases": list(numeric_cases(plan, rows)), "digest": plan.digest, "plan": plan.json.decode()}


def good_projection() -> dict[str, Any]:
    plan = numeric_plan_of("auto", "1.5", PROJECTION)
    rows = [(inputs | row, label) for inputs, (row, label) in zip(INPUTS, NUMERIC_ROWS, strict=True)]
    return {"cases": list(numeric_cases(plan, rows)), "digest": plan.digest, "plan": plan.json.decode()}


def good_together() -> dict[str, Any]:
    plan = read_survey(TOGETHER_SURVEY).compile()
    drinks = [
        ("none", "no"),
        ("much", "yes"),
        ("some", "yes"),
        ("none", "yes"),
        ("much", "no"),
        ("some", "no"),
    ]
    rows = [
        (row | {"sleep": 2 * place, "sugar": sugar, "tea": tea} | {"hours": row["hours"] or 5}, label)
        for place, ((row, label), (sugar, tea)) in enumerate(zip(ROWS, drinks, strict=True))
    ]
    return {"cases": list(numeric_cases(plan, rows)), "digest": plan.digest, "plan": plan.json.decode()}


def good_tables(labelled: bool) -> dict[str, Any]:
    plan = tables.plan_with_tables(labelled)
    listed = list(numeric_cases(plan, tables.rows(labelled)))
    return {"cases": listed, "digest": plan.digest, "plan": plan.json.decode()}


def good_validation() -> dict[str, Any]:
    plan = validations.single()
    return {"cases": list(validations.cases(plan)), "digest": plan.digest, "plan": plan.json.decode()}


def good_texts() -> dict[str, Any]:
    plan = texts.plan_with_texts()
    assert plan.texts
    return {
        "cases": list(texts.cases(plan)),
        "digest": plan.digest,
        "displayed": list(texts.displayed(plan)),
        "plan": plan.json.decode(),
        "texts": plan.texts.json.decode(),
    }


def good_validation_together() -> dict[str, Any]:
    plan = validations.together()
    listed = list(numeric_cases(plan, validations.rows(plan)))
    return {"cases": listed, "digest": plan.digest, "plan": plan.json.decode()}


def bad() -> dict[str, Any]:
    """Return reports that a collector of one plan must refuse, one mistake each."""
    plan, reports = plan_of("auto", "1"), []
    digest, report_id = bytes.fromhex(plan.digest), random_bytes("id", 16)
    payload = plan.questions[0].mechanism.perturb(0, GivenBytes(bytes(5000)))
    fields = [1, digest, 0, report_id, payload]
    honest = pack(Report(digest, 0, report_id, payload))

    def wrong(name: str, reason: str, data: bytes) -> None:
        reports.append({"name": name, "reason": reason, "report": data.hex()})

    def with_field(index: int, value: object) -> bytes:
        return bytes(msgpack.packb([*fields[:index], value, *fields[index + 1 :]]))

    wrong("empty", "malformed", b"")
    wrong("truncated", "malformed", honest[:-1])
    wrong("header only", "malformed", honest[:1])
    wrong("a trailing byte", "malformed", honest + b"\x00")
    wrong("two reports read as one", "malformed", honest * 2)
    wrong("nested in an array", "malformed", b"\x91" + honest)
    wrong("deeply nested", "malformed", b"\x91" * 2000 + b"\x01")
    wrong("a map", "malformed", bytes(msgpack.packb(dict(enumerate(fields)))))
    wrong("a map with a key twice", "malformed", b"\x82\x01\x01\x01\x01")
    wrong("four fields", "malformed", bytes(msgpack.packb(fields[:4])))
    wrong("six fields", "malformed", bytes(msgpack.packb([*fields, None])))
    wrong("array header of 16 bits", "malformed", b"\xdc\x00\x05" + honest[1:])
    wrong("version as uint 8", "malformed", b"\x95\xcc\x01" + honest[2:])
    wrong("digest as bin 16", "malformed", b"\x95\x01\xc5\x00\x20" + honest[4:])
    wrong("digest as str 8", "malformed", b"\x95\x01\xd9\x20" + honest[4:])
    wrong(
        "a payload that declares 4 GiB",
        "malformed",
        honest[: -len(payload) - 2] + b"\xc6\xff\xff\xff\xff\x00",
    )
    wrong("version 2", "malformed", with_field(0, 2))
    wrong("version true", "malformed", with_field(0, True))
    wrong("version float", "malformed", with_field(0, 1.0))
    wrong("digest short", "malformed", with_field(1, digest[:-1]))
    wrong("question negative", "malformed", with_field(2, -1))
    wrong("question float", "malformed", with_field(2, 0.0))
    wrong("question false", "malformed", with_field(2, False))
    wrong("id short", "malformed", with_field(3, report_id[:-1]))
    wrong("id nil", "malformed", with_field(3, None))
    wrong("payload text", "malformed", with_field(4, "a"))
    wrong("payload list", "malformed", with_field(4, [0]))
    wrong("payload extension", "malformed", with_field(4, msgpack.ExtType(1, payload)))
    wrong("payload timestamp", "malformed", with_field(4, msgpack.Timestamp(1)))
    wrong("longer than 4 KiB", "too-large", with_field(4, bytes(MAX_REPORT_BYTES)))
    wrong("another plan", "wrong-plan", with_field(1, hashlib.sha256(b"another").digest()))
    wrong("a question beyond the last", "unknown-question", with_field(2, len(plan.questions)))
    wrong("question 2^64 - 1", "unknown-question", with_field(2, (1 << 64) - 1))
    wrong("payload empty", "bad-payload", with_field(4, b""))
    wrong("payload long", "bad-payload", with_field(4, payload + b"\x00"))
    for frequency in MECHANISMS:
        reports += impossible_payloads(frequency)
    for numeric in NUMERIC_MECHANISMS:
        reports += impossible_numbers(numeric)
    return {"digest": plan.digest, "plan": plan.json.decode(), "reports": reports}


def impossible_payloads(frequency: str) -> list[dict[str, Any]]:
    """Return payloads of the right length that no device sends, each under a plan of its own."""
    plan = plan_of(frequency, "1")
    payloads = {
        "DE": (0, [b"\x03", b"\xff"]),
        "SHE": (0, [(-200).to_bytes(2, "little", signed=True) + bytes(4), bytes(4) + b"\xff\x7f"]),
        # of 12 values three: none, two, four, and a thirteenth value
        "SS": (2, [b"\x00\x00", b"\x01\x08", b"\x0f\x00", b"\x03\x10", b"\xff\xff"]),
    }
    index, impossible = payloads.get(frequency, (0, [b"\x08", b"\xff"]))
    report_id = random_bytes("id", 16)
    return [
        {
            "name": f"{frequency} {payload.hex()}",
            "plan": plan.json.decode(),
            "reason": "bad-payload",
            "report": pack(Report(bytes.fromhex(plan.digest), index, report_id, payload)).hex(),
        }
        for payload in impossible
    ]


def impossible_numbers(numeric: str) -> list[dict[str, Any]]:
    """Return payloads about numbers that no device sends: one step too far, and as far as bytes go."""
    plan = numeric_plan_of(numeric, "1")
    question = next(each for each in plan.questions if each.moment and each.numeric_domain.missing[-1])
    mechanism, parameters = question.mechanism, dict[str, Any](question.mechanism.parameters)
    if numeric == "piecewise":
        cells = question.numeric_domain.slots * (129 + 2 * int(parameters["reach"]))
        impossible = [cells.to_bytes(2, "little"), b"\xff\xff"]
    elif numeric in ("laplace", "sampled-laplace"):
        beyond = len(parameters["weights"]) - int(parameters["steps"])
        rest = bytes(mechanism.payload_bytes - 2)
        impossible = [
            rest + beyond.to_bytes(2, "little"),
            (-beyond).to_bytes(2, "little", signed=True) + rest,
            b"\xff\x7f" + rest,
        ]
    else:  # three classes, and the number may be missing: 6 slots, 9 answers of a sign
        impossible = {
            "onebit": [b"\x0c", b"\xff"],
            "sign": [b"\x00\x02", b"\xff\xff"] if mechanism.payload_bytes == 2 else [b"\x09", b"\xff"],
            "sign-vector": [b"\x40", b"\xff"],
        }[numeric]
    wrong_length = [b"", bytes(mechanism.payload_bytes - 1), bytes(mechanism.payload_bytes + 1)]
    report_id = random_bytes("id", 16)
    return [
        {
            "name": f"{numeric} {payload.hex()}",
            "plan": plan.json.decode(),
            "reason": "bad-payload",
            "report": pack(Report(bytes.fromhex(plan.digest), question.index, report_id, payload)).hex(),
        }
        for payload in dict.fromkeys((*impossible, *wrong_length))
    ]


def files() -> dict[str, str]:
    """Return the text of every file of vectors by its name."""
    names = {kind: f"good-{kind.lower().replace('(', '-').replace(')', '')}.json" for kind in KINDS}
    documents = {names[kind]: good(kind) for kind in KINDS} | {"bad.json": bad()}
    documents |= {f"good-numeric-{kind}.json": good_numeric(kind) for kind in NUMERIC_KINDS}
    documents["good-numeric-both.json"] = good_both()
    documents["good-numeric-projection.json"] = good_projection()
    documents["good-series.json"] = good_series()
    documents["good-together.json"] = good_together()
    documents["good-tables.json"] = good_tables(labelled=True)
    documents["good-tables-unlabelled.json"] = good_tables(labelled=False)
    documents |= {"good-texts.json": good_texts(), "conditions.json": texts.conditions()}
    documents |= {"good-large-sets.json": large_sets.large_sets(), "good-values.json": values.good()}
    documents["good-validation.json"] = good_validation()
    documents["good-validation-together.json"] = good_validation_together()
    documents |= {"bad-rows.json": values.bad_rows(), "bad-plans.json": bad_plans.bad_plans()}
    documents["bad-rows-validation.json"] = validations.bad_rows()
    documents["normal-forms.json"] = normal_forms.normal_forms()
    documents["good-emoji.json"] = normal_forms.emoji()
    documents["tokens.json"] = tokens.tokens()
    documents |= waves.files()
    documents["relay-addresses.json"] = relays.addresses()
    documents["compositions.json"] = compositions.compositions()
    documents |= {"envelopes.json": envelopes.envelopes(), "relay-plans.json": all_answers()}
    documents |= without_label.files()
    documents["bad-plans-unlabelled.json"] = bad_plans.bad_plans_without_label()
    return {
        name: json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        for name, document in documents.items()
    }


if __name__ == "__main__":
    for name, text in files().items():
        (VECTORS / name).write_text(text, encoding="utf-8")

"""The vectors of surveys in which each person answers every question through a relay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from encoders.errors import LdpError, PrivacyError, SurveyError
from encoders.mechanisms import DE
from encoders.randomness import GivenBytes
from encoders.survey import Plan
from encoders.survey.randomise import randomise_all, read_report
from encoders.survey.sealing import column_bytes
from encoders.survey.unsealing import PrivateKey, open_inner, open_outer, read_private_key
from tools.vectors.adapter import value_of

HERE = Path(__file__).parent


def read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    return document


ENVELOPES, PLANS = read("envelopes"), read("relay-plans")


@pytest.mark.slow
@pytest.mark.parametrize("survey", ENVELOPES["surveys"] + ENVELOPES["waves"])
def test_every_report_follows_from_row_and_random_bytes_and_the_seals_open(survey):
    plan = Plan.from_json(survey["plan"].encode())
    assert plan.digest == survey["digest"]
    collector, relay = (key_of(ENVELOPES[name]) for name in ("collector_key", "relay_key"))
    for case in survey["cases"]:
        wave = case.get("wave")
        rng, code = GivenBytes(bytes.fromhex(case["random"])), bytes.fromhex(case["code"])
        row = {name: value_of(value) for name, value in case["row"].items()}
        coded, first = plan.encode(row, case["label"]), (wave or 0) * len(plan.questions)
        made = [each.report for each in randomise_all(plan, coded, rng, wave=wave)]
        assert [each.hex() for each in made] == case["reports"]
        with pytest.raises(LdpError, match="random bytes asked for, 0 are left"):
            rng.take(1)
        envelope = bytes.fromhex(case["envelope"])
        content = open_outer(plan, envelope, relay, has_code=bool(code), wave=wave)
        assert content[: len(code)] == code
        assert list(open_columns(plan, content[len(code) :], collector)) == made
        asked = [read_report(plan, each).question for each in made]
        assert asked == list(range(first, first + len(plan.questions)))


@pytest.mark.slow
@pytest.mark.parametrize("case", PLANS["good"], ids=[each["name"] for each in PLANS["good"]])
def test_plans_at_the_limits_are_taken(case):
    assert Plan.from_json(case["plan"].encode()).asks_all


@pytest.mark.slow
@pytest.mark.parametrize("case", PLANS["bad"], ids=[each["name"] for each in PLANS["bad"]])
def test_plans_just_above_a_limit_are_refused(case):
    with pytest.raises((PrivacyError, SurveyError)):
        Plan.from_json(case["plan"].encode())


@pytest.mark.parametrize("case", PLANS["messages"])
def test_the_bound_of_a_message_is_the_same_double_everywhere(case):
    message = DE(case["domain"], case["tables"]).message
    assert message == (case["ratio"], case["move"], case["is_yes_no"])


def key_of(digits: str) -> PrivateKey:
    key = X25519PrivateKey.from_private_bytes(bytes.fromhex(digits))
    return read_private_key(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def open_columns(plan: Plan, content: bytes, key: PrivateKey) -> Iterator[bytes]:
    start = 0
    for column, size in enumerate(column_bytes(plan)):
        yield open_inner(plan, content[start : start + size], key, column)
        start += size

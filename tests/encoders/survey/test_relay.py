"""The relay of a survey: its entries, the promise, and what authors are told."""

from __future__ import annotations

import base64
import json
import math
import re
from decimal import Decimal
from pathlib import Path

import pytest

from encoders.canonical import dump_canonical_json
from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms import DE
from encoders.shuffling import shuffled_delta
from encoders.survey import Plan, read_survey
from encoders.survey.relay import Relay, is_relay_url
from encoders.survey.relay_promise import largest_epsilon, require_author_promise, smallest_batch
from tests.support.mistakes import refuse
from tests.support.surveys import RELAY_KEYS, RELAYED

VECTORS = Path(__file__).parents[2] / "vectors"
COLLECTOR_KEY = RELAY_KEYS.splitlines()[0]
TWICE = f"{COLLECTOR_KEY}\n{COLLECTOR_KEY.replace('collector', 'relay')}"


def relay_of(**changes: object) -> Relay:
    entries = {
        "url": "https://relay.example/night-work",
        "batch": 600,
        "honest": Decimal("0.73"),
        "epsilon": Decimal(1),
        "delta": Decimal("1e-6"),
        "opens": 1_800_000_000,
        "closes": 1_800_100_000,
    }
    return Relay(**entries | changes)


def test_a_plan_has_the_relay_and_is_read_again():
    plan = read_survey(RELAYED.replace("[relay]", f"[relay]\n{RELAY_KEYS}")).compile()
    assert json.loads(plan.json)["relay"] == {
        "url": "https://relay.example/night-work",
        "batch": 600,
        "honest": "0.73",
        "epsilon": "1",
        "delta": "0.000001",
        "opens": 1793491200,
        "closes": 1798675200,
        "collector_key": plan.relay.collector_key,
        "relay_key": plan.relay.relay_key,
    }
    assert Plan.from_json(plan.json).relay == plan.relay
    assert max(each.ratio for each in plan.messages) == pytest.approx(math.exp(2))


def test_a_plan_without_keys_is_no_plan_to_answer():
    plan = read_survey(RELAYED).compile()
    assert "relay: needs both public keys" in str(refuse(plan.json, Plan.from_json))


def test_a_survey_without_a_relay_keeps_its_digest():
    text = RELAYED[: RELAYED.index("[relay]")] + RELAYED[RELAYED.index("[features") :]
    assert "relay" not in json.loads(read_survey(text).compile().json)


@pytest.mark.parametrize(
    ("entry", "changed", "why"),
    [
        ("https://relay", "http://relay", "relay.url: needs the survey's address at the relay"),
        ("/night-work", "/night-work/", "relay.url: needs the survey's address at the relay"),
        ("/night-work", "/other", "relay.url: must end with the survey's id: https://HOST/night-work"),
        ("batch = 600", "batch = 1", "relay.batch: needs a number of messages from 2"),
        ("batch = 600", "batch = 600.0", "relay.batch: needs a number of messages from 2"),
        ("honest = 0.73", "honest = 1.1", "relay.honest: needs a share of each batch"),
        ("honest = 0.73", "honest = 0.001", "relay.honest: leaves no honest report in a batch"),
        ("\nepsilon = 1\n", "\nepsilon = 0\n", "relay.epsilon: needs the promised epsilon"),
        ("delta = 1e-6", "delta = 1e-4", "relay.delta: needs the promised delta, from 1e-9 to 1e-5"),
        ("closes = 2026-12-31", "closes = 2026-10-31", "relay.closes: needs a time after relay.opens"),
        ("closes = 2026-12-31T00:00:00Z", "closes = 2026-12-31T00:00:00", "relay.closes: needs a time"),
        ("closes = 2026-12-31T00:00:00Z", "", "relay.closes: needs a time"),
        ("[relay]", '[relay]\nrelay_key = "AAAA"', "relay.relay_key: needs a public key, as `ldp-relay key`"),
        ("[relay]", "[relay]\nmail = 1", "relay.mail: is not an entry here"),
        ('"night-work"', '"night-work"\nenrolment = "token"', "relay: a token names its holder"),
        ("[relay]", f"[relay]\n{TWICE}", "relay.relay_key: is the collector's key"),
        ("epsilon = 2", 'kind = "central"', "relay: is not an entry here; a curator holds"),
        (
            "epsilon = 2\nusers",
            'kind = "silo"\nepsilon = 2\nrows',
            "relay: is not an entry here; only a survey of",
        ),
    ],
)
def test_a_mistaken_entry_is_named_with_its_line(entry: str, changed: str, why: str):
    assert entry in RELAYED
    error = refuse(RELAYED.replace(entry, changed, 1))
    assert re.match(r"line \d+: " + re.escape(why), str(error))


@pytest.mark.parametrize("is_good", [True, False])
def test_an_address_has_the_one_form_that_all_readers_understand_alike(is_good):
    addresses = json.loads((VECTORS / "relay-addresses.json").read_text("utf-8"))
    for url in addresses["good" if is_good else "bad"]:
        assert is_relay_url(url) is is_good, url


def test_a_promise_that_does_not_follow_is_refused_with_what_would_keep_it():
    with pytest.raises(PrivacyError) as caught:
        read_survey(RELAYED.replace("epsilon = 2", "epsilon = 3")).compile()
    assert "relay.epsilon: the promised epsilon 1 does not hold with delta" in str(caught.value)
    assert "lower survey.epsilon to 2.56, or raise batch to 1,0" in str(caught.value)


def test_a_forged_promise_is_refused_by_every_reader():
    plan = read_survey(RELAYED.replace("[relay]", f"[relay]\n{RELAY_KEYS}")).compile()
    for name, value in (("epsilon", "0.5"), ("batch", 280), ("honest", "0.34")):
        document = json.loads(plan.json)
        document["relay"][name] = value
        with pytest.raises(PrivacyError, match="does not hold"):
            Plan.from_json(dump_canonical_json(document))
    for name, value in (("batch", True), ("opens", 1.5), ("url", None), ("honest", "NaN"), ("delta", "1E-6")):
        document = json.loads(plan.json)
        document["relay"][name] = value
        refuse(dump_canonical_json(document), Plan.from_json)


def test_honest_reports_are_counted_in_exact_decimals():
    assert relay_of(batch=100, honest=Decimal("0.29")).honest_reports == 29  # 28 in doubles
    assert relay_of(batch=600, honest=Decimal("0.73")).honest_reports == 438


def test_the_largest_local_epsilon_and_the_smallest_batch_just_keep_the_promise():
    relay, limit = relay_of(), 0.999 * 1e-6
    largest = float(largest_epsilon(relay, []))
    assert (
        shuffled_delta(math.exp(largest), 438, 1) <= limit < shuffled_delta(math.exp(largest + 0.01), 438, 1)
    )
    mechanisms = [DE.design(2, Decimal(2)), DE.design(3, Decimal(1))]
    batch = smallest_batch(relay, mechanisms)
    require_author_promise(relay_of(batch=batch), mechanisms)
    with pytest.raises(PrivacyError):
        require_author_promise(relay_of(batch=batch - 1), mechanisms)
    assert smallest_batch(relay_of(epsilon=Decimal("0.001")), [DE.design(2, Decimal(30))]) is None
    assert largest_epsilon(relay_of(batch=2), []) == 1


@pytest.mark.parametrize(
    "data", [b"", bytes(39), b"\1\0\x20" + bytes(32) + b"\0\1\0\2", b"\1\0\x20" + bytes(33)]
)
def test_a_key_of_another_suite_is_refused(data: bytes):
    with pytest.raises(SurveyError, match=r"relay\.collector_key"):
        relay_of(collector_key=base64.b64encode(data).decode() or "x").check("night-work")

"""The Java client and relays: the plans that it takes, what people read, and a real relay and collector."""

from __future__ import annotations

import json
import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.canonical import dump_canonical_json
from encoders.errors import LdpError
from encoders.explain.preview import describe_relay
from encoders.shuffling import shuffled_delta
from encoders.survey import Plan
from tests.support.java import run_java
from tests.support.relays import ALL, ROW, SMALL, RelayedSite, later_after, relay, relayed_plan
from tests.support.servers import wait_for
from tests.support.surveys import RELAYED
from tools.vectors.check_port import VECTORS

pytestmark = [pytest.mark.slow, pytest.mark.clients]

CHANGED_PLANS = 600
VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1, 2, -1, 600, 2**33, 10_000_001, [], {}, "", "0", "1", "-1", "1.0", "01", "1e-6"),
    *("0.001", "0.0009", "0.000001", "0.00001", "0.000011", "0.000000001", "32", "32.1", "0.5", "2", "NaN"),
    *("all", "one", "token", "https://relay.example/night-work", "https://relay.example/x"),
)
VALUED = ("batch", "honest", "epsilon", "delta")
"""Entries that a small change leaves possible."""


def taken(folder: Path, plans: list[Any]) -> list[Any]:
    """Return which plans the Java client takes; of lists of a ratio, reports and epsilon, the deltas."""
    (folder / "plans.json").write_text(json.dumps(plans))
    answer: list[Any] = json.loads(run_java("ldpbayes.relay.Plans", str(folder / "plans.json")))
    return answer


def is_taken(text: str) -> bool:
    try:
        Plan.from_json(text.encode())
    except LdpError:
        return False
    return True


def changed_plans(rnd: random.Random) -> Iterator[str]:
    """Yield plans in which the relay's entry, or the survey's epsilon, has changed."""
    texts = [survey.replace("honest = 0.73", f"honest = {honest}") for survey, honest in SURVEYS]
    documents = [json.loads(relayed_plan(text).json) for text in texts]
    for _ in range(CHANGED_PLANS):
        plan = json.loads(json.dumps(rnd.choice(documents)))
        entry, name = plan["relay"], rnd.choice([*plan["relay"], *3 * VALUED, "ask", "epsilon of all"])
        if name == "epsilon of all":
            plan["epsilon"] = rnd.choice([plan["epsilon"] + "1", plan["epsilon"][:-1], "64", "64.1"])
        elif name == "batch" and rnd.random() < 0.8:
            entry[name] = rnd.randrange(2, 3 * entry[name])
        elif name in VALUED and rnd.random() < 0.8:
            entry[name] = f"{float(entry[name]) * rnd.uniform(0.3, 1.5):.12f}".rstrip("0")
        elif name in entry and isinstance(entry[name], str) and rnd.random() < 0.5:
            place = rnd.randrange(len(entry[name]) + 1)
            entry[name] = (
                entry[name][:place] + rnd.choice("aA0./:=- ") + entry[name][place + rnd.randrange(2) :]
            )
        else:
            entry[name] = rnd.choice(VALUES)
        yield dump_canonical_json(plan).decode()


ALL_LARGE = RELAYED.replace("epsilon = 2\n", "epsilon = 4\n").replace("batch =", 'ask = "all"\nbatch =')
SURVEYS = [(RELAYED, 0.73), (RELAYED, 0.5), (ALL_LARGE, 0.73), (ALL_LARGE, 0.6)]


def test_changed_entries_of_a_relay_have_the_same_outcome_as_in_python(tmp_path):
    plans = list(changed_plans(random.Random(5)))
    expected = list(map(is_taken, plans))
    assert min(Counter(expected).values()) > CHANGED_PLANS // 10
    pairs = zip(plans, expected, taken(tmp_path, plans), strict=True)
    assert [plan for plan, here, there in pairs if here != there] == []


def test_the_bound_of_a_shuffled_report_is_that_of_python(tmp_path):
    cases = [
        [math.exp(local), reports, epsilon]
        for local in (0.01, 0.5, 2, 5, 20)
        for reports in (1, 2, 3, 10, 438, 10_000, 10_000_000)
        for epsilon in (0.001, 0.1, 0.5, 1, 3, 30)
    ]
    expected = [shuffled_delta(*each) for each in cases]
    assert taken(tmp_path, cases) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_the_vectors_of_plans_have_the_same_outcome(tmp_path):
    vectors = json.loads((VECTORS / "relay-plans.json").read_text("utf-8"))
    plans = [each["plan"] for kind in ("good", "bad") for each in vectors[kind]]
    assert taken(tmp_path, plans) == [True] * len(vectors["good"]) + [False] * len(vectors["bad"])


@pytest.mark.parametrize(
    "survey",
    [
        RELAYED,
        ALL_LARGE,
        ALL_LARGE.replace("epsilon = 4\n", "epsilon = 6.1\n").replace("batch = 600", "batch = 9000"),
    ],
)
def test_people_read_the_same_sentences_as_from_python(survey, tmp_path):
    plan = relayed_plan(survey)
    questions = plan.questions if plan.asks_all else plan.questions[:1]
    # bytes of zeros draw the first question
    wanted = sum(16 + each.mechanism.random_bytes for each in questions) + (0 if plan.asks_all else 8)
    row = {"nights": "some", "rested": "true"}
    case = {"row": row, "label": None, "random": bytes(wanted).hex(), "report": ""}
    (tmp_path / "case.json").write_text(json.dumps({"plan": plan.json.decode(), "cases": [case]}))
    [shown] = json.loads(run_java("ldpbayes.Previews", str(tmp_path / "case.json")))
    [*lines] = shown["text"].splitlines()
    described = " ".join(describe_relay(plan))
    assert described in (lines[:1] if plan.asks_all else lines)
    headings = [line for line in lines if line.startswith("Question ")]
    expected = [f"Question {i} of 2: {each.name}" for i, each in enumerate(plan.questions, 1)]
    assert headings == (expected if plan.asks_all else [])
    assert ("they can learn most of your answers" in shown["text"]) == (plan.epsilon > 5)


@pytest.mark.parametrize(("survey", "messages"), [(ALL, 2), (SMALL, 1)], ids=["all", "one"])
def test_a_device_answers_through_a_real_relay_and_collector(survey, messages, tmp_path):
    """The survey closes after the device has answered, so that its only batch leaves."""
    site, is_over = RelayedSite(tmp_path, closes=int(time.time()) + 1800, survey=survey), tmp_path / "is-over"
    site.settings("http://127.0.0.1:9")
    with site.collector() as (base, _), relay(site.settings(base), 0.5, prelude=later_after(is_over)):
        site.send(19)
        origin, name = f"http://127.0.0.1:{site.port}", site.plan.id
        options = [f"relay={origin}", f"digest={site.plan.digest}", "maxEpsilon=1", "maxLocalEpsilon=1"]
        printed = run_java(
            "ldpbayes.client.Answer", f"{origin}/{name}", str(tmp_path / "journal"), json.dumps(ROW), *options
        )
        receipts = [json.loads(line) for line in printed.splitlines()]
        assert [each["state"] for each in receipts] == ["ready", "queued", "sent", "sent"]
        assert receipts[1]["epsilon"] == "1.0"
        assert site.counts()["waiting"] == 20
        journal = (tmp_path / "journal" / "journal").read_bytes()
        assert bytes.fromhex("9501c420") + site.plan.digest_bytes not in journal  # no report in clear
        is_over.touch()
        wait_for(lambda: site.counts().get("passed on, recorded") == 20 * messages)
    assert site.counted() == 20 * messages
    assert survey == SMALL or site.counted_by_question() == [20, 20]


def test_a_device_withdraws_all_answers_at_a_real_relay(tmp_path):
    site = RelayedSite(tmp_path, survey=ALL)
    with relay(site.settings("http://127.0.0.1:9")):
        site.send(1)
        origin = f"http://127.0.0.1:{site.port}"
        options = [
            f"relay={origin}",
            f"digest={site.plan.digest}",
            "calls=grant,report,flush,withdraw,withdraw",
        ]
        printed = run_java(
            "ldpbayes.client.Answer",
            f"{origin}/{site.plan.id}",
            str(tmp_path / "journal"),
            json.dumps(ROW),
            *options,
        )
        receipts = [json.loads(line) for line in printed.splitlines()]
        assert [each["state"] for each in receipts][2:] == ["sent", "withdrawn", "withdrawn"]
        assert receipts[3]["why"] == "the relay does not have the report, and will not pass it on"
        assert site.counts()["waiting"] == 1

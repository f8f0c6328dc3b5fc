"""Invitations: tokens are kept as hashes; each is valid once, for its question only."""

from collections import Counter
from dataclasses import replace

import msgpack
import numpy as np
import pytest

from encoders.errors import Reason
from encoders.randomness import FastStream, SystemEntropy
from encoders.report import Report, pack, unpack
from encoders.survey import Plan, read_survey
from encoders.survey.compiled_plan import draw_report_id
from encoders.survey.invitation import format_token
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.invitations import count_tokens, create_tokens
from ldp_aggregator.stores import MemoryStore, open_store
from ldp_aggregator.stores.store import count_reports
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import (
    INVITED,
    REPORTS,
    SURVEY,
    make_client,
    make_store,
    outcomes_of,
)
from tests.support.commands import command
from tests.support.surveys import make_plan

ROW = {"age": "young", "hours": 7}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return read_survey(INVITED).compile()


def invite(store: MemoryStore, plan: Plan, count: int) -> list[str]:
    return list(create_tokens(store, plan, count, SystemEntropy()))


def uninvited(plan: Plan) -> bytes:
    """Return a report with a token that the collector did not make."""
    token = format_token(plan, draw_report_id(plan, plan.questions[0], SystemEntropy()))
    return make_report(plan, ROW, "yes", token=token)


def test_invited_reports_are_counted_once_and_others_never(plan, store):
    mine, yours = invite(store, plan, 2)
    mine, yours = (make_report(plan, ROW, "yes", token=token) for token in (mine, yours))
    reports = [mine, uninvited(plan), yours]
    assert outcomes_of(plan, store, b"".join(reports)) == ["recorded", "not-enrolled", "recorded"]
    assert outcomes_of(plan, store, b"".join(reports)) == ["duplicate", "not-enrolled", "duplicate"]
    again = unpack(reports[0])
    mechanism = plan.questions[again.question].mechanism
    payloads = (mechanism.perturb(value, FastStream(seed)) for seed, value in enumerate([0, 1] * 50))
    other = replace(again, payload=next(each for each in payloads if each != again.payload))
    assert outcomes_of(plan, store, pack(other)) == ["id-reused"]
    assert count_reports(store.totals(plan.id)) == 2
    assert store.rejections(plan.id) == {"not-enrolled": 2, "id-reused": 1}


def test_a_token_is_valid_for_its_question_only(plan, store):
    token = invite(store, plan, 1)[0]
    sent = unpack(make_report(plan, ROW, "yes", token=token))
    other = 1 - sent.question
    payload = plan.questions[other].mechanism.perturb(0, SystemEntropy())
    for token_id in (sent.id, other.to_bytes(2, "big") + sent.id[2:]):
        assert outcomes_of(plan, store, pack(Report(sent.plan_digest, other, token_id, payload))) == [
            "not-enrolled"
        ]
    assert outcomes_of(plan, store, pack(sent)) == ["recorded"]


@pytest.mark.slow
def test_questions_get_their_share_of_tokens_and_all_tokens_differ(store):
    weighted = INVITED.replace("bins = 19", "bins = 19\nweight = 3")
    plan = read_survey(weighted).compile()
    tokens = invite(store, plan, 12_001)
    assert len(set(tokens)) == 12_001 == count_tokens(store, plan.id)
    asked = Counter(unpack(make_report(plan, ROW, "no", token=token)).question for token in tokens)
    assert asked[0] in (3000, 3001)
    assert asked[1] == 12_001 - asked[0]
    halves = Counter(unpack(make_report(plan, ROW, "no", token=token)).question for token in tokens[:6000])
    assert abs(halves[0] - 1500) < 200  # random order: eight standard deviations


@pytest.mark.slow
def test_single_tokens_choose_questions_by_weight(plan, store):
    asked = Counter(
        unpack(make_report(plan, ROW, "no", token=invite(store, plan, 1)[0])).question for _ in range(400)
    )
    assert abs(asked[0] - 200) < 60  # six standard deviations: 2e-9


def test_the_store_holds_neither_tokens_nor_ids(plan, url, tmp_path):
    store = open_store(url)
    store.publish(plan.id, plan.json)
    tokens = list(create_tokens(store, plan, 50, SystemEntropy()))
    reports = [make_report(plan, ROW, "no", token=token) for token in tokens[:40]]
    assert {outcome.status for outcome in Intake(plan, store).record_body(b"".join(reports))} == {"recorded"}
    store.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for token in tokens:
        token_id = unpack(make_report(plan, ROW, "no", token=token)).id
        assert token_id not in kept
        assert token.encode() not in kept.lower()


@pytest.mark.slow
def test_one_percent_of_malicious_people_are_at_most_one_and_a_half_percent_of_every_question():
    """Each malicious person sends all reports that might count for the question that they attack."""
    features = {f"f{index}": ["a", "b", "c"] for index in range(7)}
    mechanism, label = {"frequency": "OUE"}, {"name": "l", "values": ["y", "n"]}
    plan = make_plan(id="flood", enrolment="token", mechanism=mechanism, label=label, features=features)
    store, rng = make_store(plan), FastStream(4)  # deterministic
    tokens = [*create_tokens(store, plan, 35_000, rng)]
    row = {f"f{index}": "a" for index in range(7)}
    honest = [make_report(plan, row, "y", rng, token) for token in tokens[350:]]
    malicious = [unpack(make_report(plan, row, "y", rng, token)) for token in tokens[:350]]
    full = bytes([0b111111])  # every bit set: the largest influence of one report
    tries = []
    for sent in malicious:
        digest, own = sent.plan_digest, sent.id
        tries += [
            Report(digest, 0, own, full),
            Report(digest, 0, b"\0\0" + own[2:], full),
            Report(digest, 0, bytes(2) + rng.take(14), full),
            Report(digest, sent.question, own, full),
            Report(digest, sent.question, own, bytes([0b111110])),
        ]
    intake = Intake(plan, store)
    before = Counter()
    outcomes = intake.record_body(b"".join(map(pack, tries)))
    for each in plan.questions:
        before[each.key] = store.totals(plan.id)[each.key].n if each.key in store.totals(plan.id) else 0
    for start in range(0, len(honest), 5000):
        intake.record_body(b"".join(honest[start : start + 5000]))
    intake.flush()
    assert sum(outcome.status == "recorded" for outcome in outcomes) == 350
    totals = store.totals(plan.id)
    shares = [before[question.key] / totals[question.key].n for question in plan.questions]
    assert sum(totals[question.key].n for question in plan.questions) == 35_000
    assert max(shares) <= 0.015


def test_an_uninvited_report_gets_a_retryable_refusal(plan):
    store = make_store(plan)
    web = make_client(store)
    good = make_report(plan, ROW, "yes", token=invite(store, plan, 1)[0])
    stranger = uninvited(plan)
    media = {"Content-Type": "application/vnd.msgpack"}
    refused = web.post(REPORTS, data=stranger, headers=media)
    assert (refused.status_code, refused.headers["Retry-After"]) == (403, "3600")
    assert (refused.json["reason"], refused.json["retryable"]) == ("not-enrolled", True)
    assert web.post(REPORTS, data=good + stranger, headers=media).json == {
        "recorded": 1,
        "duplicate": 0,
        "rejected": [{"index": 1, "reason": "not-enrolled"}],
    }


def test_tokens_are_created_from_the_command_line_and_counted(plan, url):
    store = open_store(url)
    store.publish(plan.id, plan.json)
    tokens = command(
        "ldp-collector", "tokens", "create", plan.id, "--count", 30, "--store", url
    ).stdout.split()
    assert len(tokens) == 30
    assert outcomes_of(plan, store, make_report(plan, ROW, "no", token=tokens[7])) == ["recorded"]
    status = command("ldp-collector", "status", "--store", url).stdout.splitlines()
    assert status[0].split()[-3:] == ["reports", "rejected", "tokens"]
    assert status[1].split()[-3:] == ["1", "0", "30"]
    store.close()


def test_an_open_survey_has_no_invitations(url):
    plan = read_survey(SURVEY).compile()
    store = open_store(url)
    store.publish(plan.id, plan.json)
    store.close()
    result = command("ldp-collector", "tokens", "create", plan.id, "--count", 3, "--store", url, check=False)
    assert result.exit_code == 1
    assert 'write a new survey with enrolment = "token"' in result.output


def test_a_body_with_a_noncanonical_report_gets_the_same_outcomes(plan, store):
    # these are read one by one, not as columns
    tokens = invite(store, plan, 2)
    good = [make_report(plan, ROW, "yes", token=token) for token in tokens]
    odd = bytes(msgpack.packb([1, 2, 3, 4, bytes(60)]))
    stranger = unpack(good[0])
    moved = pack(replace(stranger, id=(9).to_bytes(2, "big") + stranger.id[2:]))
    assert outcomes_of(plan, store, good[0] + odd + moved + good[1]) == [
        "recorded",
        "malformed",
        Reason.NOT_ENROLLED,
        "recorded",
    ]
    assert np.sum([total.n for total in store.totals(plan.id).values()]) == 2

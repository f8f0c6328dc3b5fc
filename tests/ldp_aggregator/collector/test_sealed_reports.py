"""Sealed reports: what a relay may pass on, what is counted, and what a collector with a relay refuses."""

from __future__ import annotations

import json
import stat
import time
import urllib.request
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from flask.testing import FlaskClient

from encoders.errors import LdpError
from encoders.report import MEDIA_TYPE, Report, pack, unpack
from encoders.survey import read_survey
from encoders.survey import sealing as module
from encoders.survey.plan_files import key_path
from encoders.survey.sealing import column_bytes, seal_envelope
from encoders.survey.unsealing import BATCH_HEADER, MESSAGES_TYPE, load_private_key, make_private_key
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.startup import publish_surveys
from ldp_aggregator.privacy_statement import state_privacy
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.statements.privacy import find_privacy
from ldp_aggregator.stores import MemoryStore, open_store
from ldp_aggregator.stores.schedule import Schedule
from ldp_aggregator.stores.store import SCHEDULES, count_reports
from tests.ldp_aggregator.collector.conftest import make_store, rejected
from tests.support.access import access, write_tokens
from tests.support.commands import command
from tests.support.relays import (
    ALL,
    COLLECTOR,
    RELAY_TOKEN,
    inner_message,
    relayed_plan,
    relayed_report,
    relayed_reports,
    relayed_text,
)
from tests.support.servers import collector
from tests.support.surveys import RELAYED, SLEEP

PLAN = relayed_plan()
SEALED = f"/v1/surveys/{PLAN.id}/sealed"
BEARER = {"Authorization": f"Bearer {RELAY_TOKEN}"}
DAY = 86_400


@pytest.fixture
def store() -> MemoryStore:
    return make_store(PLAN, read_survey(SLEEP).compile())


def make_web(store: MemoryStore, **settings: object) -> FlaskClient:
    settings = {"tokens": (access("relay", RELAY_TOKEN),), **settings}
    return create_app(CollectorSettings(**settings), store, keys={PLAN.id: COLLECTOR}).test_client()


@pytest.fixture
def web(store: MemoryStore) -> FlaskClient:
    return make_web(store)


def post(web: FlaskClient, body: bytes, url: str = SEALED, **options: object) -> tuple[int, object]:
    response = web.post(url, data=body, **({"content_type": MESSAGES_TYPE, "headers": BEARER} | options))
    return response.status_code, response.json if response.status_code == 200 else response.json["reason"]


def counts(recorded: int = 0, duplicate: int = 0, rejected: int = 0) -> tuple[int, object]:
    return 200, {"recorded": recorded, "duplicate": duplicate, "rejected": rejected}


def total(store: MemoryStore) -> int:
    return count_reports(store.totals(PLAN.id))


def seal_padded(padded: bytes) -> bytes:
    """Seal the plaintext of an inner message as a device with a fault would."""
    return module._seal(padded, COLLECTOR.public_key, module.REPORT_INFO + PLAN.digest_bytes)


def test_each_report_is_counted_once_however_often_its_message_is_sent(web, store):
    body = b"".join(inner_message(PLAN, relayed_report(PLAN)) for _ in range(50))
    assert post(web, body) == counts(recorded=50)
    assert post(web, body) == counts(duplicate=50)
    assert total(store) == 50


def test_a_report_that_was_sealed_twice_is_counted_once(web, store):
    report = relayed_report(PLAN)
    body = inner_message(PLAN, report) + inner_message(PLAN, report)
    assert post(web, body) == counts(recorded=1, duplicate=1)
    assert total(store) == 1


def test_bad_messages_are_refused_alone_and_the_response_does_not_say_which(web, store):
    good = [inner_message(PLAN, relayed_report(PLAN)) for _ in range(3)]
    damaged = good[0][:-1] + bytes([good[0][-1] ^ 1])
    report = unpack(relayed_report(PLAN))
    foreign = pack(Report(bytes(32), report.question, report.id, report.payload))
    bad = [damaged, inner_message(PLAN, foreign), seal_padded(bytes(2 + PLAN.longest_report))]
    body = b"".join([good[0], bad[0], good[1], bad[1], bad[2], good[2]])
    assert post(web, body) == counts(recorded=3, rejected=3)
    assert rejected(web, PLAN.id) == {"bad-seal": 1, "wrong-plan": 1, "malformed": 1}
    assert total(store) == 3
    assert post(web, bad[0]) == counts(rejected=1)


def test_the_messages_of_each_column_are_counted_and_refused_by_themselves():
    """The plan promises 14 honest messages in each batch of 20; the second question's are bad."""
    plan = relayed_plan(ALL)
    store = make_store(plan)
    web = make_web(store)
    first, second = column_bytes(plan)
    good = [inner_message(plan, *relayed_reports(plan)) for _ in range(2)]
    body = good[0][:first] + bytes(second) + good[1]
    for batch, broken in (
        ("20 0 5", 0),
        ("20 0 6", 1),
        ("20 6 6", 2),
        ("20 7 6", 2),
        ("20 6", 2),
        ("20 0 0 6", 2),
    ):
        _, found = post(web, body, headers=BEARER | {BATCH_HEADER: batch})
        assert (found.pop("rejected_by_question"), found["rejected"]) == ([0, 1], 1)
        assert found["recorded"] + found["duplicate"] == 3
        assert rejected(web, plan.id).get("promise-broken", 0) == broken
    totals = take_snapshot(store, plan.id).totals
    assert [totals[each.key].n for each in plan.questions] == [2, 1]
    [report] = [each for each in relayed_reports(plan) if unpack(each).question == 1]
    malformed = pack(Report(plan.digest_bytes, 1, unpack(report).id, bytes([9])))
    _, found = post(web, inner_message(plan, relayed_reports(plan)[0], malformed))
    assert found == counts(recorded=1, rejected=1)[1] | {"rejected_by_question": [0, 1]}


def test_a_batch_with_too_few_honest_messages_is_counted_once(web, store):
    """The plan promises 438 honest messages in each batch of 600."""
    nonsense = bytes(sum(column_bytes(PLAN)))
    for batch, broken in (
        ("600 0", 0),
        ("600 161", 0),  # now 162 of 600 are rejected
        ("600 162", 1),  # now 163
        ("600 163", 1),  # counted before
        ("700 261", 1),
        ("700 262", 2),
        ("", 2),
        ("600", 2),
        ("600 -1", 2),
        ("600 1٣", 2),
    ):
        assert post(web, nonsense, headers=BEARER | {BATCH_HEADER: batch}) == counts(rejected=1)
        assert rejected(web, PLAN.id).get("promise-broken", 0) == broken
    statement = state_privacy(take_snapshot(store, PLAN.id))
    assert statement.people.rejected == {"bad-seal": 10}
    assert statement.relay.broken_batches == 2
    shown = " ".join(map(str, find_privacy(statement)))
    assert "This promise did not hold in 2 of the batches" in shown


def test_two_reports_in_one_message_are_refused():
    values = ", ".join(f'"{value}"' for value in range(900))
    wide = relayed_plan(f"{RELAYED}[features.work]\nvalues = [{values}]\n")
    store = make_store(wide)
    app = create_app(
        CollectorSettings(tokens=(access("relay", RELAY_TOKEN),)), store, keys={wide.id: COLLECTOR}
    )
    made = [relayed_report(wide, work="7") for _ in range(60)]
    first, second = [each for each in made if 2 * len(each) <= wide.longest_report][:2]
    assert post(app.test_client(), inner_message(wide, first + second)) == counts(rejected=1)
    assert count_reports(store.totals(wide.id)) == 0
    assert post(app.test_client(), inner_message(wide, first)) == counts(recorded=1)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (bytes(sum(column_bytes(PLAN)) + 1), (400, "malformed")),
        (bytes(1001 * sum(column_bytes(PLAN))), (413, "too-large")),
    ],
    ids=["part", "many"],
)
def test_a_body_that_is_not_1_to_1000_messages_is_refused_as_a_whole(web, body, expected):
    assert post(web, body) == expected


def test_a_relay_that_asks_without_messages_is_refused_and_not_counted(web):
    empty = {"CONTENT_LENGTH": "0"}
    response = web.post(SEALED, content_type=MESSAGES_TYPE, headers=BEARER, environ_overrides=empty)
    assert (response.status_code, response.json["reason"]) == (400, "malformed")
    assert rejected(web, PLAN.id) == {}


def test_an_outer_message_is_refused(web):
    assert post(web, seal_envelope(PLAN, [relayed_report(PLAN)])) == (400, "malformed")


@pytest.mark.parametrize(
    ("headers", "settings", "expected"),
    [
        ({}, {}, (401, "not-authorised")),
        ({"Authorization": "Bearer wrong"}, {}, (401, "not-authorised")),
        (BEARER, {"tokens": ()}, (403, "not-authorised")),
        (
            {"Authorization": "Bearer the-operator-s-token"},
            {"operator_token": "the-operator-s-token"},
            (403, "not-authorised"),
        ),
    ],
)
def test_only_the_relay_s_token_is_accepted(store, headers, settings, expected):
    body = inner_message(PLAN, relayed_report(PLAN))
    assert post(make_web(store, **settings), body, headers=headers) == expected
    assert total(store) == 0


def test_a_direct_report_is_refused_for_good(web, store):
    report = relayed_report(PLAN)
    response = web.post(f"/v1/surveys/{PLAN.id}/reports", data=report, content_type=MEDIA_TYPE)
    assert (response.status_code, response.json["reason"], response.json["retryable"]) == (
        403,
        "relay-required",
        False,
    )
    assert "Retry-After" not in response.headers
    assert rejected(web, PLAN.id) == {"relay-required": 1}
    assert total(store) == 0


def test_a_survey_without_a_relay_or_without_its_key_takes_no_sealed_message(web, store):
    body = inner_message(PLAN, relayed_report(PLAN))
    assert post(web, body, "/v1/surveys/sleep/sealed") == (404, "unknown-survey")
    keyless = create_app(CollectorSettings(tokens=(access("relay", RELAY_TOKEN),)), store).test_client()
    assert post(keyless, body) == (404, "unknown-survey")
    assert post(web, body, content_type=MEDIA_TYPE) == (415, "unsupported-media-type")


def test_sealed_messages_are_taken_while_reports_are(web, store):
    body, now = inner_message(PLAN, relayed_report(PLAN)), int(time.time())
    for schedule, expected in [
        (Schedule(opens=now + 99), (403, "survey-not-open")),
        (Schedule(closes=now - 9), (410, "survey-closed")),
        (Schedule(closes=now - 9, grace=99), counts(recorded=1)),
    ]:
        store.set_note(SCHEDULES, PLAN.id, schedule.to_json())
        web = make_web(store)  # schedules are cached
        assert post(web, body) == expected


def test_web_pages_cannot_read_the_response(web):
    response = web.post(
        SEALED, data=b"", content_type=MESSAGES_TYPE, headers={"Origin": "https://example.org"}
    )
    assert not [name for name, _ in response.headers if name.startswith("Access-Control")]
    assert web.options(SEALED).status_code == 405


def test_the_collector_serves_no_page_for_people(store):
    """Its host would see who answers."""
    web = make_web(store, page=True)
    assert web.get(f"/s/{PLAN.id}").status_code == 404
    assert web.get("/s/sleep").status_code == 200


# -- the key file, and the start ---------------------------------------------------------------


run = partial(command, "ldp-collector", check=False)


def publish(survey: Path, **settings: object) -> object:
    settings = {"tokens": (access("relay", RELAY_TOKEN),), **settings}
    return publish_surveys(
        CollectorSettings(surveys=(survey,), store=f"sqlite:///{survey.parent}/s.db", **settings)
    )


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Return a survey file, with its private key beside it."""
    path = tmp_path / "survey.toml"
    path.write_text(relayed_text())
    key_path(path).write_bytes(COLLECTOR.pem)
    return path


def test_the_command_writes_a_key_once_and_prints_the_public_one(tmp_path):
    path = tmp_path / "plan.json.key"
    result = run("key", path)
    assert result.exit_code == 0
    assert load_private_key(path).public_key == result.output.strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    again = run("key", path)
    assert (again.exit_code, path.read_bytes()) == (1, before)
    assert "already exists and is not replaced" in again.output


def test_a_survey_is_published_with_its_key_and_the_key_is_not_in_the_repr(survey):
    published = publish(survey)
    assert published.keys == {PLAN.id: COLLECTOR}
    assert "PRIVATE" not in repr(published)
    service = published.make_app().extensions["ldp"]
    assert service.keys == {PLAN.id: COLLECTOR}
    assert "PRIVATE" not in repr(service)


def refusal(survey: Path, **settings: object) -> str:
    with pytest.raises(LdpError) as error:
        publish(survey, **settings)
    return str(error.value)


def test_a_missing_or_wrong_key_or_token_is_named_at_the_start(survey):
    assert "ldp-collector access add NAME --role relay" in refusal(survey, tokens=())
    key_path(survey).write_bytes(make_private_key().pem)
    assert refusal(survey).startswith("survey.toml.key: this is not the private key of night-work")
    key_path(survey).write_text("no key")
    assert refusal(survey).startswith("survey.toml.key: not a private key")
    key_path(survey).unlink()
    assert refusal(survey).startswith("survey.toml.key: there is no such file")


def schedule(survey: Path, schedule: Schedule) -> None:
    store = open_store(f"sqlite:///{survey.parent}/s.db")
    store.set_note(SCHEDULES, PLAN.id, schedule.to_json())
    store.close()


def test_a_survey_that_closes_before_its_relay_has_delivered_is_refused(survey):
    publish(survey)
    closes = PLAN.relay.closes
    schedule(survey, Schedule(closes=closes + DAY - 1))
    assert "night-work closes before its relay has passed on all reports" in refusal(survey)
    schedule(survey, Schedule(closes=closes, grace=DAY))
    assert publish(survey).keys


def test_the_key_of_a_closed_survey_may_be_deleted(survey):
    publish(survey)
    schedule(survey, Schedule(closes=1))
    key_path(survey).unlink()
    assert publish(survey).keys == {}


def test_closing_too_early_is_said(survey):
    publish(survey)
    url = f"sqlite:///{survey.parent}/s.db"
    assert "a day after relay.closes" in run("close", PLAN.id, "--store", url).output
    assert "relay" not in run("close", PLAN.id, "--at", "2241-01-01", "--store", url).output


@pytest.mark.slow
def test_a_served_collector_counts_what_its_relay_passes_on(survey, tmp_path):
    tokens = write_tokens(tmp_path / "tokens.toml", access("relay", RELAY_TOKEN))
    with collector([survey], f"sqlite:///{tmp_path}/ldp.db", options=["--tokens", tokens]) as (base, _):
        body = b"".join(inner_message(PLAN, relayed_report(PLAN)) for _ in range(1000))
        request = urllib.request.Request(base + SEALED, body, BEARER | {"Content-Type": MESSAGES_TYPE})
        with urllib.request.urlopen(request, timeout=60) as response:
            assert json.load(response) == {"recorded": 1000, "duplicate": 0, "rejected": 0}

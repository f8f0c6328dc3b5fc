"""The recorder for applications' own tests, used as an application would."""

from __future__ import annotations

import ldp_client
from encoders.survey import Plan
from ldp_client import State
from ldp_client.testing import Recorder
from tests.ldp_client.conftest import ROW

HOST = "https://collector.example/v1/surveys/sleep"


def test_an_application_s_report_is_recorded_once(ldp_recorder: Recorder, plan: Plan) -> None:
    ldp_recorder.serve(plan)
    client = ldp_client.configure(HOST)
    client.grant()
    ldp_recorder.offline = True
    assert ldp_client.report(ROW, "no").state is State.QUEUED
    assert client.flush(0.1).state is State.QUEUED
    assert ldp_recorder.reports == []
    ldp_recorder.offline = False
    assert client.flush().state is State.SENT
    (report,) = ldp_recorder.reports
    assert report.plan_digest.hex() == plan.digest
    assert len(ldp_recorder.bodies) == 1


def test_each_test_starts_with_a_new_journal(ldp_recorder: Recorder, plan: Plan) -> None:
    url = ldp_recorder.serve(plan)
    with ldp_client.Client(url) as client:
        assert client.status().state is State.NO_CONSENT
        assert client.grant().state is State.READY
        client.report(ROW, "yes")
    assert len(ldp_recorder.reports) == 1
    assert ldp_client.Client("https://elsewhere.example/v1/surveys/diet").grant().state is State.UNAVAILABLE


def test_repeated_and_foreign_bodies_are_answered_as_by_a_collector(
    ldp_recorder: Recorder, plan: Plan
) -> None:
    url = ldp_recorder.serve(plan)
    body = ldp_client.make_report(plan, ROW, "no")
    answers = [
        ldp_recorder.request("POST", f"{url}/reports", each, 1.0) for each in (body, body, b"nonsense")
    ]
    assert [(each.status, each.entry("status") or each.entry("reason")) for each in answers] == [
        (200, "recorded"),
        (200, "duplicate"),
        (400, "malformed"),
    ]
    assert len(ldp_recorder.reports) == 1

"""Sealed reports of waves: a relay names their wave, and only reports of this wave are counted."""

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.report import unpack
from encoders.survey.sealing import column_bytes
from encoders.survey.unsealing import MESSAGES_TYPE, WAVE_HEADER
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.snapshot import take_snapshot
from tests.ldp_aggregator.collector.conftest import make_store, rejected
from tests.support.access import access
from tests.support.relays import (
    ALL,
    COLLECTOR,
    RELAY_TOKEN,
    SMALL,
    inner_message,
    relayed_plan,
    relayed_reports,
    waved_plan,
)
from tests.support.waves import DAY, Clock

BOTH = pytest.mark.parametrize("survey", [SMALL, ALL], ids=["one", "all"])


class Site:
    """A collector of a survey, and its clock."""

    def __init__(self, plan, patch):
        self.plan, self.store = plan, make_store(plan)
        settings = CollectorSettings(tokens=(access("relay", RELAY_TOKEN),))
        app = create_app(settings, self.store, keys={plan.id: COLLECTOR})
        self.web, self.clock = app.test_client(), Clock(patch, plan.relay.opens)

    def post(self, body, name=""):
        headers = {"Authorization": f"Bearer {RELAY_TOKEN}"} | ({WAVE_HEADER: name} if name else {})
        return self.web.post(
            f"/v1/surveys/{self.plan.id}/sealed", data=body, content_type=MESSAGES_TYPE, headers=headers
        )

    def messages(self, *waves):
        """Return what the relay passes on of one person in each of these waves."""
        return b"".join(
            inner_message(self.plan, *relayed_reports(self.plan, wave), wave=wave) for wave in waves
        )

    def counted(self):
        snapshot = take_snapshot(self.store, self.plan.id)
        return [snapshot.select(each.name).total() for each in self.plan.waves.list]


@BOTH
def test_the_reports_of_another_wave_are_refused_and_counted(monkeypatch, survey):
    plan = waved_plan(survey)
    site, columns = Site(plan, monkeypatch), len(column_bytes(plan))
    site.clock.now = plan.waves.list[1].opens
    answer = site.post(site.messages(1, 0, 1, 2), plan.waves.list[1].name)
    assert answer.status_code == 200
    assert (answer.json["recorded"], answer.json["rejected"]) == (2 * columns, 2 * columns)
    assert site.counted() == [0, 2 * columns, 0]
    assert rejected(site.web, plan.id) == {"wrong-question": 2 * columns}
    if plan.asks_all:
        assert answer.json["rejected_by_question"] == [2, 2]


def test_a_column_takes_its_question_of_the_wave_alone(monkeypatch):
    plan = waved_plan(ALL)
    site = Site(plan, monkeypatch)
    first, second = relayed_reports(plan, 0)
    assert [unpack(each).question for each in (first, second)] == [0, 1]
    answer = site.post(inner_message(plan, second, first, wave=0), "2027-01")
    assert (answer.json["recorded"], answer.json["rejected_by_question"]) == (0, [1, 1])


@BOTH
def test_messages_of_a_wave_that_is_over_are_counted(monkeypatch, survey):
    """A relay passes on a wave after its end, and later if the collector was away."""
    plan = waved_plan(survey)
    site, columns = Site(plan, monkeypatch), len(column_bytes(plan))
    site.clock.now = plan.waves.list[2].closes - 1
    body = site.messages(0)
    assert site.post(body, "2027-01").json["recorded"] == columns
    assert site.post(body, "2027-01").json["duplicate"] == columns
    assert site.counted() == [columns, 0, 0]


def test_messages_need_the_name_of_a_wave_that_has_opened(monkeypatch):
    plan = waved_plan()
    site = Site(plan, monkeypatch)
    body = site.messages(0)
    for name in ("", "2027-04", "0"):
        refused = site.post(body, name)
        assert (refused.status_code, refused.json["reason"]) == (400, "malformed")
        assert "Ldp-Wave" in refused.json["detail"]
    early = site.post(site.messages(1), "2027-02")
    assert (early.status_code, early.json["reason"]) == (403, "survey-not-open")  # the relay tries again
    site.clock.now += 40 * DAY
    assert site.post(site.messages(1), "2027-02").json["recorded"] == 1
    assert site.counted() == [0, 1, 0]


def test_without_waves_no_name_is_needed(monkeypatch):
    plan = relayed_plan(SMALL)
    site = Site(plan, monkeypatch)
    body = inner_message(plan, *relayed_reports(plan))
    assert site.post(body).json == {"recorded": 1, "duplicate": 0, "rejected": 0}


def test_a_report_that_comes_directly_is_refused(monkeypatch):
    plan = waved_plan()
    site = Site(plan, monkeypatch)
    report = relayed_reports(plan, 0)[0]
    url = f"/v1/surveys/{plan.id}/reports"
    refused = site.web.post(url, data=report, content_type="application/vnd.msgpack")
    assert (refused.status_code, refused.json["reason"]) == (403, "relay-required")

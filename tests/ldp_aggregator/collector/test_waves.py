"""A collector counts each wave of a survey apart, and takes the reports of a wave in its time only."""

from contextlib import closing

import pytest

from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.intake import WAVE_GRACE_SECONDS, Intake
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.reports.archives import count_archives
from ldp_aggregator.results import make_results
from ldp_aggregator.snapshot import SnapshotError, counter_names, read_snapshot, take_snapshot
from ldp_aggregator.stores import MemoryStore, open_store
from ldp_aggregator.stores.schedule import Schedule
from ldp_aggregator.stores.store import SCHEDULES
from ldp_client import make_report
from tests.support.commands import command
from tests.support.waves import DAY, ROW, SURVEY, Clock, compile_waves

PLAN = compile_waves()
NAMES = [each.name for each in PLAN.waves.list]


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch, PLAN.waves.list[0].opens)


@pytest.fixture
def store():
    store = MemoryStore()
    store.publish(PLAN.id, PLAN.json, counter_names(PLAN))
    return store


def reports_of(wave, count, plan=PLAN):
    return [make_report(plan, ROW, "yes", wave=wave) for _ in range(count)]


def test_a_report_counts_in_the_wave_that_it_names(clock, store):
    client = create_app(CollectorSettings(operator_token="the-token"), store).test_client()
    url, send = f"/v1/surveys/{PLAN.id}/reports", {"content_type": "application/vnd.msgpack"}
    first, second, _ = PLAN.waves.list
    early, late = reports_of(NAMES[0], 1) + reports_of(NAMES[1], 1)
    assert client.post(url, data=early, **send).json == {"status": "recorded"}
    refused = client.post(url, data=late, **send)
    assert (refused.status_code, refused.json["reason"]) == (403, "survey-not-open")
    assert int(refused.headers["Retry-After"]) > 0
    assert f"the wave {NAMES[1]} has not opened yet" in refused.json["detail"]
    clock.now = first.closes + WAVE_GRACE_SECONDS
    gone = client.post(url, data=reports_of(NAMES[0], 1)[0], **send)
    assert (gone.status_code, gone.json["reason"]) == (410, "survey-closed")
    clock.now = second.opens
    assert client.post(url, data=late, **send).json == {"status": "recorded"}
    assert client.post(url, data=late, **send).json == {"status": "duplicate"}
    snapshot = take_snapshot(store, PLAN.id)
    assert [snapshot.select(name).total() for name in (*NAMES, "all", "last")] == [1, 1, 0, 2, 1]
    assert snapshot.total() == 2
    url = f"/v1/surveys/{PLAN.id}/progress"
    asked = client.get(url, headers={"Authorization": "Bearer the-token"}).json["questions"]
    assert {each["wave"]: each["n"] for each in asked if each["n"]} == {NAMES[0]: 1, NAMES[1]: 1}
    assert (
        client.get(f"/v1/surveys/{PLAN.id}/progress", headers={"Authorization": "Bearer the-token"}).json[
            "reports"
        ]
        == 2
    )


def test_the_grace_period_holds_for_each_wave(clock, store):
    store.set_note(SCHEDULES, PLAN.id, Schedule(grace=8 * DAY).to_json())
    client = create_app(CollectorSettings(), store).test_client()
    url, send = f"/v1/surveys/{PLAN.id}/reports", {"content_type": "application/vnd.msgpack"}
    clock.now = PLAN.waves.list[0].closes + 8 * DAY - 1
    assert client.post(url, data=reports_of(NAMES[0], 1)[0], **send).status_code == 200
    clock.now += 1
    assert client.post(url, data=reports_of(NAMES[0], 1)[0], **send).status_code == 410


def test_a_body_of_several_waves_counts_those_that_are_open(clock, store):
    mixed = [each for name in NAMES for each in reports_of(name, 3)]
    outcomes = Intake(PLAN, store).record_body(b"".join(mixed))
    assert [each.status for each in outcomes] == ["recorded"] * 3 + ["rejected"] * 6
    assert {each.error.reason for each in outcomes[3:]} == {"survey-not-open"}


@pytest.mark.slow
def test_estimates_are_of_one_wave(store, clock):
    intake = Intake(PLAN, store)
    for wave, count in zip(PLAN.waves.list, (300, 200, 100), strict=True):
        clock.now = wave.opens
        intake.record_body(b"".join(reports_of(wave.name, count)))
    snapshot = read_snapshot(take_snapshot(store, PLAN.id).to_json())
    people = {name: make_results(snapshot.select(name)).estimates.people for name in (*NAMES, "all")}
    assert people == dict(zip((*NAMES, "all"), (300, 200, 100, 600), strict=True))
    assert make_results(snapshot).estimates.people == 100
    with pytest.raises(SnapshotError, match="no wave '2027-04'; known: 2027-01"):
        snapshot.select("2027-04")


def test_snapshots_of_one_plan_are_added_by_wave(store, clock):
    Intake(PLAN, store).record_body(b"".join(reports_of(NAMES[0], 5)))
    snapshot = take_snapshot(store, PLAN.id)
    assert (snapshot + snapshot).select(NAMES[0]).total() == 10
    assert (snapshot + snapshot).select(NAMES[1]).total() == 0


def test_archives_are_counted_by_wave_at_any_time(tmp_path):
    path = tmp_path / "reports.bin"
    mixed = [
        each for name, count in zip(NAMES, (30, 20, 10), strict=True) for each in reports_of(name, count)
    ]
    path.write_bytes(b"".join(mixed))
    snapshot = count_archives(PLAN, [str(path)], pytest.fail)
    assert [snapshot.select(name).total() for name in NAMES] == [30, 20, 10]


def test_the_operator_invites_people_to_one_wave(tmp_path, clock):
    url = f"sqlite:///{tmp_path}/store.db"
    plan = compile_waves(SURVEY.replace("epsilon = 2", 'epsilon = 2, enrolment = "token"'))
    with closing(open_store(url)) as store:
        store.publish(plan.id, plan.json, counter_names(plan))
        create = ("tokens", "create", plan.id, "--count", "4", "--store", url)
        needed = command("ldp-collector", *create, check=False)
        assert "give the wave that the tokens are for, with --wave: 2027-01, 2027-02" in needed.stderr
        unknown = command("ldp-collector", *create, "--wave", "2028-01", check=False)
        assert "there is no wave '2028-01'" in unknown.stderr
        tokens = command("ldp-collector", *create, "--wave", NAMES[1]).stdout.split()
        bodies = [make_report(plan, ROW, "yes", token=each) for each in tokens]
        clock.now = plan.waves.list[1].opens
        outcomes = Intake(plan, store).record_body(b"".join(bodies))
        assert {each.status for each in outcomes} == {"recorded"}
        assert take_snapshot(store, plan.id).select(NAMES[1]).total() == 4

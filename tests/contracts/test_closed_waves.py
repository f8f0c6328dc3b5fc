"""ldp-collector close and open with --wave: a closed wave refuses reports, and the others go on."""

from contextlib import closing

import pytest

from encoders.errors import Reason
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.snapshot import counter_names, take_snapshot
from ldp_aggregator.stores import open_store
from ldp_aggregator.stores.operator_log import read_log
from ldp_aggregator.stores.schedule import Schedule, read_schedule
from ldp_aggregator.stores.store import SCHEDULES
from ldp_client import make_report
from tests.support.commands import command
from tests.support.relays import waved_plan
from tests.support.waves import DAY, ROW, SURVEY, Clock, compile_waves

PLAN = compile_waves()
FIRST, SECOND, _ = PLAN.waves.list
SEND = {"content_type": "application/vnd.msgpack"}
PATH = f"/v1/surveys/{PLAN.id}/reports"


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch, FIRST.opens)


@pytest.fixture(autouse=True)
def publish(store, url, monkeypatch):
    store.publish(PLAN.id, PLAN.json, counter_names(PLAN))
    if url == "memory://":  # commands open the same store
        monkeypatch.setattr("ldp_aggregator.cli.surveys.open_existing_store", lambda _url: store)


def report(wave, plan=PLAN):
    return make_report(plan, ROW, "yes", wave=wave.name)


def post(store, wave):
    client = create_app(CollectorSettings(), store).test_client()
    answer = client.post(PATH, data=report(wave), **SEND)
    return answer.status_code, answer.json


def change(what, *options, url):
    return command("ldp-collector", what, PLAN.id, *options, "--store", url).stdout


def test_a_closed_wave_refuses_reports_as_one_that_is_over(clock, store, url):
    assert post(store, FIRST)[0] == 200
    said = change("close", "--wave", FIRST.name, url=url)
    assert f"the wave {FIRST.name} takes no reports from 2027-01-31 00:00" in said
    closed = post(store, FIRST)
    clock.now = FIRST.closes + 30 * DAY
    change("open", "--wave", FIRST.name, url=url)
    over = post(store, FIRST)
    assert closed == over
    assert (closed[0], closed[1]["reason"]) == (410, Reason.SURVEY_CLOSED)
    assert f"the wave {FIRST.name} is over" in closed[1]["detail"]
    clock.now = FIRST.opens
    assert post(store, FIRST)[0] == 200  # it was opened again
    assert take_snapshot(store, PLAN.id).select(FIRST.name).total() == 2


def test_the_other_waves_go_on(clock, store, url):
    change("close", "--wave", FIRST.name, url=url)
    change("close", "--wave", PLAN.waves.list[2].name, url=url)
    clock.now = SECOND.opens
    assert post(store, SECOND)[0] == 200
    client = create_app(CollectorSettings(), store).test_client()
    assert client.get(f"/v1/surveys/{PLAN.id}").status_code == 200
    assert post(store, PLAN.waves.list[2])[0] == 410  # before it opens, too
    change("open", "--wave", PLAN.waves.list[2].name, url=url)
    assert post(store, PLAN.waves.list[2])[0] == 403


def test_a_time_and_a_grace_period_hold_for_the_wave(clock, store, url):
    change("close", "--wave", FIRST.name, "--at", "2027-02-02", "--grace", "1", url=url)
    clock.now = FIRST.opens + 3 * DAY - 1
    assert post(store, FIRST)[0] == 200
    clock.now += 1
    assert post(store, FIRST)[0] == 410


def test_the_log_and_the_status_name_the_wave(clock, store, url):
    change("close", "--wave", FIRST.name, url=url)
    [entry] = [each for each in read_log(store) if each.survey == PLAN.id and "wave" in str(each)]
    assert f"the wave {FIRST.name}" in str(entry)
    shown = command("ldp-collector", "status", "--store", url).stdout
    assert f"{PLAN.id}: the wave {FIRST.name} takes no reports from 2027-01-31 00:00 UTC" in shown
    change("open", "--wave", FIRST.name, url=url)
    assert "wave" not in command("ldp-collector", "status", "--store", url).stdout


def test_a_backup_and_an_import_keep_it(clock, store, url, tmp_path):
    if url == "memory://":
        pytest.skip("no other process can read it")
    assert post(store, FIRST)[0] == 200
    change("close", "--wave", FIRST.name, url=url)
    backup, new = f"sqlite:///{tmp_path}/backup.db", f"sqlite:///{tmp_path}/new.db"
    command("ldp-collector", "backup", "-o", f"{tmp_path}/backup.db", "--store", url)
    for source, target, more in ((backup, new, ["--accept-loss"]), (url, new + "2", [])):
        command("ldp-collector", "import", PLAN.id, "--from", source, "--store", target, *more)
        with closing(open_store(target)) as copy:
            assert read_schedule(copy, PLAN.id).closed_waves == {FIRST.name: FIRST.opens}
            assert post(copy, FIRST)[0] == 410


def test_bad_names_are_refused(clock, store, url):
    for what in ("close", "open"):
        found = command("ldp-collector", what, PLAN.id, "--wave", "2028-01", "--store", url, check=False)
        assert "there is no wave '2028-01'; the waves are 2027-01" in found.stderr
    at = ("--wave", FIRST.name, "--at", "2027-02-02", "--store", url)
    assert "leave --at out" in command("ldp-collector", "open", PLAN.id, *at, check=False).stderr


def test_no_tokens_are_made_for_a_wave_that_is_over(clock, store, url):
    text = SURVEY.replace('"mood", epsilon = 2', '"invited", epsilon = 2, enrolment = "token"')
    plan = compile_waves(text)
    store.publish(plan.id, plan.json, counter_names(plan))
    create = ("tokens", "create", plan.id, "--count", "2", "--store", url, "--wave")
    assert len(command("ldp-collector", *create, SECOND.name).stdout.split()) == 2
    command("ldp-collector", "close", plan.id, "--wave", SECOND.name, "--store", url)
    closed = command("ldp-collector", *create, SECOND.name, check=False)
    clock.now = FIRST.closes
    over = command("ldp-collector", *create, FIRST.name, check=False)
    assert f"the wave {SECOND.name} is over: give a later one" in closed.stderr
    assert f"the wave {FIRST.name} is over: give a later one" in over.stderr


def test_a_closed_wave_does_not_stop_what_a_relay_passes_on(monkeypatch):
    site_of = pytest.importorskip("tests.ldp_aggregator.collector.test_sealed_waves").Site
    plan = waved_plan()
    site = site_of(plan, monkeypatch)
    first, second = (each.name for each in plan.waves.list[:2])
    closed = Schedule(closed_waves={first: plan.waves.list[0].opens})
    site.store.set_note(SCHEDULES, plan.id, closed.to_json())
    site.clock.now = plan.waves.list[1].opens
    answer = site.post(site.messages(0), first)
    assert (answer.status_code, answer.json["recorded"], answer.json["rejected"]) == (200, 0, 1)
    assert site.post(site.messages(1), second).json["recorded"] == 1
    assert site.counted() == [0, 1, 0]

"""Opening times of surveys, over HTTP and through the operator's commands."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from flask.testing import FlaskClient

from encoders.survey import Plan
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.service import Service
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.snapshot import Snapshot, take_snapshot
from ldp_aggregator.stores import MemoryStore, StoreError, open_store
from ldp_aggregator.stores.schedule import Phase, Schedule
from ldp_aggregator.stores.store import SCHEDULES
from ldp_client import Client, Response, State
from tests.ldp_aggregator.collector.conftest import ROW, make_store, rejected, some_reports
from tests.ldp_aggregator.collector.test_routes import post
from tests.support.commands import command
from tests.support.servers import wait_for
from tests.support.threads import in_threads


def test_a_schedule_has_four_phases():
    window = Schedule(opens=10, closes=20, grace=5)
    phases = [window.phase(now) for now in (9, 10, 19.9, 20, 24.9, 25)]
    assert phases == [Phase.WAITING, Phase.OPEN, Phase.OPEN, Phase.GRACE, Phase.GRACE, Phase.CLOSED]
    assert Schedule().phase(0) is Phase.OPEN
    assert Schedule(import_run="an import").phase(0) is Phase.WAITING
    assert Schedule.from_json(window.to_json()) == window


@pytest.mark.parametrize("data", [b"", b"[]", b"3", b'{"opening":3}'])
def test_a_schedule_that_cannot_be_read_is_a_clear_error(data):
    with pytest.raises(StoreError, match="schedule"):
        Schedule.from_json(data)


def service_of(store: MemoryStore) -> Service:
    service: Service = create_app(CollectorSettings(), store).extensions["ldp"]
    return service


@pytest.mark.slow
def test_a_worker_reads_the_schedules_again_after_their_ttl(plan, monkeypatch):
    store = make_store(plan)
    monkeypatch.setattr("ldp_aggregator.collector.service.SCHEDULE_TTL_SECONDS", 0.2)
    service = service_of(store)
    assert service.phase(plan.id) is Phase.OPEN
    store.set_note(SCHEDULES, plan.id, Schedule(closes=50).to_json())
    assert service.phase(plan.id) is Phase.OPEN  # from the cache
    wait_for(lambda: service.phase(plan.id) is Phase.CLOSED)


def test_a_worker_uses_the_last_schedules_while_its_store_fails(plan, monkeypatch):
    monkeypatch.setattr("ldp_aggregator.collector.service.SCHEDULE_TTL_SECONDS", 0.0)
    store = make_store(plan)
    store.set_note(SCHEDULES, plan.id, Schedule(closes=50).to_json())
    early, late = service_of(store), service_of(store)
    assert early.phase(plan.id) is Phase.CLOSED

    def away(kind: str) -> dict[str, bytes]:
        raise StoreError("gone")

    monkeypatch.setattr(store, "notes", away)
    assert early.phase(plan.id) is Phase.CLOSED
    with pytest.raises(StoreError):  # a worker that never read the schedules must not guess
        late.phase(plan.id)


@pytest.mark.slow
def test_requests_do_not_wait_for_schedules_while_the_store_hangs(plan, monkeypatch):
    monkeypatch.setattr("ldp_aggregator.collector.service.SCHEDULE_TTL_SECONDS", 0.0)
    monkeypatch.setattr("ldp_aggregator.collector.service.PATIENCE_SECONDS", 0.2)
    store, go_on, calls = make_store(plan), threading.Event(), []
    service, notes = service_of(store), store.notes
    assert service.phase(plan.id) is Phase.OPEN

    def hang(kind: str) -> dict[str, bytes]:
        calls.append(kind)
        assert go_on.wait(60), "requests waited for the store"
        return notes(kind)

    monkeypatch.setattr(store, "notes", hang)
    assert {*in_threads(lambda _: service.phase(plan.id), range(50))} == {Phase.OPEN}
    assert service.phase(plan.id) is Phase.OPEN
    assert len(calls) == 1
    store.set_note(SCHEDULES, plan.id, Schedule(closes=50).to_json())
    go_on.set()
    wait_for(lambda: service.phase(plan.id) is Phase.CLOSED)


class Web:
    """A transport that calls the application without a socket."""

    def __init__(self, web: FlaskClient) -> None:
        self.web = web

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        path = url.removeprefix("http://collector.test")
        found = self.web.get(path) if method == "GET" else post(self.web, body or b"")
        return Response(found.status_code, found.data)


def test_a_survey_is_listed_after_it_has_opened(web, store, plan, monkeypatch):
    web.application.extensions["ldp"].schedules._seconds = 0.0
    windows = {
        None: [Schedule(opens=1 << 40), Schedule(import_run="an import")],
        "open": [Schedule(), Schedule(opens=1)],
        "grace": [Schedule(closes=1, grace=1 << 40)],
        "closed": [Schedule(closes=1)],
    }
    for phase, each in ((phase, each) for phase, found in windows.items() for each in found):
        store.set_note(SCHEDULES, plan.id, each.to_json())
        listed = [{"id": plan.id, "digest": plan.digest, "phase": phase}] if phase else []
        assert web.get("/v1/surveys").json == {"surveys": listed}


def test_devices_see_each_phase_of_a_survey(web, store, plan, monkeypatch):
    web.application.extensions["ldp"].schedules._seconds = 0.0
    url = f"http://collector.test/v1/surveys/{plan.id}"

    def client() -> Client:
        return Client(url, transport=Web(web), journal=":memory:", spread=0)

    def move(window: Schedule) -> None:
        store.set_note(SCHEDULES, plan.id, window.to_json())

    move(Schedule(opens=1 << 40))
    waiting = web.get(f"/v1/surveys/{plan.id}")
    assert (waiting.status_code, waiting.json["reason"]) == (403, "survey-not-open")
    assert waiting.json["retryable"] is True
    assert client().grant().state is State.UNAVAILABLE
    move(Schedule())
    early, late = client(), client()
    assert (early.grant().state, late.grant().state) == (State.READY,) * 2
    move(Schedule(closes=0, grace=1 << 40))
    assert client().grant().state is State.EXPIRED
    early.report(ROW, "yes")
    assert early.flush().state is State.SENT
    move(Schedule(closes=0))
    late.report(ROW, "yes")
    receipt = late.flush()
    assert (receipt.state, receipt.reason) == (State.QUEUED, "closed-once")
    assert rejected(web, plan.id) == {"survey-closed": 1}
    assert web.get("/v1/surveys").json["surveys"][0]["phase"] == "closed"


@pytest.fixture
def url(url: str, plan: Plan) -> str:
    """Return the URL of a store that has the survey."""
    opened = open_store(url)
    opened.publish(plan.id, plan.json)
    opened.close()
    return url


def run(*arguments: object) -> tuple[int, str]:
    result = command("ldp-collector", *arguments, check=False)
    return result.exit_code, result.output


def test_the_commands_open_and_close_a_survey(url):
    assert run("open", "sleep", "--store", url, "--at", "2999-01-01") == (
        0,
        "sleep: opens 2999-01-01 00:00\nthe survey was open: until it opens again, reports are refused\n",
    )
    assert "waiting" in run("status", "--store", url)[1]
    assert run("open", "sleep", "--store", url) == (0, "sleep: open\n")
    _, output = run("close", "sleep", "--store", url, "--at", "2999-01-01T12:30", "--grace", 14)
    assert output == "sleep: open, closes 2999-01-01 12:30\n"
    assert "2999-01-01 12:30  14 days" in run("status", "--store", url)[1]
    end = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}"
    assert run("close", "sleep", "--store", url, "--grace", 3)[1].startswith(
        f"sleep: closed; reports that devices made before are accepted until {end} "
    )
    assert run("close", "sleep", "--store", url) == (0, "sleep: closed\n")
    assert "is cancelled" in run("open", "sleep", "--store", url, "--at", "2999-01-01")[1]
    code, output = run("close", "sleep", "--store", url, "--at", "2998-01-01")
    assert (code, "opens 2999-01-01 00:00, which is after this time" in output) == (1, True)
    assert run("close", "sleep", "--store", url) == (0, "sleep: closed\n")  # although it has not opened
    code, output = run("close", "diet", "--store", url)
    assert (code, "no survey 'diet'" in output) == (1, True)
    code, output = run("status", "--store", "sqlite:///nowhere.db")
    assert (code, "no such file" in output) == (1, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2027-02-30", "'2027-02-30': this date or time does not exist"),
        ("2027-02-03T25:00", "'2027-02-03T25:00': this date or time does not exist"),
        ("3.2.2027", "'3.2.2027' is not YYYY-MM-DD or YYYY-MM-DDTHH:MM"),
        ("2027-02-03T10:00+01:00", "is not YYYY-MM-DD or YYYY-MM-DDTHH:MM"),
    ],
)
def test_a_time_that_cannot_be_used_is_named_with_the_reason(url, text, message):
    code, output = run("close", "sleep", "--store", url, "--at", text)
    assert code == 2
    assert message in " ".join(output.split())


def test_a_time_is_accepted_as_status_prints_it(url):
    run("close", "sleep", "--store", url, "--at", "2999-11-22T19:50")
    assert "2999-11-22 19:50" in run("status", "--store", url)[1]
    assert run("close", "sleep", "--store", url, "--at", "2999-11-22 19:50")[0] == 0


def test_opening_a_running_survey_later_reports_what_that_means(url, plan):
    command = ("open", "sleep", "--store", url, "--at", "2999-01-01")
    assert run(*command)[1].endswith("the survey was open: until it opens again, reports are refused\n")
    assert run(*command)[1] == "sleep: opens 2999-01-01 00:00\n"
    run("open", "sleep", "--store", url)
    store = open_store(url)
    Intake(plan, store).record_body(some_reports(plan, 3))
    store.close()
    assert run(*command)[1].endswith("until it opens again, reports are refused; its 3 reports are kept\n")


def test_totals_are_exported_and_merged(url, plan, tmp_path):
    store = open_store(url)
    Intake(plan, store).record_body(some_reports(plan, 5))
    store.close()
    one, both = tmp_path / "one.json", tmp_path / "both.json"
    assert run("export", "sleep", "--store", url, "-o", one)[1].startswith("5 reports of sleep")
    other = make_store(plan)
    Intake(plan, other).record_body(some_reports(plan, 6))
    (tmp_path / "two.json").write_bytes(take_snapshot(other, plan.id).to_json())
    assert run("merge", one, tmp_path / "two.json", "-o", both)[1].startswith("11 reports of sleep")
    assert Snapshot.from_json(both.read_bytes()).total() == 11
    (tmp_path / "copy.json").write_bytes(one.read_bytes())
    code, output = run("merge", one, tmp_path / "copy.json", "-o", both)
    assert (code, "have the same counters" in output) == (1, True)
    code, output = run("merge", one, one, "-o", both)
    assert (code, "given twice" in output) == (1, True)
    code, output = run("merge", one, tmp_path / "two.json", "-o", one)
    assert (code, "is an input of this command" in output) == (2, True)
    (tmp_path / "bad.json").write_bytes(b"{}")
    code, output = run("merge", one, tmp_path / "bad.json", "-o", both)
    assert (code, "bad.json" in output) == (1, True)
    assert not list(tmp_path.glob("*.part"))

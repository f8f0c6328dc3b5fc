"""Copying a survey to another store: no report is lost or counts twice, wherever the copy is interrupted."""

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from encoders.randomness import SystemEntropy
from encoders.report import MEDIA_TYPE
from ldp_aggregator import migrate
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.invitations import count_tokens, create_tokens
from ldp_aggregator.migrate import MigrationError, migrate_survey
from ldp_aggregator.snapshot import counter_names, take_snapshot
from ldp_aggregator.stores import MemoryStore, Store, StoreError, open_store
from ldp_aggregator.stores.schedule import IncompleteImportError, Schedule, read_schedule
from ldp_aggregator.stores.store import SCHEDULES, TEXTS, count_reports
from ldp_aggregator.training_sources import read_training_data
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import make_client, rejected
from tests.support.batches import batch, record
from tests.support.commands import command
from tests.support.servers import redis_server
from tools.endurance.collector.reports import (
    SURVEY,
    Sent,
    make_reports,
    other_report,
    plan_of,
    require_equal,
)

PLAN = plan_of()
INVITED = SURVEY.replace("epsilon = 1.0", 'epsilon = 1.0\nenrolment = "token"')
HALF = Schedule(import_run="an import").to_json()
WINDOW = Schedule(opens=5, closes=1 << 40, grace=60)
SOME_TEXTS = b"texts, which a store does not read"
OTHER = {bytes(16): bytes(8)}


@pytest.fixture(autouse=True)
def no_wait_for_collectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "LOCK_VISIBLE_SECONDS", 0.0)


@pytest.fixture
def sent() -> Sent:
    return make_reports(PLAN, 3000, seed=7)


def fill(store: Store, sent: Sent) -> Store:
    """Collect reports like a collector, with support counters and some rejections."""
    store.publish(PLAN.id, PLAN.json, counter_names(PLAN))
    store.set_note(TEXTS, PLAN.id, SOME_TEXTS)
    store.set_note(SCHEDULES, PLAN.id, WINDOW.to_json())
    intake = Intake(PLAN, store)
    intake.record_body(b"".join(sent.reports))
    intake.flush()
    store.add_rejections(PLAN.id, "malformed", 3)
    return store


def open_sqlite(path: Path) -> Store:
    return open_store(f"sqlite:///{path}")


def whole(store: Store) -> object:
    """Return everything that a store has of the survey, in a comparable form."""
    totals = store.totals(PLAN.id)
    remembered = {
        name: {
            report.tobytes(): mark.tobytes()
            for piece in store.report_ids(PLAN.id, name)
            for report, mark in zip(*piece, strict=True)
        }
        for name in totals
    }
    sums = {name: (total.n, total.cells.tolist()) for name, total in totals.items()}
    rejections = store.rejections(PLAN.id)
    published = store.plans()[PLAN.id], store.notes(TEXTS)[PLAN.id], store.notes(SCHEDULES)[PLAN.id]
    return sums, remembered, rejections, *published


@pytest.mark.slow
def test_a_survey_copied_through_all_stores_is_unchanged(tmp_path, sent, cluster_nodes):
    first = fill(open_sqlite(tmp_path / "first.db"), sent)
    before = whole(first)
    with redis_server(tmp_path) as url:
        places = [first, open_store(url), open_store(cluster_nodes[0].url), open_sqlite(tmp_path / "last.db")]
        for source, target in pairwise(places):
            assert migrate_survey(source, target, PLAN.id) == 3000
            assert whole(target) == before
        for store in places:
            require_equal(store.totals(PLAN.id), sent.totals)
        assert any(not total.n and total.cells.any() for total in places[-1].totals(PLAN.id).values())
        assert_exactly_once(places[-1], sent)
        for store in places:
            store.close()


def assert_exactly_once(store: Store, sent: Sent) -> None:
    """Send all reports again, and others under some of their ids."""
    intake, rng = Intake(PLAN, store), random.Random(1)
    assert {outcome.status for outcome in intake.record_body(b"".join(sent.reports))} == {"duplicate"}
    (outcome,) = intake.record_body(other_report(PLAN, sent.reports[0], rng))
    assert outcome.error is not None
    assert outcome.error.reason == "id-reused"
    require_equal(store.totals(PLAN.id), sent.totals)


@pytest.mark.slow
def test_extreme_integers_are_copied(tmp_path):
    source, extremes = open_sqlite(tmp_path / "source.db"), np.array([-(2**63), 2**63 - 1, 2**53 + 1, 0])
    source.publish(PLAN.id, PLAN.json)
    source.record([batch(PLAN.id, "extreme", OTHER, extremes)])
    source.record([batch(PLAN.id, "nothing yet", OTHER, np.zeros(3, np.int64))])
    with redis_server(tmp_path) as url:
        for target in (MemoryStore(), open_store(url)):
            migrate_survey(source, target, PLAN.id)
            move_again(source, target)
            assert target.totals(PLAN.id)["extreme"].cells.tolist() == extremes.tolist()
            assert target.totals(PLAN.id)["nothing yet"].n == 1
            target.close()
    source.close()


def test_invitations_move_too():
    plan = plan_of(INVITED)
    source, target, arrived = MemoryStore(), MemoryStore(), MemoryStore()
    source.publish(plan.id, plan.json)
    first, second, third = create_tokens(source, plan, 3, SystemEntropy())
    row: dict[str, object] = {"age": "old", "hours": 7, "district": "5", "debt": 3}

    def take(store: Store, token: str) -> str:
        (outcome,) = Intake(plan, store).record_body(make_report(plan, row, "yes", token=token))
        return str(outcome.error.reason) if outcome.error else outcome.status

    assert take(source, first) == "recorded"
    assert migrate_survey(source, target, plan.id) == 1
    assert count_tokens(target, plan.id) == 3
    assert take(target, second) == "recorded"
    assert take(target, first) in ("duplicate", "id-reused")  # noise is drawn anew: other bytes, mostly
    assert migrate_survey(target, arrived, plan.id) == 2
    assert take(arrived, third) == "recorded"
    other = MemoryStore()
    other.publish(plan.id, plan.json)
    (foreign,) = create_tokens(other, plan, 1, SystemEntropy())
    assert take(arrived, foreign) == "not-enrolled"
    with pytest.raises(MigrationError, match="the target has tokens of trial of its own"):
        migrate_survey(source, other, plan.id)  # its own tokens would be lost


def move_again(source: Store, target: Store) -> None:
    """Copy as if the last step, opening the target, had not been done."""
    target.set_note(SCHEDULES, PLAN.id, HALF)
    migrate_survey(source, target, PLAN.id)


class CutOff(Exception):
    """Stands for a crash."""


class Failing:
    """A store that crashes just before or after its n-th change."""

    def __init__(self, store: Store, changes: int, behind: bool) -> None:
        self._store, self._left, self._behind = store, changes, behind

    def __getattr__(self, name: str) -> object:
        act: Callable[..., object] = getattr(self._store, name)
        changes = ("publish", "set_note", "record", "add_rejections")
        return self._changing(act) if name in changes else act

    def _changing(self, act: Callable[..., object]) -> Callable[..., object]:
        def changing(*arguments: object, **options: object) -> object:
            self._left -= 1
            if self._left < 0 and not self._behind:
                raise CutOff
            done = act(*arguments, **options)
            if self._left < 0:
                raise CutOff
            return done

        return changing


@pytest.mark.slow
@pytest.mark.parametrize("behind", [False, True])
def test_a_run_cut_off_at_any_change_is_completed_by_the_next(tmp_path, sent, monkeypatch, behind):
    monkeypatch.setattr("ldp_aggregator.stores.store.REPORTS_PER_READ", 100)
    source, target, cuts = fill(open_sqlite(tmp_path / "source.db"), sent), MemoryStore(), 0
    while True:
        try:
            migrate_survey(source, Failing(target, cuts, behind), PLAN.id)  # type: ignore[arg-type]
            break
        except CutOff:
            cuts += 1
            arriving = read_schedule(target, PLAN.id).import_run
            assert arriving or not target.totals(PLAN.id) or behind
    assert cuts > 20
    assert whole(target) == whole(source)
    assert_exactly_once(target, sent)
    source.close()


@pytest.mark.slow
def test_an_incomplete_import_gives_devices_a_retryable_refusal(tmp_path, sent):
    source, target = fill(open_sqlite(tmp_path / "source.db"), sent), MemoryStore()
    with pytest.raises(CutOff):
        migrate_survey(source, Failing(target, 4, behind=True), PLAN.id)  # type: ignore[arg-type]
    web = make_client(target)
    body, form = make_reports(PLAN, 1, seed=8).reports[0], {"Content-Type": MEDIA_TYPE}
    response = web.post(f"/v1/surveys/{PLAN.id}/reports", data=body, headers=form)
    assert (response.status_code, response.json["reason"]) == (403, "survey-not-open")
    assert response.json["retryable"] is True
    assert rejected(web, PLAN.id) == {"survey-not-open": 1}
    migrate_survey(source, target, PLAN.id)
    served = make_client(target).post(f"/v1/surveys/{PLAN.id}/reports", data=body, headers=form)
    assert served.json == {"status": "recorded"}
    assert target.rejections(PLAN.id) == {"malformed": 3, "survey-not-open": 1}
    source.close()


@pytest.mark.slow
def test_a_target_that_collects_by_itself_is_refused(tmp_path, sent):
    source, busy, timed, other = fill(MemoryStore(), sent), MemoryStore(), MemoryStore(), MemoryStore()
    for store in (busy, timed):
        store.publish(PLAN.id, PLAN.json)
    record(busy, PLAN.id, "counter", OTHER, np.array([1]))
    timed.set_note(SCHEDULES, PLAN.id, Schedule().to_json())
    copy = MemoryStore()
    migrate_survey(source, copy, PLAN.id)
    counter = next(iter(sent.totals))
    record(source, PLAN.id, counter, OTHER, np.zeros(len(sent.totals[counter].cells), np.int64))
    held = f"holds a finished import of 3,000 reports of trial, and the source now has {3000 + len(OTHER):,}"
    for store, why in (
        (busy, f"the target has {len(OTHER)} reports? of trial of its own"),
        (timed, "the target has opening times for trial"),
        (copy, held),
    ):
        before = store.notes(SCHEDULES)
        with pytest.raises(MigrationError, match=why):
            migrate_survey(source, store, PLAN.id)
        assert store.notes(SCHEDULES) == before
    other.publish(PLAN.id, b"{}")
    with pytest.raises(MigrationError, match="another plan"):
        migrate_survey(source, other, PLAN.id)
    with pytest.raises(StoreError, match="no survey 'diet'"):
        migrate_survey(source, MemoryStore(), "diet")


@pytest.mark.slow
def test_a_target_that_others_wrote_to_is_not_opened(sent):
    source, target = fill(MemoryStore(), sent), MemoryStore()
    counter = next(iter(sent.totals))
    reached = CountsMeanwhile(target, counter, len(sent.totals[counter].cells))
    for _ in range(2):
        with pytest.raises(MigrationError, match="lacks: import into a store without it"):
            migrate_survey(source, reached, PLAN.id)  # type: ignore[arg-type]
        assert read_schedule(target, PLAN.id).import_run
    with pytest.raises(MigrationError, match="into the source is incomplete"):
        migrate_survey(target, MemoryStore(), PLAN.id)


class CountsMeanwhile:
    """A store in which a collector counts a report whenever its totals have been read."""

    def __init__(self, store: Store, counter: str, cells: int) -> None:
        self._store, self._tally = store, np.ones(cells, np.int64)
        self._counter, self._number = counter, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def totals(self, survey: str) -> object:
        totals = self._store.totals(survey)
        self._number += 1
        record(self._store, survey, self._counter, {self._number.to_bytes(16): bytes(8)}, self._tally)
        return totals


@pytest.mark.slow
def test_a_source_that_counts_meanwhile_is_reported_and_the_next_run_completes_the_copy(sent):
    source, target = fill(MemoryStore(), sent), MemoryStore()
    counter = next(iter(sent.totals))
    counting = CountsMeanwhile(source, counter, len(sent.totals[counter].cells))
    for _ in range(2):
        with pytest.raises(MigrationError, match="stop its collectors, and run the same command again"):
            migrate_survey(counting, target, PLAN.id)  # type: ignore[arg-type]
        assert read_schedule(target, PLAN.id).import_run
    assert migrate_survey(source, target, PLAN.id) == 3004
    assert whole(target) == whole(source)


def test_another_report_under_a_moved_id_stops_the_move():
    source, target = MemoryStore(), MemoryStore()
    for store, mark in ((source, b"a" * 8), (target, b"b" * 8)):
        store.publish(PLAN.id, PLAN.json)
        record(store, PLAN.id, "counter", {bytes(16): mark}, np.array([1]))
    target.set_note(SCHEDULES, PLAN.id, HALF)
    with pytest.raises(MigrationError, match="that the source lacks"):
        migrate_survey(source, target, PLAN.id)
    assert target.totals(PLAN.id)["counter"].cells.tolist() == [1]


class CallDuring:
    """A store that makes one call just before or after the n-th call of a method."""

    def __init__(
        self, store: Store, name: str, number: int, happen: Callable[[], object], behind: bool
    ) -> None:
        self._store, self._happen, self._behind = store, happen, behind
        self._name, self._left = name, number

    def __getattr__(self, name: str) -> object:
        act: Callable[..., object] = getattr(self._store, name)
        return self._watched(act) if name == self._name else act

    def _watched(self, act: Callable[..., object]) -> Callable[..., object]:
        def watched(*arguments: object, **options: object) -> object:
            self._left -= 1
            if self._left == 0 and not self._behind:
                self._happen()
            done = act(*arguments, **options)
            if self._left == 0 and self._behind:
                self._happen()
            return done

        return watched


@pytest.mark.slow
@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("name", ["publish", "set_note", "notes", "totals", "record", "report_ids"])
def test_a_second_import_at_any_call_makes_no_report_count_twice(sent, name, behind):
    source, number = fill(MemoryStore(), sent), 0
    came = True
    while came:
        target, number, came = MemoryStore(), number + 1, False

        def other() -> None:
            nonlocal came
            came = True
            migrate_survey(source, target, PLAN.id)  # noqa: B023 - called within this very round

        with suppress(MigrationError):
            migrate_survey(source, CallDuring(target, name, number, other, behind), PLAN.id)  # type: ignore[arg-type]
        if read_schedule(target, PLAN.id).import_run:
            migrate_survey(source, target, PLAN.id)
        assert whole(target) == whole(source), (name, number)


@pytest.mark.slow
def test_the_slower_of_two_imports_stops_and_does_not_change_an_open_survey(sent):
    source, target = fill(MemoryStore(), sent), MemoryStore()
    new = make_reports(PLAN, 1, seed=8).reports[0]

    def other() -> None:
        migrate_survey(source, target, PLAN.id)
        Intake(PLAN, target).record_body(new)  # collectors run on it already

    with pytest.raises(MigrationError, match="another import"):
        migrate_survey(source, CallDuring(target, "record", 3, other, behind=False), PLAN.id)  # type: ignore[arg-type]
    assert read_schedule(target, PLAN.id) == WINDOW
    assert count_reports(target.totals(PLAN.id)) == 3001
    assert migrate_survey(source, target, PLAN.id) == 3001  # finished before


@pytest.mark.slow
def test_cells_added_by_two_imports_keep_the_survey_closed_until_a_third_corrects_them(sent):
    source, target = fill(MemoryStore(), sent), MemoryStore()
    held_up = CallDuring(target, "record", 1, lambda: migrate_survey(source, target, PLAN.id), behind=False)
    with pytest.raises(MigrationError, match="another import"):
        migrate_survey(source, held_up, PLAN.id)  # type: ignore[arg-type]
    assert read_schedule(target, PLAN.id).import_run
    with pytest.raises(IncompleteImportError):
        take_snapshot(target, PLAN.id)
    migrate_survey(source, target, PLAN.id)
    assert whole(target) == whole(source)


@pytest.mark.slow
def test_reports_taken_before_collectors_see_the_lock_are_found_before_anything_is_written(sent, monkeypatch):
    monkeypatch.setattr("ldp_aggregator.collector.service.SCHEDULE_TTL_SECONDS", 0.3)
    monkeypatch.setattr(migrate, "LOCK_VISIBLE_SECONDS", 0.4)
    source, target = fill(MemoryStore(), sent), MemoryStore()
    target.publish(PLAN.id, PLAN.json)
    web = make_client(target)
    one, two = make_reports(PLAN, 2, seed=8).reports

    def post(body: bytes) -> int:
        response = web.post(f"/v1/surveys/{PLAN.id}/reports", data=body, headers={"Content-Type": MEDIA_TYPE})
        return response.status_code

    def post_while_waiting(seconds: float) -> None:
        assert post(one) == 200  # the target is locked, but the worker has not read the schedule yet
        threading.Event().wait(seconds)
        assert post(two) == 403

    monkeypatch.setattr(migrate.time, "sleep", post_while_waiting)
    assert web.get(f"/v1/surveys/{PLAN.id}").status_code == 200  # the worker reads when it is open
    with pytest.raises(MigrationError, match="that the source lacks"):
        migrate_survey(source, target, PLAN.id)
    assert count_reports(target.totals(PLAN.id)) == 1
    assert read_schedule(target, PLAN.id) == Schedule()  # its schedule is as before


def test_a_survey_already_published_is_copied_after_all_collectors_have_seen_the_lock(sent):
    source, target = fill(MemoryStore(), sent), MemoryStore()
    target.publish(PLAN.id, PLAN.json)
    assert migrate_survey(source, target, PLAN.id) == 3000
    assert whole(target) == whole(source)


def test_an_incomplete_survey_is_not_read_and_gets_no_invitations(tmp_path, sent):
    url = f"sqlite:///{tmp_path}/half.db"
    half = fill(open_store(url), sent)
    half.set_note(SCHEDULES, PLAN.id, HALF)
    half.close()
    with pytest.raises(IncompleteImportError, match="is incomplete: run it again"):
        read_training_data([url])
    output = tmp_path / "snapshot.json"
    for words in (("open", PLAN.id), ("close", PLAN.id), ("export", PLAN.id, "-o", output)):
        assert "is incomplete: run it again" in refused(*words, "--store", url)
    plan = plan_of(INVITED)
    url = f"sqlite:///{tmp_path}/invited.db"
    invited = open_store(url)
    invited.publish(plan.id, plan.json)
    invited.set_note(SCHEDULES, plan.id, HALF)
    invited.close()
    words = ("tokens", "create", plan.id, "--count", 3)
    assert "is incomplete: run it again" in refused(*words, "--store", url)
    assert count_tokens(open_store(url), plan.id) == 0


def refused(*arguments: object) -> str:
    result = command("ldp-collector", *arguments, check=False)
    assert result.exit_code == 1, result.output
    return result.output


@pytest.fixture
def source_url(tmp_path: Path, sent: Sent) -> str:
    fill(open_sqlite(tmp_path / "source.db"), sent).close()
    return f"sqlite:///{tmp_path}/source.db"


@pytest.mark.slow
def test_an_operator_moves_a_survey(tmp_path, source_url, sent):
    target = f"sqlite:///{tmp_path}/target.db"

    def run(source: str, url: str) -> tuple[int, str]:
        result = command("ldp-collector", "import", PLAN.id, "--from", source, "--store", url, check=False)
        return result.exit_code, result.output

    code, output = run(source_url, target)
    assert (code, "the new store has 3,000 reports of trial." in output) == (0, True)
    require_equal(open_sqlite(tmp_path / "target.db").totals(PLAN.id), sent.totals)
    assert run(source_url, target) == (code, output)
    for source, url, expected in (
        (target, target, "are the same store"),
        ("sqlite:///nowhere.db", target, "no such file"),
        (source_url, "memory://", "loses everything on a restart"),
    ):
        code, output = run(source, url)
        assert (code, expected in output) == (1, True), output
    half = open_sqlite(tmp_path / "target.db")
    half.set_note(SCHEDULES, PLAN.id, HALF)
    half.close()
    assert "arriving" in command("ldp-collector", "status", "--store", target).output
    assert run(source_url, target)[0] == 0
    with redis_server(tmp_path) as url:
        open_store(url)._redis.config_set("maxmemory-policy", "allkeys-lru")  # type: ignore[attr-defined]
        code, output = run(source_url, url)
        assert (code, "noeviction" in output) == (1, True), output


def test_an_import_of_nothing_makes_no_store(tmp_path, source_url):
    open_sqlite(tmp_path / "empty.db").close()
    (tmp_path / "other.db").touch()
    target = tmp_path / "target.db"
    for survey, name in (("diet", "source.db"), (PLAN.id, "empty.db"), (PLAN.id, "other.db")):
        refused("import", survey, "--from", f"sqlite:///{tmp_path / name}", "--store", f"sqlite:///{target}")
        assert not target.exists()


@pytest.mark.slow
def test_the_source_is_not_changed(tmp_path, source_url):
    source = tmp_path / "source.db"
    before = source.read_bytes()
    target = f"sqlite:///{tmp_path}/target.db"
    command("ldp-collector", "import", PLAN.id, "--from", source_url, "--store", target)
    assert source.read_bytes() == before
    reading = open_store(source_url, read_only=True)
    assert whole(reading) == whole(open_store(target))
    reading.close()

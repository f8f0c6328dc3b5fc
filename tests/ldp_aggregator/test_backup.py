"""Backups while collectors count: whole or absent, not served by mistake, restored without double counts."""

import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from encoders.randomness import SystemEntropy
from ldp_aggregator import migrate
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.invitations import count_tokens, create_tokens
from ldp_aggregator.migrate import MigrationError, back_up, migrate_survey
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import MemoryStore, Store, StoreError, open_store
from ldp_aggregator.stores.operator_log import BACKED_UP, find_last_backup, read_log
from ldp_aggregator.stores.schedule import BackupError, Phase, Schedule, read_schedule
from ldp_aggregator.stores.store import SCHEDULES, TEXTS, count_reports
from tests.ldp_aggregator.test_migrate import HALF, INVITED, PLAN, SOME_TEXTS, fill, open_sqlite, whole
from tests.support.commands import command
from tests.support.servers import inherited_environment, redis_server, wait_for
from tools.endurance.collector.reports import Sent, make_reports, plan_of, require_equal

OPENED = Schedule(opens=5)


@pytest.fixture(autouse=True)
def no_wait_for_collectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "LOCK_VISIBLE_SECONDS", 0.0)


@pytest.fixture(scope="module")
def sent() -> Sent:
    return make_reports(PLAN, 3000, seed=7)


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("redis", marks=pytest.mark.slow),
        pytest.param("cluster", marks=pytest.mark.slow),
    ]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/live.db"
    elif request.param == "redis":
        with redis_server(tmp_path) as address:
            yield address
    else:
        yield request.getfixturevalue("cluster_nodes")[0].url


def filled(url: str, sent: Sent) -> Store:
    store = fill(open_store(url), sent)
    store.set_note(SCHEDULES, PLAN.id, OPENED.to_json())
    return store


def restore(path: Path, target: Store) -> int:
    source = open_store(f"sqlite:///{path}", read_only=True, create=False)
    try:
        return migrate_survey(source, target, PLAN.id, accept_loss=True)
    finally:
        source.close()


@pytest.mark.slow
def test_a_backup_has_everything_and_is_restored(url, tmp_path, sent):
    store, path = filled(url, sent), tmp_path / "backup.db"
    made = back_up(store, path)
    assert abs(made - time.time()) < 60
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.glob("backup.db*")] == ["backup.db"]
    copy = open_sqlite(path)
    require_equal(copy.totals(PLAN.id), sent.totals)
    assert copy.find_losses(PLAN.id) == {}
    marked = Schedule(opens=5, backup=made)
    assert read_schedule(copy, PLAN.id) == marked
    copy.close()
    restored = open_sqlite(tmp_path / "restored.db")
    assert restore(path, restored) == 3000
    assert read_schedule(restored, PLAN.id) == Schedule(opens=5, restored=(made,))
    restored.set_note(SCHEDULES, PLAN.id, OPENED.to_json())
    assert whole(restored) == whole(store)
    assert restored.notes(TEXTS) == {PLAN.id: SOME_TEXTS}
    for each in (store, restored):
        each.close()


@pytest.mark.slow
def test_a_backup_while_reports_are_counted_has_each_report_with_its_id(url, tmp_path, sent):
    store = filled(url, sent)
    more, acknowledged, stop = make_reports(PLAN, 4000, seed=8).reports, list[bytes](), threading.Event()

    def load() -> None:
        intake = Intake(PLAN, open_store(url))
        for report in more:
            if stop.is_set():
                return
            (outcome,) = intake.record_body(report)
            assert outcome.status == "recorded"
            acknowledged.append(report)

    thread = threading.Thread(target=load)
    thread.start()
    wait_for(lambda: len(acknowledged) > 20)
    before = []
    for number in range(3):
        before.append(len(acknowledged))
        back_up(store, tmp_path / f"{number}.db")
    after = len(acknowledged)
    stop.set()
    thread.join()
    assert after > before[0]
    for number in range(3):
        restored = open_sqlite(tmp_path / f"restored-{number}.db")
        reports = restore(tmp_path / f"{number}.db", restored)
        snapshot = take_snapshot(restored, PLAN.id)
        assert reports == snapshot.total()
        lost = snapshot.losses.reports
        assert 3000 + before[number] <= reports <= reports + lost <= 3000 + len(acknowledged)
        assert restored.find_losses(PLAN.id) == {}
        intake = Intake(PLAN, restored)
        known = [each.status for each in intake.record_body(b"".join(sent.reports + acknowledged))]
        assert known.count("duplicate") == reports + lost
        assert known[: 3000 + before[number]] == ["duplicate"] * (3000 + before[number])
        counted = take_snapshot(restored, PLAN.id)
        assert counted.total() + lost == count_reports(store.totals(PLAN.id))
        if not lost:  # each report is counted once in both
            for counter, total in store.totals(PLAN.id).items():
                assert np.array_equal(counted.totals[counter].cells, total.cells) or not total.n
        restored.close()
    store.close()


class CountsAfterTotals:
    """A store in which a collector counts a report whenever the totals of the survey have been read."""

    def __init__(self, store: Store, reports: list[bytes]) -> None:
        self._store, self._intake, self._reports = store, Intake(PLAN, store), reports

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def totals(self, survey: str) -> object:
        found = self._store.totals(survey)
        if survey == PLAN.id:
            self._intake.record_body(self._reports.pop())
        return found


def test_a_report_that_is_counted_during_a_backup_is_in_the_number_of_the_lost(tmp_path, sent):
    store, late = fill(MemoryStore(), sent), make_reports(PLAN, 1, seed=9).reports
    store.set_note(SCHEDULES, PLAN.id, OPENED.to_json())
    back_up(CountsAfterTotals(store, [*late]), tmp_path / "backup.db")  # type: ignore[arg-type]
    restored = open_sqlite(tmp_path / "restored.db")
    assert restore(tmp_path / "backup.db", restored) == 3000
    snapshot = take_snapshot(restored, PLAN.id)
    require_equal(snapshot.totals, sent.totals)
    assert snapshot.losses.reports == 1
    (outcome,) = Intake(PLAN, restored).record_body(late[0])
    assert outcome.status == "duplicate"
    restored.close()


def test_tokens_are_in_a_backup(tmp_path):
    plan, store = plan_of(INVITED), MemoryStore()
    store.publish(plan.id, plan.json)
    list(create_tokens(store, plan, 30, SystemEntropy()))
    back_up(store, tmp_path / "backup.db")
    restored = open_sqlite(tmp_path / "restored.db")
    restore(tmp_path / "backup.db", restored)
    assert count_tokens(restored, plan.id) == 30
    restored.close()


def test_a_backup_is_not_served_or_changed_by_mistake(tmp_path, sent):
    path, survey = tmp_path / "backup.db", tmp_path / "survey.toml"
    store = filled(f"sqlite:///{tmp_path}/live.db", sent)
    back_up(store, path)
    store.close()
    url = f"sqlite:///{path}"
    survey.write_bytes(PLAN.json)
    for words in (
        ("serve", survey, "--bind", "127.0.0.1:0", "--operator-bind", "127.0.0.1:0"),
        ("open", PLAN.id),
        ("close", PLAN.id),
        ("export", PLAN.id, "-o", tmp_path / "snapshot.json"),
    ):
        result = command("ldp-collector", *words, "--store", url, check=False)
        assert result.exit_code == 1
        assert "this store is a backup of 20" in result.output
        assert "ldp-collector import trial --from BACKUP --store NEW --accept-loss" in result.output
    assert "backup" in command("ldp-collector", "status", "--store", url).output
    copy = open_store(url)
    assert read_schedule(copy, PLAN.id).phase(time.time()) is Phase.WAITING  # for a collector that runs
    with pytest.raises(BackupError):
        back_up(copy, tmp_path / "again.db")
    copy.close()


def test_a_backup_on_a_read_only_medium_is_restored(tmp_path, sent):
    folder, new = tmp_path / "medium", f"sqlite:///{tmp_path}/new.db"
    folder.mkdir()
    back_up(filled(f"sqlite:///{tmp_path}/live.db", sent), folder / "backup.db")
    assert (folder / "backup.db").read_bytes()[
        18:20
    ] == b"\1\1"  # no write-ahead log, which needs a second file
    assert [each.name for each in folder.iterdir()] == ["backup.db"]
    with closing(sqlite3.connect(f"file:{folder}/backup.db?mode=ro", uri=True)) as held:
        held.execute("SELECT * FROM plans").fetchall()
        words = (
            "import",
            PLAN.id,
            "--from",
            f"sqlite:///{folder}/backup.db",
            "--store",
            new,
            "--accept-loss",
        )
        command("ldp-collector", *words)
    assert [each.name for each in folder.iterdir()] == ["backup.db"]  # nothing was written beside it


@pytest.mark.slow
def test_a_restore_asks_for_one_step_and_refuses_a_newer_store(tmp_path, sent):
    store, path = filled(f"sqlite:///{tmp_path}/live.db", sent), tmp_path / "backup.db"
    back_up(store, path)
    extra = make_reports(PLAN, 20, seed=9).reports
    Intake(PLAN, store).record_body(b"".join(extra))
    live, backed_up, new = (f"sqlite:///{tmp_path}/{name}.db" for name in ("live", "backup", "new"))

    def run(url: str, *options: str) -> tuple[int, str]:
        words = ("import", PLAN.id, "--from", backed_up, "--store", url, *options)
        result = command("ldp-collector", *words, check=False)
        return result.exit_code, result.output

    code, output = run(new)
    assert (code, "To restore the backup in its place, add --accept-loss" in output) == (1, True)
    before = whole(store)
    code, output = run(live, "--accept-loss")
    assert (code, "the target is newer than the backup: it has all its 3,000 reports" in output) == (1, True)
    assert "and 20 more" in output
    assert whole(store) == before
    code, output = run(new, "--accept-loss")
    assert (code, "trial: restored from a backup of 20" in output) == (0, True)
    assert "lost before" not in output
    code, output = run(new, "--accept-loss")
    assert (code, "trial: restored from a backup of 20" in output) == (0, True)  # nothing is done
    restored = open_store(new)
    assert len(take_snapshot(restored, PLAN.id).losses.backups) == 1
    Intake(PLAN, restored).record_body(b"".join(extra[:5]))
    with pytest.raises(MigrationError, match="newer than the backup"):
        restore(path, restored)
    for each in (store, restored):
        each.close()


def test_the_operators_log_says_when_the_last_backup_was_made(tmp_path, sent):
    url = f"sqlite:///{tmp_path}/live.db"
    store = filled(url, sent)
    assert find_last_backup(store) is None
    command("ldp-collector", "backup", "-o", tmp_path / "backup.db", "--store", url)
    assert [each.what for each in read_log(store)] == [BACKED_UP]
    assert abs((find_last_backup(store) or 0) - time.time()) < 60
    store.close()


def test_what_cannot_be_backed_up_is_named_and_leaves_no_file(tmp_path, sent):
    store = filled(f"sqlite:///{tmp_path}/live.db", sent)
    path = tmp_path / "backup.db"
    path.write_bytes(b"another file")
    with pytest.raises(StoreError, match="exists: give each backup a new name"):
        back_up(store, path)
    assert path.read_bytes() == b"another file"
    path.unlink()
    store.set_note(SCHEDULES, PLAN.id, HALF)
    with pytest.raises(MigrationError, match="is incomplete"):
        back_up(store, path)
    assert {each.name for each in tmp_path.iterdir()} <= {"live.db", "live.db-wal", "live.db-shm"}
    back_up(MemoryStore(), path)  # a store without a survey yet
    assert open_sqlite(path).plans() == {}
    with pytest.raises(StoreError, match="does not exist"):
        back_up(MemoryStore(), tmp_path / "nowhere" / "backup.db")
    result = command(
        "ldp-collector", "backup", "-o", path, "--store", f"sqlite:///{tmp_path}/live.db", check=False
    )
    assert (result.exit_code, "is a SQLite database" in result.output) == (2, True)
    store.close()


@pytest.mark.slow
def test_a_backup_onto_a_full_disk_says_so_and_leaves_nothing_behind(tmp_path, sent):
    small, mount = tmp_path / "small", shutil.which("mount") or "mount"
    small.mkdir()
    mounted = [mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(small)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        store = filled(f"sqlite:///{tmp_path}/live.db", sent)
        words = ("backup", "-o", small / "backup.db", "--store", f"sqlite:///{tmp_path}/live.db")
        result = command("ldp-collector", *words, check=False)
        assert result.exit_code == 1
        assert f"{small}/backup.db: the disk is full: give a folder with more space" in result.output
        assert list(small.iterdir()) == []
        assert whole(store)
        store.close()
    finally:
        subprocess.run(["umount", str(small)], check=True)


def start(*words: object) -> subprocess.Popen[bytes]:
    program = "from encoders.extras import ldp_collector; ldp_collector()"
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        env=inherited_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.slow
def test_a_backup_and_a_restore_that_are_killed_at_any_time_are_complete_or_absent(tmp_path, sent):
    rng, live = random.Random(4), f"sqlite:///{tmp_path}/live.db"
    filled(live, sent).close()
    seconds = time.monotonic()
    assert start("backup", "-o", tmp_path / "first.db", "--store", live).wait(60) == 0
    seconds = time.monotonic() - seconds
    complete = 0
    for number in range(12):
        path = tmp_path / f"{number % 4}.db"
        path.unlink(missing_ok=True)
        process = start("backup", "-o", path, "--store", live)
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.5, 1.05) * seconds)
        process.kill()
        process.wait()
        if path.exists():
            complete += 1
            copy = open_sqlite(path)
            require_equal(copy.totals(PLAN.id), sent.totals)
            assert copy.find_losses(PLAN.id) == {}
            copy.close()
    back_up(open_store(live), tmp_path / "last.db")
    for number in range(8):
        target = f"sqlite:///{tmp_path}/restored-{number}.db"
        words = (
            "import",
            PLAN.id,
            "--from",
            f"sqlite:///{tmp_path}/last.db",
            "--store",
            target,
            "--accept-loss",
        )
        process = start(*words)
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.5, 1.05) * seconds)
        process.kill()
        process.wait()
        restored = open_store(target)
        if PLAN.id not in restored.plans() or read_schedule(restored, PLAN.id).import_run:
            assert restore(tmp_path / "last.db", restored) == 3000
        assert count_reports(restored.totals(PLAN.id)) == 3000
        assert len(read_schedule(restored, PLAN.id).restored) == 1
        require_equal(restored.totals(PLAN.id), sent.totals)
        assert restored.find_losses(PLAN.id) == {}
        restored.close()


def test_the_remains_of_a_killed_backup_are_replaced(tmp_path, sent):
    store, path = filled(f"sqlite:///{tmp_path}/live.db", sent), tmp_path / "backup.db"
    (tmp_path / "backup.db.part").write_bytes(b"cut off")
    (tmp_path / "backup.db.part-wal").write_bytes(b"cut off")
    back_up(store, path)
    require_equal(open_sqlite(path).totals(PLAN.id), sent.totals)
    assert sorted(each.name for each in tmp_path.glob("backup*")) == [
        "backup.db",
        "backup.db-shm",
        "backup.db-wal",
    ]
    store.close()

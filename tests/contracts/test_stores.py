"""The contract of every store: atomic, exactly once, for threads and processes, durable if promised."""

import gc
import multiprocessing
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ldp_aggregator.stores import Batch, MarksById, MemoryStore, Store, StoreError, open_store
from ldp_aggregator.stores.failure import MissingSurveyError
from ldp_aggregator.stores.group_commit import GroupCommit
from ldp_aggregator.stores.store import REPORTS_PER_READ, SCHEDULES, TEXTS
from tests.support.batches import batch, record
from tests.support.servers import wait_for
from tests.support.threads import in_threads

SURVEY, COUNTER = "sleep-2026", "0123456789abcdef"


def ids(*numbers: int) -> dict[bytes, bytes]:
    return {number.to_bytes(16, "big"): b"f" * 7 + bytes([number % 256]) for number in numbers}


def vector(*cells: int) -> np.ndarray:
    return np.array(cells, dtype=np.int64)


def state(store: Store) -> tuple[int, list[int]] | None:
    total = store.totals(SURVEY).get(COUNTER)
    return (total.n, total.cells.tolist()) if total else None


def test_new_reports_are_counted(store):
    assert record(store, SURVEY, COUNTER, ids(1, 2), vector(1, 0, 1)) == {}
    assert record(store, SURVEY, COUNTER, ids(3), vector(0, 0, 5)) == {}
    assert state(store) == (3, [1, 0, 6])


def test_a_batch_with_a_known_id_changes_nothing_and_names_it(store):
    record(store, SURVEY, COUNTER, ids(1), vector(1, 0))
    before = state(store)
    changed = {**ids(2, 3), (1).to_bytes(16, "big"): b"another!"}
    assert record(store, SURVEY, COUNTER, changed, vector(7, 7)) == ids(1)
    assert state(store) == before
    assert record(store, SURVEY, COUNTER, ids(2, 3), vector(1, 1)) == {}  # none of them was remembered
    assert state(store) == (3, [2, 1])


def test_recorded_ids_are_found_by_counter_and_nothing_is_recorded(store):
    record(store, SURVEY, COUNTER, ids(1, 2), vector(1, 0))
    record(store, SURVEY, "other", ids(3), vector(1, 0))
    wanted = batch(SURVEY, COUNTER, ids(1, 2, 3, 4), vector()).ids
    queried = {COUNTER: wanted, "other": wanted, "unknown": wanted}
    assert store.find_recorded(SURVEY, queried) == {COUNTER: ids(1, 2), "other": ids(3), "unknown": {}}
    assert store.find_recorded("diet", queried) == {COUNTER: {}, "other": {}, "unknown": {}}
    assert store.find_recorded(SURVEY, {}) == {}
    assert record(store, SURVEY, COUNTER, ids(3, 4), vector(1, 1)) == {}


def test_a_counter_may_have_no_cells(store):
    assert record(store, SURVEY, COUNTER, ids(1, 2), vector()) == {}
    assert record(store, SURVEY, COUNTER, ids(3), vector()) == {}
    assert state(store) == (3, [])


def test_counters_of_surveys_and_questions_are_separate(store):
    record(store, SURVEY, COUNTER, ids(1), vector(1))
    record(store, SURVEY, "other", ids(1), vector(2))
    record(store, "diet", COUNTER, ids(1), vector(3))
    assert {counter: total.cells.tolist() for counter, total in store.totals(SURVEY).items()} == {
        COUNTER: [1],
        "other": [2],
    }
    assert store.totals("diet")[COUNTER].cells.tolist() == [3]
    assert store.totals("unknown") == {}
    found = store.all_totals()
    assert {survey: found[survey].keys() for survey in found} == {
        survey: store.totals(survey).keys() for survey in (SURVEY, "diet")
    }
    assert found["diet"][COUNTER].cells.tolist() == [3]


def test_integers_are_exact_beyond_floating_point(store):
    big = 2**60 + 1
    record(store, SURVEY, COUNTER, ids(1), vector(big, -big))
    record(store, SURVEY, COUNTER, ids(2), vector(2, -2))
    assert state(store) == (2, [big + 2, -big - 2])


def test_a_long_vector_of_large_integers_of_both_signs_adds_up_exactly(store):
    cells = (-1) ** np.arange(8184) * (2**50 + np.arange(8184))  # a message of a silo, dense
    for number in (1, 2, 3):
        assert record(store, SURVEY, COUNTER, ids(number), cells * number) == {}
    assert state(store) == (3, (6 * cells).tolist())


def test_an_overflow_is_refused_whole(store):
    record(store, SURVEY, COUNTER, ids(1), vector(0, 2**62 - 2**20))
    before = state(store)
    with pytest.raises(StoreError, match="overflow"):
        record(store, SURVEY, COUNTER, ids(2), vector(1, 2**62 + 2**61))
    assert state(store) == before
    assert record(store, SURVEY, COUNTER, ids(2), vector(1, 1)) == {}


def test_overflow_to_the_smallest_integer_is_undone_too(store):
    record(store, SURVEY, COUNTER, ids(1), vector(5, 2**62))
    with pytest.raises(StoreError, match="overflow"):
        record(store, SURVEY, COUNTER, ids(2), vector(-(2**63), 2**62))
    assert state(store) == (1, [5, 2**62])
    assert record(store, SURVEY, COUNTER, ids(2), vector(-(2**63), 1)) == {}
    assert state(store) == (2, [5 - 2**63, 2**62 + 1])


def test_a_tally_of_another_length_is_refused_whole(store):
    record(store, SURVEY, COUNTER, ids(1), vector(1, 1))
    with pytest.raises(StoreError, match="cells"):
        record(store, SURVEY, COUNTER, ids(2), vector(1, 1, 1))
    assert state(store) == (1, [1, 1])
    assert record(store, SURVEY, COUNTER, ids(2), vector(1, 1)) == {}


@pytest.mark.slow
def test_large_batch_is_recorded_in_one_step(store):
    batch = ids(*range(20_000))
    assert record(store, SURVEY, COUNTER, batch, np.arange(1024)) == {}
    assert state(store) == (20_000, list(range(1024)))
    assert record(store, SURVEY, COUNTER, batch, np.arange(1024)) == batch


def test_many_batches_are_recorded_in_one_step_each(store):
    record(store, SURVEY, COUNTER, ids(1), vector(1, 0))
    batches = [
        batch(SURVEY, COUNTER, ids(2, 3), vector(1, 1)),
        batch(SURVEY, COUNTER, ids(1, 4), vector(7, 7)),  # one of them is known
        batch(SURVEY, "other", ids(1), vector(5)),
        batch("diet", COUNTER, ids(1), vector(6)),
        batch(SURVEY, COUNTER, ids(3), vector(9, 9)),  # known from this very call
    ]
    assert store.record(batches) == [{}, ids(1), {}, {}, ids(3)]
    assert state(store) == (3, [2, 1])
    assert store.totals(SURVEY)["other"].cells.tolist() == [5]
    assert store.totals("diet")[COUNTER].cells.tolist() == [6]
    assert store.record([]) == []


def test_an_overflow_among_many_batches_leaves_each_whole_or_undone(store):
    record(store, SURVEY, COUNTER, ids(1), vector(2**62, 5))
    batches = [
        batch(SURVEY, "other", ids(1), vector(1)),
        batch(SURVEY, COUNTER, ids(2), vector(2**62, 1)),
        batch("diet", COUNTER, ids(1), vector(1)),
    ]
    with pytest.raises(StoreError, match="overflow"):
        store.record(batches)
    assert state(store) == (1, [2**62, 5])
    again = [record(store, each.survey, each.counter, ids(1), each.tally) for each in batches[::2]]
    assert all(known in ({}, ids(1)) for known in again)
    assert [store.totals(SURVEY)["other"].n, store.totals("diet")[COUNTER].n] == [1, 1]
    assert record(store, SURVEY, COUNTER, ids(2), vector(1, 1)) == {}


def test_group_commit_counts_batches_of_several_threads(store):
    group, results = GroupCommit(store), []

    def bring(number: int) -> None:
        for turn in range(20):
            each = batch(SURVEY, COUNTER, ids(20 * (number % 4) + turn), vector(1))
            results.append(group.record([each]) == [{}])

    in_threads(bring, range(8))
    assert sum(results) == 80  # each of 80 ids is new once, though two threads bring it
    assert state(store) == (80, [80])


@pytest.mark.slow
def test_all_reports_of_a_counter_are_read_with_their_marks(store):
    record(store, SURVEY, COUNTER, ids(*range(25_000)), vector(1))
    record(store, SURVEY, COUNTER, ids(1 << 120), vector(1))
    record(store, SURVEY, "other", ids(7), vector(1))
    record(store, "diet", COUNTER, ids(8), vector(1))
    pieces = list(store.report_ids(SURVEY, COUNTER))
    assert max(len(found) for found, _ in pieces) < 2 * REPORTS_PER_READ
    read = [dict(zip(map(bytes, found), map(bytes, marks), strict=True)) for found, marks in pieces]
    assert [len(each) for each in read] == [len(found) for found, _ in pieces]  # no id twice in one piece
    assert {name: mark for each in read for name, mark in each.items()} == ids(*range(25_000), 1 << 120)
    assert list(store.report_ids(SURVEY, "unknown")) == []


OLD, NEW = b"{}", b'{"changed":1}'
COUNTERS = [f"{number:016x}" for number in range(40)]
"""Enough for every server of a cluster to have some."""


def serving(url: str, plan: bytes) -> Store:
    """Return a store as a collector opens it that serves a plan."""
    store = open_store(url)
    store.require_survey(SURVEY, plan, COUNTERS)
    return store


def publish(store: Store, plan: bytes, counters: Sequence[str] = COUNTERS) -> bool:
    """Publish a plan; return False if the store refuses it because of reports or of another publication."""
    try:
        store.publish(SURVEY, plan, counters)
    except StoreError:
        return False
    return True


def counts(store: Store, number: int) -> bool:
    """Send one report; return whether it is counted."""
    try:
        return record(store, SURVEY, COUNTERS[number % 40], ids(number), vector(1)) == {}
    except MissingSurveyError:
        return False


def test_a_plan_is_kept_once_a_report_is_counted(store):
    store.publish(SURVEY, OLD, COUNTERS)
    store.publish("diet", "\u00e9".encode())
    record(store, SURVEY, COUNTERS[7], ids(1, 2), vector(1))
    store.publish(SURVEY, OLD, COUNTERS)
    with pytest.raises(StoreError, match=r"another plan of survey 'sleep-2026' with 2 reports.* new id"):
        store.publish(SURVEY, NEW, COUNTERS[:3])
    assert store.plans() == {SURVEY: OLD, "diet": "\u00e9".encode()}
    store.require_survey(SURVEY, OLD, COUNTERS)
    store.check_ready()
    assert all(counts(store, number) for number in range(100, 140))  # at every counter


def test_a_plan_without_reports_is_replaced_with_its_texts(store):
    store.publish(SURVEY, OLD, COUNTERS[:20])
    store.publish("diet", OLD)
    record(store, "diet", COUNTERS[0], ids(1), vector(1))
    store.set_note(TEXTS, SURVEY, b"old")
    store.set_note(SCHEDULES, SURVEY, b"opens")
    store.publish(SURVEY, NEW, COUNTERS[10:])
    assert (store.plans(), store.notes(TEXTS)) == ({SURVEY: NEW, "diet": OLD}, {})
    assert store.notes(SCHEDULES) == {SURVEY: b"opens"}
    store.require_survey(SURVEY, NEW, COUNTERS[10:])
    store.check_ready()
    assert all(counts(store, number) for number in range(10, 40))
    assert not publish(store, OLD)


def test_all_collectors_of_a_replaced_plan_count_nothing_more(store, url):
    if url == "memory://":
        pytest.skip("the memory store belongs to one process")
    store.publish(SURVEY, OLD, COUNTERS)
    collectors = [serving(url, OLD) for _ in range(3)]
    store.publish(SURVEY, NEW, COUNTERS[:1])
    for collector in collectors:
        assert not any(counts(collector, number) for number in range(40))
        with pytest.raises(MissingSurveyError, match=SURVEY):
            collector.check_ready()
    assert store.totals(SURVEY) == {}
    store.publish(SURVEY, OLD, COUNTERS)  # and back
    assert all(counts(collectors[0], number) for number in range(40))
    for collector in collectors:
        collector.close()


@pytest.mark.slow
def test_a_report_beside_a_replacement_is_counted_under_the_old_plan_or_never(store, url):
    """Three collectors count for three plans while three others start with these plans."""
    if url == "memory://":
        pytest.skip("the memory store belongs to one process")
    plans = [OLD, NEW, b'{"changed":2}']
    stores = [open_store(url) for _ in plans]

    def act(task: tuple[int, float]) -> int:
        number, delay = task
        time.sleep(delay)
        if number < 3:
            publish(stores[number], plans[number])
            return 0
        return sum(counts(collectors[number - 3], 40 * number + each) for each in range(20))

    for turn in range(20):
        collectors = [serving(url, plan) for plan in plans]  # former ones would miss the erased reports
        store.publish(SURVEY, OLD, COUNTERS)
        delays = [turn % 3 / 500, 0, turn % 4 / 500, *[turn / 1000] * 3]
        *_, old, new, other = in_threads(act, list(enumerate(delays)))
        (plan,) = store.plans().values()
        counted = dict(zip(plans, (old, new, other), strict=True))
        assert sum(total.n for total in store.totals(SURVEY).values()) == counted.pop(plan)
        assert set(counted.values()) == {0}
        erase(store, url)
        for each in collectors:
            each.close()
    for each in stores:
        each.close()


def erase(store: Store, url: str) -> None:
    """Delete all data of the test's survey."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            for table in ("plans", "counters", "buckets"):
                connection.execute(f"DELETE FROM {table}")
    else:
        for key in [*store._redis.scan_iter("ldp:{*"), b"ldp:plans", b"ldp:published"]:
            store._redis.delete(key)


def test_rejections_are_counted_by_reason(store):
    store.add_rejections(SURVEY, "malformed")
    store.add_rejections(SURVEY, "malformed", 4)
    store.add_rejections(SURVEY, "wrong-plan")
    assert store.rejections(SURVEY) == {"malformed": 5, "wrong-plan": 1}
    assert store.rejections("diet") == {}


def test_a_store_in_use_is_ready(store):
    store.check_ready()


def test_what_was_recorded_is_there_after_reopening(store, url):
    if isinstance(store, MemoryStore):
        pytest.skip("the memory store is not durable")
    record(store, SURVEY, COUNTER, ids(1), vector(1, 2))
    again = open_store(url)
    assert state(again) == (1, [1, 2])
    assert record(again, SURVEY, COUNTER, ids(1), vector(1, 2)) == ids(1)
    again.close()


def work(store: Store, numbers: range) -> None:
    """Record each report twice, one at a time; count it if it was new."""
    for number in (*numbers, *numbers):
        record(store, SURVEY, COUNTER, ids(number), vector(1, number))


def test_the_space_of_a_store_is_within_its_limit(store, url):
    space = store.space()
    if url.startswith("sqlite"):
        assert 0 < space["disk_free"] <= space["disk_size"]
        file = Path(url.removeprefix("sqlite:///"))
        away = file.rename(file.with_suffix(".away"))
        with pytest.raises(StoreError) as caught:
            store.space()
        assert caught.value.reason == "file-missing"
        away.rename(file)  # else the fixture's `close` would wait for the file
    elif not url.startswith("memory"):
        assert 0 < space["memory_used"] < space["memory_max"]


@pytest.mark.slow
def test_threads_count_every_report_once(store):
    in_threads(lambda numbers: work(store, numbers), [range(50)] * 4)
    assert state(store) == (50, [50, sum(range(50))])


def work_elsewhere(url: str, numbers: range) -> None:
    store = open_store(url)
    work(store, numbers)
    store.close()


@pytest.mark.slow
def test_processes_count_every_report_once(store, url):
    if isinstance(store, MemoryStore):
        pytest.skip("memory belongs to one process")
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=work_elsewhere, args=(url, range(i * 10, i * 10 + 30))) for i in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert state(store) == (50, [50, sum(range(50))])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_store_opened_before_a_fork_serves_parent_and_child(store):
    if isinstance(store, MemoryStore):
        pytest.skip("memory belongs to one process")
    record(store, SURVEY, COUNTER, ids(1), vector(1))
    child = os.fork()
    if child == 0:
        known = record(store, SURVEY, COUNTER, ids(1, 2), vector(2))
        record(store, SURVEY, COUNTER, ids(2), vector(1))
        os._exit(0 if known == ids(1) else 1)
    record(store, SURVEY, COUNTER, ids(3), vector(1))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert state(store) == (3, [3])


@pytest.mark.parametrize("bad", ["", "ldp.db", "mysql://x", "sqlite://", "sqlite:///", "redis+what://x"])
def test_an_unknown_store_is_a_clear_error(bad):
    with pytest.raises(StoreError, match="sqlite:///"):
        open_store(bad)


def test_unreachable_store_is_a_clear_error(tmp_path):
    (tmp_path / "broken.db").write_bytes(b"no database at all, but long enough to look at" * 30)
    with pytest.raises(StoreError):
        open_store(f"sqlite:///{tmp_path}/broken.db")
    with pytest.raises(StoreError):
        open_store(f"sqlite:///{tmp_path}/nowhere/store.db")
    with pytest.raises(StoreError):
        open_store(f"unix://{tmp_path}/nobody.sock").check_ready()


def test_a_window_is_kept_for_a_survey_that_is_there(store):
    with pytest.raises(StoreError, match="no survey 'sleep-2026'"):
        store.set_note(SCHEDULES, SURVEY, b"{}")
    store.publish(SURVEY, b"{}")
    assert store.notes(SCHEDULES) == {}
    for window in (b"first", b"second"):
        store.set_note(SCHEDULES, SURVEY, window)
        assert store.notes(SCHEDULES) == {SURVEY: window}


def test_texts_are_kept_for_a_survey_that_is_there(store):
    with pytest.raises(StoreError, match="no survey 'sleep-2026'"):
        store.set_note(TEXTS, SURVEY, b"{}")
    store.publish(SURVEY, b"{}")
    assert store.notes(TEXTS) == {}
    for texts in (b"first", b"second"):
        store.set_note(TEXTS, SURVEY, texts)
        assert store.notes(TEXTS) == {SURVEY: texts}
    assert store.plans() == {SURVEY: b"{}"}


class Recorder(MemoryStore):
    """Keeps the batches of each call; each call waits for `go_on`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[Batch]] = []
        self.go_on = threading.Event()

    def record(self, batches: Sequence[Batch]) -> list[MarksById]:
        self.calls.append(list(batches))
        assert self.go_on.wait(120)
        return super().record(batches)


def has_waiting(group: GroupCommit, count: int) -> bool:
    """Return whether the only lane of a group is busy, and so many requests wait for it."""
    return any(lane._busy and len(lane._waiting) == count for lane in group._lanes.values())


def bring_together(store: Recorder, batches: Sequence[Batch]) -> list[MarksById | StoreError]:
    """Record a batch of another question and, while the store is busy with it, each of these in a thread."""
    group, results = GroupCommit(store), {}

    def bring(place: int, each: Batch) -> None:
        try:
            (results[place],) = group.record([each])
        except StoreError as error:
            results[place] = error

    threads = []
    for place, each in enumerate([batch(SURVEY, "other", ids(99), vector(1)), *batches]):
        threads.append(threading.Thread(target=bring, args=(place, each)))
        threads[-1].start()
        wait_for(lambda place=place: has_waiting(group, place))
    store.go_on.set()
    for thread in threads:
        thread.join()
    return [results[place + 1] for place in range(len(batches))]


def test_a_group_is_one_sorted_batch_for_each_question():
    store = Recorder()
    brought = [batch(SURVEY, COUNTER, ids(*each), vector(1, 2)) for each in ([9, 300], [2], [7, 1])]
    assert bring_together(store, brought) == [{}, {}, {}]
    assert len(store.calls) == 2
    (merged,) = store.calls[1]
    assert merged.entries() == sorted(ids(9, 300, 2, 7, 1).items())
    assert state(store) == (5, [3, 6])


def test_known_ids_of_a_group_are_returned_to_their_callers():
    store = Recorder()
    store.go_on.set()
    record(store, SURVEY, COUNTER, ids(1), vector(1, 0))
    store.go_on.clear()
    changed = {(5).to_bytes(16, "big"): b"another!"}
    brought = [ids(1, 2), ids(3), ids(4, 5), {**changed, **ids(6)}, ids(3)]
    batches = [batch(SURVEY, COUNTER, each, vector(1, len(each))) for each in brought]
    assert bring_together(store, batches) == [ids(1), {}, {}, ids(5), ids(3)]
    assert state(store) == (4, [3, 3])
    assert record(store, SURVEY, COUNTER, ids(2, 6), vector(0, 0)) == {}  # nothing of their batches was kept


class UnreachableStore(Recorder):
    """A store that fails."""

    def record(self, batches: Sequence[Batch]) -> list[MarksById]:
        super().record(batches)
        raise StoreError("gone")


def test_an_unreachable_store_is_not_tried_again_for_the_requests_that_wait():
    store = UnreachableStore()
    results = bring_together(store, [batch(SURVEY, COUNTER, ids(number), vector(1)) for number in range(7)])
    assert [str(error) for error in results] == ["gone"] * 7
    assert [[len(each.ids) for each in call] for call in store.calls] == [[1]]


def test_a_failed_record_keeps_no_report_in_a_reference_cycle():
    store = UnreachableStore()
    store.go_on.set()
    refused = batch(SURVEY, COUNTER, ids(1), vector(1))
    kept = weakref.ref(refused.tally)
    gc.disable()
    try:
        with pytest.raises(StoreError):
            GroupCommit(store).record([refused])
        store.calls.clear()
        del refused
        assert kept() is None
    finally:
        gc.enable()


def test_only_the_wrong_batch_of_a_group_fails(store):
    record(store, SURVEY, COUNTER, ids(1), vector(2**62))
    group, results = GroupCommit(store), {}

    def bring(number: int) -> None:
        counter, amount = (COUNTER, 2**62) if number == 2 else ("other", 1)
        try:
            results[number] = group.record([batch(SURVEY, counter, ids(number), vector(amount))])
        except StoreError as error:
            results[number] = error

    in_threads(bring, range(2, 10))
    assert isinstance(results.pop(2), StoreError)
    assert all(not isinstance(each, StoreError) for each in results.values())
    assert store.totals(SURVEY)["other"].n == 7

"""Sub-shards of a question count each report once, as one counter does, in every store."""

import signal
from contextlib import closing

import numpy as np
import pytest
from redis.crc import key_slot

from benchmarks.synthetic_archives import make_plan, make_reports
from encoders.errors import SurveyError
from encoders.survey import Plan, read_survey
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.migrate import MigrationError, migrate_survey
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.snapshot_entries import counter_names
from ldp_aggregator.stores import MemoryStore, Store, StoreError, open_store
from ldp_aggregator.stores.group_commit import GroupCommit
from ldp_aggregator.stores.redis_servers import note_key
from ldp_aggregator.stores.shards import choose_shards, divide_counter, fix_shards, read_shards
from ldp_aggregator.stores.store import Batch, token_namespace
from tests.ldp_aggregator.reports.archives.test_equality import body

PLAN = make_plan()


def publish(store: Store, shards: int | None, plan: Plan = PLAN) -> Intake:
    counters = counter_names(plan, fix_shards(store, plan.id, shards))
    store.publish(plan.id, plan.json, counters)
    store.require_survey(plan.id, plan.json, counters)
    return Intake(plan, store, GroupCommit(store))


@pytest.mark.parametrize("shards", [2, 3, 5])
def test_the_outcomes_and_the_snapshot_are_those_of_one_counter(store, shards):
    pieces = body(PLAN, seed=shards, count=200)[:-12]
    bodies = [b"".join(each) for each in (pieces[:90], pieces[90:], pieces[:120])]
    undivided = MemoryStore()
    whole, divided = publish(undivided, None), publish(store, shards)
    for each in bodies:
        assert divided.record_body(each) == whole.record_body(each)
    for intake in (whole, divided):
        intake.flush()
    assert take_snapshot(store, PLAN.id).to_json() == take_snapshot(undivided, PLAN.id).to_json()
    counted = [name for name, total in store.totals(PLAN.id).items() if total.n]
    assert len(counted) == shards * len(PLAN.questions)


def test_a_published_survey_keeps_its_number(store):
    publish(store, 3)
    assert fix_shards(store, PLAN.id, None) == fix_shards(store, PLAN.id, 3) == 3
    with pytest.raises(StoreError, match="with 3 sub-shards a question, and keeps this number"):
        fix_shards(store, PLAN.id, 2)


def test_a_survey_of_an_earlier_build_has_one_counter(store):
    store.publish(PLAN.id, PLAN.json, counter_names(PLAN))
    assert fix_shards(store, PLAN.id, None) == 1
    with pytest.raises(StoreError, match="with 1 sub-shards"):
        fix_shards(store, PLAN.id, 2)


def test_a_copy_has_the_same_sub_shards(store, tmp_path):
    reports = make_reports(PLAN, 300)
    publish(store, 3).record_body(b"".join(reports))
    target = open_store(f"sqlite:///{tmp_path}/copy.db")
    assert migrate_survey(store, target, PLAN.id) == 300
    assert read_shards(target, PLAN.id) == 3
    again = Intake(PLAN, target).record_body(b"".join(reports))
    assert {outcome.status for outcome in again} == {"duplicate"}
    assert take_snapshot(target, PLAN.id).to_json() == take_snapshot(store, PLAN.id).to_json()
    target.close()


def test_a_store_that_counts_in_another_way_is_no_target(store, tmp_path):
    publish(store, 3).record_body(b"".join(make_reports(PLAN, 10)))
    with closing(open_store(f"sqlite:///{tmp_path}/copy.db")) as target:
        publish(target, None)
        with pytest.raises(MigrationError, match="3 sub-shards a question, and the target with 1"):
            migrate_survey(store, target, PLAN.id)
        assert target.totals(PLAN.id) == {}


@pytest.mark.parametrize("shards", [2, 3, 6, 64])
def test_ids_are_divided_evenly_by_their_end(shards):
    ids = np.random.default_rng(1).integers(0, 256, (100_000, 16), dtype=np.uint8)
    ids[:, :12] = 7  # like tokens
    sizes = np.bincount(choose_shards(ids, shards), minlength=shards)
    assert len(sizes) == shards
    assert np.abs(sizes - 100_000 / shards).max() < 6 * np.sqrt(100_000 / shards)  # 1e-7


def test_the_keys_of_sub_shards_spread_evenly_over_nodes():
    for survey in ("one", "two"):
        for nodes in (2, 3, 5):
            names = divide_counter(survey, "question", nodes * 4)
            assert len(set(names)) == nodes * 4
            slots = np.array([key_slot(f"ldp:{{{survey}:{name}}}:ids".encode()) for name in names])
            assert (np.bincount(slots * nodes // 16384) == 4).all()


def forget_number(store: Store) -> None:
    """Delete the note of the number of sub-shards, as an eviction does."""
    if hasattr(store, "_redis"):
        store._redis.delete(note_key("shards"))
    else:
        with store._transaction() as connection:
            connection.execute("DELETE FROM internal WHERE name LIKE 'shards/%'")


def test_without_its_note_the_number_is_that_of_the_counters(store, tmp_path):
    reports = b"".join(make_reports(PLAN, 100))
    publish(store, 3).record_body(reports)
    forget_number(store)
    assert read_shards(store, PLAN.id) == 3
    target = open_store(f"sqlite:///{tmp_path}/copy.db")
    assert migrate_survey(store, target, PLAN.id) == 100
    forget_number(target)
    for each in (store, target):  # a collector without the survey's file does not fix the number
        again = Intake(PLAN, each).record_body(reports)
        assert {outcome.status for outcome in again} == {"duplicate"}
    assert fix_shards(store, PLAN.id, None) == 3
    target.close()


@pytest.mark.slow
def test_without_reports_the_number_is_that_of_the_marks(cluster_nodes):
    with closing(open_store(cluster_nodes[0].url)) as store:
        publish(store, 3)
        forget_number(store)
        publish(store, None).record_body(b"".join(make_reports(PLAN, 10)))
        assert take_snapshot(store, PLAN.id).total() == 10


@pytest.mark.slow
def test_all_nodes_count_one_question_and_one_that_hangs_stops_only_its_part(cluster_nodes):
    plan = read_survey('[survey]\nid = "one"\nepsilon = 1\n[features.only]\nvalues = ["u", "v"]\n').compile()
    reports, more = make_reports(plan, 3000), make_reports(plan, 60, seed=9)
    with closing(open_store(f"{cluster_nodes[0].url}?socket_timeout=0.2")) as store:
        intake = publish(store, 3, plan)
        intake.record_body(b"".join(reports))
        sizes = [sum(map(node.client.hlen, node.client.keys("*:ids"))) for node in cluster_nodes]
        assert sum(sizes) == 3000
        assert all(abs(size - 1000) < 6 * 26 for size in sizes)  # six standard deviations
        cluster_nodes[2].signal(signal.SIGSTOP)
        try:
            accepted = [is_recorded(intake, each) for each in more]
        finally:
            cluster_nodes[2].signal(signal.SIGCONT)
        assert 20 < sum(accepted) < 59
        assert {each.status for each in intake.record_body(b"".join(more))} == {"duplicate", "recorded"}
        assert take_snapshot(store, plan.id).total() == 3060


def is_recorded(intake: Intake, report: bytes) -> bool:
    try:
        return intake.record_body(report)[0].status == "recorded"
    except StoreError:
        return False


def raw_plan(store: Store) -> bytes:
    """Return a plan as an earlier build reads it."""
    if hasattr(store, "_redis"):
        return bytes(store._redis.hget("ldp:plans", PLAN.id))
    with store._snapshot() as connection:
        return bytes(connection.execute("SELECT plan FROM plans").fetchone()[0])


@pytest.mark.slow
@pytest.mark.parametrize("shards", [None, 3])
def test_an_earlier_build_cannot_read_a_divided_survey(store, shards):
    publish(store, shards).record_body(b"".join(make_reports(PLAN, 5)))
    publish(store, None)
    assert store.plans() == {PLAN.id: PLAN.json}
    assert (raw_plan(store) == PLAN.json) == (shards is None)
    if shards:
        with pytest.raises(SurveyError):
            Plan.from_json(raw_plan(store))
    store.check_ready()


def test_lost_plans_are_noticed_by_tokens_alone(store):
    publish(store, None)
    ids, marks, nothing = np.zeros((1, 16), np.uint8), np.zeros((1, 8), np.uint8), np.zeros(0, np.int64)
    store.record([Batch(token_namespace(PLAN.id), "q", ids, marks, nothing)])
    store.unpublish(PLAN.id)
    assert store.lost_plans() == {PLAN.id}

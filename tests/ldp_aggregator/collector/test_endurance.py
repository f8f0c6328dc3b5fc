"""Exactly once, durable, secret: short runs with real servers; `make endurance` runs them at full size."""

import sys

import pytest

from tests.support.servers import redis_server
from tools.endurance import cluster_demo
from tools.endurance.collector import crashes, fuzzing, repeats, several_collectors, slow_headers
from tools.endurance.collector.secrecy import secrecy
from tools.endurance.collector.soak import soak

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")]

SHORT_KEEPALIVE = "from ldp_aggregator.collector.serving import server; server.KEEPALIVE_SECONDS = 1"
"""Workers that have lost their master end when their idle connections do."""


@pytest.mark.parametrize(("kind", "reports", "wanted"), [("redis", 4000, 5), ("sqlite", 1000, 2)])
def test_no_report_is_lost_or_counted_twice_after_kills_at_any_moment(tmp_path, kind, reports, wanted):
    killed = crashes.kills(tmp_path, kind, reports, wanted, largest=200, prelude=SHORT_KEEPALIVE)
    assert killed.kills.total() == wanted


def test_redis_keeps_all_acknowledged_reports_after_a_machine_crash(tmp_path):
    assert crashes.cut_files(tmp_path, cuts=6).lost > 0


def test_repeated_reports_and_reused_ids_are_recognised_and_not_counted(tmp_path):
    repeats.repeats(tmp_path, duplicates=20_000, reused=300)


def test_two_collectors_on_one_redis_count_as_one(tmp_path):
    with redis_server(tmp_path) as url:
        several_collectors.several(tmp_path, url, reports=600)


def test_two_collectors_on_one_cluster_count_as_one(tmp_path, cluster_nodes):
    several_collectors.several(tmp_path, cluster_nodes[0].url, reports=600)


def test_a_lost_shard_delays_its_questions_only(tmp_path, cluster_nodes):
    assert several_collectors.shard_loss(tmp_path, cluster_nodes, reports=60).refused


def test_a_cluster_with_a_killed_and_a_hanging_node_counts_each_report_once(tmp_path):
    assert cluster_demo.run(tmp_path, seconds=6) > 100


def test_only_the_valid_reports_of_damaged_bodies_are_counted(tmp_path):
    assert fuzzing.fuzz_intake(2000).outcomes["recorded"] > 100
    assert fuzzing.fuzz_pages(700).outcomes["refused by its headers"]
    assert fuzzing.fuzz_wire(tmp_path, 300).grown < 50


@pytest.mark.skipif(sys.platform != "linux", reason="needs the other addresses of 127.0.0.0/8")
def test_the_proxy_cuts_slow_headers_and_other_clients_are_not_delayed(tmp_path):
    seen = slow_headers.slow_headers(tmp_path, connections=200, seconds=2, header_seconds=1)
    assert len(seen.lives) >= 200
    assert max(seen.lives) < 3
    assert seen.share(0.99) < 1


def test_at_full_speed_no_report_is_lost_and_memory_does_not_grow(tmp_path):
    assert soak(tmp_path, seconds=2).seen["recorded"] > 1000


@pytest.mark.skipif(sys.platform != "linux", reason="sends from many addresses of one machine")
@pytest.mark.parametrize("kind", ["redis", "sqlite"])
def test_stored_data_shows_neither_sender_nor_value_nor_time(tmp_path, kind):
    assert secrecy(tmp_path, kind, reports=2000).responses[200] > 100

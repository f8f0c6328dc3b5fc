"""Faults while reports arrive, shorter than `make endurance` runs them: each report is counted once."""

import sys

import pytest

from tools.endurance import fault_trials

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="needs SIGSTOP and /proc")]

SHORT_DEADLINES = """
from ldp_aggregator.stores import redis_servers, sqlite_file
redis_servers.TIMEOUT_SECONDS = sqlite_file._BUSY_SECONDS = 1.0
from ldp_aggregator.collector.serving import server
server.KEEPALIVE_SECONDS = 1
"""
SHORT = {"hang Redis", "hang a node", "lock the file", "re-point the address"}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(each, id=f"{each.name}, {each.store}")
        for each in fault_trials.FAULTS
        if each.name in SHORT
    ],
)
def test_each_acknowledged_report_is_counted_once(tmp_path, fault, monkeypatch):
    monkeypatch.setattr(fault_trials, "CALM_SECONDS", 0.5)
    monkeypatch.setattr(fault_trials, "DEADLINE_SECONDS", 1.0)
    seen = fault_trials.run(tmp_path, fault, SHORT_DEADLINES, seconds=2.5)
    assert seen.acknowledged > 50
    assert len(seen.ready) > 1


def test_what_a_relay_took_is_counted_once_or_waits_while_its_collector_hangs(tmp_path, monkeypatch):
    monkeypatch.setattr(fault_trials, "CALM_SECONDS", 0.5)
    assert fault_trials.run_relay(tmp_path, "hang its collector", seconds=1.5).counted > 20

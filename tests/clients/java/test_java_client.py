"""The Java client with a real collector: processes that are killed, and many at once."""

from collections import Counter

import pytest

from tools.endurance.client import java_kills

pytestmark = [pytest.mark.slow, pytest.mark.clients]

KILLS, PROCESSES = 10, 8


def test_ten_kills_neither_lose_nor_repeat_a_report(tmp_path):
    seen = java_kills.kills(tmp_path, KILLS)
    assert seen.killed >= KILLS
    assert {"a report", "no report"} <= seen.found.keys()


def test_eight_processes_at_once_draw_one_report(tmp_path):
    outcomes = Counter(java_kills.crowd(tmp_path, PROCESSES))
    assert outcomes == {"queued": 1, "already_reported": PROCESSES - 1}

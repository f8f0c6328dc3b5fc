"""The client's promises on real parts, in short; `make endurance` tries them at full size."""

import sys

import pytest

from ldp_client.sending.sender import EXIT_SECONDS
from tests.support.faulty_proxy import FAULTS
from tools.endurance.client import exits, kills, network_faults, silo_kills

pytestmark = pytest.mark.slow

LOADED = 1.0
"""Seconds that a busy machine may add to an exit."""


def test_every_report_is_counted_once_whatever_the_network_does(tmp_path):
    seen = network_faults.faults(tmp_path, 2 * len(FAULTS))
    assert (seen.states.total(), seen.attempts) == (2, 2 * len(FAULTS) + 2)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_application_neither_loses_its_report_nor_makes_another(tmp_path):
    assert kills.kills(tmp_path, 16).killed >= 16


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_silo_or_collector_neither_loses_a_message_nor_draws_another(tmp_path):
    seen = silo_kills.kills(tmp_path, 5)
    assert seen.killed + seen.collector_killed >= 5
    assert seen.collector_killed


@pytest.mark.parametrize("server", exits.SERVERS)
def test_an_interpreter_ends_in_time_with_a_full_queue(tmp_path, server):
    end = exits.exits(tmp_path, server, journals=3, queued=60)
    assert end.handlers <= EXIT_SECONDS + LOADED

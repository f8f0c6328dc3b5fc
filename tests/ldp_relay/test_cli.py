"""The command of a relay's operator: what it says before and while a relay runs."""

from __future__ import annotations

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.survey.opening import load_private_key
from ldp_relay.held_messages import HeldMessages
from tests.support.commands import command
from tests.support.relays import SMALL, relay, relayed_plan, small_text, write_relay_files
from tests.support.servers import free_port


def test_a_key_is_written_once_and_its_public_key_printed(tmp_path):
    path = tmp_path / "relay.key"
    shown = command("ldp-relay", "key", path).stdout
    assert load_private_key(path).public_key == shown.strip()
    assert "is not replaced" in command("ldp-relay", "key", path, check=False).stderr


def test_status_does_not_create_a_database(tmp_path):
    settings = write_relay_files(tmp_path, small_text(8100), "http://127.0.0.1:9")
    result = command("ldp-relay", "status", settings, check=False)
    assert "there is no such database yet; ldp-relay serve creates it" in result.stderr
    assert not (tmp_path / "relay.db").exists()


def test_messages_of_a_plan_that_is_not_served_are_named(tmp_path):
    settings = write_relay_files(tmp_path, small_text(free_port()), "http://127.0.0.1:9")
    former = relayed_plan(SMALL.replace("batch = 20", "batch = 21"))
    held = HeldMessages(tmp_path / "relay.db")
    held.hold(former.digest, b"a message", 1 << 40)
    held.close()
    warning = f"warning: messages of the plan {former.digest} wait, and it is not in the settings"
    shown = command("ldp-relay", "status", settings).stdout
    assert warning in shown
    assert "waiting: 0" in shown
    with relay(settings) as process:
        lines = [process.stdout.readline() for _ in range(5)]
    assert lines[-1].startswith(warning)

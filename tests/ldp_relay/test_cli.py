"""The command of a relay's operator: what it says before and while a relay runs."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.survey.unsealing import load_private_key
from ldp_relay.held_messages import HeldMessages
from ldp_relay.relay_settings import read_settings
from tests.support.commands import command
from tests.support.relays import SMALL, relay, relayed_plan, small_text, write_relay_files
from tests.support.servers import free_port, wait_for


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


@pytest.mark.slow
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
        lines = [process.stdout.readline() for _ in range(6)]
    assert lines[-1].startswith(warning)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entries", "shown"),
    [
        ("", "  warning: 7 networks, or one provider of IPv6, can break the promise: one network"),
        (
            "messages_per_network = 40",
            "  warning: one network can break the promise: one network (/24",
        ),
        ("messages_per_network = 0", "  warning: no limit: one network can fill whole batches"),
    ],
)
def test_serve_says_what_one_network_can_do(tmp_path, entries, shown):
    settings = write_relay_files(tmp_path, small_text(free_port()), "http://127.0.0.1:9")
    settings.write_text(settings.read_text().replace("messages_per_network = 0", entries))
    with relay(settings) as process:
        lines = [process.stdout.readline() for _ in range(4)]
    assert any(line.startswith(shown) for line in lines), lines


@pytest.mark.slow
def test_a_restart_says_what_it_has_forgotten(tmp_path):
    settings = write_relay_files(tmp_path, small_text(free_port()), "http://127.0.0.1:9")
    settings.write_text(settings.read_text().replace("messages_per_network = 0", "messages_per_network = 5"))
    [survey] = read_settings(settings).surveys.values()
    held = HeldMessages(tmp_path / "relay.db")
    held.hold(survey.plan.digest, b"a message", 1 << 40)
    held.close()
    log = tmp_path / "log"
    with relay(settings, log=log):
        wait_for(lambda: '"event": "limits-forgotten"' in log.read_text())


def test_status_warns_of_people_who_were_turned_away_and_of_a_promise_that_did_not_hold(tmp_path):
    settings = write_relay_files(tmp_path, small_text(8100), "http://127.0.0.1:9")
    [survey] = read_settings(settings).surveys.values()
    held = HeldMessages(tmp_path / "relay.db")
    digest = survey.plan.digest
    for number in range(20):
        held.hold(digest, b"message %02d" % number, 1 << 40)
    held.release(digest, 20, is_closed=True, hour=3600)
    held.mark_passed_on(held.next_passage(digest, 20, [10]), {"recorded": 13, "rejected": 7}, [7])
    held.count_events(digest, {"refused, network-full": 1})
    held.close()
    shown = command("ldp-relay", "status", settings).stdout
    assert "warning: messages that were turned away, because their network is full: 1." in shown
    assert "warning: in 1 of 1 batches, the promise of the survey did not hold" in shown


def test_codes_are_for_surveys_that_take_them(tmp_path):
    settings = write_relay_files(tmp_path, small_text(8100), "http://127.0.0.1:9")
    arguments = ["ldp-relay", "codes", settings, "night-work", "--count"]
    refused = command(*arguments, "3", check=False).stderr
    assert "night-work: needs a table [surveys.night-work] with codes = true" in refused
    settings.write_text(settings.read_text() + "codes = true\n")
    assert "a number from 1 to 1,000,000" in command(*arguments, "0", check=False).stderr
    links = command(*arguments, "3", "--page", "https://survey.example").stdout.split()
    assert len(set(links)) == 3
    assert all(re.fullmatch(r"https://survey\.example#token=[a-z2-7]{32}", each) for each in links)
    assert "codes: 3" in command("ldp-relay", "status", settings).stdout

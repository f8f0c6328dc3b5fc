"""The settings of a relay: each mistake is named."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.errors import LdpError
from encoders.survey.unsealing import make_private_key
from ldp_relay.relay_settings import read_settings
from tests.support.relays import RELAY, RELAY_TOKEN, relayed_plan, relayed_text, write_relay_files
from tests.support.surveys import RELAYED

COLLECTOR = "https://collector.example"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_relay_files(tmp_path, relayed_text(), COLLECTOR)


def test_a_survey_is_read_with_its_key_and_its_token(path):
    settings = read_settings(path)
    survey = settings.surveys["night-work"]
    assert (survey.plan.digest, survey.key, survey.token) == (relayed_plan().digest, RELAY, RELAY_TOKEN)
    assert survey.collector == "https://collector.example/v1/surveys/night-work"
    assert settings.database == path.parent / "relay.db"
    assert RELAY_TOKEN not in repr(settings)
    assert "PRIVATE" not in repr(settings)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[surveys.night-work]",
            "[surveys.other]",
            "surveys.other: the plan is of survey night-work",
        ),
        ("[surveys.night-work]", "[other]", "other: no such entry; choose one of bind, database"),
        (
            "messages_per_network = 0",
            "messages_per_network = -1",
            "messages_per_network: needs a whole number",
        ),
        ("messages_per_network = 0", 'proxies = "x"', "proxies: needs a list of addresses"),
        ("messages_per_network = 0", 'bind = "x"', "not a TOML file"),
        (
            "messages_per_network = 0",
            f"x = {'[' * 9000}",
            "not a TOML file: a key has more than 20 parts, or",
        ),
        (
            "messages_per_network = 0",
            f"a{'.a' * 20_000} = 1",
            "not a TOML file: a key has more than 20 parts",
        ),
        ('bind = "127.0.0.1:0"', 'bind = "127.0.0.1"', "bind: needs HOST:PORT"),
        ('key = "relay.key"', "", "surveys.night-work.key: needs a text"),
        ('key = "relay.key"', 'key = "token"', "token: not a private key"),
        ('key = "relay.key"', 'key = "plan.json.key"', "surveys.night-work.key: this is not the private key"),
        ('plan = "plan.json"', 'plan = "nothing.json"', "nothing.json: cannot be read"),
        ('"token"', '"nothing"', "collector_token_file: cannot be read"),
        ("https://collector", "http://collector", "collector: needs https://HOST/v1/surveys/night-work"),
        ("/v1/surveys/night-work", "", "collector: needs https://HOST/v1/surveys/night-work"),
        ("collector.example", "relay.example", "collector: is on the relay's own host"),
        (
            "[surveys.night-work]",
            "[surveys.night-work]\nbatch = 3",
            "surveys.night-work.batch: no such entry",
        ),
    ],
)
def test_a_mistake_is_named(path, old, new, message):
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(LdpError, match=message):
        read_settings(path)


def test_a_plan_without_a_relay_and_a_token_with_spaces_are_refused(path):
    (path.parent / "token").write_text("two words")
    with pytest.raises(LdpError, match="needs the token, at least 16 letters, on its only line"):
        read_settings(path)
    (path.parent / "relay.key").write_bytes(make_private_key().pem)
    with pytest.raises(LdpError, match=r"relay\.relay_key"):
        read_settings(path)
    direct = RELAYED[: RELAYED.index("[relay]")] + RELAYED[RELAYED.index("[features.nights]") :]
    (path.parent / "plan.json").write_text(direct)
    with pytest.raises(LdpError, match=r"plan: this survey has no relay"):
        read_settings(path)
    with pytest.raises(LdpError, match=r"none.toml: cannot be read"):
        read_settings(path.parent / "none.toml")

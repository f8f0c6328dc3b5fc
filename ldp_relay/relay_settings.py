"""Reads the settings file of a relay, with the plans, keys and tokens that it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from encoders.errors import LdpError
from encoders.file_kind import describe_other
from encoders.proxies import Network, parse_address
from encoders.survey import Plan
from encoders.survey.plan_files import PEOPLE_PLANS, load_signature_file, signature_path
from encoders.survey.relay import Relay
from encoders.survey.toml_reader import parse_toml
from encoders.survey.unsealing import PrivateKey, load_private_key

_DEFAULTS: dict[str, Any] = {
    "database": "relay.db",
    "bind": "127.0.0.1:8100",
    "messages_per_network": None,
    "proxies": [],
    "metrics_token_file": None,
    "proxy_refusals": None,
}
_BIND = re.compile(r"[A-Za-z0-9.:\[\]-]+:[0-9]{1,5}")
_COLLECTOR = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?"
    r"(/[A-Za-z0-9._~/-]*)?/v1/surveys/(?P<survey>[a-z0-9-]+)"
)
_MIN_TOKEN = 16
_SURVEY_TEXTS = {"plan", "key", "collector", "collector_token_file"}


class RelaySettingsError(LdpError):
    """Settings that cannot be used; the message names the entry and the fix."""

    reason = "bad-settings"


@dataclass(frozen=True)
class Pool:
    """Messages that are mixed with each other alone: those of a survey, or of one of its waves."""

    name: str
    """The plan's digest; of a wave followed by "/" and its name."""
    opens: int
    closes: int
    """When messages are taken, in seconds since 1970 (UTC); `closes` is the first second after it."""
    wave: int | None
    """The index of the wave; None without waves."""


@dataclass(frozen=True)
class RelayedSurvey:
    """A survey whose messages the relay passes on."""

    plan: Plan
    key: PrivateKey
    collector: str
    token: str = field(repr=False)
    messages_per_network: int
    """Most messages from one network in the whole survey, or in each wave; 0 means no limit."""
    codes: bool
    """Whether each message needs a code that the relay gave to a person."""
    signature: bytes | None = None
    """The author's signature of the plan, if its file is beside the plan."""

    @property
    def relay(self) -> Relay:
        assert self.plan.relay is not None
        return self.plan.relay

    @cached_property
    def pools(self) -> Mapping[str, Pool]:
        """The pools by the name of their wave; without waves there is one, whose name is empty."""
        digest, waves = self.plan.digest, self.plan.waves
        if waves is None:
            return {"": Pool(digest, self.relay.opens, self.relay.closes, None)}
        return {
            each.name: Pool(f"{digest}/{each.name}", each.opens, each.closes, index)
            for index, each in enumerate(waves.list)
        }


@dataclass(frozen=True)
class RelaySettings:
    database: Path
    bind: str
    """HOST:PORT to listen at."""
    proxies: tuple[Network, ...]
    """The addresses of the relay's own proxies, whose X-Forwarded-For is trusted."""
    surveys: Mapping[str, RelayedSurvey]
    metrics_token: str = field(default="", repr=False)
    """Opens the metrics; they are closed without one."""
    proxy_refusals: Path | None = None
    """The file to which the proxy adds one byte for each request that it refuses with 429."""


def read_settings(path: Path) -> RelaySettings:
    """Read a settings file and what it names, relative to its folder; LdpError names what is wrong."""
    try:
        document = parse_toml(path.read_bytes().decode())
    except OSError as error:
        raise RelaySettingsError(f"{path.name}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        other = describe_other(path, "text")
        raise RelaySettingsError(f"{path.name}: not a TOML file: {error}{other}") from error
    surveys = document.pop("surveys", None)
    _require_keys(document, set(_DEFAULTS), "")
    entries = _DEFAULTS | document
    limit, proxies = entries["messages_per_network"], entries["proxies"]
    if limit is not None and (type(limit) is not int or limit < 0):
        raise RelaySettingsError(
            "messages_per_network: needs a whole number, 0 for no limit; without the entry, the limit "
            "follows from batch and honest"
        )
    addresses = [parse_address(str(each)) for each in proxies] if isinstance(proxies, list) else [None]
    if None in addresses:
        raise RelaySettingsError('proxies: needs a list of addresses, for example ["127.0.0.1"]')
    if not (isinstance(entries["bind"], str) and _BIND.fullmatch(entries["bind"])):
        raise RelaySettingsError("bind: needs HOST:PORT, for example 127.0.0.1:8100")
    if not isinstance(surveys, dict) or not surveys:
        raise RelaySettingsError("surveys: needs a table [surveys.ID] for each survey")
    name, token = "metrics_token_file", ""
    if entries[name] is not None:
        token = _read_token(path.parent / _text(entries, name, ""), name)
    return RelaySettings(
        path.parent / _text(entries, "database", ""),
        entries["bind"],
        tuple(ip_network(each) for each in addresses if each),
        {name: _read_survey(path.parent, name, entry, limit) for name, entry in surveys.items()},
        token,
        path.parent / _text(entries, "proxy_refusals", "") if entries["proxy_refusals"] is not None else None,
    )


def _read_token(path: Path, where: str) -> str:
    try:
        token = path.read_text("latin-1").rstrip("\r\n")
    except OSError as error:  # without the path: somebody may have written the token in its place
        raise RelaySettingsError(f"{where}: cannot be read: {error.strerror}") from error
    if not (token.isascii() and token.isprintable() and len(token) >= _MIN_TOKEN and " " not in token):
        raise RelaySettingsError(f"{where}: needs the token, at least {_MIN_TOKEN} letters, on its only line")
    return token


def _read_survey(folder: Path, name: str, entry: Any, limit: int | None) -> RelayedSurvey:
    where = f"surveys.{name}"
    if not isinstance(entry, dict):
        raise RelaySettingsError(f"{where}: needs a table [{where}]")
    _require_keys(entry, _SURVEY_TEXTS | {"codes"}, f"{where}.")
    texts = {key: _text(entry, key, f"{where}.") for key in sorted(_SURVEY_TEXTS)}
    codes = entry.get("codes", False)
    if not isinstance(codes, bool):
        raise RelaySettingsError(f"{where}.codes: needs true or false")
    plan = PEOPLE_PLANS.load(folder / texts["plan"])
    if plan.id != name:
        raise RelaySettingsError(f"{where}: the plan is of survey {plan.id}: write [surveys.{plan.id}]")
    if plan.relay is None:
        raise RelaySettingsError(f"{where}.plan: this survey has no relay")
    key = load_private_key(folder / texts["key"])
    if key.public_key != plan.relay.relay_key:
        raise RelaySettingsError(
            f"{where}.key: this is not the private key of the plan's relay.relay_key: give the one that "
            "belongs to it"
        )
    _check_collector(texts["collector"], plan, f"{where}.collector")
    token = _read_token(folder / texts["collector_token_file"], f"{where}.collector_token_file")
    signature = load_signature_file(signature_path(folder / texts["plan"]))
    if limit is None:
        limit = 0 if codes else plan.relay.messages_per_network  # a code stops strangers better than a limit
    return RelayedSurvey(plan, key, texts["collector"], token, limit, codes, signature)


def _check_collector(url: str, plan: Plan, where: str) -> None:
    assert plan.relay is not None
    found = _COLLECTOR.fullmatch(url)
    is_local = found is not None and found["host"] in ("127.0.0.1", "localhost", "[::1]")
    if not found or found["survey"] != plan.id or not (found["scheme"] == "https" or is_local):
        raise RelaySettingsError(f"{where}: needs https://HOST/v1/surveys/{plan.id}")
    if found["host"].strip("[]") == urlsplit(plan.relay.url).hostname and not is_local:
        raise RelaySettingsError(f"{where}: is on the relay's own host: another organisation must run it")


def _require_keys(table: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(table.keys() - known):
        raise RelaySettingsError(
            f"{where}{unknown[0]}: no such entry; choose one of {', '.join(sorted(known))}"
        )


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise RelaySettingsError(f"{where}{key}: needs a text")
    return value

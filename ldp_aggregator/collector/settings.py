"""The settings of a collector, checked in one place."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from encoders.proxies import Network
from ldp_aggregator.collector.access_tokens import (
    AccessToken,
    Role,
    hash_secret,
    read_operator_token,
    read_tokens,
)
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.serving.rate_limit import MAX_REQUESTS_PER_MINUTE
from ldp_aggregator.stores import StorePolicy
from ldp_aggregator.stores.shards import MAX_SHARDS
from ldp_aggregator.training_sources import TOKEN_VARIABLE

MAX_BODY_BYTES = 4 << 20
MAX_PROCESSES = 64
MAX_THREADS = 64
_RANGES = {
    "workers": (1, MAX_PROCESSES),
    "threads": (1, MAX_THREADS),
    "rate": (0, MAX_REQUESTS_PER_MINUTE),
    "max_body": (1, 1 << 32),
    "shards": (1, MAX_SHARDS),
}


@dataclass(frozen=True, kw_only=True)
class CollectorSettings:
    """The settings of a collector, named like the options of `serve`; SettingsError names a wrong one."""

    surveys: tuple[Path, ...] = ()
    """Survey files or compiled plans."""
    store: str = "sqlite:///ldp.db"
    bind: str = "127.0.0.1:8000"
    """HOST:PORT; port 0 chooses a free port."""
    operator_bind: str | None = None
    """HOST:PORT of the operator's pages, if they have a separate address."""
    workers: int = 2
    threads: int = 16
    """Number of processes, and of threads per process."""
    durability: str = "always"
    """See :class:`StorePolicy`."""
    allow_open_redis: bool = False
    """Whether Redis may be used over the network without a password."""
    rate: int = 0
    """Reports per address and minute; 0 means no limit."""
    trusted_proxy: tuple[Network, ...] = ()
    """The proxies whose X-Forwarded-For is trusted."""
    operator_token: str | None = field(default=None, repr=False)
    """Gives access to the operator's pages, like each token of the role operator in `tokens`."""
    tokens: tuple[AccessToken, ...] = ()
    proxy_refusals: Path | None = None
    """The file to which the proxy adds one byte for each request that it refuses with 429."""
    page: bool = False
    """Whether /s/ID serves a page on which people answer the survey."""
    shards: int | None = None
    """Number of sub-shards of each question of a survey that is published for the first time."""
    max_body: int = MAX_BODY_BYTES
    """Maximum length of a request's body, in bytes."""

    def __post_init__(self) -> None:
        for name in ("bind", "operator_bind"):
            check_address(getattr(self, name), f"{name} ")
        for name, (least, most) in _RANGES.items():
            if getattr(self, name) is not None and not least <= getattr(self, name) <= most:
                raise SettingsError(f"{name} must be from {least} to {most}")
        if (self.shards or 1) > 1 and not self.store.startswith("redis+cluster:"):
            raise SettingsError("shards needs a Redis Cluster: redis+cluster://HOST:PORT as store")
        names: dict[str, str] = {}
        for token in self.all_tokens:
            if (other := names.setdefault(token.sha256, token.name)) != token.name:
                raise SettingsError(f"the tokens {other} and {token.name} are equal: make another")

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> CollectorSettings:
        """Make settings from the options of `ldp-collector serve`; tokens are in files or the environment."""
        given = {each.name: options[each.name] for each in fields(cls) if each.name in options}
        given["tokens"] = read_tokens(options["tokens"]) if options["tokens"] else ()
        variable = os.environ.get(TOKEN_VARIABLE)
        token = read_operator_token(options["operator_token_file"], TOKEN_VARIABLE, variable)
        return cls(**given, operator_token=token)

    @cached_property
    def all_tokens(self) -> tuple[AccessToken, ...]:
        if self.operator_token is None:
            return self.tokens
        simple = AccessToken(name="operator", role=Role.OPERATOR, sha256=hash_secret(self.operator_token))
        return (simple, *self.tokens)

    @cached_property
    def roles(self) -> frozenset[Role]:
        return frozenset(each.role for each in self.all_tokens)

    @property
    def addresses(self) -> dict[str, str]:
        named = {"--bind": self.bind, "--operator-bind": self.operator_bind}
        return {option: address for option, address in named.items() if address}

    @property
    def store_policy(self) -> StorePolicy:
        return StorePolicy(self.durability, self.allow_open_redis)


def check_address(text: str | None, name: str = "") -> str | None:
    """Return an address if it is HOST:PORT or None; refuse others."""
    if text is not None:
        port = text.rpartition(":")[2]
        if ":" not in text or not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
            raise SettingsError(f"{name}must be HOST:PORT with a port from 0 to 65535: 127.0.0.1:8000")
    return text


def parse_networks(texts: Sequence[str]) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise SettingsError("must be an address or a network, for example 10.1.0.2 or 10.1.0.0/24") from error

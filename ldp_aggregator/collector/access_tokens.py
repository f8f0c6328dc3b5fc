"""The tokens that give access to a collector: those of a file, with roles and expiry, and the operator's."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from encoders.survey.toml_reader import parse_toml
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.stores import Store
from ldp_aggregator.stores.operator_log import local_account, write_log

MIN_TOKEN_LENGTH = 16
WARNING_DAYS = 30
"""For how long before its end the log warns of a token."""
_VISIBLE_ASCII = range(0x21, 0x7F)
_MAKE = "make it with: ldp-collector access add"


class Role(StrEnum):
    OPERATOR = "operator"
    """All pages of the operator."""
    ANALYST = "analyst"
    """The results of surveys: snapshots, estimates, progress."""
    METRICS = "metrics"
    RELAY = "relay"
    GATEWAY = "gateway"


@dataclass(frozen=True)
class AccessToken:
    name: str
    """For the operator's log."""
    role: Role
    sha256: str = field(repr=False)
    """SHA-256 of the secret, in hexadecimal."""
    expires: date | None = None
    """The first day, in UTC, on which the token is refused; None: never."""

    @property
    def days_left(self) -> float:
        """For how many days, including today, the token is accepted; none if it has expired."""
        return (self.expires - datetime.now(UTC).date()).days if self.expires else math.inf


def hash_secret(secret: str) -> str:
    """Return the hash of a secret that a file of tokens contains. All secrets are long and random."""
    return hashlib.sha256(secret.encode()).hexdigest()


def read_tokens(path: Path) -> tuple[AccessToken, ...]:
    try:
        return parse_tokens(path.read_text("utf-8"), str(path))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error


def parse_tokens(text: str, source: str) -> tuple[AccessToken, ...]:
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise SettingsError(f"{source}: not a TOML file: {error}") from error
    tables = document.get("tokens", {})
    if document.keys() - {"tokens"} or not isinstance(tables, dict):
        raise SettingsError(f"{source}: must have only entries tokens.NAME; {_MAKE}")
    for name, table in tables.items():
        if not re.fullmatch("[a-z0-9-]{1,40}", name):
            raise SettingsError(f"{source}: tokens.{name}: a name has 1 to 40 of a-z, 0-9 and -")
        if not _is_token(table):
            raise SettingsError(
                f"{source}: tokens.{name}: must have role ({', '.join(Role)}), sha256 (64 hex digits) "
                f"and, if it expires, expires (a date without quotes); {_MAKE}"
            )
    return tuple(
        AccessToken(name, Role(each["role"]), each["sha256"], each.get("expires"))
        for name, each in tables.items()
    )


def _is_token(table: Any) -> bool:
    return (
        isinstance(table, dict)
        and {"role", "sha256"} <= table.keys() <= {"role", "sha256", "expires"}
        and table["role"] in list(Role)
        and re.fullmatch("[0-9a-f]{64}", str(table["sha256"])) is not None
        and type(table.get("expires", date.min)) is date
    )


def add_token(text: str, source: str, name: str, role: str, sha256: str, expires: date | None) -> str:
    if name in [each.name for each in parse_tokens(text, source)]:
        raise SettingsError(f"{source}: has a token {name} already: choose another name, or remove it first")
    day = f", expires = {expires}" if expires else ""
    text = f'tokens.{name} = {{ role = "{role}", sha256 = "{sha256}"{day} }}\n{text}'
    parse_tokens(text, source)
    return text


def remove_token(text: str, source: str, name: str) -> str:
    tokens = parse_tokens(text, source)
    if name not in [each.name for each in tokens]:
        raise SettingsError(f"{source}: has no token {name}: {', '.join(each.name for each in tokens)}")
    lines = text.splitlines(keepends=True)
    rest = "".join(line for line in lines if not line.startswith(f"tokens.{name} = "))
    if parse_tokens(rest, source) != tuple(each for each in tokens if each.name != name):
        raise SettingsError(f"{source}: the token {name} is not in one line: remove it with an editor")
    return rest


def log_tokens(store: Store, tokens: Sequence[AccessToken]) -> None:
    """Write to the operator's log which tokens a collector accepts, with parts of hashes of their hashes."""
    marked = [f"{each.name} ({each.role}, {hash_secret(each.sha256)[:8]})" for each in tokens]
    write_log(store, local_account(), "read tokens", detail=", ".join(marked) or "none", daily=True)


def read_operator_token(file: Path | None, variable: str, value: str | None) -> str | None:
    """Return the operator's token in `file` or, without a file, the value of an environment variable.

    None or an empty value means no token. In the file a line ending may follow, as systemd and compose write
    secrets. Raise SettingsError if the file cannot be read, or the token cannot be used.
    """
    if file is None and not value:
        return None
    try:
        token = file.read_bytes().decode("latin-1").rstrip("\r\n") if file else str(value)
    except OSError as error:  # without the path: somebody may have written the token in its place
        raise SettingsError(f"the operator's token file cannot be read: {error.strerror}") from error
    if len(token) < MIN_TOKEN_LENGTH or any(ord(letter) not in _VISIBLE_ASCII for letter in token):
        raise SettingsError(
            f"{file or variable}: the operator's token needs at least {MIN_TOKEN_LENGTH} characters, which "
            "must be visible ASCII without spaces; make one with: openssl rand -hex 16"
        )
    return token

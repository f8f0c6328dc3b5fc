"""Reads the tokens that give access: those of the operator, of gateways and of relays."""

from __future__ import annotations

from pathlib import Path

from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.training_sources import TOKEN_VARIABLE

MIN_TOKEN_LENGTH = 16
TOKEN_VARIABLES = {
    "operator": TOKEN_VARIABLE,
    "gateway": "LDP_GATEWAY_TOKEN",
    "relay": "LDP_RELAY_TOKEN",
}
"""For each owner of a token, the environment variable that contains it."""
_VISIBLE_ASCII = range(0x21, 0x7F)


def read_token(file: Path | None, variable: str, value: str | None, owner: str = "operator") -> str | None:
    """Return the token in `file` or, without a file, in an environment variable; None if there is none.

    Parameters
    ----------
    file : Path or None
        Contains the token, and optionally a line ending after it, as systemd and compose write secrets.
    variable : str
        Name of the environment variable.
    value : str or None
        Value of the environment variable; None or an empty text means no token.
    owner : str
        Whose token it is, as in TOKEN_VARIABLES.

    Raises
    ------
    SettingsError
        If the file is empty or cannot be read, or the token is too short or cannot be sent in a header.
    """
    if file is None:
        return _check_token(value, variable, owner) if value else None
    try:
        return _check_token(file.read_bytes().decode("latin-1").rstrip("\r\n"), str(file), owner)
    except OSError as error:  # without the path: somebody may have written the token in its place
        raise SettingsError(f"the {owner}'s token file cannot be read: {error.strerror}") from error


def _check_token(token: str, source: str, owner: str) -> str:
    if not token:
        raise SettingsError(f"{source}: is empty; write the {owner}'s token in it")
    if any(ord(letter) not in _VISIBLE_ASCII for letter in token):
        raise SettingsError(f"{source}: the {owner}'s token must be visible ASCII characters without spaces")
    if len(token) < MIN_TOKEN_LENGTH:
        raise SettingsError(
            f"{source}: the {owner}'s token needs at least {MIN_TOKEN_LENGTH} characters; make one with: "
            "openssl rand -hex 16"
        )
    return token

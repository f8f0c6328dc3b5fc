"""What one collector serves, and how; the operator's token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from encoders.errors import LdpError
from encoders.survey import Plan
from ldp_aggregator.collector.cached_response import Content
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.serving.deadlines import Deadlines
from ldp_aggregator.collector.serving.rate_limit import Rates
from ldp_aggregator.collector.ttl_cache import Recent
from ldp_aggregator.collector.windows import Windows
from ldp_aggregator.stores import Store

MAX_BODY_BYTES = 4 << 20
SHORTEST_TOKEN = 16
"""Characters that a token has at least."""
GATEWAY_TOKEN_VARIABLE = "LDP_GATEWAY_TOKEN"  # noqa: S105 - the name of a variable, not a token
_VISIBLE = range(0x21, 0x7F)


class SettingsError(LdpError):
    """A setting that cannot be used."""


@dataclass(frozen=True)
class Service:
    """What the application is made of.

    Attributes
    ----------
    store : Store
    plans : mapping of survey id to Plan
        Those in the store when the application was made.
    intakes : mapping of survey id to Intake
        What takes the reports of each.
    windows : Windows
        When each survey takes answers.
    signatures : mapping of survey id to bytes
        Of those plans that their authors signed; passed on unchecked.
    operator_token : str or None
        None closes the operator's pages.
    gateway_token : str or None
        Lets a post hold several reports where `rates` has a limit, and frees it of that limit.
    wrong_tokens : Rates
        How many wrong tokens each address may send.
    separate_operator_address : bool
        Whether the operator's pages answer only at an address of their own.
    deadlines : Deadlines
        Until when a request has to be there.
    max_body : int
        Bytes of one request's body at most.
    promise : str
        What the store's acknowledgement is worth.
    rates : Rates
        How many reports each address may send.
    progress : Recent
        What the operator's page was last told, by survey.
    ready : Recent
        Whether the store was last found to take reports.
    """

    store: Store
    plans: Mapping[str, Plan]
    intakes: Mapping[str, Intake]
    windows: Windows
    signatures: Mapping[str, bytes]
    operator_token: str | None
    gateway_token: str | None
    wrong_tokens: Rates
    separate_operator_address: bool
    deadlines: Deadlines
    max_body: int
    promise: str
    rates: Rates
    progress: Recent[Content] = field(default_factory=Recent)
    ready: Recent[None] = field(default_factory=Recent)


def read_token(file: Path | None, variable: str, value: str | None, owner: str = "operator") -> str | None:
    """Return a token: the file's if there is one, else the environment variable's, else none.

    Parameters
    ----------
    file : Path or None
        Holds the token and at most an end of line, as secrets are handed over by systemd or compose.
    variable, value : str, str or None
        The environment variable's name and value; an empty one counts for none.
    owner : str
        Whose token it is: "operator" or "gateway".

    Raises
    ------
    SettingsError
        If the file is empty or cannot be read, or the token is short or cannot travel in a header.
    """
    if file is None:
        return _usable(value, variable, owner) if value else None
    try:
        return _usable(file.read_bytes().decode("latin-1").rstrip("\r\n"), str(file), owner)
    except OSError as error:  # without the path: who gives the token in its place is not to see it printed
        raise SettingsError(f"the {owner}'s token file cannot be read: {error.strerror}") from error


def _usable(token: str, place: str, owner: str) -> str:
    if not token:
        raise SettingsError(f"{place}: is empty; it has to hold the {owner}'s token")
    if any(ord(letter) not in _VISIBLE for letter in token):
        raise SettingsError(
            f"{place}: the {owner}'s token has to be visible ASCII characters, without spaces"
        )
    if len(token) < SHORTEST_TOKEN:
        raise SettingsError(
            f"{place}: the {owner}'s token needs at least {SHORTEST_TOKEN} characters; make one with: "
            "openssl rand -hex 16"
        )
    return token

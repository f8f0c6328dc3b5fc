"""The identity of a survey on this device: its id together with its publisher."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


class SurveyIdentity(NamedTuple):
    """Identifies a survey on this device: its id together with who publishes it.

    An id or a family alone identifies nothing: any collector can publish a plan under any name, and could
    find out who answered another collector's survey.
    """

    survey: str
    """The survey's id."""
    origin: str
    """Scheme, host and port of its URL."""
    signer: str = ""
    """The public key that the application pins, or an empty string."""

    @property
    def key(self) -> tuple[str, str]:
        """The key of the survey's journal entry: id and origin."""
        return self.survey, self.origin

    def matches(self, other: SurveyIdentity) -> bool:
        """Return whether both identify one survey: equal ids, and equal origins or author's keys."""
        same_author = self.signer != "" and self.signer == other.signer
        return self.survey == other.survey and (self.origin == other.origin or same_author)


def origin_of_url(url: str) -> str:
    """Return scheme, host and port of a URL in canonical form: ``https://collector.example:443``."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    if not host.isascii():
        with suppress(UnicodeError):  # such a host cannot be reached anyway
            host = host.encode("idna").decode().rstrip(".")
    with suppress(ValueError):  # it is a name
        host = ip_address(host).compressed
    return f"{parts.scheme}://{host}:{parts.port or _DEFAULT_PORTS.get(parts.scheme, '')}"

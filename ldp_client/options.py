"""Checks options of a client that are not part of its policy; a wrong one is a mistake of the application."""

from __future__ import annotations

from math import inf, nan

from ldp_client.errors import OptionError

SPREAD_SECONDS = 2.0
"""The default of `spread`."""


def parse_seconds(value: object, option: str) -> float:
    """Return the value of an option as a number of seconds; raise OptionError, which names the option."""
    try:
        seconds = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        seconds = nan
    if not 0 <= seconds < inf:
        raise OptionError(f"{option} must be a number of seconds, 0 or more, for example {option}=2")
    return seconds


def check_options(*, on_outcome: object, transport: object, token: object) -> None:
    """Raise OptionError, which names the option, unless each option is None or has the right type."""
    if on_outcome is not None and not callable(on_outcome):
        raise OptionError("on_outcome must be a function of one argument, the receipt")
    if transport is not None and not callable(getattr(transport, "request", None)):
        raise OptionError("transport must have a method request(method, url, body, timeout)")
    if token is not None and not isinstance(token, str):
        raise OptionError("token must be a text, as `ldp-collector tokens create` prints it")

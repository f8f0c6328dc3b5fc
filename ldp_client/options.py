"""Checks options of a client that are not part of its policy; a wrong one is a mistake of the application."""

from __future__ import annotations

import math

from ldp_client.errors import OptionError

SPREAD_SECONDS = 2.0
"""The default of `spread`."""


def parse_spread(spread: object) -> float:
    """Return the option `spread` as a number of seconds.

    Raises
    ------
    OptionError
        If it is not a finite number of at least 0.
    """
    try:
        seconds = float(spread)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise OptionError("spread must be a number of seconds, 0 or more, for example spread=2")
    return seconds


def check_options(*, on_outcome: object, transport: object, token: object) -> None:
    """Raise OptionError, which names the option, unless each option is None or has the right type."""
    if on_outcome is not None and not callable(on_outcome):
        raise OptionError("on_outcome must be a function of one argument, the receipt")
    if transport is not None and not callable(getattr(transport, "request", None)):
        raise OptionError(
            "transport must be an object with a method request(method, url, body, timeout), as "
            "ldp_client.HttpTransport() is"
        )
    if token is not None and not isinstance(token, str):
        raise OptionError("token must be a text, as `ldp-collector tokens create` prints it")

"""The environment variables that forbid all reports of a device.

Whether the person has consented to a survey is in :mod:`ldp_client.journal.consent`.
"""

from __future__ import annotations

import os

from ldp_client.errors import ConsentError

OPT_OUT_VARIABLES = ("DO_NOT_TRACK", "LDP_CLIENT_OFF")
"""While one of these variables is set, nothing is drawn or sent, even if the person has agreed."""

_UNSET_VALUES = ("", "0", "false")


def is_variable_set(name: str) -> bool:
    """Return whether an environment variable is set to a value that means yes."""
    return os.environ.get(name, "").lower() not in _UNSET_VALUES


def active_opt_out() -> str:
    """Return the name of the environment variable that forbids reports; an empty string if none is set."""
    return next(filter(is_variable_set, OPT_OUT_VARIABLES), "")


def require_no_opt_out() -> None:
    """Raise ConsentError if an environment variable forbids reports."""
    if name := active_opt_out():
        raise ConsentError(
            f"the environment variable {name} is set: nothing is drawn or sent", "do-not-track"
        )

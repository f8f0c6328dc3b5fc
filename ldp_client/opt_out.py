"""The person's word before anything else: what this device's environment forbids.

Whether the person has agreed to a survey is in the journal, with the plan that she agreed to.
"""

from __future__ import annotations

import os

from ldp_client.errors import ConsentError

SWITCHES = ("DO_NOT_TRACK", "LDP_CLIENT_OFF")
"""Environment variables that forbid all reports while they are set, whatever was agreed to."""

_UNSET = ("", "0", "false")


def active_opt_out() -> str:
    """Return the name of the environment variable that forbids reports, or an empty string."""
    return next((name for name in SWITCHES if os.environ.get(name, "").lower() not in _UNSET), "")


def require_no_opt_out() -> None:
    """Raise ConsentError while the environment forbids reports."""
    if name := active_opt_out():
        raise ConsentError(
            f"the environment variable {name} is set: nothing is drawn or sent", "do-not-track"
        )

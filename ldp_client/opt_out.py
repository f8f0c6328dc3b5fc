"""The environment variables that stop a client: two forbid all reports, one all reports but rehearsals."""

from __future__ import annotations

import os

from ldp_client.errors import ConsentError

OPT_OUT_VARIABLES = ("DO_NOT_TRACK", "LDP_CLIENT_OFF")
"""While one of these variables is set, nothing is drawn or sent, even if the person has agreed."""
REHEARSAL_VARIABLE = "LDP_REHEARSAL"
"""While this variable is set, every new client rehearses, and an earlier client draws and sends nothing."""

_UNSET_VALUES = ("", "0", "false")


def is_variable_set(name: str) -> bool:
    """Return whether an environment variable is set to a value that means yes."""
    return os.environ.get(name, "").lower() not in _UNSET_VALUES


def active_opt_out() -> str:
    """Return the name of the environment variable that forbids reports; an empty string if none is set."""
    return next(filter(is_variable_set, OPT_OUT_VARIABLES), "")


def find_prohibition(is_rehearsal: bool = False) -> tuple[str, str]:
    """Return the reason to draw and send nothing: a stable word and a sentence; empty if there is none."""
    if name := active_opt_out():
        return "do-not-track", f"the environment variable {name} is set: nothing is drawn or sent"
    if not is_rehearsal and is_variable_set(REHEARSAL_VARIABLE):
        return "rehearsal", (
            f"the environment variable {REHEARSAL_VARIABLE} is set: nothing is drawn or sent. This client "
            "was made before and does not rehearse; a client that is made now does"
        )
    return "", ""


def require_permission(is_rehearsal: bool = False) -> None:
    """Raise ConsentError if an environment variable forbids reports, or this client's reports."""
    reason, why = find_prohibition(is_rehearsal)
    if reason:
        raise ConsentError(why, reason)

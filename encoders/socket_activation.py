"""Refuses sockets that systemd has opened (socket activation)."""

from __future__ import annotations

import os

from encoders.errors import LdpError


def require_no_passed_sockets(setting: str) -> None:
    """Raise LdpError if systemd has passed sockets, which gunicorn would serve in place of the `setting`."""
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        raise LdpError(
            "systemd has passed sockets to this process (LISTEN_FDS), but socket activation is not "
            f"supported: disable the .socket unit, and name the address with {setting}"
        )

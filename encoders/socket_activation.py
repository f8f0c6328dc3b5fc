"""Refuses sockets that systemd has opened (socket activation)."""

from __future__ import annotations

import os

from encoders.errors import LdpError


class SocketActivationError(LdpError):
    """A server was started by a .socket unit of systemd."""

    reason = "socket-activation"


def require_no_passed_sockets(setting: str) -> None:
    """Raise SocketActivationError if systemd has passed sockets, which gunicorn would serve in place of ours.

    Parameters
    ----------
    setting : str
        The setting or option that names the address to listen at.
    """
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        raise SocketActivationError(
            "systemd has passed sockets to this process (LISTEN_FDS), but socket activation is not "
            f"supported: disable the .socket unit, and name the address with {setting}"
        )

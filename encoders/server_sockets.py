"""What a server asks of the system: as many connections as its open files permit, and no passed sockets."""

from __future__ import annotations

import os
import resource

from encoders.errors import LdpError

MAX_CONNECTIONS = 1000
"""Connections of a process; later ones wait in the kernel's queue."""
_FILES_PER_THREAD = 3
"""A thread's connection to a SQLite store: the file, its log, and the log's index."""
_OTHER_FILES = 64


def allow_connections(threads: int) -> int:
    """Raise the limit of open files if needed; return how many connections a process may then have.

    Each connection is an open file, and so are the files of a store that `threads` threads use. A worker of
    gunicorn ends if it cannot open one.
    """
    others = _FILES_PER_THREAD * threads + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + others
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return max(limit - others, 1)


def require_no_passed_sockets(setting: str) -> None:
    """Raise LdpError if systemd has passed sockets, which gunicorn would serve in place of the `setting`."""
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        raise LdpError(
            "systemd has passed sockets to this process (LISTEN_FDS), but socket activation is not "
            f"supported: disable the .socket unit, and name the address with {setting}"
        )

"""An application that ends with a full queue, for a server that is not there; run by exits.py.

`python -m tools.endurance.client.ending_application FOLDER SERVER JOURNALS QUEUED SPREAD`
"""

from __future__ import annotations

import atexit
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path

moments: list[float] = []
# Handlers run in reverse: what is registered before the client's is imported runs after it.
atexit.register(lambda: print(time.monotonic() - moments[0], flush=True))

from ldp_client import Client, State  # noqa: E402
from ldp_client.journal import file  # noqa: E402
from tools.endurance.client.surveys import ROWS, compiled, url_of  # noqa: E402


def place(server: str) -> tuple[int, list[socket.socket]]:
    """Return a port without a server, and the sockets that keep it so."""
    lines = [socket.socket()]
    lines[0].bind(("127.0.0.1", 0))
    name = lines[0].getsockname()
    if server == "never answers":
        lines[0].listen(1000)
    elif server == "never accepts":
        lines[0].listen(0)
        for _ in range(4):
            lines.append(socket.socket())
            lines[-1].setblocking(False)
            lines[-1].connect_ex(name)
    return name[1], lines


def main(folder: str, server: str, journals: str, queued: str, spread: str) -> list[object]:
    """Fill the queues, and return what must live until the end."""
    file._SYNCHRONOUS = "OFF"  # to fill them faster
    (port, lines), plan, clients = place(server), compiled("any"), []
    for number in range(int(queued)):
        name = f"survey-{number}"
        journal = Path(folder, f"{server}-{spread}-{number % int(journals)}.db")
        clients.append(
            Client(
                replace(plan, id=name, family=name), url_of(port, name), journal=journal, spread=float(spread)
            )
        )
        clients[-1].grant()
        assert clients[-1].report(ROWS[0], "yes").state is State.QUEUED
    return [*lines, *clients]


if __name__ == "__main__":
    alive = main(*sys.argv[1:])
    atexit.register(lambda: moments.append(time.monotonic()))
    print("ends", flush=True)

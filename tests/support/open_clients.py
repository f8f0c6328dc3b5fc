"""Ends what the clients of a test still do in the background."""

import threading
import time

from ldp_client.client import _clients
from ldp_client.sending.process_exit import _senders
from ldp_client.sending.sender import SendingMode

_PATIENCE = 120.0


def close_clients() -> None:
    """End the threads of all clients in this process without another attempt to send, and close the clients.

    An attempt that has begun may end.
    """
    end = time.monotonic() + _PATIENCE
    while threads := client_threads():
        assert time.monotonic() < end, f"a client's thread did not end within {_PATIENCE:.0f} s"
        for sender in list(_senders.values()):  # again and again: a call that has not returned may start one
            with sender._changed:
                sender._mode = SendingMode.LAST_REPORT_TRIED  # as after the attempt of an exit
                sender._changed.notify_all()
        for thread in threads:
            thread.join(0.1)
    for client in list(_clients):
        client._close("the test that made this client has ended")


def client_threads() -> list[threading.Thread]:
    """Return the threads of clients: those that send, and those that wait for an event loop."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("ldp-client")]

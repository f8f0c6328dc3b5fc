"""The senders of this process, one per journal: shared by clients, stopped at exit, reset after a fork."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from time import monotonic

from ldp_client.journal.journal import Journal
from ldp_client.sending.sender import EXIT_SECONDS, Sender

_senders: weakref.WeakValueDictionary[str, Sender] = weakref.WeakValueDictionary()
_lock = threading.RLock()  # a signal's handler may look for a sender during a search


def get_sender(journal: Journal) -> Sender:
    """Return the sender of a journal, the same for every client of its file."""
    with _lock:
        sender = _senders.get(journal.key)
        if sender is None:
            sender = _senders[journal.key] = Sender(journal)
        return sender


def stop_senders(timeout: float = EXIT_SECONDS, send_all: bool = False) -> None:
    """End all senders within `timeout` seconds; each first tries one report or, with `send_all`, all."""
    senders = [sender for sender in list(_senders.values()) if not sender.is_closed]
    end = monotonic() + timeout
    for sender in senders:
        sender.start_exit(send_all)
    for sender in senders:
        sender.join_thread(end - monotonic())


def _renew_after_fork() -> None:
    global _lock
    _lock = threading.RLock()
    for sender in list(_senders.values()):
        sender.reset()


atexit.register(stop_senders)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)

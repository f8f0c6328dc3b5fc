"""The thread that sends what a journal holds, in the background and after a restart too.

One thread for all clients that share a journal in this process. It lives while there is something to send.
When a report is sent depends on the public clock, the network and fresh random bytes only: each waits for a
slot of its own, drawn when it is first seen. A collector that fails is left alone, all its surveys
together, for a jittered and growing pause.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from time import monotonic, time
from typing import Protocol

from ldp_client.consent import objection
from ldp_client.delivery import chance, is_about_collector, judge, pause_after, pause_after_closed
from ldp_client.entry import Entry
from ldp_client.errors import JournalError, TransportError
from ldp_client.identity import Identity
from ldp_client.journal import Journal
from ldp_client.receipt import Receipt, State
from ldp_client.transport import Answer, Transport

log = logging.getLogger("ldp_client")

ATTEMPT_SECONDS = 10.0
EXIT_SECONDS = 2.0
AGAIN_SECONDS = 30.0


class Member(Protocol):
    """A client, as its sender knows it."""

    identity: Identity
    transport: Transport
    spread: float

    def accepts(self, entry: Entry) -> bool:
        """Tell whether a report that waits may still be sent."""
        ...

    def hear(self, receipt: Receipt) -> None:
        """Learn what became of the survey's report."""
        ...


@dataclass(slots=True)
class _Rest:
    """Why somebody is left alone for a while."""

    until: float
    failures: int
    asked: bool
    """Whether the collector itself named the time."""


class Sender:
    """Sends what one journal holds: each report to the collector that it was made for.

    Made by :func:`sender_of`, once per journal and process.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._members: dict[Identity, Member] = {}
        self._last_transport: Transport | None = None
        self._paused = False
        self.renew()

    def renew(self) -> None:
        """Start afresh: in a forked child there is no thread, and its lock may be held for ever."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._waiting: set[Identity] = set()
        self._slots: dict[Identity, float] = {}
        self._rests: dict[Identity | str, _Rest] = {}
        self._wanted = self._seen = 0
        self._stopping = self.waited_for = False

    # -- for clients -----------------------------------------------------------------------

    def wake(self, member: Member) -> None:
        """Look into the journal again, and send what is there."""
        with self._changed:
            self._members[member.identity] = member
            self._last_transport = member.transport
            self._wanted, self._stopping, self.waited_for = self._wanted + 1, False, False
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="ldp-client", daemon=True)
                with suppress(RuntimeError):  # no thread to be had, or at exit: the next run sends
                    self._thread.start()
            self._changed.notify_all()

    def hurry(self, survey: Identity, timeout: float) -> None:
        """Try a survey's report now, and wait until its collector has answered.

        Neither its slot nor our own pauses are waited for. A pause that the collector asked for is kept; if
        it lasts longer than `timeout`, this returns at once.
        """
        end = monotonic() + timeout
        with self._changed:
            while self._seen != self._wanted and self._is_busy(survey) and (left := end - monotonic()) > 0:
                self._changed.wait(left)  # until the thread knows whose collector it is
            self._slots[survey] = 0.0
            for name in (survey, survey.origin):
                if name in self._rests and not self._rests[name].asked:
                    self._rests[name].until = 0.0
            self._changed.notify_all()
            while (
                self._is_busy(survey) and self._asked_until(survey) <= end and (left := end - monotonic()) > 0
            ):
                self._changed.wait(left)

    def leave(self, member: Member, timeout: float) -> None:
        """Forget a client; after the last one finish what is due, for so many seconds at most."""
        with self._changed:
            if self._members.get(member.identity) is member:
                del self._members[member.identity]
            last = not self._members
        if last:
            self.stop()
            self.join(timeout)
            self.waited_for = True

    def stop(self) -> None:
        """Let each report that was never tried have its first attempt now; then end."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def pause(self) -> None:
        """Send nothing until `resume`; wait for an attempt under way, for `EXIT_SECONDS` at most."""
        with self._changed:
            self._paused = True
            self._changed.notify_all()
        self.join(EXIT_SECONDS)

    def resume(self) -> None:
        """Send again what waits."""
        self._paused = False
        for member in list(self._members.values()):
            self.wake(member)

    def join(self, timeout: float) -> None:
        """Wait for the thread to end, but no longer than so many seconds."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread() and thread.is_alive():
            thread.join(max(timeout, 0.0))

    def _asked_until(self, survey: Identity) -> float:
        """Return the end of the pause that the collector asked for."""
        rests = [self._rests[name] for name in (survey, survey.origin) if name in self._rests]
        return max((rest.until for rest in rests if rest.asked), default=0.0)

    def _is_busy(self, survey: Identity) -> bool:
        thread = self._thread
        if thread is None or thread is threading.current_thread() or not thread.is_alive():
            return False
        return self._seen != self._wanted or survey in self._waiting

    # -- the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        while (survey := self._next()) is not None:
            try:
                self._attempt(survey)
            except JournalError:  # the next attempt sends the same bytes, and may hear "duplicate"
                self._leave_alone(survey, None)

    def _next(self) -> Identity | None:
        """Wait until a report is due, and return its survey; None ends the thread."""
        while not self._paused:
            if self._seen != self._wanted:
                self._look()
            with self._changed:
                if self._seen != self._wanted:
                    continue
                survey = min(self._waiting, key=self._due, default=None)
                left = self._due(survey) - monotonic() if survey else inf
                if objection() or not survey or (self._stopping and left > 0):
                    self._end()
                    return None
                if left <= 0:
                    return survey
                self._changed.wait(left)
        with self._changed:
            self._end()
        return None

    def _look(self) -> None:
        """Read what is queued, and draw a slot for what is new."""
        wanted = self._wanted
        try:
            queued = self._journal.queued()
        except JournalError:
            with self._changed:
                if not self._stopping:  # another process may hold it: look again
                    self._changed.wait(AGAIN_SECONDS)
                    return
            queued = []
        with self._changed:
            self._seen = wanted
            self._waiting = set(queued)
            for survey in self._waiting:
                member = self._member(survey)
                spread = member.spread if member else 0.0
                self._slots.setdefault(survey, monotonic() + spread * chance())
            self._changed.notify_all()

    def _member(self, survey: Identity) -> Member | None:
        """Return the client that a report was made by, or one of the same survey."""
        return next((each for name, each in self._members.items() if name.matches(survey)), None)

    def _due(self, survey: Identity) -> float:
        names = (survey, survey.origin)
        rests = [self._rests[name].until for name in names if name in self._rests]
        return max(0.0 if self._stopping else self._slots[survey], *rests, 0.0)

    def _end(self) -> None:
        """Say, under the lock that `wake` takes, that this thread looks no more."""
        self._thread, self._waiting = None, set()
        self._changed.notify_all()

    def _attempt(self, survey: Identity) -> None:
        entry = self._journal.find(survey)
        if entry is None or entry.state is not State.QUEUED or entry.report is None:
            self._forget(survey)  # withdrawn, or told by another process
            return
        member = self._member(survey)
        if member and not member.accepts(entry):
            self._forget(survey)  # it stays in the journal, should the application think better of it
            return
        answer = self._post(member, f"{entry.url}/reports", entry.report)
        verdict = judge(answer) if answer else None
        if verdict is None:
            self._leave_alone(survey.origin if is_about_collector(answer) else survey, answer)
            return
        if verdict[0] is State.EXPIRED:
            if not self._journal.settle_closed(survey, time()):
                self._ask_again_later(survey)
                return
        else:
            self._journal.settle(survey, *verdict)
        if member:
            member.hear(Receipt(verdict[0], survey.survey, reason=verdict[1]))
        self._forget(survey)

    def _post(self, member: Member | None, url: str, report: bytes) -> Answer | None:
        transport = member.transport if member else self._last_transport
        assert transport is not None
        try:
            return transport.request("POST", url, report, ATTEMPT_SECONDS)
        except TransportError:
            return None
        except Exception as error:  # an injected transport may raise anything, and the thread must live
            log.warning("the transport raised %s, and no TransportError", type(error).__name__)
            return None

    def _leave_alone(self, name: Identity | str, answer: Answer | None) -> None:
        """Pause for a survey, or for a whole collector."""
        with self._changed:
            failures = self._rests[name].failures if name in self._rests else 0
            asked = bool(answer and answer.retry_after)
            self._rests[name] = _Rest(monotonic() + pause_after(failures, answer), failures + 1, asked)

    def _ask_again_later(self, survey: Identity) -> None:
        """Pause for a survey that its collector calls closed; the collector itself answers."""
        with self._changed:
            self._rests.pop(survey.origin, None)
            self._rests[survey] = _Rest(monotonic() + pause_after_closed(), 0, True)
            self._changed.notify_all()

    def _forget(self, survey: Identity) -> None:
        """Drop a report that needs no further attempt; its collector answers."""
        with self._changed:
            self._waiting.discard(survey)
            for name in (survey, survey.origin):
                self._rests.pop(name, None)
            self._slots.pop(survey, None)
            self._changed.notify_all()


# -- one per journal and process ------------------------------------------------------------

_senders: weakref.WeakValueDictionary[str, Sender] = weakref.WeakValueDictionary()
_finding = threading.RLock()  # a signal's handler may look for a sender amid a search


def sender_of(journal: Journal) -> Sender:
    """Return the sender of a journal, the same for every client of its file."""
    with _finding:
        sender = _senders.get(journal.key)
        if sender is None:
            sender = _senders[journal.key] = Sender(journal)
        return sender


def finish(timeout: float | None = None) -> None:
    """Let all senders try what is due and end, in `EXIT_SECONDS` together, however many there are."""
    senders = [sender for sender in list(_senders.values()) if not sender.waited_for]
    end = monotonic() + (EXIT_SECONDS if timeout is None else timeout)
    for sender in senders:
        sender.stop()
    for sender in senders:
        sender.join(end - monotonic())


def _in_child() -> None:
    global _finding
    _finding = threading.RLock()
    for sender in list(_senders.values()):
        sender.renew()


atexit.register(finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)

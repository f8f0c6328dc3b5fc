"""The thread that sends what a journal holds, in the background and after a restart too.

One thread for all clients that share a journal in this process. It lives while there is something to send.
When a report is sent depends on the public clock, the network and fresh random bytes only; `schedule`
draws a time for each. The thread sends one report at a time, each over a connection of its own.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from contextlib import suppress
from math import inf
from time import monotonic, time
from typing import Protocol

from ldp_client.errors import JournalError, TransportError
from ldp_client.journal import Journal
from ldp_client.journal.entry import JournalEntry
from ldp_client.opt_out import active_opt_out
from ldp_client.receipt import Receipt, State
from ldp_client.sending.retry import concerns_collector, explain_failure, parse_outcome
from ldp_client.sending.schedule import QueuedReport, SendingSchedule
from ldp_client.survey_identity import SurveyIdentity
from ldp_client.transport import Response, Transport

log = logging.getLogger("ldp_client")

ATTEMPT_SECONDS = 10.0
EXIT_SECONDS = 2.0
JOURNAL_RETRY_SECONDS = 30.0
MAX_LATEST_ATTEMPTS = 1000
MAX_CLIENTS_PER_SURVEY = 20
"""The latest clients of a survey that a sender keeps: an application may make them without closing them."""


class Member(Protocol):
    """A client, as its sender knows it."""

    identity: SurveyIdentity
    transport: Transport
    spread: float

    def accepts(self, entry: JournalEntry) -> bool:
        """Tell whether a report that waits may still be sent."""
        ...

    def hear(self, receipt: Receipt) -> None:
        """Learn what became of the survey's report."""
        ...


class Sender:
    """Sends what one journal holds: each report to the collector that it was made for.

    Made by :func:`find_sender`, once per journal and process.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._members: dict[str, list[Member]] = {}  # by survey id
        self._last_transport: Transport | None = None
        self._held: frozenset[SurveyIdentity] = frozenset()
        self.renew()

    def renew(self) -> None:
        """Start afresh: in a forked child there is no thread, and its lock may be held for ever."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._made: dict[tuple[str, str], float] = {}
        self._failures: dict[SurveyIdentity | str, tuple[str, str]] = {}
        self._times = SendingSchedule(latest=_latest_attempts.get(self._journal.key))
        self._wanted = self._seen = 0
        self._stopping = self.waited_for = False
        self._all_untried = self._sent_at_exit = self._retry_all = False

    # -- for clients -----------------------------------------------------------------------

    def wake(self, member: Member, made: bool = False) -> None:
        """Look into the journal again; `made` if this run has just made the member's report."""
        with self._changed:
            members = self._members.setdefault(member.identity.survey, [])
            if member not in members:
                members.append(member)
                del members[:-MAX_CLIENTS_PER_SURVEY]
            if made:
                self._made[_line(member.identity)] = member.spread
            self._last_transport = member.transport
            self._wanted += 1
            self._stopping = self._sent_at_exit = self.waited_for = False
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="ldp-client", daemon=True)
                with suppress(RuntimeError):  # no thread to be had, or at exit: the next run sends
                    self._thread.start()
            self._changed.notify_all()

    def hurry(self, survey: SurveyIdentity, timeout: float) -> None:
        """Try a survey's report now, and wait until its collector has answered.

        Neither its slot nor our own pauses are waited for. A pause that the collector asked for is kept; if
        it lasts longer than `timeout`, this returns at once.
        """
        end = monotonic() + timeout
        with self._changed:
            while self._seen != self._wanted and self._is_busy(survey) and (left := end - monotonic()) > 0:
                self._changed.wait(left)  # until the thread knows whose collector it is
            self._times.hurry(survey)
            self._changed.notify_all()
            while self._is_busy(survey) and (left := end - monotonic()) > 0:
                if self._times.asked_until(survey) > end:
                    break
                self._changed.wait(left)
            self._times.unhurry(survey)

    def explain(self, survey: SurveyIdentity) -> tuple[str, str]:
        """Return why a report still waits: a stable word and a sentence, both empty if nothing failed."""
        if name := active_opt_out():
            return "do-not-track", f"the environment variable {name} is set: nothing is sent"
        with self._changed:
            names = (survey, survey.origin)
            return next((self._failures[name] for name in names if name in self._failures), ("", ""))

    def leave(self, member: Member, timeout: float) -> None:
        """Forget a client; after the last one send one untried report, in so many seconds at most."""
        with self._changed:
            members = self._members.get(member.identity.survey, [])
            if member in members:
                members.remove(member)
            last = not any(self._members.values())
        if last:
            self.stop()
            self.join(timeout)
            self.waited_for = True

    def stop(self, all_untried: bool = False) -> None:
        """Let one untried report, or all of them, have its first attempt now; then end."""
        with self._changed:
            self._stopping, self._all_untried, self._sent_at_exit = True, all_untried, False
            self._changed.notify_all()

    def try_all(self) -> None:
        """Let every report that waits have one attempt now, for tests; then end."""
        with self._changed:
            self._retry_all = True
        self._wake_all()
        self.stop(all_untried=True)

    def hold(self) -> None:
        """Send nothing that waits now until `release`, and let an attempt under way end."""
        with suppress(JournalError):
            self._held = frozenset(self._journal.queued())
        with self._changed:
            self._wanted += 1
            self._changed.notify_all()
        self.join(EXIT_SECONDS)

    def release(self) -> None:
        """Send again what was held."""
        self._held = frozenset()
        self._wake_all()

    def _wake_all(self) -> None:
        for member in [each for members in self._members.values() for each in members]:
            self.wake(member)

    def join(self, timeout: float) -> None:
        """Wait for the thread to end, but no longer than so many seconds."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread() and thread.is_alive():
            thread.join(max(timeout, 0.0))

    def _is_busy(self, survey: SurveyIdentity) -> bool:
        thread = self._thread
        if thread is None or thread is threading.current_thread() or not thread.is_alive():
            return False
        return self._seen != self._wanted or survey in self._times

    # -- the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        while (survey := self._next()) is not None:
            try:
                self._attempt(survey)
            except Exception as error:  # the thread must live; the next attempt sends the same bytes
                if not isinstance(error, JournalError):
                    log.error("an attempt to send failed: %s", type(error).__name__)
                with self._changed:
                    if survey in self._times:
                        self._times.report_failed(survey, None)

    def _next(self) -> SurveyIdentity | None:
        """Wait until a report is due, and return its survey; None ends the thread."""
        while True:
            if self._seen != self._wanted:
                self._look()
            with self._changed:
                if self._seen != self._wanted:
                    continue
                left, survey = self._choose()
                if not survey:
                    self._end()
                    return None
                if left <= 0:
                    return survey
                self._changed.wait(min(left, threading.TIMEOUT_MAX))

    def _choose(self) -> tuple[float, SurveyIdentity | None]:
        """Return in how many seconds which report is next; no survey ends the thread."""
        if active_opt_out() or (self._sent_at_exit and not self._all_untried):
            return inf, None
        return self._times.next_before_exit(self._all_untried) if self._stopping else self._times.next()

    def _look(self) -> None:
        """Read what is queued, and draw a time for what is new."""
        wanted = self._wanted
        try:
            queued = self._journal.queued()
        except JournalError:
            with self._changed:
                if not self._stopping:  # another process may hold it: look again
                    self._changed.wait(JOURNAL_RETRY_SECONDS)
                    return
            queued = []
        with self._changed:
            self._seen = wanted
            self._times.update(self._waiting(survey) for survey in queued if survey not in self._held)
            if self._retry_all:
                self._times.forget_attempts()
                self._retry_all = False
            self._changed.notify_all()

    def _waiting(self, survey: SurveyIdentity) -> QueuedReport:
        spread = self._made.get(_line(survey))
        if spread is not None:
            return QueuedReport(survey, spread, is_new=True)
        member = self._member(survey)
        return QueuedReport(survey, member.spread if member else 0.0, is_new=False)

    def _member(self, survey: SurveyIdentity, entry: JournalEntry | None = None) -> Member | None:
        """Return a client of a report's survey: one that accepts the report, if any does."""
        members = [each for each in self._members.get(survey.survey, ()) if each.identity.matches(survey)]
        accepting = [each for each in members if entry and each.accepts(entry)]
        return next(iter(accepting or members), None)

    def _end(self) -> None:
        """Say, under the lock that `wake` takes, that this thread looks no more."""
        self._thread = None
        self._changed.notify_all()

    def _attempt(self, survey: SurveyIdentity) -> None:
        entry = self._journal.find(survey)
        if entry is None or entry.state is not State.QUEUED or entry.report is None:
            self._drop(survey)  # withdrawn, or sent by another process
            return
        with self._changed:
            member = self._member(survey, entry)
        if member and not member.accepts(entry):
            self._drop(survey)  # it stays in the journal, should the application think better of it
            return
        self._begin(survey)
        answer = self._post(member, f"{entry.url}/reports", entry.report)
        verdict = parse_outcome(answer) if answer else None
        if verdict is None:
            self._note_failure(survey, answer)
            return
        if verdict[0] is not State.EXPIRED:
            self._journal.record_outcome(survey, *verdict)
        elif not self._journal.record_closed(survey, time()):
            self._note_closed(survey)
            return
        if member:
            member.hear(Receipt(verdict[0], survey.survey, reason=verdict[1]))
        self._drop(survey, delivered=True)

    def _begin(self, survey: SurveyIdentity) -> None:
        """Note an attempt: the exit must not send another report right after it."""
        with self._changed:
            self._times.begin(survey)
            self._sent_at_exit = self._stopping
        with _finding:
            _latest_attempts.pop(self._journal.key, None)
            _latest_attempts[self._journal.key] = (survey, monotonic())
            if len(_latest_attempts) > MAX_LATEST_ATTEMPTS:
                del _latest_attempts[next(iter(_latest_attempts))]

    def _post(self, member: Member | None, url: str, report: bytes) -> Response | None:
        transport = member.transport if member else self._last_transport
        assert transport is not None
        try:
            return transport.request("POST", url, report, ATTEMPT_SECONDS)
        except TransportError:
            return None
        except Exception as error:  # an injected transport may raise anything, and the thread must live
            log.warning("the transport raised %s, and no TransportError", type(error).__name__)
            return None

    def _note_failure(self, survey: SurveyIdentity, answer: Response | None) -> None:
        """Draw new times, for all reports of a collector if it cannot serve any."""
        with self._changed:
            self._failures.pop(survey, None)
            if concerns_collector(answer):
                self._failures[survey.origin] = explain_failure(answer)
                self._times.collector_failed(survey, answer)
            else:
                self._failures.pop(survey.origin, None)
                self._failures[survey] = explain_failure(answer)
                self._times.report_failed(survey, answer)
            self._changed.notify_all()

    def _note_closed(self, survey: SurveyIdentity) -> None:
        """Let a report wait for some hours, because its collector says that the survey is closed."""
        with self._changed:
            self._failures.pop(survey.origin, None)
            self._times.closed(survey)
            self._changed.notify_all()

    def _drop(self, survey: SurveyIdentity, delivered: bool = False) -> None:
        """Drop a report that needs no further attempt; `delivered` if its collector answers."""
        with self._changed:
            self._made.pop(_line(survey), None)
            if delivered:
                self._failures.pop(survey.origin, None)
            self._times.drop(survey, delivered)
            self._changed.notify_all()


def _line(survey: SurveyIdentity) -> tuple[str, str]:
    """Return the key of a survey's line in the journal."""
    return survey.survey, survey.origin


# -- one per journal and process ------------------------------------------------------------

_senders: weakref.WeakValueDictionary[str, Sender] = weakref.WeakValueDictionary()
_finding = threading.RLock()  # a signal's handler may look for a sender amid a search
_latest_attempts: dict[str, tuple[SurveyIdentity, float]] = {}
"""The latest attempt for each journal, for an application that makes and closes its clients in turn."""


def find_sender(journal: Journal) -> Sender:
    """Return the sender of a journal, the same for every client of its file."""
    with _finding:
        sender = _senders.get(journal.key)
        if sender is None:
            sender = _senders[journal.key] = Sender(journal)
        return sender


def finish(timeout: float | None = None, all_untried: bool = False) -> None:
    """Let all senders end, in `EXIT_SECONDS` together; each first sends one untried report, or tries all."""
    senders = [sender for sender in list(_senders.values()) if not sender.waited_for]
    end = monotonic() + (EXIT_SECONDS if timeout is None else timeout)
    for sender in senders:
        if all_untried:
            sender.try_all()
        else:
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

"""The thread that sends the reports of a journal in the background, including reports of earlier runs.

All clients of this process that share a journal share one thread. It runs while there is something to send.
When a report is sent depends only on the public clock, the network and fresh random bytes: `sending_times`
draws a time for each report. The thread sends one report at a time, each over a new connection.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from enum import Enum, auto
from math import inf
from time import monotonic, time

from ldp_client.collector_response import (
    concerns_collector,
    describe_response,
    explain_failure,
    is_survey_closed,
    parse_outcome,
)
from ldp_client.debug_log import is_debugging, log, log_debug, log_report
from ldp_client.errors import JournalError
from ldp_client.journal.journal import Journal
from ldp_client.journal.table import JournalEntry
from ldp_client.opt_out import find_prohibition
from ldp_client.receipt import Receipt, State
from ldp_client.sending.clients import SenderClient, SenderClients
from ldp_client.sending.scheduled_report import QueuedReport, find_latest_attempt, record_latest_attempt
from ldp_client.sending.sending_times import SendingSchedule
from ldp_client.survey_identity import SurveyIdentity
from ldp_client.transport import Response, Transport, post_report

ATTEMPT_SECONDS = 10.0
EXIT_SECONDS = 2.0
JOURNAL_RETRY_SECONDS = 30.0


class SendingMode(Enum):
    """Which reports the sender's thread sends, and when."""

    SCHEDULED = auto()  # each at its scheduled time
    LAST_REPORT = auto()  # before the exit: one that the schedule allows, at once
    LAST_REPORT_TRIED = auto()  # none; the thread ends
    RESEND_ALL = auto()  # as SEND_ALL, after all attempts were forgotten
    SEND_ALL = auto()  # every untried report, at once


class Sender:
    """Sends the queued reports of one journal, each to the collector that it was made for.

    :func:`~ldp_client.sending.process_exit.get_sender` makes one sender per journal and process.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._clients = SenderClients()
        self._paused: frozenset[SurveyIdentity] = frozenset()
        self.reset()

    def reset(self) -> None:
        """Return to the initial state in a forked child, which needs a new thread and new locks.

        The parent's thread does not exist in the child, and a lock that it held is never released there.
        """
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._new_report_spreads: dict[tuple[str, str], float] = {}  # by journal key
        self._failures: dict[SurveyIdentity | str, tuple[str, str]] = {}  # by survey, or origin
        self._schedule = SendingSchedule(latest_attempt=find_latest_attempt(self._journal.key))
        self._reads_requested = 0
        self._reads_done = 0
        self._mode = SendingMode.SCHEDULED
        self.is_closed = False  # the last client was removed, and the thread waited for

    def send_queued(self, client: SenderClient, has_new_report: bool = False) -> None:
        """Read the journal again and send its reports; `has_new_report` if `client` has just made one."""
        with self._changed:
            self._clients.add(client)
            if has_new_report:
                self._new_report_spreads[client.identity.key] = client.spread
            self._reads_requested += 1
            self._mode = SendingMode.SCHEDULED
            self.is_closed = False
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="ldp-client", daemon=True)
                with suppress(RuntimeError):  # no thread can start, as at exit: the next run sends
                    self._thread.start()
            self._changed.notify_all()

    def flush(self, survey: SurveyIdentity, timeout: float) -> None:
        """Try to send a survey's report now, and wait until its collector has responded.

        The attempt does not wait for the scheduled time or a backoff. It does wait for the end of a pause
        that the collector asked for; if that lasts longer than `timeout`, this method returns at once.
        """
        end = monotonic() + timeout
        with self._changed:
            # the thread must know the report first
            self._changed.wait_for(
                lambda: self._reads_done == self._reads_requested or not self._is_pending(survey), timeout
            )
            self._schedule.expedite(survey)
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: not self._is_pending(survey) or self._schedule.retry_after_end(survey) > end,
                end - monotonic(),
            )
            self._schedule.end_expedite(survey)

    def explain_wait(self, survey: SurveyIdentity) -> tuple[str, str]:
        """Return the reason why a report waits: a stable word and a sentence, empty if nothing failed."""
        reason, why = find_prohibition()
        if reason:
            return reason, why
        with self._changed:
            return self._failures.get(survey) or self._failures.get(survey.origin, ("", ""))

    def remove_client(self, client: SenderClient, timeout: float) -> None:
        """Remove a client; after the last one, try for at most `timeout` seconds to send one report."""
        with self._changed:
            self._clients.close(client)
            is_last = not list(self._clients)
        if is_last:
            self.start_exit()
            self.join_thread(timeout)
            self.is_closed = True

    def start_exit(self, send_all: bool = False) -> None:
        """Try one report that the schedule allows (all with `send_all`, for tests), then end the thread."""
        with self._changed:
            for client in self._clients if send_all else ():
                self.send_queued(client)
            self._mode = SendingMode.RESEND_ALL if send_all else SendingMode.LAST_REPORT
            self._changed.notify_all()

    def pause(self) -> None:
        """Hold back all reports that are queued now, until `resume`; an attempt that has begun may end."""
        with suppress(JournalError):
            self._paused = frozenset(self._journal.queued_surveys())
        with self._changed:
            self._reads_requested += 1
            self._changed.notify_all()
        self.join_thread(EXIT_SECONDS)

    def resume(self) -> None:
        """Send the reports that `pause` held back."""
        self._paused = frozenset()
        for client in self._clients:
            self.send_queued(client)

    def join_thread(self, timeout: float) -> None:
        """Wait for the thread to end, for at most `timeout` seconds."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread() and thread.is_alive():
            thread.join(max(timeout, 0.0))

    def _is_pending(self, survey: SurveyIdentity) -> bool:
        """Return whether the thread may still send a survey's report."""
        thread = self._thread
        if thread is None or thread is threading.current_thread() or not thread.is_alive():
            return False
        return self._reads_done != self._reads_requested or survey in self._schedule

    def _run(self) -> None:
        while True:
            survey = None
            try:
                survey = self._wait_for_due()
                if survey is None:
                    return
                self._attempt(survey)
            except Exception as error:  # the thread must live; the next attempt sends the same bytes
                if isinstance(error, JournalError):
                    log_debug("the journal cannot be used during an attempt to send")
                else:
                    log.error("an attempt to send failed: %s", type(error).__name__)
                with self._changed:
                    if survey is None:  # until the next call of a client
                        self._changed.wait(JOURNAL_RETRY_SECONDS)
                    elif survey in self._schedule:
                        self._schedule.report_failed(survey, None)

    def _wait_for_due(self) -> SurveyIdentity | None:
        """Wait until a report is due, and return its survey; None if the thread is to end."""
        while True:
            if self._reads_done != self._reads_requested:
                self._read_journal()
            self._log_waits()
            with self._changed:
                if self._reads_done != self._reads_requested:
                    continue
                left, survey = self._choose_next()
                if not survey:
                    self._thread = None  # under the lock of `send_queued`, which then starts another thread
                    self._changed.notify_all()
                    return None
                if left <= 0:
                    return survey
                self._changed.wait(min(left, threading.TIMEOUT_MAX))

    def _log_waits(self) -> None:
        if is_debugging():
            with self._changed:
                waits = list(self._schedule.new_waits())
            for survey, wait in waits:
                log_report(survey, wait)
            if why := find_prohibition()[1]:
                log_debug(why)

    def _choose_next(self) -> tuple[float, SurveyIdentity | None]:
        """Return the seconds until the next report is due, and its survey; None if the thread is to end."""
        if find_prohibition()[0] or self._mode is SendingMode.LAST_REPORT_TRIED:
            return inf, None
        if self._mode is SendingMode.SCHEDULED:
            return self._schedule.next_due()
        return self._schedule.next_before_exit(all_untried=self._mode is not SendingMode.LAST_REPORT)

    def _read_journal(self) -> None:
        """Read the queued reports from the journal, and schedule the new ones."""
        request = self._reads_requested
        try:
            with suppress(JournalError):  # the next start of the application tries again
                self._journal.forget_messages(time())
            queued = self._journal.queued_surveys()
        except JournalError:
            log_debug("the journal cannot be read: another process may hold it")
            with self._changed:
                if self._mode is SendingMode.SCHEDULED:  # another process may hold the journal: read it again
                    self._changed.wait(JOURNAL_RETRY_SECONDS)
                    return
            queued = []
        with self._changed:
            self._schedule.update(self._describe(survey) for survey in queued if survey not in self._paused)
            self._reads_done = request
            if self._mode is SendingMode.RESEND_ALL:
                self._schedule.forget_attempts()
                self._mode = SendingMode.SEND_ALL
            self._changed.notify_all()

    def _describe(self, survey: SurveyIdentity) -> QueuedReport:
        spreads = [client.spread for client in self._clients.find(survey)] or [0.0]
        spread = self._new_report_spreads.get(survey.key, spreads[0])
        return QueuedReport(survey, spread, is_new=survey.key in self._new_report_spreads)

    def _attempt(self, survey: SurveyIdentity) -> None:
        """Send a survey's report once; record its outcome, or draw the time of the next attempt."""
        entry = self._journal.find(survey)
        if entry is None or entry.state is not State.QUEUED or not entry.post[1]:
            log_report(survey, "not sent: it was withdrawn, or sent by another process")
            self._remove(survey)
            return
        client, transport = self._begin_attempt(survey, entry)
        if transport is None:
            log_report(survey, "not sent: this application does not accept its plan or epsilon")
            return
        log_report(survey, "an attempt begins")
        response = post_report(transport, survey, *entry.post, ATTEMPT_SECONDS)
        record_latest_attempt(self._journal.key, self._schedule.end_attempt())
        if response and is_debugging():
            log_report(survey, describe_response(response))
        outcome = parse_outcome(response, through_relay=entry.sealed is not None) if response else None
        recorded = self._record(survey, *outcome) if outcome else entry
        if recorded and recorded.state is State.QUEUED:
            self._handle_failure(entry, response)
            return
        if recorded and recorded.is_answered:  # with this outcome, or withdrawn during the attempt
            state, reason = recorded.state, recorded.reason
            log_report(survey, f"given up: {state} ({reason})" if reason else str(state))
            if client:
                client.handle_outcome(Receipt(state, survey.survey, reason=reason, why=recorded.why))
        self._remove(survey, has_outcome=True)

    def _record(self, survey: SurveyIdentity, state: State, reason: str) -> JournalEntry | None:
        """Record what the collector answered, and return the entry; None if the journal was deleted."""
        if state is State.EXPIRED and not self._journal.record_closed(survey, time()):
            return self._journal.find(survey)
        return self._journal.record_outcome(survey, state, reason)

    def _begin_attempt(
        self, survey: SurveyIdentity, entry: JournalEntry
    ) -> tuple[SenderClient | None, Transport | None]:
        """Return the open client of a report and its transport; no transport if no client accepts it."""
        with self._changed:
            clients = self._clients.find(survey)
            accepting = [each for each in clients if each.policy.accepts_queued_report(entry)]
            if clients and not accepting:
                self._remove(survey)  # it stays in the journal: a later version may accept it
                return None, None
            client = next((each for each in accepting if each in self._clients), None)
            self._schedule.begin_attempt(survey)
            if self._mode is SendingMode.LAST_REPORT:  # the exit must not send another one right after it
                self._mode = SendingMode.LAST_REPORT_TRIED
            return client, client.transport if client else self._clients.last_transport

    def _handle_failure(self, entry: JournalEntry, response: Response | None) -> None:
        """Draw a new time for a report, or for all reports of a collector that cannot accept any."""
        survey, server = entry.identity, "collector" if entry.sealed is None else "relay"
        with self._changed:
            self._failures.pop(survey, None)
            self._failures.pop(survey.origin, None)
            if response and is_survey_closed(response):
                self._schedule.survey_closed(survey)
            elif concerns_collector(response):
                self._failures[survey.origin] = explain_failure(response, server)
                self._schedule.collector_failed(survey, response)
            else:
                self._failures[survey] = explain_failure(response, server)
                self._schedule.report_failed(survey, response)
            self._changed.notify_all()

    def _remove(self, survey: SurveyIdentity, has_outcome: bool = False) -> None:
        """Remove a report from the schedule; `has_outcome` if its collector has accepted or rejected it."""
        with self._changed:
            self._new_report_spreads.pop(survey.key, None)
            if has_outcome:
                self._failures.pop(survey.origin, None)
            self._schedule.remove(survey, has_outcome)
            self._changed.notify_all()

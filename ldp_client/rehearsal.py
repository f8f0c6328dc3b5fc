"""Rehearsals: a client takes every step up to a report's bytes, in a journal in memory, and sends nothing."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from fractions import Fraction
from itertools import count

from ldp_client.debug_log import log
from ldp_client.errors import JournalError, TransportError
from ldp_client.journal.journal import Journal
from ldp_client.opt_out import REHEARSAL_VARIABLE, is_variable_set
from ldp_client.participation import Participation
from ldp_client.receipt import Receipt, State
from ldp_client.sending.clients import SenderClient
from ldp_client.sending.sender import Sender
from ldp_client.survey_identity import SurveyIdentity
from ldp_client.transport import Response, Transport

MAX_REHEARSAL_JOURNALS = 1000

_journals: OrderedDict[str, RehearsalJournal] = OrderedDict()
"""By the key of the real journal: several clients of one person share their consent in earnest too."""
_journals_lock = threading.Lock()
_rehearsal_numbers = count(1)


def choose_rehearsal(rehearsal: bool) -> bool:
    """Return whether a new client rehearses; log a warning if it is the first of this process that does."""
    is_rehearsal = rehearsal or is_variable_set(REHEARSAL_VARIABLE)
    if is_rehearsal and next(_rehearsal_numbers) == 1:
        log.warning("this is a rehearsal: no report of this client is sent or kept, and no epsilon is spent")
    return is_rehearsal


def rehearse(journal: Journal, transport: Transport) -> tuple[Journal, Transport, Sender]:
    """Return a journal, a transport and a sender for a rehearsal, which keep and send nothing."""
    rehearsed = _find_journal(journal)
    return rehearsed, PlanTransport(transport), RehearsalSender(rehearsed)


class RehearsalJournal(Journal):
    """A journal in memory whose surveys can be answered again and again."""

    def __init__(self) -> None:
        super().__init__(":memory:")

    def reopen(self, identity: SurveyIdentity) -> None:
        """Forget a survey's report, so that the survey can be answered again."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE surveys SET state = ?, report = NULL, sealed = NULL, epsilon = '0' "
                "WHERE survey = ? AND origin = ? AND state = ?",
                (State.READY, *identity.key, State.QUEUED),
            )

    def forget_withdrawn(self) -> None:
        """Forget the surveys that were withdrawn: the person can agree again, and draws a new wave."""
        with self._transaction() as connection:
            connection.execute(
                "DELETE FROM surveys WHERE state IN (?, ?)", (State.WITHDRAWN, State.NO_CONSENT)
            )


class RehearsalParticipation(Participation):
    """A participation that may be repeated. Its journal is a :class:`RehearsalJournal`."""

    is_rehearsal = True

    def grant(self, lifetime: Fraction | None = None, renews: bool = False) -> None:
        """Record that the person agrees to the plan, after a withdrawal too."""
        assert isinstance(self.journal, RehearsalJournal)
        self.journal.forget_withdrawn()
        super().grant(lifetime, renews)

    def report(self, row: Mapping[str, object], label: object = None) -> Receipt:
        """Randomise one answer, and hold it in memory in place of an earlier one."""
        assert isinstance(self.journal, RehearsalJournal)
        self.journal.reopen(self.identity)
        return super().report(row, label)


class RehearsalSender(Sender):
    """A sender that never starts a thread, and so sends nothing."""

    def send_queued(self, client: SenderClient, has_new_report: bool = False) -> None:
        """Do nothing."""

    def explain_wait(self, survey: SurveyIdentity) -> tuple[str, str]:
        return "rehearsal", "this is a rehearsal: the report is not sent, and is forgotten with the process"


class PlanTransport:
    """A transport that fetches plans, texts and signatures; it sends nothing that a relay could delete."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        """Return the response to a GET request without a body, or that of a relay without the report."""
        if method == "DELETE":
            return Response(204, b"")
        if method != "GET" or body is not None:
            raise TransportError("a rehearsal sends nothing")
        return self._transport.request(method, url, body, timeout)


def _find_journal(journal: Journal) -> RehearsalJournal:
    """Return the rehearsal's journal in place of a real one: the same for every client of the real one."""
    try:
        key = journal.key
    except JournalError:  # this device has no place for a journal
        key = ""
    with _journals_lock:
        rehearsed = _journals.pop(key, None) or RehearsalJournal()
        _journals[key] = rehearsed  # now the newest
        if len(_journals) > MAX_REHEARSAL_JOURNALS:
            _journals.popitem(last=False)
        return rehearsed

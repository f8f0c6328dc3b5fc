"""The steps of a silo's report: count the rows, record the noisy message of an epoch, send it.

A silo starts its command by hand and waits for the outcome, so there is no background thread and no random
time of sending. The bytes are those in the journal: each attempt, of any process, sends the same.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from encoders.canonical import to_nfc
from encoders.errors import RowError
from encoders.explain.text import Counted
from encoders.randomness import SystemEntropy
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.toml_reader import parse_toml
from ldp_client import collector_response
from ldp_client.bound_survey import BoundSurvey
from ldp_client.debug_log import is_debugging, log_report
from ldp_client.errors import ConsentError, OptionError
from ldp_client.journal.journal import CLOSED_ONCE
from ldp_client.opt_out import REHEARSAL_VARIABLE, is_variable_set
from ldp_client.options import parse_seconds
from ldp_client.receipt import Receipt, State
from ldp_client.retry_after import draw_backoff, limit_retry_after
from ldp_client.transport import Response, Transport, post_report
from ldp_silo.count_rows import CountedRows, MissingCodes, count_rows, find_rows
from ldp_silo.message_preview import draw_message_id, make_message
from ldp_silo.rows_file import KEY_BYTES, RowsFile, hash_file, open_rows
from ldp_silo.silo_journal import SiloJournal
from ldp_silo.silo_ledger import Epoch, NewEpoch, RepeatedPersonsError, find_named, require_same_file

RowsPath = str | os.PathLike[str]
MAX_SHOWN_ROWS = 5
_EPOCH = re.compile(r"[A-Za-z0-9._-]{1,64}")
OFF_VARIABLE = "LDP_CLIENT_OFF"


@dataclass
class SiloSurveyBinding(BoundSurvey[SiloPlan]):
    """The plan of silos that this journal is bound to."""

    journal: SiloJournal

    def require_permission(self) -> None:
        """Raise ConsentError if ``LDP_CLIENT_OFF`` is set; ``DO_NOT_TRACK`` is for people's devices."""
        if is_variable_set(OFF_VARIABLE):
            raise ConsentError(
                f"the environment variable {OFF_VARIABLE} is set, so nothing is sent: unset it", "client-off"
            )


@dataclass(frozen=True)
class EpochReports:
    survey: SiloSurveyBinding
    show: Callable[[str], object]
    show_rows: Callable[[str], object]
    """Called with sentences about the rows, see :class:`~ldp_silo.silo.Silo`."""
    codes: MissingCodes

    def report(
        self, rows: RowsPath, name: str, person: str | None, new_rows: bool, multiline: bool, timeout: float
    ) -> Receipt:
        """Report the rows of a file as an epoch, or rehearse it; see :meth:`~ldp_silo.silo.Silo.report`."""
        check_name(name)
        timeout = parse_seconds(timeout, "timeout")
        self.survey.require_permission()
        rehearses = is_variable_set(REHEARSAL_VARIABLE)
        if rehearses and self.describe_consent().state is State.NO_CONSENT:
            counted = self.count_alone(self.survey.plan, rows, person, multiline)
            return _describe_rehearsal(self.survey.plan, counted, "the survey")
        plan, journal = self._require_agreed_plan(), self.survey.journal
        # 1. an epoch that is recorded is never counted again
        key, earlier = journal.read_key(), journal.find_epochs(self.survey.identity, plan.family)
        if known := find_named(earlier, plan.id, name):
            require_same_file(known, hash_file(rows, key))
            known = known if rehearses else self._change_token(known, plan)
            return self.finish(known, timeout, is_repeat=True)
        # 2. every row is checked and counted before anything is drawn
        require_person_column(plan, person)
        token, message_id = self.survey.token, b""
        if not rehearses or token is not None:
            message_id = draw_message_id(plan, token, SystemEntropy())
        self.show(f"counting the rows of {Path(rows).name}")
        with open_rows(rows, key, [each.file for each in earlier], multiline) as file:
            counted = self._count(plan, file, person)

        def make() -> bytes:
            return make_message(plan, counted.counts, message_id, SystemEntropy())

        # 3. one transaction records the epoch, its epsilon and the noisy message
        numbers = tuple(each.number for each in earlier)
        new = NewEpoch(name, counted, to_nfc(person or ""), rows_are_new=new_rows, earlier=numbers)
        identity, total = self.survey.identity, self.survey.policy.max_total_epsilon
        try:
            recorded, created = journal.commit_epoch(
                identity, plan, new, message_id, None if rehearses else make, total
            )
        except RepeatedPersonsError as error:
            raise explain_repeated_persons(plan, rows, new.person_column, error.names, multiline) from None
        if rehearses:
            return _describe_rehearsal(plan, counted, "the survey and the ledger")
        # 4. send the bytes that the journal holds, until the collector has answered
        return self.finish(recorded, timeout, is_repeat=not created, clipped=counted.clipped)

    def flush(self, epochs: Sequence[Epoch], timeout: float) -> Receipt | None:
        """Send the messages that wait; return the first receipt that still waits, None if there is none."""
        timeout = parse_seconds(timeout, "timeout")
        self.survey.require_permission()
        for epoch in epochs:
            if epoch.state is State.QUEUED:
                self._require_agreed_plan()
                receipt = self.finish(epoch, timeout)
                if receipt.state is State.QUEUED:
                    return receipt
        return None

    def count_alone(self, plan: SiloPlan, rows: RowsPath, person: str | None, multiline: bool) -> CountedRows:
        require_person_column(plan, person)
        with open_rows(rows, secrets.token_bytes(KEY_BYTES), multiline=multiline) as file:
            return self._count(plan, file, person)

    def _count(self, plan: SiloPlan, file: RowsFile, person: str | None) -> CountedRows:
        counted = count_rows(plan, file, person, self.codes)
        for note in counted.notes:
            self.show_rows(note)
        return counted

    def finish(
        self, epoch: Epoch, timeout: float, is_repeat: bool = False, clipped: tuple[str, ...] = ()
    ) -> Receipt:
        """Send the message of an epoch if it waits, and return the receipt."""
        if epoch.state is not State.QUEUED:
            return self.describe(epoch, is_repeat)
        self.survey.policy.check_queued_report(epoch.digest, epoch.epsilon, epoch.signer)
        if is_variable_set(REHEARSAL_VARIABLE):
            return Receipt(State.QUEUED, epoch.survey, reason="rehearsal", why="nothing is sent")
        self.show(f"the message of epoch {epoch.name} is in the journal, and is sent now")
        journal = self.survey.journal
        reason, why = send_message(journal, epoch, self.survey.transport, timeout, self.show)
        epsilon = 0.0 if is_repeat else float(epoch.epsilon)
        known = journal.find_epoch(epoch.number) or epoch
        return Receipt(
            known.state,
            known.survey,
            epsilon=epsilon,
            reason=reason or known.reason,
            why=why or EXPLANATIONS.get(known.reason, ""),
            clipped=clipped,
        )

    def describe(self, epoch: Epoch, is_repeat: bool = False) -> Receipt:
        if is_repeat and epoch.state in (State.SENT, State.DUPLICATE):
            why = f"epoch {epoch.name} was counted before, with the same file"
            return Receipt(State.ALREADY_REPORTED, epoch.survey, why=why)
        why = EXPLANATIONS.get(epoch.reason, "")
        return Receipt(epoch.state, epoch.survey, reason=epoch.reason, why=why)

    def describe_consent(self) -> Receipt:
        entry = self.survey.journal.find(self.survey.identity)
        if entry is None or entry.state is State.NO_CONSENT:
            return Receipt(State.NO_CONSENT, self.survey.identity.survey, reason="no-consent")
        return Receipt(State.READY, entry.survey)

    def _change_token(self, epoch: Epoch, plan: SiloPlan) -> Epoch:
        if not epoch.is_token_reused or self.survey.token is None:
            return epoch
        self.survey.policy.check_queued_report(epoch.digest, epoch.epsilon, epoch.signer)
        message_id = draw_message_id(plan, self.survey.token, SystemEntropy())
        return self.survey.journal.change_token(epoch, plan, message_id)

    def _require_agreed_plan(self) -> SiloPlan:
        entry = self.survey.journal.find(self.survey.identity)
        if entry is None or entry.state is State.NO_CONSENT:
            raise ConsentError(
                "the organisation has not agreed to this survey in this journal: call grant(), or `ldp-silo "
                "grant`, when it agrees"
            )
        return self.survey.pinned_plan(entry)


def _describe_rehearsal(plan: SiloPlan, counted: CountedRows, fits: str) -> Receipt:
    why = f"the rows fit {fits}; nothing was drawn, recorded or sent"
    return Receipt(State.READY, plan.id, reason="rehearsal", why=why, clipped=counted.clipped)


def check_name(name: object) -> None:
    if not (isinstance(name, str) and _EPOCH.fullmatch(name)):
        raise OptionError("epoch must be 1 to 64 of the characters A-Z, a-z, 0-9, '.', '-' and '_'")


def count_file(plan: SiloPlan, rows: RowsPath, person: str | None) -> CountedRows:
    with open_rows(rows, secrets.token_bytes(KEY_BYTES)) as file:
        return count_rows(plan, file, person)


def explain_repeated_persons(
    plan: SiloPlan, rows: RowsPath, column: str, names: set[str], multiline: bool
) -> RowError:
    """Return the error of persons with too many rows over all epochs; it has numbers of rows, and no name."""
    with open_rows(rows, secrets.token_bytes(KEY_BYTES), multiline=multiline) as file:
        found = find_rows(file, column, names)
    shown = ", ".join(map(str, found[:MAX_SHOWN_ROWS])) + (", ..." if len(found) > MAX_SHOWN_ROWS else "")
    most = plan.rows_per_person
    return RowError(
        column,
        f"row{'s' * (len(found) > 1)} {shown}: {Counted(len(names), 'person')} with more than "
        f"{Counted(most, 'row')} over all epochs, the most that the survey allows (rows_per_person), "
        "or with rows in another survey of the family",
    )


def require_person_column(plan: SiloPlan, person: str | None) -> None:
    """Raise OptionError if the survey allows several rows of a person, and nobody would count them."""
    if plan.rows_per_person > 1 and person is None:
        raise OptionError(
            f"the survey allows {plan.rows_per_person} rows of one person: give the column of people's ids "
            "(--person COLUMN, or person=), so that they are counted"
        )


ATTEMPT_SECONDS = 30.0
MAX_BACKOFF_SECONDS = 10.0
WORDS: dict[str, dict[str, str]] = parse_toml(files(__package__).joinpath("words.toml").read_text("utf-8"))
EXPLANATIONS = WORDS["explanations"]


def send_message(
    journal: SiloJournal, epoch: Epoch, transport: Transport, timeout: float, show: Callable[[str], object]
) -> tuple[str, str]:
    """Send an epoch's message until the collector has answered, or `timeout`; return why it waits, or ""."""
    end, failures = time.monotonic() + timeout, 0
    while True:
        reason, why, response = _attempt(journal, epoch, transport)
        if not reason:
            return "", ""
        failures += 1
        requested = limit_retry_after(response.retry_after if response else None)
        pause = max(requested, min(draw_backoff(failures), MAX_BACKOFF_SECONDS))
        is_pointless = response is not None and not collector_response.concerns_collector(response)
        if is_pointless or time.monotonic() + pause > end:
            return reason, why
        show(f"{why}; next attempt in {pause:.1f} s")
        time.sleep(pause)


def _attempt(journal: SiloJournal, epoch: Epoch, transport: Transport) -> tuple[str, str, Response | None]:
    known = journal.find_epoch(epoch.number)
    if known is None or known.state is not State.QUEUED or known.message is None:
        return "", "", None  # another process has delivered or withdrawn it
    url = f"{known.url}/reports"
    response = post_report(transport, known.identity, url, known.message, ATTEMPT_SECONDS)
    if response and is_debugging():
        log_report(known.identity, collector_response.describe_response(response))
    outcome = collector_response.parse_outcome(response) if response else None
    if response and collector_response.is_survey_closed(response):
        if journal.record_epoch_closed(known, time.time()):
            return "", "", response
        return CLOSED_ONCE, EXPLANATIONS[CLOSED_ONCE], response
    if outcome is None:
        return *collector_response.explain_failure(response), response
    journal.record_epoch_outcome(known, *outcome)
    return "", "", response

"""The client an application embeds: one answer, randomised here, journalled, delivered once."""

from __future__ import annotations

import logging
import os
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from encoders.errors import SurveyError
from encoders.randomness import SystemEntropy
from encoders.survey.invitation import read_invitation
from encoders.survey.plan import Plan
from encoders.survey.randomise import randomise_coded
from ldp_client.errors import BudgetError, ClosedError, ConsentError, PlanError, TransportError
from ldp_client.journal.entry import JournalEntry
from ldp_client.journal.journal import CLOSED_ONCE, Journal, require_pinned
from ldp_client.journal.path import check_person
from ldp_client.opt_out import require_no_opt_out
from ldp_client.plan_source import check_survey_url, is_url, load_plan
from ldp_client.policy import ClientPolicy
from ldp_client.receipt import Receipt, State
from ldp_client.sending.sender import EXIT_SECONDS, Sender, find_sender
from ldp_client.survey_identity import SurveyIdentity, origin_of_url
from ldp_client.traceback_redaction import redact_traceback
from ldp_client.transport import HttpTransport, Transport

if TYPE_CHECKING:
    from encoders.explain.preview import Preview

MAX_EPSILON = 2.0
SPREAD_SECONDS = 2.0
REPEATS_TO_WARN = 10

_WHY_CLOSED_ONCE = (
    "the collector says that the survey is closed; the report is deleted if it still says so a day later"
)

log = logging.getLogger("ldp_client")
_clients: weakref.WeakSet[Client] = weakref.WeakSet()
"""The clients of this process, for `ldp_client.testing`."""
_repeats = count(1)
"""Numbers the `already_reported` receipts of this process; no row is kept to compare."""


class Client:
    """Answers one survey for the person at this device.

    Nothing is drawn or sent before :meth:`grant` noted that the person agrees. From then on the survey's
    plan is pinned on this device, and :meth:`report` needs no network: it returns at once, and the report
    is sent in the background, by the next start of the application if need be.

    Parameters
    ----------
    survey : str, path or Plan
        The survey's URL at a collector, or its plan (or a file of it) together with `url`.
    url : str, optional
        Where reports go, if `survey` is not a URL.
    digest : str, optional
        The only plan to accept, by its published digest (64 hexadecimal digits).
    public_key : str, optional
        Accept only what its author signed with this key; not together with a `Plan` object.
    token : str, optional
        The invitation, where the survey is answered by invitation; see `ldp-collector tokens`.
    journal : path or Journal, optional
        See :class:`~ldp_client.journal.Journal`; all clients of one person share one.
    person : str, optional
        The person who answers, where several people answer through one device or process; not together with
        `journal`. Each person has their own journal, so their own consent, answers and budget. Use an id
        that stays the same: 1 to 64 ASCII letters, digits, "-" and "_".
    transport : Transport, optional
        HTTP by default; tests inject their own.
    max_epsilon : float
        A plan above this is refused before anything is drawn.
    max_total_epsilon : float, optional
        What all surveys of the journal may spend together; no limit by default.
    on_outcome : callable, optional
        Called with what `report` returns, and, on another thread, with the collector's verdict.
    spread : float
        A report is first sent at a random time within so many seconds. One that an earlier run left waits
        for a random time with at least this mean.
    strict : bool
        Raise errors instead of returning them as receipts.

    Attributes
    ----------
    survey : str
        The survey's id.
    identity : SurveyIdentity
        What makes this survey the same as one in the journal: its id, and its origin or its author's key.
    outcomes : Counter of State
        How often each outcome occurred, as `on_outcome` hears of them.

    Examples
    --------
    >>> client = Client("https://collector.example/v1/surveys/sleep-2026")  # doctest: +SKIP
    >>> client.grant().state                                                # doctest: +SKIP
    <State.READY: 'ready'>
    >>> client.report({"age": "young", "income": 21_000}, "no").state       # doctest: +SKIP
    <State.QUEUED: 'queued'>
    """

    def __init__(
        self,
        survey: str | os.PathLike[str] | Plan,
        url: str | None = None,
        *,
        digest: str | None = None,
        public_key: str | None = None,
        token: str | None = None,
        journal: str | os.PathLike[str] | Journal | None = None,
        person: str | None = None,
        transport: Transport | None = None,
        max_epsilon: float = MAX_EPSILON,
        max_total_epsilon: float | None = None,
        on_outcome: Callable[[Receipt], object] | None = None,
        spread: float = SPREAD_SECONDS,
        strict: bool = False,
    ) -> None:
        where = url if url is not None else str(survey) if is_url(survey) else None
        if where is None:
            raise TransportError("give the url of the survey at its collector: https://host/v1/surveys/ID")
        if public_key is not None and isinstance(survey, Plan):
            raise PlanError("a Plan object has no signature to check: give its file, or no public_key")
        self._source = survey
        self._token = token
        self._url, self.survey = check_survey_url(where)
        self._terms = ClientPolicy.read(max_epsilon, max_total_epsilon, digest, public_key)
        self.identity = SurveyIdentity(self.survey, origin_of_url(self._url), self._terms.signer)
        check_person(person, journal)
        self._person = person
        self._own_journal = journal if journal is None or isinstance(journal, Journal) else Journal(journal)
        self._own_transport = transport
        self._on_outcome = on_outcome
        self.spread = max(0.0, spread)
        self._strict = strict
        self._closed = ""
        self._renew()
        if self._journal.exists():  # an earlier run may have left something to send
            self._wake()
        _clients.add(self)

    def _renew(self) -> None:
        """Look up the default journal and transport, and forget what was seen with the former ones."""
        self._journal = self._own_journal or Journal(person=self._person)
        self.transport = self._own_transport or HttpTransport()
        self.outcomes: Counter[State] = Counter()
        self._plan: Plan | None = None
        self._sender: Sender | None = None

    # -- what the person decides -----------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The survey's plan: given, pinned on this device, or fetched; checked on first use.

        Raises
        ------
        SurveyError, PrivacyError
            If it is no plan, or would spend more than its epsilon.
        PlanError
            If it is not the plan that this client, or this device, is bound to.
        TransportError
            If it has to be fetched and cannot be.
        """
        if self._plan is None:
            entry = self._journal.find(self.identity)
            plan = self._given_or_kept(entry)
            if plan is None:
                require_no_opt_out()
                plan = load_plan(self._url, self.transport, self._terms.signer or None)
            self._plan = self._checked(plan, entry)
        return self._plan

    def grant(self) -> Receipt:
        """Note that the person agrees to answer this survey by this very plan.

        Call it where she says yes and nowhere else: called at every start, it would undo a withdrawal.
        May fetch the plan, once in the survey's life.

        Returns
        -------
        Receipt
            READY if the survey can be answered; as in :meth:`status` if it was; else why not.
        """
        return self._guarded(self._grant)

    def withdraw(self) -> Receipt:
        """Note that the person no longer agrees; a report that waits is deleted, and never made again.

        That of another round of the survey, too.
        """

        def withdraw() -> Receipt:
            self._journal.withdraw(self.identity)
            return self._status()

        return self._guarded(withdraw)

    def status(self) -> Receipt:
        """Tell how the survey stands on this device; asks nobody."""
        return self._guarded(self._status)

    @redact_traceback
    def preview(self, row: Mapping[str, object], label: object) -> Preview:
        """Show what `report` would do with a row, by the same steps; nothing is sent, spent or kept.

        Every call draws anew, as `report` will: its bytes are an example of what will be sent.

        Parameters
        ----------
        row : Mapping[str, object]
            Every feature by name; None for a missing value.
        label : object

        Returns
        -------
        Preview
            Which question was drawn, the true answer to it, what could be sent for it and with what
            probability, the bytes; `str` tells it in words. For the person's eyes only.

        Raises
        ------
        LdpError
            If the row or the token does not fit, or the plan is out of reach.
        """
        from encoders.explain.preview import preview

        return preview(self.plan, row, label, SystemEntropy(), token=self._token)

    # -- one report's way ------------------------------------------------------------------

    @redact_traceback
    def report(self, row: Mapping[str, object], label: object) -> Receipt:
        """Randomise one answer, write it to the journal, and start sending it.

        A second call for the same survey draws nothing and says ``already_reported``: one report per
        person and survey, for good. An unsent report of an earlier run is sent in the background.

        Parameters
        ----------
        row : Mapping[str, object]
            Every feature by name; None for a missing value.
        label : object

        Returns
        -------
        Receipt

        Raises
        ------
        LdpError
            In strict mode only.
        """
        receipt = self._guarded(lambda: self._report(row, label))
        self.hear(receipt)  # before any verdict on it can be heard
        if receipt.state in (State.QUEUED, State.ALREADY_REPORTED):
            self._wake(made=receipt.state is State.QUEUED)
        if receipt.state is State.ALREADY_REPORTED and self._person is None:
            _warn_of_repeats()
        return receipt

    def flush(self, timeout: float = 10.0) -> Receipt:
        """Try now to send what is queued, and wait for the verdict.

        Parameters
        ----------
        timeout : float
            Seconds to wait at most; sending goes on in the background afterwards.

        Returns
        -------
        Receipt
            How the survey stands now: ``queued`` if the report still waits; `reason` and `why` say why.
        """

        def flush() -> Receipt:
            entry = self._standing()
            if entry and entry.state is State.QUEUED and not self._closed:
                self._wake().hurry(entry.identity, timeout)
            receipt = self._status()
            if receipt.state is not State.QUEUED or receipt.reason:
                return receipt
            reason = "client-closed" if self._closed else "no-answer-yet"
            return replace(receipt, reason=reason, why="the report waits here, and is sent in the background")

        return self._guarded(flush)

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Stop; the last client of a journal sends one untried report first, in `timeout` seconds at most.

        What is unsent stays in the journal.
        """
        self._close("this client was closed", timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- for the sender --------------------------------------------------------------------

    def accepts(self, entry: JournalEntry) -> bool:
        """Tell whether a report that waits may be sent: an application may have become stricter."""
        try:
            self._terms.check_waiting(entry)
        except (PlanError, BudgetError):
            return False
        return True

    def hear(self, receipt: Receipt) -> None:
        """Count an outcome, and tell the application; `clipped` is for the caller of `report` alone."""
        self.outcomes[receipt.state] += 1
        if self._on_outcome:
            try:
                self._on_outcome(replace(receipt, clipped=()))
            except Exception as error:  # only its kind: its text, or what it came from, may quote the row
                log.error("on_outcome failed: %s", type(error).__name__)

    # -- inside ----------------------------------------------------------------------------

    def _close(self, why: str, timeout: float = EXIT_SECONDS) -> None:
        """Close the client; `why` is the message of each later :class:`ClosedError`."""
        if not self._closed:
            self._closed = why
            if self._sender:
                self._sender.leave(self, timeout)

    def _guarded(self, act: Callable[[], Receipt]) -> Receipt:
        """Turn whatever goes wrong into a receipt: a survey never brings down the application."""
        try:
            return act()
        except Exception as error:
            if self._strict:
                raise
            return Receipt.from_error(error, self.survey)

    def _given_or_kept(self, entry: JournalEntry | None) -> Plan | None:
        """Return the plan as far as that needs no network."""
        if isinstance(self._source, Plan):
            return self._source
        if not is_url(self._source):
            return load_plan(self._source, public_key=self._terms.signer or None)
        if entry and entry.plan and self._terms.signer in ("", entry.signer):
            return Plan.from_json(entry.plan)
        return None

    def _checked(self, plan: Plan, entry: JournalEntry | None) -> Plan:
        if plan.id != self.survey:
            raise SurveyError("the URL names another survey than the plan", "id")
        require_pinned(entry, plan)
        self._terms.check(plan)
        return plan

    def _grant(self) -> Receipt:
        self._require_open()
        require_no_opt_out()
        entry = self._journal.find(self.identity)
        if not (entry and entry.answered):
            read_invitation(self.plan, self._token)  # nobody agrees in vain
            self._journal.grant(self.plan, self._url, self._terms.signer, self._terms.max_total)
        return self._status()

    def _report(self, row: Mapping[str, object], label: object) -> Receipt:
        self._require_open()
        require_no_opt_out()
        entry = self._standing()
        if entry and entry.answered:
            return self._status(entry)
        plan = self._agreed_plan(entry)
        read_invitation(plan, self._token)
        row = _read_once(plan, row)
        coded, clipped = plan.encode(row, label), plan.clipped(row)  # here, so that below are only integers
        entry, created = self._journal.commit(
            self.identity,
            plan,
            lambda: randomise_coded(plan, coded, SystemEntropy(), token=self._token).report,
            self._terms.max_total,
        )
        if not created:  # another thread or process was faster
            return self._status(entry)
        return Receipt(State.QUEUED, plan.id, epsilon=float(plan.epsilon), clipped=clipped)

    def _agreed_plan(self, entry: JournalEntry | None) -> Plan:
        if entry is None or entry.state is State.NO_CONSENT:
            raise ConsentError("the person has not agreed to this survey: grant() notes that she does")
        if entry.url != self._url:
            raise ConsentError(f"the person has agreed to send to {entry.url}, not to another collector")
        plan = self._plan or self._given_or_kept(entry)
        if plan is None:
            raise ConsentError("the person has agreed to a plan without the signature that is asked for now")
        self._plan = self._checked(plan, entry)
        return self._plan

    def _standing(self) -> JournalEntry | None:
        """Return the survey's line, or that of another round of it which this device answered."""
        entry = self._journal.find(self.identity)
        if entry is None or entry.answered:
            return entry
        return self._journal.answer_of(self.identity, entry.family) or entry

    def _status(self, asked: JournalEntry | None = None) -> Receipt:
        """Tell how the survey stands; `asked` is what a further report would have answered."""
        entry = asked or self._standing()
        if entry is None or not entry.answered:
            require_no_opt_out()
        if entry is None or entry.state is State.NO_CONSENT:
            return Receipt(State.NO_CONSENT, self.survey, reason="no-consent")
        if entry.state is State.QUEUED and entry.survey == self.survey:
            self._terms.check_waiting(entry)
        if entry.state is not State.WITHDRAWN and (asked or entry.survey != self.survey):
            why = "this device has answered the survey before, or another round of it"
            return Receipt(State.ALREADY_REPORTED, entry.survey, reason=entry.reason, why=why)
        reason = why = ""
        if entry.state is State.QUEUED and self._sender:
            reason, why = self._sender.explain(entry.identity)
        if not reason:
            reason, why = entry.reason, _WHY_CLOSED_ONCE if entry.reason == CLOSED_ONCE else ""
        return Receipt(entry.state, entry.survey, reason=reason, why=why)

    def _wake(self, made: bool = False) -> Sender:
        """Let the sender look into the journal; `made` if there is a report that this client just made."""
        self._sender = self._sender or find_sender(self._journal)
        self._sender.wake(self, made)
        return self._sender

    def _require_open(self) -> None:
        if self._closed:
            raise ClosedError(self._closed)


def _warn_of_repeats() -> None:
    """Log once per process that several people may share one journal."""
    if next(_repeats) == REPEATS_TO_WARN:
        log.warning(
            "%d reports of this process were already_reported: if several people answer here, they share one "
            "journal and only the first answer counts, so make one client per person with person=ID",
            REPEATS_TO_WARN,
        )


def _read_once(plan: Plan, row: Any) -> Any:
    """Take what the survey asks out of a row, once, whatever kind of mapping that is."""
    if not isinstance(row, Mapping):
        return row  # `encode` says that it is none
    return {entry.name: row[entry.name] for entry in plan.entries if entry.name in row}

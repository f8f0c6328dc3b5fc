"""The client an application embeds: one answer, randomised here, journalled, delivered once."""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from encoders.errors import SurveyError
from encoders.randomness import SystemEntropy
from encoders.survey.plan import Plan
from encoders.survey.signature import read_public_key
from ldp_client.consent import require_no_objection
from ldp_client.errors import BudgetError, ClosedError, ConsentError, PlanError, TransportError
from ldp_client.journal import Entry, Journal, require_pinned
from ldp_client.plans import is_url, load_plan
from ldp_client.randomise import make_report
from ldp_client.receipt import Receipt, State, receipt_of
from ldp_client.sender import EXIT_SECONDS, Sender, sender_of
from ldp_client.transport import HttpTransport, Transport, check_url

if TYPE_CHECKING:
    from encoders.survey.preview import Preview

MAX_EPSILON = 2.0
SPREAD_SECONDS = 2.0

log = logging.getLogger("ldp_client")


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
        Accept only what its author signed with this key; a `Plan` object is taken as it is.
    journal : path or Journal, optional
        See :class:`~ldp_client.journal.Journal`; all clients of a device share one.
    transport : Transport, optional
        HTTP by default; tests inject their own.
    max_epsilon : float
        A plan above this is refused before anything is drawn.
    max_total_epsilon : float, optional
        What all surveys of the journal may spend together; no limit by default.
    on_outcome : callable, optional
        Called with every receipt: those that `report` returns, and, on another thread, every verdict.
    spread : float
        A report is first sent at a random time within so many seconds.
    strict : bool
        Raise errors instead of returning them as receipts.

    Attributes
    ----------
    survey : str
        The survey's id.
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
        journal: str | os.PathLike[str] | Journal | None = None,
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
        self._source = survey
        self._plan: Plan | None = None
        self._url = check_url(where)
        self.survey = self._url.rpartition("/")[2]
        self._digest = None if digest is None else _checked(digest)
        self._signer = "" if public_key is None or isinstance(survey, Plan) else public_key.strip()
        if public_key is not None:
            read_public_key(public_key)
        self._journal = journal if isinstance(journal, Journal) else Journal(journal)
        self.transport = transport or HttpTransport()
        self._max_epsilon = _bound(max_epsilon, "max_epsilon")
        self._max_total = (
            None if max_total_epsilon is None else _bound(max_total_epsilon, "max_total_epsilon")
        )
        self._on_outcome = on_outcome
        self.outcomes: Counter[State] = Counter()
        self.spread = max(0.0, spread)
        self._strict = strict
        self._closed = False
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
            entry = self._journal.find(self.survey)
            plan = self._load(entry)
            if plan.id != self.survey:
                raise SurveyError("the URL names another survey than the plan", "id")
            if self._digest not in (None, plan.digest):
                raise PlanError(
                    f"the plan has digest {plan.digest}, and the application takes {self._digest}"
                )
            require_pinned(entry, plan)
            self._plan = plan
        return self._plan

    def grant(self) -> Receipt:
        """Note that the person agrees to answer this survey by this very plan.

        Call it when she has agreed, not before; again at each start if you like, it changes nothing then.
        May fetch the plan, once in the survey's life.

        Returns
        -------
        Receipt
            READY if the survey can be answered; as in :meth:`status` if it was; else why not.
        """
        return self._guarded(self._grant)

    def withdraw(self) -> Receipt:
        """Note that the person no longer agrees; a report that waits is deleted, and never made again."""

        def withdraw() -> Receipt:
            self._journal.withdraw(self.survey)
            return self._status()

        return self._guarded(withdraw)

    def status(self) -> Receipt:
        """Tell how the survey stands on this device; asks nobody."""
        return self._guarded(self._status)

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
            If the row does not fit, or the plan is out of reach.
        """
        from encoders.survey.preview import preview

        return preview(self.plan, row, label, SystemEntropy())

    # -- one report's way ------------------------------------------------------------------

    def report(self, row: Mapping[str, object], label: object) -> Receipt:
        """Randomise one answer, write it to the journal, and start sending it.

        A second call for the same survey draws nothing and says ``already_reported``: one report per
        person and survey, for good. An unsent report of an earlier run is sent now.

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
            self._send()
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
            How the survey stands now: ``queued`` if no collector has answered yet.
        """

        def flush() -> Receipt:
            entry = self._journal.find(self.survey)
            if entry and entry.state is State.QUEUED and not self._closed:
                self._send().hurry(entry.survey, timeout)
            return self._status()

        return self._guarded(flush)

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Stop: what is due is tried for `timeout` seconds; what is unsent stays in the journal."""
        if not self._closed:
            self._closed = True
            if self._sender:
                self._sender.leave(self, timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- inside ----------------------------------------------------------------------------

    def hear(self, receipt: Receipt) -> None:
        """Count an outcome, and tell the application."""
        self.outcomes[receipt.state] += 1
        if self._on_outcome:
            try:
                self._on_outcome(receipt)
            except Exception:
                log.exception("on_outcome failed")

    def _guarded(self, act: Callable[[], Receipt]) -> Receipt:
        """Turn whatever goes wrong into a receipt: a survey never brings down the application."""
        try:
            return act()
        except Exception as error:
            if self._strict:
                raise
            return receipt_of(error, self.survey)

    def _load(self, entry: Entry | None) -> Plan:
        if isinstance(self._source, Plan):
            return self._source
        if not is_url(self._source):
            return load_plan(self._source, public_key=self._signer or None)
        if entry and entry.plan and self._signer in ("", entry.signer):
            return Plan.from_json(entry.plan)
        require_no_objection()
        return load_plan(self._source, self.transport, self._signer or None)

    def _grant(self) -> Receipt:
        self._require_open()
        require_no_objection()
        entry = self._journal.find(self.survey)
        if not (entry and entry.answered):
            self._require_within_cap(self.plan)
            now = (State.READY, self._url, self._signer)
            if entry is None or (entry.state, entry.url, entry.signer) != now:
                self._journal.grant(self.plan, self._url, self._signer)
        return self._status()

    def _report(self, row: Mapping[str, object], label: object) -> Receipt:
        self._require_open()
        require_no_objection()
        entry = self._journal.find(self.survey)
        if entry is None or entry.state is State.NO_CONSENT:
            raise ConsentError("the person has not agreed to this survey: grant() notes that she does")
        if entry.answered:
            return self._already(entry)
        plan = self.plan
        self._require_within_cap(plan)
        clipped = plan.clipped(row)
        entry, created = self._journal.commit(
            plan, self._url, lambda: make_report(plan, row, label), self._max_total
        )
        if not created:  # another thread or process was faster, or another round of the survey
            return self._already(entry)
        return Receipt(State.QUEUED, plan.id, epsilon=float(plan.epsilon), clipped=clipped)

    def _already(self, entry: Entry) -> Receipt:
        if entry.state is State.WITHDRAWN:
            return Receipt(entry.state, entry.survey)
        why = "this device has answered the survey before, or another round of it"
        return Receipt(State.ALREADY_REPORTED, entry.survey, reason=entry.reason, why=why)

    def _status(self) -> Receipt:
        entry = self._journal.find(self.survey)
        if entry is None:
            return Receipt(State.NO_CONSENT, self.survey)
        if not entry.answered and (other := self._journal.answer_of(entry.family)):
            return self._already(other)
        return Receipt(entry.state, entry.survey, reason=entry.reason)

    def _send(self) -> Sender:
        self._sender = self._sender or sender_of(self._journal)
        self._sender.wake(self)
        return self._sender

    def _require_open(self) -> None:
        if self._closed:
            raise ClosedError("this client was closed")

    def _require_within_cap(self, plan: Plan) -> None:
        if Fraction(plan.epsilon) > self._max_epsilon:
            raise BudgetError(
                f"the plan's epsilon is {plan.epsilon}, and this client grants {float(self._max_epsilon):g}"
            )


def _checked(digest: str) -> str:
    if not re.fullmatch("[0-9a-fA-F]{64}", digest):
        raise PlanError("digest must be the plan's published digest, 64 hexadecimal digits", "bad-digest")
    return digest.lower()


def _bound(epsilon: float, name: str) -> Fraction:
    try:
        bound = Fraction(str(epsilon))
    except (ValueError, ZeroDivisionError):
        bound = Fraction(0)
    if bound <= 0:
        raise BudgetError(f"{name} must be a number above 0")
    return bound

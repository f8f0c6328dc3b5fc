"""The client that an application embeds: it randomises one answer, writes it to a journal, sends it once."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NoReturn

from encoders.survey.plan import Plan
from encoders.survey.plan_files import PEOPLE_PLANS
from ldp_client.debug_log import log
from ldp_client.errors import ClosedError
from ldp_client.journal.journal import Journal
from ldp_client.options import SPREAD_SECONDS, check_options, parse_seconds
from ldp_client.participation import Participation
from ldp_client.plan_source import find_survey_url
from ldp_client.policy import MAX_EPSILON, MAX_LOCAL_EPSILON, ClientPolicy, parse_lifetime
from ldp_client.receipt import Receipt, State, return_errors, warn_of_repeats
from ldp_client.rehearsal import RehearsalParticipation, choose_rehearsal, rehearse
from ldp_client.relay import SPREAD_SECONDS as RELAY_SPREAD_SECONDS
from ldp_client.sending.process_exit import get_sender
from ldp_client.sending.sender import EXIT_SECONDS, Sender
from ldp_client.stored_consent import check_person
from ldp_client.survey_display import SurveyDisplay
from ldp_client.survey_identity import SurveyIdentity, origin_of_url
from ldp_client.traceback_redaction import redact_traceback
from ldp_client.transport import HttpTransport, Transport

_clients: weakref.WeakSet[Client] = weakref.WeakSet()
"""The clients of this process, for `ldp_client.testing`."""


class Client(SurveyDisplay):
    """Answers one survey for the person at this device.

    Nothing is drawn or sent before :meth:`grant` has recorded that the person agrees. From then on the
    survey's plan is pinned on this device, and :meth:`report` needs no network. It returns at once, and the
    report is sent in the background, if necessary after the next start of the application.

    Parameters
    ----------
    survey : str, path or Plan
        The survey's URL at a collector or, with `relay`, at that relay; or its plan (or a file of it)
        together with `url`.
    url : str, optional
        The URL to which reports are sent, if `survey` is not a URL.
    digest : str, optional
        The only plan to accept, by its published digest (64 hexadecimal digits).
    public_key : str, optional
        Accept only a plan that its author signed with this key; not together with a `Plan` object.
    token : str, optional
        The invitation, if the survey needs one (`ldp-collector tokens`), or the code of its relay.
    journal : path or Journal, optional
        See :class:`~ldp_client.journal.Journal`; all clients of one person share one journal.
    person : str, optional
        The person who answers, if several people use one device or process; not together with `journal`.
        Each person has their own journal, and so their own consent, answers and budget. Use an id that
        stays the same: 1 to 64 ASCII letters, digits, "-" and "_".
    transport : Transport, optional
        HTTP by default; tests inject their own.
    max_epsilon : float
        A plan with a greater epsilon is refused before anything is drawn. With a relay, this is the epsilon
        that the plan promises.
    max_total_epsilon : float, optional
        The epsilon that all surveys of the journal may spend in total; no limit by default.
    relay : str, optional
        The address of a relay, for example "https://relay.example". Reports are then sealed and sent only
        through it, and the plan must name it. Give `digest` or `public_key` too, or the plan: a server that
        can replace the plan could otherwise read the reports. Needs the extra [device-relay].
    max_local_epsilon : float
        With a relay, a plan with a greater epsilon is refused. It holds even if relay and collector collude.
    on_outcome : callable, optional
        Called with the receipt of `report` and, on another thread, of the outcome that the journal records.
    spread : float, optional
        A report is first sent at a random time within this number of seconds: 2 by default, and 3600 with a
        relay. A report of an earlier run waits for a random time with at least this mean.
    strict : bool
        Raise errors instead of returning them as receipts.
    rehearsal : bool
        Take all steps up to the bytes of a report, but send and keep nothing. The environment variable
        ``LDP_REHEARSAL`` has the same effect on new clients; earlier clients draw and send nothing.

    Attributes
    ----------
    survey : str
        The survey's id.
    rehearsal : bool
        Whether the client rehearses. Each of its receipts and previews shows this.
    identity : SurveyIdentity
        Identifies this survey in the journal: its id, and its origin or its author's key.
    outcomes : Counter of State
        How often each outcome occurred; the same outcomes are passed to `on_outcome`.
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
        relay: str | None = None,
        max_local_epsilon: float = MAX_LOCAL_EPSILON,
        on_outcome: Callable[[Receipt], object] | None = None,
        spread: float | None = None,
        strict: bool = False,
        rehearsal: bool = False,
    ) -> None:
        self._source = survey
        self._token = token
        self._url, self.survey = find_survey_url(survey, url, public_key)
        self.policy = ClientPolicy.from_options(
            max_epsilon, max_total_epsilon, digest, public_key, relay, max_local_epsilon
        )
        self.identity = SurveyIdentity(self.survey, origin_of_url(self._url), self.policy.public_key)
        check_person(person, journal)
        check_options(on_outcome=on_outcome, transport=transport, token=token)
        self._person = person
        self._own_journal = journal if journal is None or isinstance(journal, Journal) else Journal(journal)
        self._own_transport = transport
        self._on_outcome = on_outcome or (lambda _receipt: None)
        default = SPREAD_SECONDS if relay is None else RELAY_SPREAD_SECONDS
        self.spread = parse_seconds(default if spread is None else spread, "spread")
        self._strict = strict
        self._closed_reason = ""
        self.rehearsal = choose_rehearsal(rehearsal)
        self._reset()
        with suppress(Exception):  # else the next call starts it
            if self._journal.exists():  # an earlier run may have left something to send
                self._start_sender()
        _clients.add(self)

    def _reset(self) -> None:
        """Choose the default journal and transport again, and forget all results of the former ones."""
        self._journal = self._own_journal or Journal(person=self._person)
        self.transport = self._own_transport or HttpTransport()
        self.outcomes: Counter[State] = Counter()
        self._sender: Sender | None = None
        if self.rehearsal:
            self._journal, self.transport, self._sender = rehearse(self._journal, self.transport)
        participation_type = RehearsalParticipation if self.rehearsal else Participation
        self._participation = participation_type(
            reader=PEOPLE_PLANS,
            identity=self.identity,
            url=self._url,
            source=self._source,
            token=self._token,
            policy=self.policy,
            journal=self._journal,
            transport=self.transport,
        )

    @return_errors
    def grant(self, *, series: bool = False, lifetime_epsilon: float | None = None) -> Receipt:
        """Record that the person agrees to answer this survey with its present plan.

        Call it only when the person agrees: a call at every start would undo a withdrawal.
        Fetches the plan if this device does not have it.

        Parameters
        ----------
        series : bool
            Whether the person agrees to later plans of the series too, see :meth:`renew`. Needs `public_key`.
        lifetime_epsilon : float, optional
            With `series`: what all its plans may spend.

        Returns
        -------
        Receipt
            READY, or as in :meth:`status` if the survey is answered already, or why it cannot be answered.
        """
        self._require_open()
        self._participation.grant(parse_lifetime(series, lifetime_epsilon))
        return self.status()

    @return_errors
    def renew(self) -> Receipt:
        """Agree to a new plan by the consent to its series; unlike :meth:`grant`, call it at every start.

        Returns a receipt as :meth:`grant` does. Its reason is ``asks-again`` if the person was not shown all
        that the plan asks, sends or spends; `why` says what.
        """
        self._require_open()
        self._participation.grant(renews=True)
        return self.status()

    @return_errors
    def withdraw(self) -> Receipt:
        """Record that the person no longer agrees; delete a queued report of any round of the survey.

        Only the plan names the family of rounds: read `plan` first if the person never agreed to this round.
        With a relay, ask it to delete the report. The receipt has the reason ``passed-on`` if the report has
        left, and ``relay-unreachable`` if the relay did not confirm: call this method again.
        """
        return self._participation.withdraw()

    @return_errors
    def status(self) -> Receipt:
        """Return the status of the survey on this device; needs no network."""
        return self._status()

    def _status(self, otherwise: tuple[str, str] = ("", ""), is_repeat: bool = False) -> Receipt:
        """Return the status, or that of a repeated answer; `otherwise` is why a report waits untried."""
        entry = self._participation.find_entry()
        receipt = self._participation.status(entry, is_repeat)
        if entry and entry.series:
            receipt = replace(receipt, series=self._participation.describe_series(entry.series))
        if entry is None or entry.state is not State.QUEUED:
            return receipt
        sender = self._sender or get_sender(self._journal)
        causes = sender.explain_wait(entry.identity), (receipt.reason, receipt.why), otherwise
        reason, why = next((cause for cause in causes if cause[0]), causes[1])
        return replace(receipt, reason=reason, why=why)

    def _follow_report(self, receipt: Receipt) -> None:
        """Pass the receipt of `report` on, and start sending; whatever fails here, the report is stored."""
        try:
            self.handle_outcome(receipt)  # before the sender can pass on the collector's response
        finally:
            if receipt.state in (State.QUEUED, State.ALREADY_REPORTED):
                self._start_sender(has_new_report=receipt.state is State.QUEUED)
        if receipt.state is State.ALREADY_REPORTED and self._person is None:
            warn_of_repeats()

    @partial(return_errors, then=_follow_report)
    @redact_traceback
    def report(self, row: Mapping[str, object], label: object = None) -> Receipt:
        """Randomise one answer, write it to the journal, and start sending it.

        A second call for the same survey draws nothing and returns ``already_reported``: a person sends one
        report per survey. An unsent report of an earlier run is sent in the background.

        Parameters
        ----------
        row : Mapping[str, object]
            Every feature by name; None for a missing value, and a list of the ticked choices for a feature
            with several answers.
        label : object
            None for a survey without a label.

        Raises
        ------
        LdpError
            In strict mode only; otherwise the receipt gives the error.
        """
        return self._report(row, label)

    def _report(self, row: Mapping[str, object], label: object = None) -> Receipt:
        self._require_open()
        receipt = self._participation.report(row, label)
        return self._status(is_repeat=True) if receipt.state is State.ALREADY_REPORTED else receipt

    @return_errors
    def flush(self, timeout: float = 10.0) -> Receipt:
        """Try to send the queued report now, and wait for the collector's response.

        Parameters
        ----------
        timeout : float
            Largest number of seconds to wait; sending continues in the background afterwards.

        Returns
        -------
        Receipt
            The survey's status: ``queued`` if the report still waits; `reason` and `why` give the cause.
        """
        entry = self._participation.find_entry()
        if entry and entry.state is State.QUEUED and not self._closed_reason:
            self._start_sender().flush(entry.identity, timeout)
        reason = "client-closed" if self._closed_reason else "no-answer-yet"
        return self._status((reason, "the report waits here, and is sent in the background"))

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Close the client; a journal's last client first tries for `timeout` seconds to send one report."""
        with suppress(*() if self._strict else (Exception,)):
            self._close("this client was closed: make another", timeout)

    def __getstate__(self) -> NoReturn:
        raise TypeError(
            "a client cannot be pickled or copied: pass the survey's URL or `client.plan`, and the options, "
            "and make a Client in the other process"
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def handle_outcome(self, receipt: Receipt) -> None:
        """Count the outcome of a report, and call `on_outcome`; `clipped` is for the caller of `report`."""
        self.outcomes[receipt.state] += 1
        try:
            self._on_outcome(replace(receipt, clipped=()))
        except Exception as error:  # only its type: its text, or its cause, may quote the row
            log.error("on_outcome failed: %s", type(error).__name__)

    def _start_sender(self, has_new_report: bool = False) -> Sender:
        """Make the sender read the journal; `has_new_report` if this client has just made a report."""
        self._sender = self._sender or get_sender(self._journal)
        self._sender.send_queued(self, has_new_report)
        return self._sender

    def _close(self, reason: str, timeout: float = EXIT_SECONDS) -> None:
        """Close the client; `reason` is the message of each later :class:`ClosedError`."""
        if not self._closed_reason:
            self._closed_reason = reason
            if self._sender:
                self._sender.remove_client(self, timeout)

    def _require_open(self) -> None:
        if self._closed_reason:
            raise ClosedError(self._closed_reason)

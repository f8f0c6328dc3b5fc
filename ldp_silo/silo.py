"""The client of a silo: counts the rows that an organisation holds, and sends one noisy message per epoch."""

from __future__ import annotations

import os
from collections.abc import Callable

from encoders.randomness import SystemEntropy
from encoders.survey.any_survey import SILO_PLANS
from encoders.survey.invitation import read_invitation
from encoders.survey.silo_plan import SiloPlan
from ldp_client.opt_out import REHEARSAL_VARIABLE, is_variable_set
from ldp_client.options import check_options
from ldp_client.plan_source import find_survey_url
from ldp_client.policy import MAX_EPSILON, ClientPolicy
from ldp_client.receipt import Receipt, State, return_errors
from ldp_client.survey_identity import SurveyIdentity, origin_of_url
from ldp_client.traceback_redaction import redact_traceback
from ldp_client.transport import HttpTransport, Transport
from ldp_silo.count_rows import NO_CODES, MissingCodes
from ldp_silo.epoch_reports import EpochReports, SiloSurveyBinding
from ldp_silo.message_preview import SiloPreview, make_message
from ldp_silo.silo_journal import SiloJournal
from ldp_silo.silo_ledger import Epoch

SEND_SECONDS = 60.0
"""The default of `timeout`: how long a call waits for the collector's response."""


class Silo:
    """Reports the rows of one organisation to one silo survey.

    Nothing is drawn or sent before :meth:`grant` has recorded that the organisation agrees. From then on the
    survey's plan is pinned in the journal. :meth:`report` counts rows, records the noisy message and its
    epsilon in the journal, and only then sends it. The bytes stay the same on every attempt: noise is drawn
    once for an epoch.

    One message is epsilon-differentially private for the rows of each person, against everybody. A row may be
    in one epoch only, so all epochs of a person spend epsilon once.

    Parameters
    ----------
    survey : str, path or SiloPlan
        The survey's URL at a collector, or its plan (or a file of it) together with `url`.
    url : str, optional
        The URL to which messages are sent, if `survey` is not a URL.
    journal : path or SiloJournal
        The file with the silo's ledger. Keep it with the rows, and as secret as they are. Without it, or
        with a copy from before the last report, rows could be counted twice, with fresh noise.
    token : str, optional
        The invitation to one message, if the survey needs one. A later epoch needs a token of its own.
    public_key : str, optional
        Accept only a plan that its author signed with this key.
    digest : str, optional
        The only plan to accept, by its published digest.
    max_epsilon : float
        A plan with a greater epsilon is refused before anything is drawn.
    max_total_epsilon : float, optional
        The epsilon of one person that all surveys of the journal may spend; no limit by default.
    transport : Transport, optional
        HTTP by default.
    show : callable, optional
        Called with a line of text when a step takes time; no line contains a value or a count.
    missing_codes : mapping, optional
        Codes for missing answers in the rows, by feature, such as ``{"age": [-99, 999]}``. In a feature
        without ``missing = "category"`` a code leaves out its row.
    show_rows : callable, optional
        Called with sentences on how many numbers were clipped, and how many rows left out. They contain
        values and exact counts: show them only to those who may see the rows, and never log them.
    strict : bool
        Raise errors instead of returning them as receipts.

    Attributes
    ----------
    survey : str
        The survey's id.
    identity : SurveyIdentity
    journal : SiloJournal

    Examples
    --------
    >>> silo = Silo("https://collector.example/v1/surveys/wards-2026", journal="ward-7.journal")
    >>> silo.grant()  # once the organisation has agreed
    Receipt(state=<State.READY: 'ready'>, survey='wards-2026')
    >>> silo.report("ward-7.csv")
    Receipt(state=<State.SENT: 'sent'>, survey='wards-2026', epsilon=1.0)
    >>> [epoch.rows for epoch in silo.epochs()]
    [2]
    """

    def __init__(
        self,
        survey: str | os.PathLike[str] | SiloPlan,
        url: str | None = None,
        *,
        journal: str | os.PathLike[str] | SiloJournal,
        token: str | None = None,
        public_key: str | None = None,
        digest: str | None = None,
        max_epsilon: float = MAX_EPSILON,
        max_total_epsilon: float | None = None,
        transport: Transport | None = None,
        show: Callable[[str], object] = lambda _line: None,
        missing_codes: MissingCodes = NO_CODES,
        show_rows: Callable[[str], object] = lambda _line: None,
        strict: bool = False,
    ) -> None:
        check_options(on_outcome=None, transport=transport, token=token)
        self._url, self.survey = find_survey_url(survey, url, public_key)
        self._policy = ClientPolicy.from_options(max_epsilon, max_total_epsilon, digest, public_key)
        self.identity = SurveyIdentity(self.survey, origin_of_url(self._url), self._policy.public_key)
        self.journal = journal if isinstance(journal, SiloJournal) else SiloJournal(journal)
        self._token = token
        self._strict = strict
        self._binding = SiloSurveyBinding(
            reader=SILO_PLANS,
            identity=self.identity,
            url=self._url,
            source=survey,
            token=token,
            policy=self._policy,
            journal=self.journal,
            transport=transport or HttpTransport(),
        )
        self._reports = EpochReports(self._binding, show, show_rows, missing_codes)

    @property
    def rehearsal(self) -> bool:
        """Whether ``LDP_REHEARSAL`` is set: rows are checked, and nothing is drawn, kept or sent."""
        return is_variable_set(REHEARSAL_VARIABLE)

    @property
    def plan(self) -> SiloPlan:
        """The survey's plan: given, pinned in the journal, or fetched; checked on first use.

        Raises
        ------
        LdpError
            The error that a strict client's :meth:`grant` raises.
        """
        return self._binding.plan

    @return_errors
    def grant(self) -> Receipt:
        """Record that the organisation agrees to answer this survey with its present plan.

        Returns
        -------
        Receipt
            READY, or why the survey cannot be answered.
        """
        self._binding.require_permission()
        plan = self.plan
        if self._token is not None:
            read_invitation(plan, self._token)
        if not self.rehearsal:
            self.journal.grant(plan, self._url, self._policy.public_key)
        return Receipt(State.READY, self.survey)

    @return_errors
    def withdraw(self) -> Receipt:
        """Record that the organisation no longer agrees, and delete the messages that wait.

        Their rows stay in the ledger, because an attempt may have delivered a message. What the collector
        has counted cannot be taken back.
        """
        self.journal.withdraw(self.identity)
        return self._reports.describe_consent()

    @return_errors
    def status(self, epoch: str | None = None) -> Receipt:
        """Return the status of an epoch, by default the latest one; needs no network.

        Before the first epoch, and for an epoch that is not reported, it is the status of the consent.
        """
        epochs = [each for each in self.epochs() if epoch in (None, each.name)]
        return self._reports.describe(epochs[-1]) if epochs else self._reports.describe_consent()

    def epochs(self) -> list[Epoch]:
        """Return the epochs of this survey in the ledger, in the order of their messages."""
        return self.journal.find_epochs(self.identity)

    @return_errors
    @redact_traceback
    def report(
        self,
        rows: str | os.PathLike[str],
        *,
        epoch: str = "1",
        person: str | None = None,
        new_rows: bool = False,
        multiline: bool = False,
        timeout: float = SEND_SECONDS,
    ) -> Receipt:
        """Count the rows of a CSV file, record their noisy message, and send it.

        A second call for an epoch draws nothing. With the same file it sends the recorded message, if that
        still waits, or if another silo has used its token (`id-reused`) and this silo has an unused one. With
        another file it is refused.

        Parameters
        ----------
        rows : path
            A CSV file with a header: a column for the label, if any, and for each feature. A cell with
            several answers is "a; b". Other columns are not read.
        epoch : str
            The name of these rows in the ledger: 1 to 64 ASCII letters, digits, ".", "-" and "_". Rows that
            come later are reported in an epoch of their own.
        person : str, optional
            The column that names the person of each row. Keyed hashes of the names stay in the ledger, which
            refuses persons with more rows over all epochs than the survey's `rows_per_person`. Required if
            that is more than 1.
        new_rows : bool
            States that no person in this file has rows in an earlier epoch. A later epoch without `person`
            needs it.
        multiline : bool
            Whether quoted cells may contain line breaks. Without it such a cell is refused, because an
            unescaped quote would join several rows into one.
        timeout : float
            Seconds to wait for the collector's response. A message that then still waits is sent by the next
            call.

        Returns
        -------
        Receipt
            ``sent`` once the collector has counted the message; ``queued`` while it waits;
            ``already_reported`` if the epoch was counted before.
        """
        return self._reports.report(rows, epoch, person, new_rows, multiline, timeout)

    @return_errors
    def flush(self, timeout: float = SEND_SECONDS) -> Receipt:
        """Send the messages that wait, each for at most `timeout` seconds.

        Returns
        -------
        Receipt
            Of the first message that still waits, otherwise of the latest epoch.
        """
        return self._reports.flush(self.epochs(), timeout) or self.status()

    @redact_traceback
    def preview(
        self, rows: str | os.PathLike[str], *, person: str | None = None, multiline: bool = False
    ) -> SiloPreview:
        """Return the exact and example counts of a file; nothing is sent, spent or recorded.

        The file is not compared with earlier epochs: a rehearsal of :meth:`report` does that.

        Returns
        -------
        SiloPreview
            `str` returns it as text. It contains exact counts: show it only to those who may see the rows.

        Raises
        ------
        LdpError
            If the rows do not fit the survey, or the plan cannot be fetched.
        """
        plan = self.plan
        counted = self._reports.count_alone(plan, rows, person, multiline)
        example = make_message(plan, counted.counts, bytes(16), SystemEntropy())
        return SiloPreview(plan, counted, example, person)

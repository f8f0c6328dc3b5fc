"""The client an application embeds: one answer, randomised here, journalled, delivered once."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal

from encoders.errors import LdpError, SurveyError
from encoders.survey.plan import Plan
from ldp_client.delivery import deliver
from ldp_client.errors import BudgetError, ClosedError, JournalError, TransportError
from ldp_client.journal import Entry, Journal
from ldp_client.plans import is_url, load_plan
from ldp_client.randomise import make_report
from ldp_client.receipt import Receipt, State, receipt_of
from ldp_client.transport import HttpTransport, Transport, check_url

MAX_EPSILON = 2.0
EXIT_SECONDS = 2.0


class Client:
    """Answers one survey for the person at this device.

    Parameters
    ----------
    survey : str, path or Plan
        The survey's URL at a collector, or its plan (or a file of it) together with `url`.
    url : str, optional
        Where reports go, if `survey` is not a URL.
    journal : path or Journal, optional
        See :class:`~ldp_client.journal.Journal`; all clients of a device share one.
    transport : Transport, optional
        HTTP by default; tests inject their own.
    max_epsilon : float
        A plan above this is refused before anything is drawn.
    strict : bool
        Raise errors instead of returning them as receipts.

    Examples
    --------
    >>> client = Client("https://collector.example/v1/surveys/sleep-2026")  # doctest: +SKIP
    >>> client.report({"age": "young", "income": 21_000}, "no").state       # doctest: +SKIP
    <State.QUEUED: 'queued'>
    """

    def __init__(
        self,
        survey: str | os.PathLike[str] | Plan,
        url: str | None = None,
        *,
        journal: str | os.PathLike[str] | Journal | None = None,
        transport: Transport | None = None,
        max_epsilon: float = MAX_EPSILON,
        strict: bool = False,
    ) -> None:
        self._source = survey
        self._plan = survey if isinstance(survey, Plan) else None
        where = url if url is not None else str(survey) if is_url(survey) else None
        if where is None:
            raise TransportError("give the url of the survey at its collector: https://host/v1/surveys/ID")
        self._url = check_url(where)
        self._survey = self._url.rpartition("/")[2]
        self._journal = journal if isinstance(journal, Journal) else Journal(journal)
        self._transport = transport or HttpTransport()
        self._max_epsilon = _cap(max_epsilon)
        self._strict = strict
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        _close_at_exit(self)

    @property
    def plan(self) -> Plan:
        """The survey's plan, fetched and checked on first use."""
        if self._plan is None:
            self._plan = load_plan(self._source, self._transport)  # type: ignore[arg-type]
        if self._plan.id != self._survey:
            raise SurveyError("the URL names another survey than the plan", "id")
        return self._plan

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
        try:
            return self._report(row, label)
        except LdpError as error:
            if self._strict:
                raise
            return receipt_of(error, self._survey)

    def flush(self, timeout: float = 10.0) -> Receipt | None:
        """Try now to send what is queued, and wait for the verdict.

        Parameters
        ----------
        timeout : float
            Seconds to wait at most; sending goes on in the background afterwards.

        Returns
        -------
        Receipt or None
            How this device's report stands: ``queued`` if no collector has answered yet; None if
            there is no report.
        """
        try:
            entry = self._journal.find(self._survey)
            if entry and self._start(entry):
                self._wake.set()
                self._join(timeout)
                entry = self._journal.find(entry.survey)
            return Receipt(entry.state, entry.survey, reason=entry.reason) if entry else None
        except LdpError as error:
            if self._strict:
                raise
            return receipt_of(error, self._survey)

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Stop sending: an attempt under way gets `timeout` seconds; what is unsent stays in the journal."""
        self._closed = True
        self._wake.set()
        self._join(timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- one report's way ------------------------------------------------------------------

    def _report(self, row: Mapping[str, object], label: object) -> Receipt:
        if self._closed:
            raise ClosedError("this client was closed")
        answered = self._journal.find(self._survey)
        if answered:
            return self._already(answered)
        plan = self.plan
        if plan.epsilon > self._max_epsilon:
            raise BudgetError(f"the plan's epsilon is {plan.epsilon}, this client grants {self._max_epsilon}")
        clipped = plan.clipped(row)
        entry, created = self._journal.commit(
            plan.id,
            plan.family,
            plan.digest,
            self._url,
            str(plan.epsilon),
            lambda: make_report(plan, row, label),
        )
        if not created:  # another thread or process was faster
            return self._already(entry)
        self._start(entry)
        return Receipt(State.QUEUED, plan.id, epsilon=float(plan.epsilon), clipped=clipped)

    def _already(self, entry: Entry) -> Receipt:
        """Go on sending what an earlier call queued; draw nothing."""
        self._start(entry)
        why = "this device has answered the survey before, or another round of it"
        return Receipt(State.ALREADY_REPORTED, entry.survey, reason=entry.reason, why=why)

    # -- the thread that sends -------------------------------------------------------------

    def _start(self, entry: Entry) -> bool:
        """Send a queued entry in the background; False if there is nothing that this client may send.

        A report goes only to the collector that it was made for.
        """
        if entry.state is not State.QUEUED or entry.url != self._url or self._closed:
            return False
        with self._starting:
            if self._thread is None or not self._thread.is_alive():  # a forked child finds it dead
                self._thread = threading.Thread(
                    target=self._send, args=(entry,), name="ldp-client", daemon=True
                )
                with suppress(RuntimeError):  # no thread to be had, or at exit: the next run sends
                    self._thread.start()
        return True

    def _join(self, timeout: float) -> None:
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(timeout)

    def _send(self, entry: Entry) -> None:
        """Deliver one entry and note the verdict."""
        assert entry.report is not None
        state, reason = deliver(self._transport, f"{self._url}/reports", entry.report, self._pause)
        if state is not State.QUEUED:
            # not noted after all? then the next run sends the same bytes and hears "duplicate"
            with suppress(JournalError):
                self._journal.settle(entry.survey, state, reason)

    def _pause(self, seconds: float) -> bool:
        """Wait between two attempts, unless woken; False once the client is closed."""
        if not self._closed:
            self._wake.wait(seconds)
            self._wake.clear()
        return not self._closed


def _cap(max_epsilon: float) -> Decimal:
    try:
        cap = Decimal(str(max_epsilon))
    except ArithmeticError:
        cap = Decimal("NaN")
    if cap.is_nan() or cap <= 0:
        raise BudgetError("max_epsilon must be a number above 0")
    return cap


def _close_at_exit(client: Client) -> None:
    """Close the client at exit if it still lives, without keeping it alive."""
    reference = weakref.ref(client)

    def close() -> None:
        living = reference()
        if living is not None:
            living.close()

    atexit.register(close)
    weakref.finalize(client, atexit.unregister, close)

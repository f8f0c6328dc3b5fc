"""For an application's own tests: a collector in memory that records what would be sent.

In its ``conftest.py``: ``pytest_plugins = ["ldp_client.testing"]``. Then::

    def test_the_app_reports_once(ldp_recorder):
        ldp_recorder.serve(plan)
        run_the_application()
        assert len(ldp_recorder.reports) == 1

It does not reach other processes: an application that a test starts as a process would send real reports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event

import pytest

import ldp_client
from encoders.errors import Reason, ReportError
from encoders.randomness import SystemEntropy
from encoders.report import Report
from encoders.survey.invitation import draw_invitation
from encoders.survey.plan import Plan
from encoders.survey.randomise import read_report
from encoders.survey.signature import signature_text
from ldp_client.client import Client, _clients
from ldp_client.errors import JournalError, TransportError
from ldp_client.opt_out import OPT_OUT_VARIABLES, REHEARSAL_VARIABLE
from ldp_client.sending.process_exit import stop_senders
from ldp_client.transport import HttpTransport, Response, Transport

URL = "http://collector.test/v1/surveys/"
BEHAVIOURS = ("normal", "busy", "closed", "rejected", "plan-changed", "slow")
"""What :meth:`Recorder.respond` accepts."""
_TIMEOUT_SECONDS = 5.0


class Recorder:
    """A transport that responds as a collector does, and keeps the reports that it receives.

    Attributes
    ----------
    bodies : list of bytes
        Every body that was posted, including repeated ones.
    offline : bool
        Set it to True to let every request fail, as without a network.
    """

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.offline = False
        self._reports: dict[tuple[bytes, bytes], Report] = {}
        self._served: dict[str, tuple[Plan, bytes | None]] = {}
        self._behaviour = "normal"
        self._retry_after = self._seconds = 0.0
        self._behaviour_ended = Event()

    def respond(self, behaviour: str, *, retry_after: float = 30.0, seconds: float = 3.0) -> None:
        """Choose how the collector responds from now on.

        Parameters
        ----------
        behaviour : str
            "normal" accepts reports, as at first. "busy" responds to reports with 429 and Retry-After.
            "closed" has closed every survey. "rejected" refuses every report for good. "plan-changed" serves
            a changed plan, and refuses reports of the first one. "slow" responds after some seconds.
        retry_after, seconds : float
            Seconds that a busy collector asks for, or that a slow one takes until the next `respond`.

        Raises
        ------
        ValueError
            If there is no such behaviour.
        """
        if behaviour not in BEHAVIOURS:
            raise ValueError(f"there is no behaviour {behaviour!r}: choose one of {', '.join(BEHAVIOURS)}")
        former, self._behaviour_ended = self._behaviour_ended, Event()
        self._behaviour, self._retry_after, self._seconds = behaviour, retry_after, seconds
        former.set()

    @property
    def reports(self) -> list[Report]:
        """Each counted report, once. Reports that still wait are sent first."""
        if not self.offline:
            stop_senders(_TIMEOUT_SECONDS, send_all=True)
        return list(self._reports.values())

    def serve(self, plan: Plan, signature: bytes | None = None) -> str:
        """Serve a survey; return its URL. The host does not matter: only the end of the path is compared."""
        self._served[plan.id] = plan, signature
        return URL + plan.id

    def token(self, survey: str) -> str:
        """Return an invitation to a survey that is served."""
        return draw_invitation(self._served[survey][0], SystemEntropy())

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        """Return a collector's response."""
        if self.offline:
            raise TransportError("no response from the collector: offline")
        survey, _, page = url.partition("/v1/surveys/")[2].partition("/")
        if survey not in self._served:
            if method == "GET":  # not as a collector responds, so that the test shows the mistake
                raise TransportError(self._describe_mistake(survey), Reason.UNKNOWN_SURVEY)
            return _json_response(404, {"reason": Reason.UNKNOWN_SURVEY})
        plan, signature = self._served[survey]
        if self._behaviour == "slow":
            self._wait(timeout)
        if self._behaviour == "closed":
            return _json_response(410, {"reason": Reason.SURVEY_CLOSED})
        if self._behaviour == "plan-changed":
            plan = replace(plan, family="changed" if plan.family != "changed" else "changed-again")
        if method == "POST":
            return self._receive(plan, body or b"")
        if page == "signature":
            signed = signature and Response(200, signature_text(signature).encode())
            return signed or _json_response(404, {"reason": Reason.NO_SIGNATURE})
        if page == "texts":
            texts = plan.texts and Response(200, plan.texts.json)
            return texts or _json_response(404, {"reason": Reason.NO_TEXTS})
        return Response(200, plan.json)

    def _describe_mistake(self, survey: str) -> str:
        if not self._served:
            return "ldp_recorder does not serve a survey: call ldp_recorder.serve(plan) first"
        return f"ldp_recorder serves {', '.join(self._served)}, not {survey}"

    def _wait(self, timeout: float) -> None:
        """Wait as a slow collector makes a client wait; raise TransportError when the client gives up."""
        has_ended = self._behaviour_ended.wait(min(self._seconds, timeout))
        if not has_ended and self._seconds >= timeout:
            raise TransportError("no response from the collector: slow")

    def _receive(self, plan: Plan, body: bytes) -> Response:
        """Return the response to a posted report, and count it if it is valid."""
        self.bodies.append(body)
        if self._behaviour == "busy":
            busy = _json_response(429, {"reason": Reason.TOO_MANY_REQUESTS})
            return replace(busy, retry_after=self._retry_after)
        if self._behaviour == "rejected":
            return _json_response(400, {"reason": Reason.BAD_PAYLOAD})
        try:
            report = read_report(plan, body)
        except ReportError as error:
            return _json_response(_REPORT_STATUS.get(error.reason, 400), {"reason": error.reason})
        counted = self._reports.setdefault((report.plan_digest, report.id), report)
        if counted is report:
            return _json_response(200, {"status": "recorded"})
        return (
            _json_response(200, {"status": "duplicate"})
            if counted == report
            else _json_response(409, {"reason": Reason.ID_REUSED})
        )


_REPORT_STATUS = {Reason.NOT_ENROLLED: 403, Reason.WRONG_PLAN: 409}


def _json_response(status: int, entries: dict[str, str]) -> Response:
    return Response(status, json.dumps(entries).encode())


class UnrecordedRequestError(Exception):
    """A client with a transport of its own tried to use the network in a test with the recorder."""


@pytest.fixture
def ldp_recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """Give each client without a transport a Recorder, and each client without a journal the test's journal.

    Clients that were made before are included, and restored after the test. A client that was given a
    journal or a transport keeps it.

    Raises
    ------
    UnrecordedRequestError
        After the test, if anything called `HttpTransport.request`; nothing was sent.
    """
    with recording(tmp_path, monkeypatch) as recorder:
        yield recorder


@contextmanager
def recording(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """Return a context that does what the fixture :func:`ldp_recorder` does, with the journal in `folder`."""
    recorder, refused, ended = Recorder(), list[str](), Event()  # `patch` is undone some time after the end
    request = HttpTransport.request

    def refuse(self: HttpTransport, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        if ended.is_set():
            return request(self, method, url, body, timeout)
        refused.append(
            f"{method} {url} was not sent: a test with ldp_recorder uses no network. Make the client without "
            "a transport, or give it one of the test's own"
        )
        raise UnrecordedRequestError(refused[-1])

    def transport() -> Transport:
        return HttpTransport() if ended.is_set() else recorder

    with _restore_clients() as clients:
        patch.setenv("LDP_JOURNAL", str(folder / "ldp-journal.db"))
        for name in (*OPT_OUT_VARIABLES, REHEARSAL_VARIABLE):
            patch.delenv(name, raising=False)
        for module in ("client", "plan_source"):
            patch.setattr(f"ldp_client.{module}.HttpTransport", transport)
        patch.setattr(HttpTransport, "request", refuse)
        patch.setattr("ldp_client.receipt._repeat_numbers", count(1))
        patch.setattr(ldp_client, "_client", ldp_client._client)
        for client in clients:
            client._reset()
        try:
            yield recorder
        finally:
            recorder.respond(recorder._behaviour, seconds=0.0)  # ends a slow response
            stop_senders(_TIMEOUT_SECONDS)
            ended.set()
    if refused:
        raise UnrecordedRequestError(refused[0])


@contextmanager
def _restore_clients() -> Iterator[list[Client]]:
    """Yield the clients that use a default; afterwards restore them, and reset those that were added.

    Reports that already wait are held back: they are not the test's.
    """
    before = {each: (dict(vars(each)), each._participation._plan) for each in list(_clients)}
    defaults = _find_clients_with_defaults()
    senders = {client._sender for client in defaults if client._sender}
    for sender in senders:
        sender.pause()
    try:
        yield defaults
    finally:
        for client in defaults:
            _withdraw_reports_of_the_test(client)
        for client, (state, plan) in before.items():
            vars(client).update(state)
            client._participation._plan = plan
        for client in _find_clients_with_defaults():
            if client not in before:
                client._reset()
        for sender in senders:
            sender.resume()


def _withdraw_reports_of_the_test(client: Client) -> None:
    """Withdraw what the test made in a journal that is kept, and that still waits: it would be sent later."""
    sender = client._sender
    if client._own_journal and sender:
        with suppress(JournalError):
            for survey in set(sender._journal.queued_surveys()) - sender._paused:
                if survey.key in sender._new_report_spreads:  # made by this process
                    sender._journal.withdraw(survey)


def _find_clients_with_defaults() -> list[Client]:
    return [each for each in list(_clients) if each._own_journal is None or each._own_transport is None]

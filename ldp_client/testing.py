"""For an application's own tests: a collector in memory that records what would be sent.

In its ``conftest.py``: ``pytest_plugins = ["ldp_client.testing"]``. Then::

    def test_the_app_reports_once(ldp_recorder):
        ldp_recorder.serve(plan)
        run_the_application()
        assert len(ldp_recorder.reports) == 1
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import ldp_client
from encoders.errors import Reason, ReportError
from encoders.randomness import SystemEntropy
from encoders.report import Report
from encoders.survey.answer import read_report
from encoders.survey.enrolment import drawn_token
from encoders.survey.plan import Plan
from encoders.survey.signature import signature_text
from ldp_client.consent import SWITCHES
from ldp_client.errors import TransportError
from ldp_client.sender import finish
from ldp_client.transport import Answer

URL = "http://collector.test/v1/surveys/"
_PATIENCE = 5.0


class Recorder:
    """A transport that answers as a collector does, and keeps what it was sent.

    Attributes
    ----------
    bodies : list of bytes
        Every body that was posted, repeated ones too.
    offline : bool
        Set it to True to let every request fail, as without a network.
    """

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.offline = False
        self._reports: list[Report] = []
        self._served: dict[str, tuple[Plan, bytes | None]] = {}

    @property
    def reports(self) -> list[Report]:
        """Each counted report, once; what is still on its way is waited for."""
        if not self.offline:
            finish(_PATIENCE)
        return list(self._reports)

    def serve(self, plan: Plan, signature: bytes | None = None) -> str:
        """Serve a survey; return its URL. Any host will do: what counts is how the path ends."""
        self._served[plan.id] = plan, signature
        return URL + plan.id

    def token(self, survey: str) -> str:
        """Return an invitation to a survey that is served."""
        plan, _ = self._served[survey]
        return drawn_token(plan, SystemEntropy())

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Answer:
        """Answer one request."""
        if self.offline:
            raise TransportError("no answer from the collector: offline")
        survey, _, page = url.partition("/v1/surveys/")[2].partition("/")
        if survey not in self._served:
            return _answer(404, {"reason": Reason.UNKNOWN_SURVEY})
        plan, signature = self._served[survey]
        if method == "POST":
            return self._take(plan, body or b"")
        if page == "signature":
            signed = signature and Answer(200, signature_text(signature).encode())
            return signed or _answer(404, {"reason": Reason.NO_SIGNATURE})
        return Answer(200, plan.json)

    def _take(self, plan: Plan, body: bytes) -> Answer:
        self.bodies.append(body)
        try:
            report = read_report(plan, body)
        except ReportError as error:
            return _answer(403 if error.reason is Reason.NOT_ENROLLED else 400, {"reason": error.reason})
        counted = {(each.plan_digest, each.id): each for each in self._reports}
        first = counted.get((report.plan_digest, report.id))
        if first is None:
            self._reports.append(report)
            return _answer(200, {"status": "recorded"})
        return (
            _answer(200, {"status": "duplicate"})
            if first == report
            else _answer(409, {"reason": Reason.ID_REUSED})
        )


def _answer(status: int, entries: dict[str, str]) -> Answer:
    return Answer(status, json.dumps(entries).encode())


@pytest.fixture
def ldp_recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """Let clients talk to a Recorder, unless they have a transport; keep the journal in the test's folder."""
    recorder = Recorder()
    monkeypatch.setenv("LDP_JOURNAL", str(tmp_path / "ldp-journal.db"))
    for switch in SWITCHES:
        monkeypatch.delenv(switch, raising=False)
    for module in ("client", "plans"):
        monkeypatch.setattr(f"ldp_client.{module}.HttpTransport", lambda: recorder)
    monkeypatch.setattr(ldp_client, "_client", None)
    yield recorder
    finish(_PATIENCE)

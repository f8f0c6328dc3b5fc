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
from encoders.errors import ReportError
from encoders.report import Report
from encoders.survey.answer import read_report
from encoders.survey.plan import Plan
from ldp_client.errors import TransportError
from ldp_client.transport import Answer

URL = "http://collector.test/v1/surveys/"


class Recorder:
    """A transport that answers as a collector does, and keeps what it was sent.

    Attributes
    ----------
    reports : list of Report
        Each counted report, once.
    bodies : list of bytes
        Every body that was posted, repeated ones too.
    offline : bool
        Set it to True to let every request fail, as without a network.
    """

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.bodies: list[bytes] = []
        self.offline = False
        self._plans: dict[str, Plan] = {}

    def serve(self, plan: Plan) -> str:
        """Serve a survey; return its URL. Any host will do: what counts is how the path ends."""
        self._plans[plan.id] = plan
        return URL + plan.id

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Answer:
        """Answer one request."""
        if self.offline:
            raise TransportError("no answer from the collector: offline")
        survey = url.partition("/v1/surveys/")[2].removesuffix("/reports")
        plan = self._plans.get(survey)
        if plan is None:
            return _answer(404, {"reason": "unknown-survey"})
        if method == "GET":
            return Answer(200, plan.json)
        self.bodies.append(body or b"")
        try:
            report = read_report(plan, body or b"")
        except ReportError as error:
            return _answer(400, {"reason": error.reason})
        if report in self.reports:
            return _answer(200, {"status": "duplicate"})
        self.reports.append(report)
        return _answer(200, {"status": "recorded"})


def _answer(status: int, entries: dict[str, str]) -> Answer:
    return Answer(status, json.dumps(entries).encode())


@pytest.fixture
def ldp_recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """Let every client of the test talk to a Recorder, and keep its journal in the test's folder."""
    recorder = Recorder()
    monkeypatch.setenv("LDP_JOURNAL", str(tmp_path / "ldp-journal.db"))
    for switch in ("DO_NOT_TRACK", "LDP_CLIENT_OFF"):
        monkeypatch.delenv(switch, raising=False)
    monkeypatch.setattr("ldp_client.client.HttpTransport", lambda: recorder)
    monkeypatch.setattr(ldp_client, "_client", None)
    yield recorder
    if ldp_client._client is not None:
        ldp_client._client.close()

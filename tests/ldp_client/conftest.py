"""What the client's tests share: a small survey and a collector that answers as it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from encoders.survey import Plan, read_survey
from ldp_client import Client, Response, TransportError
from ldp_client.journal import file
from tests.support.surveys import SLEEP

URL = "http://collector.test/v1/surveys/sleep"
RECORDED = Response(200, b'{"status":"recorded"}')
ROW = {"age": "old", "hours": 7.5}
Build = Callable[..., Client]
"""The type of the fixture `client`."""


SYNCHRONOUS = file._SYNCHRONOUS
"""How thoroughly a device's journal is written to its disk."""


@pytest.fixture(autouse=True)
def unsynced_journals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out fsync in the test's own process: it takes time, and no test cuts the power."""
    monkeypatch.setattr(file, "_SYNCHRONOUS", "OFF")


@pytest.fixture
def plan() -> Plan:
    return read_survey(SLEEP).compile()


class Script:
    """A transport that plays answers in order, the last one for ever; an exception is raised."""

    def __init__(self, *answers: Response | TransportError) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[str, str, bytes | None]] = []

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        self.requests.append((method, url, body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def bodies(self) -> list[bytes | None]:
        return [body for method, _, body in self.requests if method == "POST"]


@pytest.fixture
def client(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Client]]:
    """Build clients of the plan, agreed to, with one journal and hardly any waiting between attempts."""
    monkeypatch.setattr("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 0.001)
    made: list[Client] = []

    def build(transport: Script, survey: object = plan, agreed: bool = True, **options: object) -> Client:
        options = {"journal": tmp_path / "journal.db", "spread": 0, **options}
        made.append(Client(survey, URL, transport=transport, **options))  # type: ignore[arg-type]
        if agreed:
            made[-1].grant()
        return made[-1]

    yield build
    for each in made:
        each.close()

"""Fixtures of the client's tests: a small plan, and clients with a fake collector."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from encoders.survey import Plan, read_survey
from encoders.survey.compiled_plan import AnyPlan
from ldp_client import Client, Response, State, TransportError
from ldp_client.journal import file
from tests.support.servers import wait_for
from tests.support.surveys import SLEEP

URL = "http://collector.test/v1/surveys/sleep"
RECORDED = Response(200, b'{"status":"recorded"}')
ROW = {"age": "old", "hours": 7.5}
Build = Callable[..., Client]
"""The type of the fixture `client`."""


SYNCHRONOUS = file._SYNCHRONOUS
"""How thoroughly a device's journal is written to its disk."""


@pytest.fixture
def plan() -> Plan:
    return read_survey(SLEEP).compile()


class FakeTransport:
    """Returns responses in order, and the last one again and again; raises those that are exceptions."""

    def __init__(self, *responses: Response | TransportError) -> None:
        self.responses = list(responses)
        self.requests: list[tuple[str, str, bytes | None]] = []

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        self.requests.append((method, url, body))
        response = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        if isinstance(response, Exception):
            raise response
        return response

    @property
    def bodies(self) -> list[bytes | None]:
        return [body for method, _, body in self.requests if method == "POST"]


class Collector(FakeTransport):
    """Serves a plan and its signature, and responds to reports as a test wants."""

    def __init__(self, plan: AnyPlan, signature: str = "") -> None:
        super().__init__(RECORDED)
        self.plan, self.signature = plan, signature

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        if method == "POST":
            return super().request(method, url, body, timeout)
        self.requests.append((method, url, body))
        return Response(200, self.signature.encode() if url.endswith("/signature") else self.plan.json)

    def respond(self, response: Response | TransportError) -> None:
        self.responses = [response]


@pytest.fixture
def transport() -> FakeTransport:
    """Return a transport whose collector counts every report."""
    return FakeTransport(RECORDED)


def wait_for_attempt(client: Client) -> None:
    """Wait until the first attempt to send the client's report has failed, or has ended its waiting."""
    wait_for(lambda: (receipt := client.status()).reason or receipt.state is not State.QUEUED)


@pytest.fixture
def client(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Client]]:
    """Build clients of one journal that have consent and retry almost at once."""
    monkeypatch.setattr("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 0.001)
    made: list[Client] = []

    def build(
        transport: FakeTransport, survey: object = plan, granted: bool = True, **options: object
    ) -> Client:
        options = {"journal": tmp_path / "journal.db", "spread": 0, **options}
        made.append(Client(survey, URL, transport=transport, **options))
        if granted:
            made[-1].grant()
        return made[-1]

    yield build
    for each in made:
        each.close()

"""A survey, its reports, the application over a store in memory, and requests over HTTP."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import pytest
from flask.testing import FlaskClient

from encoders.report import MEDIA_TYPE
from encoders.survey import Plan, read_survey
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.stores import MemoryStore, Store
from ldp_client import make_report
from tests.support.servers import LocalRedis
from tests.support.surveys import SLEEP

SURVEY = SLEEP.replace('missing = "category"\n', "").replace("bins = 4", "bins = 19")
"""A narrow question with direct encoding, and a wide one with several bytes and support counters."""
INVITED = SURVEY.replace("epsilon = 1.0", 'epsilon = 1.0\nenrolment = "token"')
ROW = {"age": "old", "hours": 7.5}
REPORTS = "/v1/surveys/sleep/reports"
OPERATOR = {"Authorization": "Bearer the-token"}
SHORT_RETRY = "from ldp_aggregator.collector.serving import server; server._RETRY_SECONDS = 0.1"
"""Makes a worker without a store try again soon."""


@pytest.fixture(scope="session")
def plan() -> Plan:
    return read_survey(SURVEY).compile()


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Return the file of the survey."""
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY)
    return path


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return the URL of a store in a file."""
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalRedis]:
    """Start a Redis that the test may stop or kill."""
    with LocalRedis(tmp_path) as started:
        yield started


def make_store(*plans: Plan | SiloPlan) -> MemoryStore:
    """Return a store in memory with the surveys of these plans."""
    store = MemoryStore()
    for each in plans:
        store.publish(each.id, each.json)
    return store


def make_client(store: Store, **settings: object) -> FlaskClient:
    """Return a client of the application with these settings, without HTTP."""
    return create_app(CollectorSettings(**settings), store).test_client()


@pytest.fixture
def web(collector_client: FlaskClient) -> FlaskClient:
    return collector_client


def some_reports(plan: Plan, count: int) -> bytes:
    return b"".join(make_report(plan, ROW, "yes") for _ in range(count))


def rejected(web: FlaskClient, survey: str) -> dict[str, int]:
    """Write the buffered rejections of a survey, and return them from the store."""
    service = web.application.extensions["ldp"]
    service.intakes[survey].flush()
    return dict(service.store.rejections(survey))


def outcomes_of(plan: Plan, store: Store, body: bytes) -> list[str]:
    """Record a body; return the reason or the status of each report."""
    intake = Intake(plan, store)
    outcomes = intake.record_body(body)
    intake.flush()
    return [str(outcome.error.reason) if outcome.error else outcome.status for outcome in outcomes]


def ask(address: str, body: bytes | None = None, token: str = "") -> tuple[int, bytes]:
    """Send one request over HTTP on a new connection; return the response's status and body."""
    headers = {} if body is None else {"Content-Type": MEDIA_TYPE}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=60) as response:
            return response.status, response.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()

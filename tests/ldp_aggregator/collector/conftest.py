"""A survey, its reports, and the application over a store in memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from encoders.survey import Plan, read_survey
from tests.support.surveys import SLEEP

SURVEY = SLEEP.replace('missing = "category"\n', "").replace("bins = 4", "bins = 19")
"""A narrow question with direct encoding, and a wide one with several bytes and support counters."""


@pytest.fixture(scope="session")
def plan() -> Plan:
    return read_survey(SURVEY).compile()


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Return the file of the survey."""
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY)
    return path


def rejected(web: FlaskClient, survey: str) -> dict[str, int]:
    """Write the buffered rejections of a survey, and return them from the store."""
    service = web.application.extensions["ldp"]
    service.intakes[survey].flush()
    return dict(service.store.rejections(survey))


@pytest.fixture
def web(collector_client: FlaskClient) -> FlaskClient:
    return collector_client

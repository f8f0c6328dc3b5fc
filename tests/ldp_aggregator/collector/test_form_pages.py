"""The pages of a collector's surveys at /s/ID, which are off by default."""

import re

import pytest

from encoders.survey import read_survey
from ldp_aggregator.collector.app import create_app
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.snapshot import counter_names
from ldp_aggregator.stores import MemoryStore
from ldp_aggregator.stores.store import TEXTS
from tests.support.surveys import SLEEP, SLEEP_TEXTS


def client_of(**settings):
    plan = read_survey(SLEEP + SLEEP_TEXTS).compile()
    store = MemoryStore()
    store.publish(plan.id, plan.json, counter_names(plan))
    store.set_note(TEXTS, plan.id, plan.texts.json)
    return plan, create_app(CollectorSettings(**settings), store).test_client()


def test_pages_are_off_by_default():
    _, client = client_of()
    assert client.get("/s/sleep").status_code == 404
    assert client.get("/s/ldp-survey.js").status_code == 404


def test_a_page_accepts_the_plan_of_this_collector_and_forbids_frames():
    plan, client = client_of(page=True)
    response = client.get("/s/sleep")
    assert response.status_code == 200
    assert response.content_type == "text/html; charset=utf-8"
    assert f'src="../v1/surveys/sleep" digest="{plan.digest}"' in response.text
    assert "connect-src 'self'" in response.text
    assert response.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    [script] = re.findall(r'<script src="([^"]*)"', response.text)
    assert client.get(f"/s/{script}").content_type == "text/javascript; charset=utf-8"


def test_an_unknown_survey_has_no_page():
    _, client = client_of(page=True)
    response = client.get("/s/other")
    assert (response.status_code, response.content_type) == (404, "text/html; charset=utf-8")
    assert "There is no survey at this address" in response.text
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("page", [True, False])
def test_the_description_of_the_interface_does_not_depend_on_the_pages(page):
    _, client = client_of(page=page)
    assert "/s/{survey}" not in client.get("/openapi.json").get_json()["paths"]

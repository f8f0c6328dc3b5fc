"""The page that serves the texts of a survey, and the texts in the store."""

import hashlib
import json
from pathlib import Path

import pytest

from encoders.survey import Plan, read_survey
from encoders.survey.plan_files import texts_path
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.startup import publish_surveys
from ldp_aggregator.snapshot import Snapshot, take_snapshot
from ldp_aggregator.stores import MemoryStore, StoreError, open_store
from ldp_aggregator.stores.store import TEXTS
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import ask, make_client, make_store
from tests.support.servers import collector
from tests.support.surveys import SLEEP, SLEEP_TEXTS

PAGE = "/v1/surveys/sleep/texts"


@pytest.fixture
def plan() -> Plan:
    return read_survey(SLEEP + SLEEP_TEXTS).compile()


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "sleep.toml"
    path.write_text(SLEEP + SLEEP_TEXTS, encoding="utf-8")
    return path


def texts_of(plan: Plan) -> bytes:
    assert plan.texts
    return plan.texts.json


def published(plan: Plan, texts: bytes) -> MemoryStore:
    store = make_store(plan)
    store.set_note(TEXTS, plan.id, texts)
    return store


# -- the page ------------------------------------------------------------------------------------


def test_texts_are_served_with_the_digest_in_the_plan(plan):
    web = make_client(published(plan, texts_of(plan)))
    response = web.get(PAGE)
    assert (response.status_code, response.content_type) == (200, "application/json")
    assert hashlib.sha256(response.data).hexdigest() == web.get("/v1/surveys/sleep").json["texts"]
    assert response.headers["ETag"] == f'"{plan.texts_digest}"'
    assert response.headers["Cache-Control"] == "public, max-age=3600"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert web.get(PAGE, headers={"If-None-Match": response.headers["ETag"]}).status_code == 304


def test_survey_without_texts_has_its_own_reason(plan):
    plain = read_survey(SLEEP).compile()
    for served, why in ((plain, "this survey has no texts"), (plan, "this collector lacks the texts")):
        response = make_client(make_store(served)).get(PAGE)
        assert (response.status_code, response.content_type) == (404, "application/problem+json")
        assert (response.json["reason"], response.json["retryable"]) == ("no-texts", False)
        assert why in response.json["detail"]
    web = make_client(make_store(plan))
    assert web.get("/v1/surveys/diet/texts").json["reason"] == "unknown-survey"


def test_texts_of_another_plan_in_the_store_are_not_served(plan, caplog):
    other = read_survey(SLEEP + SLEEP_TEXTS.replace("How old", "How young")).compile()
    with caplog.at_level("ERROR", "ldp.collector"):
        web = make_client(published(plan, texts_of(other)))
    assert [record.message for record in caplog.records] == ["texts-unreadable"]
    assert (web.get(PAGE).status_code, web.get("/v1/surveys/sleep").status_code) == (404, 200)


# -- the start -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_collector_serves_the_texts_of_its_survey_file_and_later_those_in_its_store(survey, url, plan):
    with collector([survey], url, workers=1) as (base, _):
        assert ask(base + PAGE) == (200, texts_of(plan))
    other = survey.with_name("tea.toml")
    other.write_text(SLEEP.replace('id = "sleep"', 'id = "tea"'), encoding="utf-8")
    with collector([other], url, workers=1) as (base, _):
        assert ask(base + PAGE) == (200, texts_of(plan))
        assert ask(f"{base}/v1/surveys/tea/texts")[0] == 404


def test_collector_reads_the_texts_beside_a_compiled_plan(tmp_path, url, plan):
    path = tmp_path / "plan.json"
    path.write_bytes(plan.json)
    with pytest.raises(SettingsError, match="the texts of sleep are not beside its plan"):
        publish_surveys(CollectorSettings(surveys=(path,), store=url))
    assert open_store(url).plans() == {}
    texts_path(path).write_bytes(texts_of(plan))
    publish_surveys(CollectorSettings(surveys=(path,), store=url))
    assert open_store(url).notes(TEXTS) == {"sleep": texts_of(plan)}
    texts_path(path).unlink()
    publish_surveys(CollectorSettings(surveys=(path,), store=url))  # the store has them


def test_changed_texts_under_the_same_id_are_another_plan(survey, url, plan):
    publish_surveys(CollectorSettings(surveys=(survey,), store=url))
    Intake(plan, open_store(url)).record_body(make_report(plan, {"age": "old", "hours": 7.5}, "yes"))
    survey.write_text(SLEEP + SLEEP_TEXTS.replace("How old", "How young"), encoding="utf-8")
    with pytest.raises(StoreError, match="another plan of survey 'sleep'"):
        publish_surveys(CollectorSettings(surveys=(survey,), store=url))
    assert open_store(url).notes(TEXTS) == {"sleep": texts_of(plan)}


def test_snapshot_keeps_the_digest_of_the_texts(plan):
    snapshot = take_snapshot(published(plan, texts_of(plan)), plan.id)
    assert json.loads(snapshot.to_json())["plan"]["texts"] == plan.texts_digest
    assert Snapshot.from_json(snapshot.to_json()).plan == plan

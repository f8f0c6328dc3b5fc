"""The estimates that an operator sees: until a survey has closed, their intervals are valid at all looks."""

from datetime import UTC, datetime, timedelta

import pytest

from encoders.report import MEDIA_TYPE
from encoders.survey import Plan
from ldp_aggregator.collector.current_results import ONE_LOOK, CurrentResults
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores.schedule import Schedule
from ldp_aggregator.stores.store import SCHEDULES, TEXTS
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import OPERATOR, make_client, make_store
from tests.ldp_aggregator.estimation.test_validation_result import make_survey, make_validation
from tests.support.html_page import parse_page
from tests.support.silo_surveys import read_silo_survey
from tests.support.surveys import make_plan

FEATURES = {"tea": ["black", "green"], "hours": {"range": [0, 12]}, "cups": {"choices": ["small", "large"]}}


def without_label() -> Plan:
    return make_plan(label=None, features=FEATURES)


def filled_store(plan: Plan):
    store = make_store(plan)
    row = {"tea": "green", "hours": 7, "cups": ["large"]}
    body = b"".join(make_report(plan, row) for _ in range(400))
    assert (
        make_client(store).post("/v1/surveys/tea/reports", data=body, content_type=MEDIA_TYPE).status_code
        == 200
    )
    return store


def read_estimates(store, survey: str = "tea") -> dict:
    client = make_client(store, operator_token="the-token")
    return client.get(f"/v1/surveys/{survey}/estimates", headers=OPERATOR).json


@pytest.mark.slow
def test_intervals_hold_at_all_looks_until_the_survey_has_closed():
    store = filled_store(without_label())
    fixed = estimate_snapshot(take_snapshot(store, "tea")).as_dict()
    now = read_estimates(store)
    assert now["intervals"] == "all looks"
    single, wide = (each["features"][0]["shares"] for each in (fixed, now))
    assert single["value"] == wide["value"]
    assert wide["low"][1] < single["low"][1]

    past = datetime.now(UTC) - timedelta(days=2)
    store.set_note(SCHEDULES, "tea", Schedule(closes=past.timestamp()).to_json())
    later = read_estimates(store)
    assert later["intervals"] == "one look"
    assert later["features"] == fixed["features"]


def test_estimates_without_a_label_do_not_mention_one():
    store = filled_store(without_label())
    client = make_client(store, operator_token="the-token")
    for page in ("estimates", "estimates.csv", "progress"):
        text = client.get(f"/v1/surveys/tea/{page}", headers=OPERATOR).text.lower()
        assert "label" not in text
        assert '""' not in text


def test_the_page_shows_several_answers_as_one_feature():
    client = make_client(filled_store(without_label()), operator_token="the-token")
    page = parse_page(client.get("/v1/surveys/tea/progress.html", headers=OPERATOR).data)
    assert [each.text for each in page.section("shares").find("h3")] == ["tea", "hours", "cups"]
    assert [row[0] for row in page.table("Share of people who ticked").rows()] == ["small", "large"]


def test_the_page_shows_the_texts_of_the_survey():
    texts = {"en": {"features": {"tea": {"title": "Which tea do you drink?"}}}}
    plan = make_plan(label=None, features=FEATURES, texts=texts)
    store = make_store(plan)
    store.set_note(TEXTS, plan.id, plan.texts.json)
    client = make_client(store, operator_token="the-token")
    page = parse_page(client.get("/v1/surveys/tea/progress.html", headers=OPERATOR).data)
    assert "Which tea do you drink?" in page.section("shares-1").text


def test_the_intervals_of_silos_are_for_one_look():
    plan = read_silo_survey().compile()
    assert read_estimates(make_store(plan), plan.id)["intervals"] == "one look"


def test_intervals_of_an_open_validation_round_are_for_one_look():
    plan = make_survey(4).with_validation(make_validation((1, 2))).compile()
    found = CurrentResults.from_snapshot(take_snapshot(make_store(plan), plan.id), plan, is_closed=False)
    assert found.looks == ONE_LOOK

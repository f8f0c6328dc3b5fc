"""What a client is made with: plans, URLs, limits of epsilon, and configure()."""

import json
import os
from dataclasses import replace

import pytest

import ldp_client
from ldp_client import (
    BudgetError,
    Client,
    LdpError,
    OptionError,
    PlanError,
    PrivacyError,
    ReportError,
    Response,
    RowError,
    SignatureError,
    State,
    SurveyError,
    TokenError,
    TransportError,
)
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport
from tests.support.threads import in_threads


def test_a_plan_above_the_epsilon_limit_is_refused_before_anything_is_drawn(transport, client):
    capped = client(transport, granted=False, max_epsilon=0.5)
    assert (capped.grant().state, capped.status().state) == (State.REJECTED, State.NO_CONSENT)
    client(transport).close()  # agreed, with the usual cap
    receipt = capped.report(ROW, "no")
    assert (receipt.state, receipt.reason, receipt.epsilon) == (State.REJECTED, "epsilon-above-cap", 0.0)
    assert capped.flush().state is State.READY
    assert client(transport).report(ROW, "no").state is State.QUEUED


def test_the_plan_is_fetched_from_the_url_and_checked(plan, client):
    transport = FakeTransport(Response(200, plan.json), RECORDED)
    one = client(transport, URL)
    assert one.report(ROW, "no").state is State.QUEUED
    assert one.flush().state is State.SENT
    assert transport.requests[0] == ("GET", URL, None)


@pytest.mark.parametrize("response", [TransportError("down"), Response(404, b"{}"), Response(200, b"{}")])
def test_without_a_plan_nothing_is_drawn(client, response):
    one = client(FakeTransport(response), URL, granted=False)
    assert one.grant().state in (State.UNAVAILABLE, State.REJECTED)
    receipt = one.report(ROW, "no")
    assert (receipt.state, receipt.epsilon) == (State.NO_CONSENT, 0.0)


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (
            404,
            "unknown-survey",
            "the plan of 'sleep': it does not serve this survey, or not yet; check the URL",
        ),
        (403, "survey-not-open", "the survey is not open yet"),
        (429, "too-many-requests", "too many requests"),
        (404, "no-such-page", "it has no such page; a survey's URL looks like https://host/v1/surveys/ID"),
        (503, "at 10.0.0.7", "HTTP status 503"),
    ],
)
def test_a_refused_plan_has_the_collector_s_reason(client, status, reason, words):
    response = Response(status, json.dumps({"reason": reason}).encode())
    receipt = client(FakeTransport(response), URL, granted=False).grant()
    is_known = "10.0.0.7" not in reason
    assert (receipt.state, receipt.reason) == (
        State.UNAVAILABLE,
        reason if is_known else "collector-unreachable",
    )
    assert words in receipt.why
    assert "10.0.0.7" not in str(receipt)
    with pytest.raises(TransportError) as raised:
        client(FakeTransport(response), URL, granted=False, strict=True, journal=":memory:").grant()
    assert raised.value.reason == receipt.reason


def test_a_tampered_plan_is_refused(plan, client):
    tampered = plan.json.replace(b'"keep":"8', b'"keep":"9')
    assert tampered != plan.json
    receipt = client(FakeTransport(Response(200, tampered)), URL, granted=False).grant()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "invalid-plan")


def test_configure_and_report_are_the_short_form(plan, tmp_path_factory, monkeypatch):
    monkeypatch.setattr(ldp_client, "_client", None)
    monkeypatch.delenv("LDP_SURVEY_URL", raising=False)
    with pytest.raises(TransportError, match="LDP_SURVEY_URL"):
        ldp_client.configure()
    receipt = ldp_client.report(ROW, "no")
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "not-configured")
    monkeypatch.setenv("LDP_SURVEY_URL", URL)
    transport = FakeTransport(Response(200, plan.json), RECORDED)
    one = ldp_client.configure(transport=transport, journal=":memory:")
    assert one.grant().state is State.READY
    assert ldp_client.report(ROW, "no").state is State.QUEUED
    assert one.flush().state is State.SENT
    one.close()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/v1",
        "collector.example/v1",
        "http://",
        "http://h/v1?x=1",
        "http://[x/",
        "http://h:99999/v1",
        "http://h:x/v1",
    ],
)
def test_invalid_url_is_refused_at_once(plan, url):
    with pytest.raises(TransportError) as raised:
        Client(plan, url)
    assert raised.value.reason == "bad-option"


def test_a_closed_client_names_a_later_configure_as_the_cause(plan, monkeypatch):
    monkeypatch.setattr(ldp_client, "_client", None)
    first, second = (
        ldp_client.configure(plan, url=URL, transport=FakeTransport(RECORDED), journal=":memory:")
        for _ in range(2)
    )
    for receipt in (first.grant(), first.report(ROW, "no")):
        assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "client-closed")
        assert "a later configure() closed this client" in receipt.why
    second.close()
    third = ldp_client.configure(plan, url=URL, transport=FakeTransport(RECORDED), journal=":memory:")
    assert second.grant().why == "this client was closed: make another"
    third.close()


def test_a_mistaken_configure_leaves_the_working_client(plan, monkeypatch):
    monkeypatch.setattr(ldp_client, "_client", None)
    one = ldp_client.configure(
        URL, transport=FakeTransport(Response(200, plan.json), RECORDED), journal=":memory:"
    )
    one.grant()
    with pytest.raises(TransportError):
        ldp_client.configure("nonsense")
    assert ldp_client.report(ROW, "no").state is State.QUEUED
    assert one.flush().state is State.SENT
    one.close()


@pytest.mark.parametrize("cap", [0, -1, float("nan"), "much", None])
def test_invalid_epsilon_limit_is_refused_at_once(plan, cap):
    with pytest.raises(BudgetError, match="max_epsilon") as raised:
        Client(plan, URL, max_epsilon=cap, journal=":memory:")
    assert raised.value.reason == "bad-option"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("spread", -1),
        ("spread", "x"),
        ("spread", float("nan")),
        ("spread", float("inf")),
        ("on_outcome", "print"),
        ("transport", "http://proxy.example"),
        ("token", 12),
        ("journal", 12),
        ("digest", 12),
        ("public_key", 12),
        ("public_key", "x"),
        ("max_total_epsilon", "x"),
        ("person", 12),
        ("url", 12),
    ],
)
def test_an_option_that_cannot_be_used_is_named_at_once(plan, option, value):
    with pytest.raises(LdpError, match="URL" if option == "url" else option.replace("_", ".")) as raised:
        Client(URL if option != "url" else plan, **{option: value})
    assert raised.value.reason in ("bad-option", "bad-digest", "bad-person")


def test_an_unknown_option_is_a_type_error(plan):
    with pytest.raises(TypeError, match="colour"):
        ldp_client.configure(plan, url=URL, colour="red")


def test_a_plan_file_that_cannot_be_read_is_refused_at_once(tmp_path, plan):
    for survey in (tmp_path / "nofile.toml", str(tmp_path / "nofile.toml"), tmp_path):
        with pytest.raises(OptionError, match="cannot be read") as raised:
            Client(survey, URL)
        assert str(survey) in str(raised.value)
    with pytest.raises(OptionError, match="the path of a file"):
        Client(12, URL)
    (tmp_path / "plan.json").write_bytes(plan.json)
    assert Client(tmp_path / "plan.json", URL, journal=":memory:").plan == plan


def test_every_error_has_a_reason():
    assert RowError("age", "is missing").reason == "invalid-row"
    assert TokenError("is missing").reason == "invalid-token"
    assert SignatureError("is missing").reason == "bad-signature"
    assert SurveyError("is no plan").reason == PrivacyError("spends more").reason == "invalid-plan"
    errors = [getattr(ldp_client, name) for name in ldp_client.__all__ if name.endswith("Error")]
    assert all(each.reason for each in errors if each is not ReportError)


def test_a_strict_client_s_error_has_the_reason_of_the_receipt(client):
    wrong_row = {"age": "older", "hours": 7.5}
    receipt = client(FakeTransport(RECORDED)).report(wrong_row, "no")
    with pytest.raises(RowError) as raised:
        client(FakeTransport(RECORDED), strict=True).report(wrong_row, "no")
    assert raised.value.reason == receipt.reason == "invalid-row"
    assert tuple((each.field, each.why) for each in raised.value.problems) == receipt.problems


def test_deeply_nested_plan_is_refused(client):
    for status in (200, 500):
        receipt = client(FakeTransport(Response(status, b"[" * 100_000)), URL, granted=False).grant()
        assert receipt.state in (State.UNAVAILABLE, State.REJECTED)


def test_a_url_of_another_survey_than_the_plans_is_refused(plan):
    with Client(plan, "http://collector.test/v1/surveys/diet", journal=":memory:") as one:
        receipt = one.grant()
        assert one.report(ROW, "no").state is State.NO_CONSENT
    assert (receipt.state, receipt.epsilon) == (State.REJECTED, 0.0)


def test_a_device_without_a_place_for_its_journal_reports_nothing(plan, monkeypatch):
    for name in ("LDP_JOURNAL", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as without a home directory
    with Client(plan, URL, transport=FakeTransport(RECORDED)) as one:
        for receipt in (one.grant(), one.report(ROW, "no"), one.flush(), one.status(), one.withdraw()):
            assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "journal-unavailable")


def test_a_plan_object_has_no_signature_to_check(plan):
    with pytest.raises(PlanError, match="public_key"):
        Client(plan, URL, public_key="A" * 43 + "=")


@pytest.mark.parametrize(
    "url",
    [
        "https://h/v1/surveys/SLEEP",
        "https://h/",
        "https://h/v1/surveys/sleep/reports/x%20",
        "https://h/v1/surveys",
        "https://h/v1/surveys/",
        "https://h/proxy/v1/surveys//",
    ],
)
def test_a_url_that_names_no_survey_is_refused_at_once(plan, url):
    with pytest.raises(TransportError, match="its id") as raised:
        Client(plan, url)
    assert raised.value.reason == "bad-option"


def test_a_survey_may_be_called_surveys(plan):
    url = "https://h/v1/surveys/surveys"
    assert Client(replace(plan, id="surveys"), url, journal=":memory:").survey == "surveys"


def test_status_without_consent_creates_no_journal(client, tmp_path):
    one = client(FakeTransport(RECORDED), granted=False, journal=tmp_path / "new" / "journal.db")
    assert (one.status().state, one.report(ROW, "no").state) == (State.NO_CONSENT,) * 2
    assert not (tmp_path / "new").exists()


def test_threads_that_report_first_configure_one_client(plan, monkeypatch, ldp_recorder):
    monkeypatch.setenv("LDP_SURVEY_URL", ldp_recorder.serve(plan))
    Client(ldp_recorder.serve(plan)).grant()
    states = in_threads(lambda _: ldp_client.report(ROW, "no").state, range(8))
    assert sorted(states) == [State.ALREADY_REPORTED] * 7 + [State.QUEUED]
    assert len(ldp_recorder.reports) == 1

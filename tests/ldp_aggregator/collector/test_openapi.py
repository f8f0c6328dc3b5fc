"""The pages of the collector match their OpenAPI description, checked by Schemathesis."""

import json

import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import ignored_auth, negative_data_rejection

from encoders.errors import Reason
from encoders.randomness import FastStream
from encoders.report import MEDIA_TYPE
from encoders.survey import read_survey
from encoders.survey.compiled_plan import SILO
from encoders.survey.unsealing import MAX_MESSAGES, MESSAGES_TYPE
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.current_results import ALL_LOOKS, ONE_LOOK
from ldp_aggregator.collector.openapi import UNDESCRIBED_ENDPOINTS, describe
from ldp_aggregator.collector.request_body import PLAIN_TEXT
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.stores import MemoryStore, StoreError
from ldp_aggregator.stores.schedule import Phase, Schedule
from ldp_aggregator.stores.store import SCHEDULES, TEXTS
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import ROW, SURVEY, make_client, make_store
from tests.support.access import access
from tests.support.silo_surveys import make_message, make_rows, read_silo_survey

PLAN = read_survey(f'{SURVEY}[about]\ntitle = "Sleep"\n').compile()
REPORTS = [make_report(PLAN, ROW, "yes") for _ in range(20)]
HEADERS = {"Accept-Encoding": "identity"}  # without a socket, the tool does not decompress responses
OPERATOR = HEADERS | {"Authorization": "Bearer the-token"}
CONFIG = schemathesis.Config.from_dict(
    {"seed": 1, "generation": {"deterministic": True, "max-examples": 30, "database": "none"}}
)
schemathesis.openapi.media_type(MEDIA_TYPE, st.lists(st.sampled_from(REPORTS), min_size=1).map(b"".join))
schemathesis.openapi.media_type(PLAIN_TEXT, st.sampled_from(REPORTS))
schemathesis.openapi.media_type(MESSAGES_TYPE, st.binary(max_size=200))
PREFLIGHTS = {f"{page}_preflight" for page in ("plan", "texts", "signature", "reports")}


def described(store: MemoryStore, wrong_tokens: int = 0, **options: object) -> schemathesis.BaseSchema:
    """Return the schema of an application, by default without a limit on wrong tokens."""
    store.publish(PLAN.id, PLAN.json)
    assert PLAN.texts
    store.set_note(TEXTS, PLAN.id, PLAN.texts.json)
    options = {"tokens": (access("relay", "the-relay-s-token"),), **options}
    app = create_app(CollectorSettings(operator_token="the-token", **options), store, {"sleep": bytes(64)})
    app.extensions["ldp"].wrong_token_limit._limit = wrong_tokens
    return schemathesis.openapi.from_wsgi("/openapi.json", app, config=CONFIG)


schema = described(MemoryStore())


def test_the_description_names_the_values_and_forms_of_the_program():
    text = json.dumps(schema.raw_schema)
    phases = [phase for phase in Phase if phase is not Phase.WAITING]
    for values in (phases, [ONE_LOOK, ALL_LOOKS], [MEDIA_TYPE], [PLAIN_TEXT], [MESSAGES_TYPE], [SILO]):
        assert json.dumps(values)[1:-1] in text
    assert f"From 1 to {MAX_MESSAGES:,} sealed messages" in text


@pytest.mark.slow
@schema.parametrize()
def test_public_responses_match_the_description(case):
    case.call_and_validate(headers=HEADERS)


@pytest.mark.slow
@schema.exclude(operation_id="sealed").parametrize()
def test_operator_responses_match_the_description(case):
    if "survey" in case.path_parameters:
        case.path_parameters["survey"] = "sleep"  # a generated id names no survey, or another page
    response = case.call_and_validate(headers=OPERATOR, excluded_checks=[negative_data_rejection])
    if case.meta.generation.mode.is_positive:
        assert response.status_code == (204 if case.method.upper() == "OPTIONS" else 200)


def request_each(
    schema: schemathesis.BaseSchema, survey: str = "sleep", report: bytes = REPORTS[0], **options: object
) -> dict[str, tuple[int, str | None]]:
    """Request each operation once; check that each response is described; return statuses and reasons."""
    found = {}
    for result in schema.get_all_operations():
        operation = result.ok()
        body = {"body": report, "media_type": operation.body[0].media_type} if operation.body else {}
        path_parameters = {"survey": survey} if "{" in operation.path else {}
        case = operation.Case(path_parameters=path_parameters, **(options | body))
        response = case.call_and_validate(headers=OPERATOR, excluded_checks=[not_a_server_error])
        problem = "problem" in response.headers.get("content-type", [""])[0]  # a preflight has no content
        name = operation.definition.raw["operationId"]
        found[name] = response.status_code, response.json()["reason"] if problem else None
    return found


class Failing(MemoryStore):
    """A store that fails after its plans were read once."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def fail(self, *_: object) -> None:
        raise self._error

    record = totals = add_rejections = rejections = check_ready = fail  # type: ignore[assignment]

    def notes(self, kind: str, name: str | None = None) -> dict[str, bytes]:
        return super().notes(kind, name) if kind != SCHEDULES else self.fail()  # type: ignore[func-returns-value, return-value]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "expected"),
    [(StoreError("gone"), (503, "store-unavailable")), (RuntimeError("bug"), (500, "internal-error"))],
)
def test_responses_with_a_failing_store_match_the_description(error, expected):
    found = request_each(described(Failing(error)))
    serving = {"metrics"} if isinstance(error, StoreError) else set()  # its response reports the outage
    others = {"livez", "root", "sealed"} | PREFLIGHTS | serving
    assert {name for name, response in found.items() if response != expected} == others


@pytest.mark.slow
@pytest.mark.parametrize(
    ("window", "plan", "reports"),
    [
        (Schedule(opens=1 << 40), (403, "survey-not-open"), (403, "survey-not-open")),
        (Schedule(closes=1, grace=1 << 40), (410, "survey-closed"), (200, None)),
        (Schedule(closes=1), (410, "survey-closed"), (410, "survey-closed")),
    ],
)
def test_responses_in_each_phase_match_the_description(window, plan, reports):
    store = MemoryStore()
    schema = described(store)
    store.set_note(SCHEDULES, PLAN.id, window.to_json())
    found = request_each(schema)
    assert (found["plan"], found["texts"], found["reports"]) == (plan, plan, reports)


@pytest.mark.slow
def test_every_response_about_a_survey_of_silos_matches_the_description():
    plan = read_silo_survey().compile()
    schema = described(make_store(plan))
    message = make_message(plan, make_rows(plan, 50), FastStream(3))
    found = request_each(schema, plan.id, message)
    refused = {name: reason for name, (_, reason) in found.items() if reason and name != "sealed"}
    assert refused == {"signature": "no-signature", "texts": "no-texts"}
    found = request_each(schema, plan.id, message)
    assert (found["progress"], found["progress_page"]) == ((200, None), (200, None))


def test_the_operator_response_during_an_import_matches_the_description():
    store = MemoryStore()
    schema = described(store)
    store.set_note(SCHEDULES, PLAN.id, Schedule(import_run="an import").to_json())
    found = request_each(schema)
    public, progress = ("plan", "texts", "reports"), ("progress", "progress_page")
    for page in (*public, "snapshot", "estimates", "estimates_table", *progress):
        assert found[page] == (403, "survey-not-open")


LIMITED = {"rate": 5, "tokens": (access("gateway", "the-gateway-s-token"),)}


@pytest.mark.parametrize(
    ("body", "headers", "settings", "expected"),
    [
        (b"junk", {}, {}, (400, "malformed")),
        (b"x" * 5001, {}, {"max_body": 5000}, (413, "too-large")),
        (REPORTS[0].replace(bytes.fromhex(PLAN.digest), bytes(32)), {}, {}, (409, "wrong-plan")),
        (REPORTS[0], {"Content-Type": "application/json"}, {}, (415, "unsupported-media-type")),
        (REPORTS[0], {}, LIMITED, (200, None)),
        (REPORTS[0] + REPORTS[1], {}, LIMITED, (403, "too-many-reports")),
        (REPORTS[0] + REPORTS[1], {"Authorization": "Bearer the-gateway-s-token"}, LIMITED, (200, None)),
        (REPORTS[0], {"Authorization": "Bearer another"}, LIMITED, (401, "not-authorised")),
        (REPORTS[0], {"Authorization": "Basic another"}, LIMITED, (200, None)),  # may be meant for a proxy
    ],
    ids=range(9),  # the bytes of reports differ in each run
)
def test_responses_to_reports_match_the_description(body, headers, settings, expected):
    operation = described(MemoryStore(), **settings)["/v1/surveys/{survey}/reports"]["POST"]
    case = operation.Case(path_parameters={"survey": "sleep"}, body=body, media_type=MEDIA_TYPE)
    response = case.call_and_validate(headers=HEADERS | headers, excluded_checks=[ignored_auth])
    assert (response.status_code, response.json().get("reason")) == expected


def test_responses_to_too_many_wrong_tokens_match_the_description():
    case = described(MemoryStore(), wrong_tokens=1)["/metrics"]["GET"].Case()
    statuses = [
        case.call_and_validate(headers=HEADERS | {"Authorization": token}, excluded_checks=[ignored_auth])
        for token in ("Bearer wrong", "Bearer the-token")
    ]
    assert [response.status_code for response in statuses] == [401, 429]


def test_every_page_method_and_reason_is_described():
    app = create_app(CollectorSettings(), MemoryStore())
    document = describe(app)
    served = {
        (rule.rule.replace("<", "{").replace(">", "}"), method.lower())
        for rule in app.url_map.iter_rules()
        for method in rule.methods - {"HEAD"}
        if rule.endpoint not in UNDESCRIBED_ENDPOINTS
    }
    operations = {
        (path, method): each
        for path, methods in document["paths"].items()
        for method, each in methods.items()
    }
    assert set(operations) == served
    described_reasons = " ".join(
        response["description"] for each in operations.values() for response in each["responses"].values()
    )
    assert {reason for reason in Reason if reason not in described_reasons.replace(",", "").split()} == {
        Reason.NO_SUCH_PAGE,
        *(Reason.BAD_SEAL, Reason.WRONG_QUESTION),  # counted for one message of many
        Reason.PROMISE_BROKEN,  # counted for a batch
    }


METHODS = {"GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "QUERY"}
DESCRIBED = {path: {"get", "head"} for path in ("/", "/livez", "/openapi.json", "/v1/surveys")}
DESCRIBED |= {"/v1/surveys/sleep": {"get", "head", "options"}}
DESCRIBED |= {"/v1/surveys/sleep/reports": {"post", "options"}, "/v1/surveys/sleep/sealed": {"post"}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "method"),
    [
        (path, method)
        for path, described in DESCRIBED.items()
        for method in sorted(METHODS - {each.upper() for each in described})
    ],
)
def test_an_undescribed_method_is_refused_and_the_response_lists_the_described_ones(path, method):
    response = make_client(MemoryStore()).open(path, method=method)
    assert (response.status_code, response.content_type) == (405, "application/problem+json")
    assert response.json["reason"] == "no-such-page"
    assert response.allow.as_set() == DESCRIBED[path]


@pytest.mark.parametrize(
    "path", ["/v1//surveys", "/v1/surveys/", "/v1/surveys/a/b/c", "/./livez", "*", "/\0"]
)
def test_an_unusual_path_is_a_problem_and_not_redirected(path):
    response = make_client(MemoryStore()).get("/", environ_overrides={"PATH_INFO": path})
    assert (response.status_code, response.json["reason"]) == (404, "no-such-page")


def test_the_description_is_public_and_may_be_cached():
    web = make_client(MemoryStore())
    response = web.get("/openapi.json")
    assert (response.json["openapi"], response.headers["Cache-Control"]) == ("3.1.0", "public, max-age=3600")
    assert web.get("/openapi.json", headers={"If-None-Match": response.headers["ETag"]}).status_code == 304

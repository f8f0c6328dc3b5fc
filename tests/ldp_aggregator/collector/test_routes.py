"""The collector's pages, without sockets."""

import pytest
from flask.testing import FlaskClient

from encoders.build import find_build
from encoders.report import MEDIA_TYPE
from encoders.survey.signature import read_signature
from ldp_aggregator.codec import from_json
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.stores import MemoryStore, StoreError
from ldp_aggregator.stores.schedule import Schedule
from ldp_aggregator.stores.store import SCHEDULES
from ldp_aggregator.views.estimate_rows import build_table, dump_table
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import OPERATOR, REPORTS, ROW, make_client, rejected


def post(web: FlaskClient, body: bytes | None, **options: object) -> object:
    options.setdefault("content_type", MEDIA_TYPE)
    return web.post(REPORTS, data=body, **options)


def test_the_plan_is_sent_with_the_bytes_of_its_digest(web, plan):
    response = web.get("/v1/surveys/sleep")
    assert response.data == plan.json
    assert response.headers["ETag"] == f'"{plan.digest}"'
    assert web.get("/v1/surveys/sleep", headers={"If-None-Match": f'"{plan.digest}"'}).status_code == 304
    listed = [{"id": "sleep", "digest": plan.digest, "phase": "open"}]
    assert web.get("/v1/surveys").json == {"surveys": listed}


def test_a_signature_is_served_unchanged(store):
    # These 64 bytes are not a valid signature: the collector knows no key, so it cannot check them.
    web = create_app(CollectorSettings(), store, signatures={"sleep": bytes(range(64))}).test_client()
    response = web.get("/v1/surveys/sleep/signature")
    assert (response.status_code, response.content_type) == (200, "text/plain; charset=utf-8")
    assert read_signature(response.data) == bytes(range(64))
    assert response.data.count(b"\n") == 1


def test_one_report_gets_its_own_status(web, plan):
    report = make_report(plan, ROW, "yes")
    assert (post(web, report).status_code, post(web, report).json) == (200, {"status": "duplicate"})
    wrong = post(web, report.replace(bytes.fromhex(plan.digest), bytes(32)))
    assert (wrong.status_code, wrong.json["reason"], wrong.json["retryable"]) == (409, "wrong-plan", False)
    assert wrong.content_type == "application/problem+json"


def test_many_reports_get_a_count_and_their_rejections(web, plan):
    one, two = make_report(plan, ROW, "yes"), make_report(plan, ROW, "no")
    bad = one.replace(bytes.fromhex(plan.digest), bytes(32))
    assert post(web, one + bad + two + one).json == {
        "recorded": 2,
        "duplicate": 1,
        "rejected": [{"index": 1, "reason": "wrong-plan"}],
    }


@pytest.mark.parametrize(
    ("body", "options", "status", "reason"),
    [
        (b"x", {"content_type": "application/json"}, 415, "unsupported-media-type"),
        (b"junk", {}, 400, "malformed"),
        (b"\x95\x01", {}, 400, "malformed"),
        (b"x" * 50_001, {}, 413, "too-large"),
        (b"x", {"headers": {"Transfer-Encoding": "chunked"}}, 411, "length-required"),
        (None, {}, 411, "length-required"),
        # cut off on its way: the report itself was not rejected
        (b"x", {"environ_overrides": {"CONTENT_LENGTH": "2"}}, 400, "incomplete-body"),
    ],
)
def test_a_bad_request_gets_its_reason_and_is_counted(
    web,
    store,
    body,
    options,
    status,
    reason,
):
    response = post(web, body, **options)
    assert (response.status_code, response.json["reason"]) == (status, reason)
    assert response.json["retryable"] is (reason == "incomplete-body")
    assert rejected(web, "sleep") == {reason: 1}
    assert store.totals("sleep") == {}


def test_the_operators_pages_need_the_token(web, store, plan):
    post(web, make_report(plan, ROW, "yes"))
    for page in ("snapshot", "estimates"):
        path = f"/v1/surveys/sleep/{page}"
        assert web.get(path).status_code == 401
        assert web.get(path, headers={"Authorization": "Bearer wrong\u00e9"}).status_code == 401
        closed = make_client(store).get(path, headers=OPERATOR)
        assert (closed.status_code, "LDP_OPERATOR_TOKEN" in closed.json["detail"]) == (403, True)
        assert web.get(path, headers=OPERATOR).status_code == 200
    snapshot = Snapshot.from_json(web.get("/v1/surveys/sleep/snapshot", headers=OPERATOR).data)
    assert snapshot.plan == plan
    assert snapshot.total() == 1


def test_metrics_come_from_the_store(web, plan):
    post(web, make_report(plan, ROW, "yes"))
    post(web, b"junk")
    assert rejected(web, "sleep") == {"malformed": 1}
    assert web.get("/metrics").status_code == 401
    page = web.get("/metrics", headers=OPERATOR).text
    assert 'ldp_reports_total{survey="sleep"} 1.0' in page
    assert 'ldp_rejections_total{reason="malformed",survey="sleep"} 1.0' in page
    assert "ldp_ready 1.0" in page
    assert 'ldp_tokens{survey="sleep"} 0.0' in page
    phases = [line for line in page.splitlines() if line.startswith("ldp_survey_phase")]
    assert [line.endswith("1.0") for line in phases] == ['"open"' in line for line in phases]
    assert len(phases) == 4


class BrokenStore(MemoryStore):
    """A store that fails after its plans were read."""

    def record(self, batches: object) -> list[dict[bytes, bytes]]:
        raise StoreError("gone")

    def check_ready(self, closed: object = ()) -> None:
        raise StoreError("gone")

    def rejections(self, survey: str) -> dict[str, int]:
        raise RuntimeError("secret body")


def test_a_failing_store_gives_a_retryable_problem(plan, caplog):
    store = BrokenStore()
    store.publish(plan.id, plan.json)
    web = make_client(store, operator_token="the-token")
    assert web.get("/livez").status_code == 200
    for response in (post(web, make_report(plan, ROW, "yes")), web.get("/readyz")):
        assert (response.status_code, response.json["reason"]) == (503, "store-unavailable")
        assert response.json["retryable"] is True
        assert int(response.headers["Retry-After"]) > 0
    unexpected = web.get("/metrics", headers=OPERATOR)
    assert (unexpected.status_code, unexpected.json["reason"]) == (500, "internal-error")
    assert "secret" not in unexpected.text + caplog.text


def test_metrics_name_the_build(web):
    build = find_build()
    page = web.get("/metrics", headers=OPERATOR).text
    assert f'ldp_build_info{{commit="{build.commit}",version="{build.version}"}} 1.0' in page


def test_readiness_leaves_out_closed_surveys(web, store, monkeypatch):
    asked: list[object] = []
    monkeypatch.setattr(store, "check_ready", asked.append)
    service = web.application.extensions["ldp"]
    (survey,) = service.plans
    store.set_note(SCHEDULES, survey, Schedule(closes=5).to_json())
    assert web.get("/readyz").status_code == 200
    assert asked == [[survey]]


def test_frequent_readiness_checks_write_once(web, store, monkeypatch):
    asked = []
    monkeypatch.setattr(store, "check_ready", lambda _: asked.append(1))
    assert [web.get("/readyz").status_code for _ in range(20)] == [200] * 20
    assert len(asked) <= 2


def test_the_scheme_of_the_token_is_required_and_case_insensitive(web):
    for given, status in (("bearer the-token", 200), ("BEARER the-token", 200), ("the-token", 401)):
        assert web.get("/metrics", headers={"Authorization": given}).status_code == status


def test_a_plan_that_this_version_cannot_read_does_not_affect_the_others(store, plan, caplog):
    store.publish("future", plan.json.replace(b'"format":1', b'"format":2'))
    with caplog.at_level("ERROR", "ldp.collector"):
        web = make_client(store)
    assert [record.message for record in caplog.records] == ["survey-unreadable"]
    assert web.get("/v1/surveys/sleep").status_code == 200
    assert web.get("/v1/surveys/future").json["reason"] == "unknown-survey"


@pytest.mark.slow
def test_the_table_of_estimates_is_the_one_of_the_json_form(web, plan):
    for label in ("yes", "no") * 20:
        post(web, make_report(plan, ROW, label))
    answer = web.get("/v1/surveys/sleep/estimates.csv", headers=OPERATOR)
    assert answer.status_code == 200
    assert answer.content_type == "text/csv; charset=utf-8; header=present"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="sleep-estimates.csv"'
    estimates = web.get("/v1/surveys/sleep/estimates", headers=OPERATOR).json
    assert answer.text == dump_table(build_table(from_json(Estimates, estimates), plan))
    assert web.get("/v1/surveys/diet/estimates.csv", headers=OPERATOR).json["reason"] == "unknown-survey"


def test_operator_pages_are_not_cached(web):
    survey = "/v1/surveys/sleep"
    for page in (f"{survey}/snapshot", f"{survey}/estimates", f"{survey}/estimates.csv", "/metrics"):
        assert web.get(page, headers=OPERATOR).headers["Cache-Control"] == "private, no-store"


def test_a_body_of_many_tiny_reports_is_refused_completely(plan, store):
    web = make_client(store)
    response = post(web, b"\x95" + bytes(5) + (b"\x95" + bytes(5)) * 100_000)
    assert (response.status_code, response.json["reason"]) == (400, "malformed")
    assert len(response.data) < 1000

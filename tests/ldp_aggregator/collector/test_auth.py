"""Access control: limits on wrong tokens, the gateway's token, the address of the operator's pages."""

import http.client
from ipaddress import ip_network
from urllib.parse import urlsplit

import pytest
from flask import Response
from flask.testing import FlaskClient

from encoders.report import MEDIA_TYPE
from ldp_aggregator.collector.auth import OPERATOR_ADDRESS
from ldp_aggregator.collector.dashboard.dashboard_page import assets_version
from ldp_aggregator.collector.serving.rate_limit import (
    MAX_WRONG_TOKENS_PER_MINUTE,
    WRONG_TOKEN_TABLE_ROWS,
    RateLimit,
)
from ldp_aggregator.stores import MemoryStore
from ldp_aggregator.stores.store import count_reports
from tests.ldp_aggregator.collector.conftest import REPORTS, make_client, rejected, some_reports
from tests.support.access import access
from tests.support.servers import TOKEN, collector, free_port

OPERATOR, GATEWAY = "the-operator-s-token", "the-gateway-s-token"
OPERATOR_PAGES = [
    "/metrics",
    *(f"/v1/surveys/sleep/{page}" for page in ("snapshot", "estimates", "estimates.csv")),
    *(f"/v1/surveys/sleep/{page}" for page in ("progress", "progress.html")),
]


def get(web: FlaskClient, token: str | None, address: str = "192.0.2.1", page: str = "/metrics") -> Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return web.get(page, headers=headers, environ_overrides={"REMOTE_ADDR": address})


def post(web: FlaskClient, body: bytes, token: str | None = None) -> tuple[int, str | None]:
    headers = {"Authorization": token} if token else {}
    response = web.post(REPORTS, data=body, content_type=MEDIA_TYPE, headers=headers)
    return response.status_code, response.json.get("reason")


@pytest.fixture
def guarded(store: MemoryStore) -> FlaskClient:
    return make_client(store, operator_token=OPERATOR, tokens=(access("gateway", GATEWAY),), rate=3)


# -- wrong tokens ------------------------------------------------------------------------------


def test_after_some_wrong_tokens_an_address_gets_no_operator_page_even_with_the_right_one(
    guarded,
):
    assert [get(guarded, "wrong").status_code for _ in range(MAX_WRONG_TOKENS_PER_MINUTE + 2)] == [
        *([401] * MAX_WRONG_TOKENS_PER_MINUTE),
        *([429] * 2),
    ]
    for page in OPERATOR_PAGES:
        for token in (OPERATOR, "wrong", None):
            refused = get(guarded, token, page=page)
            assert (refused.status_code, refused.json["reason"]) == (429, "too-many-requests")
            assert refused.json["retryable"] is True
            assert 0 < int(refused.headers["Retry-After"]) <= 60
            assert "192.0.2.1" not in refused.text
    assert get(guarded, None, page="/v1/surveys/sleep").status_code == 200  # pages without a token are served
    assert get(guarded, OPERATOR, "192.0.2.2").status_code == 200  # and so is the operator at another address


def test_wrong_tokens_are_counted_from_zero_in_the_next_minute(guarded):
    now = [100.0]
    guarded.application.extensions["ldp"].wrong_token_limit._clock = lambda: now[0]
    for _ in range(MAX_WRONG_TOKENS_PER_MINUTE):
        get(guarded, "wrong")
    assert get(guarded, OPERATOR).status_code == 429
    now[0] += 60
    assert get(guarded, OPERATOR).status_code == 200


def test_a_wrong_token_and_a_missing_one_are_told_apart(guarded):
    missing, wrong = (get(guarded, token).json["detail"] for token in (None, "wrong"))
    assert missing == "send a token for operator or metrics: Authorization: Bearer TOKEN"
    assert wrong == f"this collector does not have this token; {missing}"


def test_requests_with_the_right_token_or_none_are_not_counted(guarded):
    for _ in range(3 * MAX_WRONG_TOKENS_PER_MINUTE):
        assert get(guarded, None).status_code == 401
        assert get(guarded, OPERATOR).status_code == 200
    # the table is not allocated yet
    assert guarded.application.extensions["ldp"].wrong_token_limit._rows == []


def test_wrong_tokens_behind_a_trusted_proxy_count_by_the_address_that_it_names(store):
    web = make_client(store, operator_token=OPERATOR, trusted_proxy=(ip_network("10.1.0.2"),))

    def ask(source: str, token: str) -> int:
        headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": source}
        return web.get("/metrics", headers=headers, environ_overrides={"REMOTE_ADDR": "10.1.0.2"}).status_code

    assert {ask("192.0.2.1", "wrong") for _ in range(MAX_WRONG_TOKENS_PER_MINUTE + 1)} == {401, 429}
    assert (ask("192.0.2.1", OPERATOR), ask("192.0.2.2", OPERATOR)) == (429, 200)


@pytest.mark.slow
def test_wrong_tokens_of_many_addresses_lock_out_no_other_address():
    # More than a worker can serve in a minute. The probability of any refusal is below 1e-7.
    rates = RateLimit(MAX_WRONG_TOKENS_PER_MINUTE, rows=WRONG_TOKEN_TABLE_ROWS)
    for attacker in range(5_000):
        for _ in range(MAX_WRONG_TOKENS_PER_MINUTE):
            assert not rates.acquire(f"10.{attacker >> 8}.{attacker & 255}.1")
    assert rates.acquire("10.0.0.1", count=False)
    assert not any(rates.acquire(f"172.16.{each >> 8}.{each & 255}", count=False) for each in range(2_000))


def test_checking_an_address_does_not_count():
    rates = RateLimit(1)
    assert [rates.acquire("192.0.2.1", count=False) for _ in range(5)] == [0] * 5
    assert rates._rows == []
    assert rates.acquire("192.0.2.1") == 0
    assert [bool(rates.acquire("192.0.2.1", count=False)) for _ in range(2)] == [True, True]


# -- gateways ----------------------------------------------------------------------------------


def test_a_rate_limits_the_reports_of_an_address(guarded, store, plan):
    responses = [post(guarded, some_reports(plan, 1000)) for _ in range(2)]
    assert responses == [(403, "too-many-reports")] * 2
    assert post(guarded, some_reports(plan, 1)) == (200, None)
    # a refused body counts as a post
    assert post(guarded, some_reports(plan, 1)) == (429, "too-many-requests")
    assert guarded.get("/v1/surveys/sleep").status_code == 200  # only posts are counted
    assert count_reports(store.totals("sleep")) == 1
    assert rejected(guarded, "sleep") == {"too-many-reports": 2, "too-many-requests": 1}


def test_a_body_with_too_many_reports_is_not_retryable_and_the_error_names_the_fix(guarded, plan):
    response = guarded.post(REPORTS, data=some_reports(plan, 2), content_type=MEDIA_TYPE)
    assert (response.status_code, response.json["retryable"]) == (403, False)
    assert "one report per request, or a gateway's token" in response.json["detail"]
    assert "Retry-After" not in response.headers


@pytest.mark.parametrize("body", [b"junk", b"\x95\x01"])
def test_a_body_that_cannot_be_divided_keeps_its_reason_with_a_rate(guarded, plan, body):
    assert post(guarded, body) == (400, "malformed")
    assert post(guarded, some_reports(plan, 1) + body) == (400, "malformed")


def test_a_gateway_s_token_lifts_both_limits(guarded, store, plan):
    for scheme in ("Bearer", "bearer") * 5:
        assert post(guarded, some_reports(plan, 10), f"{scheme} {GATEWAY}") == (200, None)
    assert count_reports(store.totals("sleep")) == 100
    assert [post(guarded, some_reports(plan, 1))[0] for _ in range(4)] == [200, 200, 200, 429]  # not counted
    assert post(guarded, some_reports(plan, 2), f"Bearer {GATEWAY}") == (200, None)


def test_a_wrong_gateway_s_token_is_refused_and_limited(guarded, store, plan):
    wrong = [
        post(guarded, some_reports(plan, 1), "Bearer wrong") for _ in range(MAX_WRONG_TOKENS_PER_MINUTE + 1)
    ]
    assert wrong == [*([(401, "not-authorised")] * MAX_WRONG_TOKENS_PER_MINUTE), (429, "too-many-requests")]
    assert post(guarded, some_reports(plan, 2), f"Bearer {GATEWAY}") == (429, "too-many-requests")
    assert post(guarded, some_reports(plan, 1)) == (200, None)  # a person at that address may answer
    assert count_reports(store.totals("sleep")) == 1


def test_the_gateway_s_and_the_operator_s_token_do_not_replace_each_other(guarded, plan):
    for _ in range(2 * MAX_WRONG_TOKENS_PER_MINUTE):  # a token of another role is not a guess
        assert get(guarded, GATEWAY).status_code == 403
    assert post(guarded, some_reports(plan, 2), f"Bearer {OPERATOR}") == (403, "not-authorised")


def test_without_a_rate_bodies_may_hold_many_reports(store, plan):
    web = make_client(store, operator_token=OPERATOR, tokens=(access("gateway", GATEWAY),))
    for token in (None, "Bearer wrong", f"Bearer {GATEWAY}"):
        assert post(web, some_reports(plan, 5), token) == (200, None)


@pytest.mark.parametrize("token", [None, "Bearer whatever", "Basic whatever"])
def test_without_a_gateway_s_token_at_the_collector_no_header_lifts_the_limits(store, plan, token):
    web = make_client(store, rate=1)
    assert post(web, some_reports(plan, 1), token) == (200, None)
    assert post(web, some_reports(plan, 1), token) == (429, "too-many-requests")
    web = make_client(store, rate=1)
    assert post(web, some_reports(plan, 2), token) == (403, "too-many-reports")


# -- an address of the operator's own ----------------------------------------------------------


def test_operator_pages_with_a_separate_address_are_served_only_there(store):
    web = make_client(store, operator_token=OPERATOR, operator_bind="127.0.0.1:8001")
    unknown = web.get("/nowhere")
    web.application.config[OPERATOR_ADDRESS] = "127.0.0.1", "8001"
    operator_listener = {"SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8001"}
    for page in ["/", f"/static/{assets_version()}/main.js", *OPERATOR_PAGES]:
        for token in (OPERATOR, "wrong", None):
            public = get(web, token, page=page)
            assert (public.status_code, public.json) == (404, unknown.json), page
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        assert web.get(page, headers=headers, environ_overrides=operator_listener).status_code == 200, page
    for page in ("/livez", "/readyz", "/openapi.json", "/v1/surveys", "/v1/surveys/sleep"):
        assert web.get(page).status_code == 200, page
        assert web.get(page, environ_overrides=operator_listener).status_code == 200, page


@pytest.mark.slow
def test_a_running_collector_serves_the_operator_at_a_separate_address(survey, url, plan):
    port = free_port()
    options = ["--operator-bind", f"127.0.0.1:{port}"]
    with collector([survey], url, options=options) as (base, process):

        def ask(base: str, page: str, **headers: str) -> int:
            where = urlsplit(base)
            line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
            line.request("GET", page, headers={"Authorization": f"Bearer {TOKEN}", **headers})
            status = line.getresponse().status
            line.close()
            return status

        operator = f"http://127.0.0.1:{port}"
        claimed = {
            "Host": f"127.0.0.1:{port}",
            "X-Forwarded-Host": "127.0.0.1",
            "X-Forwarded-Port": str(port),
        }
        for _ in range(6):  # any worker may respond
            for page in ("/", *OPERATOR_PAGES):
                assert (ask(base, page, **claimed), ask(operator, page)) == (404, 200)
            for page in ("/livez", "/readyz", "/v1/surveys"):
                assert (ask(base, page), ask(operator, page)) == (200, 200)
        assert process.stdout is not None
        assert f"the dashboard is / of {operator}" in process.stdout.readline()

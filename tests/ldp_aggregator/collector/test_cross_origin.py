"""Which pages scripts of other origins may use, and what a report as text/plain must be, over real HTTP."""

import base64
import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import pytest
from flask.testing import FlaskClient

from encoders.report import MAX_REPORT_BYTES, MEDIA_TYPE, Report, pack, unpack
from encoders.survey import Plan, read_survey
from encoders.survey.signature import signature_text
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.snapshot import counter_names
from ldp_aggregator.stores import MemoryStore, open_store
from ldp_aggregator.stores.schedule import Schedule
from ldp_aggregator.stores.store import SCHEDULES, count_reports
from ldp_client import make_report
from ldp_design.authoring.signing import make_keys, sign
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, make_client, rejected
from tests.support.access import access, write_tokens
from tests.support.servers import TOKEN, collector, wait_for
from tests.support.surveys import SLEEP, SLEEP_TEXTS

PLAN = read_survey(SLEEP + SLEEP_TEXTS).compile()
GATEWAY = "gateway-token-of-the-tests"
SURVEY = "/v1/surveys/sleep"
ORIGIN = "https://page-of-a-stranger.example"
PLAIN_TEXT = "text/plain"
OPEN_RULES = {
    "/v1/surveys/<survey>": "GET",
    "/v1/surveys/<survey>/texts": "GET",
    "/v1/surveys/<survey>/signature": "GET",
    "/v1/surveys/<survey>/reports": "POST",
}
"""All rules that scripts of other origins may use, each with its one method."""
OPERATOR_PAGES = {"/metrics"} | {
    f"{SURVEY}/{page}" for page in ("snapshot", "estimates", "estimates.csv", "progress", "progress.html")
}
READABLE = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}


@dataclass
class Received:
    """A response: its status, its headers and its body."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def reason(self) -> str | None:
        """The reason of a problem; None for another response."""
        is_problem = self.headers["Content-Type"] == "application/problem+json"
        return json.loads(self.body)["reason"] if is_problem and self.body else None

    @property
    def cross_origin_headers(self) -> dict[str, str]:
        """The CORS headers, none of which may occur twice."""
        found = [item for item in self.headers.items() if item[0].lower().startswith("access-control-")]
        assert len(dict(found)) == len(found)
        return dict(found)


def ask(
    base: str,
    method: str,
    path: str,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    source: str = "127.0.0.1",
) -> Received:
    """Send one request as a page of another origin; end the sending, so that a short body is noticed."""
    sent = {"Host": "x", "Origin": ORIGIN, "Referer": f"{ORIGIN}/", "Connection": "close"}
    if body is not None:
        sent |= {"Content-Type": MEDIA_TYPE, "Content-Length": str(len(body))}
    lines = [f"{method} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in (sent | dict(headers or {})).items() if value]
    where = urlsplit(base)
    with socket.create_connection((where.hostname, where.port), 20, source_address=(source, 0)) as line:
        line.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b""))
        line.shutdown(socket.SHUT_WR)
        with http.client.HTTPResponse(line, method=method) as response:
            response.begin()
            return Received(response.status, response.headers, response.read())


def one_report(plan: Plan = PLAN) -> bytes:
    return make_report(plan, ROW, "yes")


# -- every response of the open pages ----------------------------------------------------------


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a collector with an open survey and texts, and surveys in other phases without texts."""
    folder = tmp_path_factory.mktemp("collector")
    url = f"sqlite:///{folder}/store.db"
    texts = {name: SLEEP.replace('"sleep"', f'"{name}"') for name in ("bare", "future", "over")}
    texts["sleep"] = SLEEP + SLEEP_TEXTS
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
    keys = make_keys()
    (folder / "sleep.toml.sig").write_text(signature_text(sign(PLAN, keys.private_pem)))
    store = open_store(url)
    for name, schedule in (("future", Schedule(opens=1 << 40)), ("over", Schedule(closes=1))):
        plan = read_survey(texts[name]).compile()
        store.publish(name, plan.json, counter_names(plan))
        store.set_note(SCHEDULES, name, schedule.to_json())
    store.close()
    with collector([folder / f"{name}.toml" for name in texts], url, workers=1) as (running, _):
        yield running


BAD_PAYLOAD = pack(Report(bytes.fromhex(PLAN.digest), 0, bytes(16), bytes(99)))
NO_QUESTION = pack(Report(bytes.fromhex(PLAN.digest), 99, bytes(16), b"\0"))
WRONG_PLAN = one_report().replace(bytes.fromhex(PLAN.digest), bytes(32))
AS_TEXT = {"Content-Type": PLAIN_TEXT}
CHUNKED = {"Content-Length": "", "Transfer-Encoding": "chunked"}
OUTCOMES = [
    ("GET", SURVEY, {}, None, 200, None),
    ("HEAD", SURVEY, {}, None, 200, None),
    ("GET", SURVEY, {"If-None-Match": f'"{PLAN.digest}"'}, None, 304, None),
    ("GET", "/v1/surveys/diet", {}, None, 404, "unknown-survey"),
    ("GET", "/v1/surveys/future", {}, None, 403, "survey-not-open"),
    ("GET", "/v1/surveys/over", {}, None, 410, "survey-closed"),
    ("GET", f"{SURVEY}/texts", {}, None, 200, None),
    ("HEAD", f"{SURVEY}/texts", {}, None, 200, None),
    ("GET", f"{SURVEY}/texts", {"If-None-Match": f'"{PLAN.texts_digest}"'}, None, 304, None),
    ("GET", f"{SURVEY}/texts", {"Accept-Encoding": "gzip"}, None, 200, None),
    ("GET", "/v1/surveys/bare/texts", {}, None, 404, "no-texts"),
    ("GET", "/v1/surveys/diet/texts", {}, None, 404, "unknown-survey"),
    ("GET", "/v1/surveys/future/texts", {}, None, 403, "survey-not-open"),
    ("GET", "/v1/surveys/over/texts", {}, None, 410, "survey-closed"),
    ("GET", f"{SURVEY}/signature", {}, None, 200, None),
    ("HEAD", f"{SURVEY}/signature", {}, None, 200, None),
    ("GET", "/v1/surveys/bare/signature", {}, None, 404, "no-signature"),
    ("GET", "/v1/surveys/diet/signature", {}, None, 404, "unknown-survey"),
    ("POST", REPORTS, {}, one_report(), 200, None),
    ("POST", REPORTS, AS_TEXT, one_report(), 200, None),
    ("POST", REPORTS, {"Content-Type": "text/plain;charset=UTF-8"}, one_report(), 200, None),
    ("POST", REPORTS, {}, one_report() + one_report(), 200, None),
    ("POST", REPORTS, AS_TEXT, one_report() + one_report(), 403, "too-many-reports"),
    *(
        ("POST", path, media_type, body, status, reason)
        for media_type in ({}, AS_TEXT)
        for path, body, status, reason in (
            (REPORTS, b"", 400, "malformed"),
            (REPORTS, b"junk", 400, "malformed"),
            (REPORTS, one_report()[:-1], 400, "malformed"),
            (REPORTS, BAD_PAYLOAD, 400, "bad-payload"),
            (REPORTS, NO_QUESTION, 400, "unknown-question"),
            (REPORTS, WRONG_PLAN, 409, "wrong-plan"),
            ("/v1/surveys/diet/reports", one_report(), 404, "unknown-survey"),
            ("/v1/surveys/future/reports", one_report(), 403, "survey-not-open"),
            ("/v1/surveys/over/reports", one_report(), 410, "survey-closed"),
        )
    ),
    ("POST", REPORTS, {"Content-Length": "99"}, b"short", 400, "incomplete-body"),
    ("POST", REPORTS, AS_TEXT | {"Content-Length": "99"}, b"short", 400, "incomplete-body"),
    ("POST", REPORTS, {"Content-Length": str((4 << 20) + 1)}, b"short", 413, "too-large"),
    ("POST", REPORTS, AS_TEXT | {"Content-Length": "4097"}, b"short", 413, "too-large"),
    ("POST", REPORTS, {"Content-Length": ""}, b"", 411, "length-required"),
    ("POST", REPORTS, AS_TEXT | {"Content-Length": ""}, b"", 411, "length-required"),
    ("POST", REPORTS, CHUNKED, b"0\r\n\r\n", 411, "length-required"),
    ("POST", REPORTS, {"Content-Type": "application/json"}, one_report(), 415, "unsupported-media-type"),
    ("POST", REPORTS, {"Content-Type": ""}, one_report(), 415, "unsupported-media-type"),
]


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status", "reason"),
    OUTCOMES,
    ids=[f"{number}-{each[0]}-{each[1]}-{each[5] or each[4]}" for number, each in enumerate(OUTCOMES)],
)
def test_pages_of_every_origin_can_read_every_response_of_the_open_pages(
    base, method, path, headers, body, status, reason
):
    response = ask(base, method, path, headers, body)
    assert (response.status, response.reason) == (status, None if method == "HEAD" else reason)
    assert response.cross_origin_headers == READABLE
    assert "origin" not in response.headers.get("Vary", "").lower()


def test_a_duplicate_and_a_reused_id_are_readable_from_every_origin(base):
    payloads = dict[bytes, Report]()
    while len(payloads) < 2:
        drawn = unpack(one_report())
        if drawn.question == 0:
            payloads[drawn.payload] = drawn
    first, second = payloads.values()
    report, other = pack(first), pack(replace(second, id=first.id))
    responses = [ask(base, "POST", REPORTS, AS_TEXT, body) for body in (report, report, other)]
    assert [response.status for response in responses] == [200, 200, 409]
    assert json.loads(responses[1].body) == {"status": "duplicate"}
    assert responses[2].reason == "id-reused"
    assert all(response.cross_origin_headers == READABLE for response in responses)


@pytest.mark.slow
def test_refusals_with_a_limited_rate_are_readable_from_every_origin(tmp_path):
    tokens = write_tokens(tmp_path / "tokens.toml", access("gateway", GATEWAY))
    (tmp_path / "sleep.toml").write_text(SLEEP)
    plan = read_survey(SLEEP).compile()
    options = ["--rate", "1", "--tokens", tokens]
    url = f"sqlite:///{tmp_path}/store.db"
    with collector([tmp_path / "sleep.toml"], url, workers=1, options=options) as (base, _):
        for media_type in ({}, AS_TEXT):
            responses: list[Received] = []

            def post_again(media_type: dict[str, str] = media_type) -> bool:
                responses.append(ask(base, "POST", REPORTS, media_type, one_report(plan)))  # noqa: B023
                return responses[-1].status == 429  # noqa: B023

            wait_for(post_again)
            assert responses[-1].reason == "too-many-requests"
            assert 0 < int(responses[-1].headers["Retry-After"]) <= 60
            wrong = ask(base, "POST", REPORTS, {"Authorization": "Bearer x"} | media_type, one_report(plan))
            assert (wrong.status, wrong.reason) == (401, "not-authorised")
            assert all(response.cross_origin_headers == READABLE for response in (*responses, wrong))


@pytest.mark.slow
def test_failures_are_readable_from_every_origin(tmp_path):
    (tmp_path / "sleep.toml").write_text(SLEEP + SLEEP_TEXTS)
    url = f"sqlite:///{tmp_path}/store.db"
    with collector([tmp_path / "sleep.toml"], url, workers=1) as (base, _):
        assert ask(base, "GET", SURVEY).status == 200
        (tmp_path / "store.db").rename(tmp_path / "moved.db")
        response = ask(base, "POST", REPORTS, AS_TEXT, one_report())
        assert (response.status, response.reason) == (503, "store-unavailable")
        assert (response.headers["Retry-After"], response.cross_origin_headers) == ("5", READABLE)
        assert ask(base, "GET", "/readyz").cross_origin_headers == {}
    prelude = "from ldp_aggregator.collector import routes; routes._plan = routes.read_body = None"
    url = f"sqlite:///{tmp_path}/other.db"
    with collector([tmp_path / "sleep.toml"], url, workers=1, prelude=prelude) as (base, _):
        for path in (SURVEY, f"{SURVEY}/texts", f"{SURVEY}/signature", REPORTS):
            post = path == REPORTS
            response = ask(base, "POST" if post else "GET", path, AS_TEXT, one_report() if post else None)
            assert (response.status, response.reason) == (500, "internal-error")
            assert (response.headers["Retry-After"], response.cross_origin_headers) == ("5", READABLE)


# -- preflights --------------------------------------------------------------------------------

WANTED = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization"}


@pytest.mark.parametrize("survey", ["sleep", "over", "future", "diet"])
@pytest.mark.parametrize("rule", OPEN_RULES)
def test_a_preflight_allows_the_one_method_and_lasts_a_day(base, rule, survey):
    method = OPEN_RULES[rule]
    expected = {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Methods": method,
        "Access-Control-Max-Age": "86400",
    }
    if method == "POST":
        expected["Access-Control-Allow-Headers"] = "Content-Type"
    for headers in (WANTED, {}, WANTED | {"Origin": "null"}):
        response = ask(base, "OPTIONS", rule.replace("<survey>", survey), headers)
        assert (response.status, response.body, response.cross_origin_headers) == (204, b"", expected)
        assert "Content-Type" not in response.headers


def test_preflights_are_neither_limited_nor_counted(store):
    web = make_client(store, rate=1)
    assert {web.options(REPORTS).status_code for _ in range(20)} == {204}
    assert rejected(web, "sleep") == {}


# -- all other pages ---------------------------------------------------------------------------


def closed_paths() -> list[str]:
    """Return a path of every rule that is not open, and paths without a rule."""
    rules = {rule.rule for rule in create_app(CollectorSettings(), MemoryStore()).url_map.iter_rules()}
    assert set(OPEN_RULES) < rules
    fill = {"<survey>": "sleep", "<version>": "0", "<path:name>": "page.js"}
    paths = sorted(rules - set(OPEN_RULES))
    for name, value in fill.items():
        paths = [path.replace(name, value) for path in paths]
    return [*paths, "/nowhere", "/v1//surveys/sleep", f"{SURVEY}/", f"{REPORTS}/", f"{SURVEY}/merge"]


@pytest.mark.parametrize("path", closed_paths())
def test_no_other_page_has_a_cross_origin_header(base, path):
    for token in ("", f"Bearer {TOKEN}"):
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            response = ask(base, method, path, WANTED | {"Authorization": token})
            assert response.cross_origin_headers == {}
            assert response.status == 200 or not (token and method == "GET" and path in OPERATOR_PAGES)
            assert method != "OPTIONS" or response.status in (404, 405)


def test_the_closed_pages_include_all_pages_of_the_operator():
    assert OPERATOR_PAGES | {"/", "/livez", "/readyz", "/openapi.json", "/v1/surveys"} <= set(closed_paths())


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "QUERY"])
@pytest.mark.parametrize("path", [SURVEY, f"{SURVEY}/texts", f"{SURVEY}/signature", REPORTS])
def test_other_methods_of_the_open_pages_stay_refused(base, path, method):
    response = ask(base, method, path)
    assert (response.status, response.reason) == (405, "no-such-page")
    assert response.cross_origin_headers == {}


# -- a report as text/plain --------------------------------------------------------------------


def post(web: FlaskClient, body: bytes, media_type: str | None, **headers: str) -> tuple[int, str]:
    """Post a body; return the status, and the reason or the status of the report."""
    response = web.post(REPORTS, data=body, content_type=media_type, headers=headers)
    return response.status_code, response.json.get("reason") or response.json.get("status", "several")


@pytest.mark.parametrize("media_type", [PLAIN_TEXT, "text/plain;charset=UTF-8", "Text/Plain; charset=utf-8"])
def test_a_report_as_text_is_the_same_report(web, store, plan, media_type):
    report = one_report(plan)
    assert post(web, report, media_type) == (200, "recorded")
    assert post(web, report, MEDIA_TYPE) == (200, "duplicate")
    assert post(web, report, media_type) == (200, "duplicate")
    assert count_reports(store.totals("sleep")) == 1


def test_several_reports_as_text_are_refused_completely(store, plan):
    limited = make_client(store, operator_token=TOKEN, tokens=(access("gateway", GATEWAY),), rate=9)
    for web in (make_client(store), limited):
        for headers in ({}, {"Authorization": f"Bearer {GATEWAY}"}):
            body = one_report(plan) + one_report(plan)
            assert post(web, body, PLAIN_TEXT, **headers) == (403, "too-many-reports")
    assert store.totals("sleep") == {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda report: report + b"\r\n", "malformed"),  # as a form with enctype text/plain ends its body
        (lambda report: b"\xef\xbb\xbf" + report, "malformed"),
        # a string, which browsers send as UTF-8
        (lambda report: report.decode("latin-1").encode(), "malformed"),
        (base64.b64encode, "malformed"),
        (lambda report: report.hex().encode(), "malformed"),
        (lambda report: report[:-1], "malformed"),
        (lambda report: report.ljust(MAX_REPORT_BYTES + 1, b"\0"), "too-large"),
        (lambda report: report * 90, "too-large"),
    ],
)
def test_other_bytes_as_text_are_refused(web, store, plan, change, reason):
    body = change(one_report(plan))  # type: ignore[operator]
    assert post(web, body, PLAIN_TEXT)[1] == reason
    assert store.totals("sleep") == {}
    assert rejected(web, "sleep") == {reason: 1}


@pytest.mark.parametrize(
    "media_type",
    [
        *("", None, "text", "text/*", "text/html", "text/x-plain", "text/plainer", "application/json"),
        *("application/octet-stream", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"),
        *("text/plain, application/vnd.msgpack", "application/vnd.msgpack, text/plain"),
        "application/msgpack",
    ],
)
def test_no_further_media_type_is_accepted(web, store, plan, media_type):
    assert post(web, one_report(plan), media_type) == (415, "unsupported-media-type")
    assert store.totals("sleep") == {}


@pytest.mark.slow
def test_reports_as_text_count_towards_the_rate(store, plan):
    web = make_client(store, rate=2)
    found = [
        post(web, one_report(plan), media_type)[0] for media_type in (PLAIN_TEXT, MEDIA_TYPE, PLAIN_TEXT)
    ]
    assert found == [200, 200, 429]

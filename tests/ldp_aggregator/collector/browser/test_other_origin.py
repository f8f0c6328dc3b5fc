"""What a page of another origin can do with a collector in a real browser, and what the browser refuses."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from encoders.report import MEDIA_TYPE
from encoders.survey import Plan, read_survey
from encoders.survey.signature import signature_text
from ldp_client import make_report
from ldp_design.authoring.signing import make_keys, sign
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, ask
from tests.support.http_servers import QuietHandler, serve
from tests.support.servers import TOKEN, collector, front_proxy, wait_for
from tests.support.surveys import SLEEP, SLEEP_TEXTS

pytestmark = pytest.mark.slow

PLAN = read_survey(SLEEP + SLEEP_TEXTS).compile()
PLAIN_TEXT = "text/plain"
SURVEY = "/v1/surveys/sleep"
FETCH = """async ([url, method, headers, bytes, type]) => {
    const body = bytes && new Blob([new Uint8Array(bytes)], {type})
    try {
        // With "no-store" Chromium would not read its cache of preflights.
        const cache = method === "POST" ? "default" : "no-store"
        const response = await fetch(url, {
            method, headers, body, cache, credentials: "omit", referrerPolicy: "no-referrer",
        })
        return {
            status: response.status, text: await response.text(), etag: response.headers.get("ETag"),
            retryAfter: response.headers.get("Retry-After"),
        }
    } catch (error) {
        return {error: error.name}
    }
}"""
REFUSED = {"error": "TypeError"}
"""The result of a request that the browser does not send, or whose response it withholds."""


COUNT_PREFLIGHTS = """
from ldp_aggregator.collector import cross_origin

make_preflight = cross_origin._make_preflight

def make_counted_preflight(*arguments):
    preflight = make_preflight(*arguments)
    def counted(survey):
        with open({path!r}, "ab") as file:
            file.write(b"x")
        return preflight(survey)
    return counted

cross_origin._make_preflight = make_counted_preflight
"""
"""Makes a collector append a byte to a file for each preflight that it answers."""


class EmptyPage(QuietHandler):
    """Sends an empty page at every path: the other origin."""

    def do_GET(self) -> None:
        self.answer(200, b"<!doctype html>", Content_Type="text/html")


@pytest.fixture(scope="module")
def other_origin() -> Iterator[str]:
    with serve(EmptyPage) as origin:
        yield origin


@dataclass
class Site:
    """A collector, and the file to which it appends a byte for each preflight that it answers."""

    urls: dict[str, str]
    preflights: Path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Run a collector, and the shipped proxy in front of it; yield the addresses of both."""
    folder = tmp_path_factory.mktemp("site")
    survey, preflights = folder / "sleep.toml", folder / "preflights"
    survey.write_text(SLEEP + SLEEP_TEXTS)
    survey.with_name("sleep.toml.sig").write_text(signature_text(sign(PLAN, make_keys().private_pem)))
    preflights.write_bytes(b"")
    store, prelude = f"sqlite:///{folder}/store.db", COUNT_PREFLIGHTS.format(path=str(preflights))
    with (
        collector([survey], store, workers=1, prelude=prelude) as (base, _),
        front_proxy(folder, urlsplit(base).port or 0) as front,
    ):
        yield Site({"collector": base, "proxy": front}, preflights)


class Stranger:
    """A page of another origin that uses a collector."""

    def __init__(self, page: Page, site: Site, url: str) -> None:
        self.page, self.url = page, url
        self._preflights = site.preflights
        self._preflights_before, self._reports_before = self._preflights.stat().st_size, self._count()

    def fetch(
        self, method: str, path: str, body: bytes | None = None, media_type: str = "", **headers: str
    ) -> dict[str, Any]:
        """Fetch as the page; return what its script receives."""
        arguments = [f"{self.url}{path}", method, headers, body and list(body), media_type]
        result: dict[str, Any] = self.page.evaluate(FETCH, arguments)
        return result

    def post(self, body: bytes, media_type: str) -> dict[str, Any]:
        return self.fetch("POST", REPORTS, body, media_type)

    def preflights(self) -> int:
        """Return how many preflights were answered since the page was opened."""
        return self._preflights.stat().st_size - self._preflights_before

    def counted(self) -> int:
        """Return how many reports were counted since the page was opened."""
        return self._count() - self._reports_before

    def _count(self) -> int:
        text = ask(f"{self.url}/metrics", token=TOKEN)[1].decode()
        return int(float(text.partition('ldp_reports_total{survey="sleep"} ')[2].split()[0]))


@pytest.fixture(params=["collector", "proxy"])
def stranger(
    request: pytest.FixtureRequest, chromium: Browser, other_origin: str, site: Site
) -> Iterator[Stranger]:
    """Open a page of another origin that uses the collector directly, or through the proxy."""
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(other_origin)
        yield Stranger(page, site, site.urls[request.param])


def report() -> bytes:
    return make_report(PLAN, ROW, "yes")


def test_a_page_of_another_origin_reads_plan_texts_and_signature_without_a_preflight(
    stranger,
):
    responses = [stranger.fetch("GET", f"{SURVEY}{path}") for path in ("", "/texts", "/signature")]
    assert [response["status"] for response in responses] == [200] * 3
    assert Plan.from_json(responses[0]["text"].encode()).digest == PLAN.digest
    assert PLAN.texts
    assert responses[1]["text"].encode() == PLAN.texts.json
    assert [response["etag"] for response in responses] == [None] * 3  # not exposed
    assert stranger.preflights() == 0


def test_a_page_of_another_origin_posts_reports_as_msgpack_after_one_preflight(stranger):
    for body in (report(), report()):
        response = stranger.post(body, MEDIA_TYPE)
        assert (response["status"], response["text"].strip()) == (200, '{"status":"recorded"}')
    assert stranger.preflights() == 1
    assert stranger.counted() == 2


@pytest.mark.parametrize("media_type", [PLAIN_TEXT, "text/plain;charset=UTF-8"])
def test_a_page_of_another_origin_posts_a_report_as_text_without_a_preflight(stranger, media_type):
    body = report()
    assert stranger.post(body, media_type)["text"].strip() == '{"status":"recorded"}'
    assert stranger.post(body, media_type)["text"].strip() == '{"status":"duplicate"}'
    assert stranger.preflights() == 0
    refused = stranger.post(report() + report(), media_type)
    assert (refused["status"], json.loads(refused["text"])["reason"]) == (403, "too-many-reports")
    assert stranger.counted() == 1


def test_a_page_of_another_origin_reads_problems(stranger):
    other = report().replace(bytes.fromhex(PLAN.digest), bytes(32))
    found = [
        stranger.post(other, PLAIN_TEXT),
        stranger.fetch("POST", "/v1/surveys/diet/reports", report(), MEDIA_TYPE),
        stranger.post(report(), "application/x-www-form-urlencoded"),
        stranger.post(bytes(5000), PLAIN_TEXT),
    ]
    reasons = ["wrong-plan", "unknown-survey", "unsupported-media-type", "too-large"]
    assert [json.loads(response["text"])["reason"] for response in found] == reasons
    assert [response["status"] for response in found] == [409, 404, 415, 413]


def test_the_last_report_of_a_page_that_ends_is_counted(stranger, other_origin):
    stranger.page.evaluate(
        """([url, bytes]) => addEventListener("pagehide", () => fetch(url, {
            method: "POST", body: new Blob([new Uint8Array(bytes)], {type: "text/plain"}),
            keepalive: true, credentials: "omit",
        }))""",
        [f"{stranger.url}{REPORTS}", list(report())],
    )
    stranger.page.goto(f"{other_origin}/next")
    wait_for(lambda: stranger.counted() == 1)


def test_a_page_of_another_origin_counts_a_report_whose_response_it_cannot_read(stranger):
    # No CORS header prevents this request: docs/poisoning.md describes what follows from it.
    kind = stranger.page.evaluate(
        """async ([url, bytes]) => (await fetch(url, {
            method: "POST", mode: "no-cors", body: new Blob([new Uint8Array(bytes)], {type: "text/plain"}),
        })).type""",
        [f"{stranger.url}{REPORTS}", list(report())],
    )
    assert (kind, stranger.counted()) == ("opaque", 1)


def test_the_browser_refuses_all_other_pages_to_a_page_of_another_origin(stranger):
    paths = ["/", "/v1/surveys", "/openapi.json", "/metrics", "/livez", "/readyz"]
    paths += [f"{SURVEY}/{page}" for page in ("snapshot", "estimates", "estimates.csv")]
    paths += [f"{SURVEY}/{page}" for page in ("progress", "progress.html")]
    for path in paths:
        assert stranger.fetch("GET", path) == REFUSED
        assert stranger.fetch("GET", path, Authorization=f"Bearer {TOKEN}") == REFUSED
    assert stranger.fetch("GET", SURVEY)["status"] == 200


def test_the_browser_refuses_other_methods_other_headers_and_credentials(stranger):
    assert stranger.fetch("PUT", REPORTS, report(), MEDIA_TYPE) == REFUSED
    assert stranger.fetch("POST", REPORTS, report(), MEDIA_TYPE, Authorization="Bearer x") == REFUSED
    assert stranger.fetch("POST", REPORTS, report(), PLAIN_TEXT, Authorization="Bearer x") == REFUSED
    assert stranger.fetch("GET", SURVEY, **{"If-None-Match": '"x"'}) == REFUSED
    with_credentials = """async url => {
        try { return (await fetch(url, {credentials: "include"})).status } catch (error) { return error.name }
    }"""
    assert stranger.page.evaluate(with_credentials, f"{stranger.url}{SURVEY}") == "TypeError"
    assert stranger.counted() == 0

"""The JavaScript client in Firefox, on a page of another origin than the collector."""

import time

import pytest

from ldp_design.authoring.signing import make_keys
from tests.support.servers import wait_for
from tests.support.web_client import REPORT, REPORT_AT, STORED, call

pytestmark = [pytest.mark.slow, pytest.mark.clients]

YEAR = 365 * 86_400  # a report is almost certainly not sent during the test
JOURNAL = "ldp-bayes"


def test_a_report_is_counted_once(visit, site):
    tab = visit()
    assert call(tab, "report", {"age": "young", "hours": 7}, "yes")["reason"] == "no-consent"
    assert call(tab, "grant")["state"] == "ready"
    receipt = tab.evaluate(REPORT)
    assert (receipt["state"], receipt["epsilon"]) == ("queued", 1)
    assert tab.evaluate(REPORT)["state"] == "already_reported"
    assert call(tab, "flush")["state"] == "sent"
    assert sorted(tab.evaluate("outcomes")) == ["already_reported", "no_consent", "queued", "sent"]
    assert site.count() == len(site.bodies) == 1


def test_the_post_has_neither_cookies_nor_referrer_and_needs_no_preflight(visit, site):
    tab = visit()
    tab.evaluate("document.cookie = 'visitor=7; path=/'")  # the collector has the same host, and another port
    call(tab, "grant")
    tab.evaluate(REPORT)
    assert call(tab, "flush")["state"] == "sent"
    plan, post = (head.decode().splitlines() for head in site.proxy.heads)
    assert plan[0] == "GET /v1/surveys/sleep HTTP/1.1"
    assert post[0] == "POST /v1/surveys/sleep/reports HTTP/1.1"
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in post[1:])}
    assert headers["content-type"] == "text/plain"
    assert not {"cookie", "referer", "authorization"} & headers.keys()
    assert tab.evaluate("document.cookie") == "visitor=7"


def test_a_preview_is_shown_before_consent(visit, site):
    tab = visit()
    text = tab.evaluate("async () => String(await client.preview({ age: 'young', hours: 7 }, 'yes'))")
    assert "What would be sent" in text
    assert call(tab, "status")["reason"] == "no-consent"
    assert tab.evaluate("indexedDB.databases()") == []
    assert site.bodies == []


def test_tabs_at_once_make_one_report(visit, site):
    tabs = [visit() for _ in range(4)]
    call(tabs[0], "grant")
    start = time.time() * 1000 + 1500
    for tab in tabs:
        tab.evaluate(REPORT_AT, start)
    states = [tab.evaluate("async () => (await result).state") for tab in tabs]
    assert sorted(states) == ["already_reported"] * 3 + ["queued"]
    assert {call(tab, "flush")["state"] for tab in tabs} <= {"sent", "duplicate"}
    assert len(set(site.bodies)) == site.count() == 1


def test_a_report_is_sent_while_its_tab_closes(visit, site):
    tab = visit(spread=YEAR)
    call(tab, "grant")
    tab.evaluate(REPORT)
    assert site.bodies == []
    tab.close()
    wait_for(lambda: site.count() == 1)
    assert call(visit(), "flush")["state"] in ("sent", "duplicate")
    assert len(set(site.bodies)) == site.count() == 1


def test_the_next_visit_sends_the_report_of_a_closed_tab(visit, site):
    tab = visit(spread=YEAR)
    call(tab, "grant")
    tab.evaluate(REPORT)
    [[state, stored]] = tab.evaluate(STORED, JOURNAL)
    assert state == "queued"
    with site.proxy.failing("refused"):
        tab.close()
        time.sleep(0.5)
    assert site.bodies == []
    again = visit(spread=0)
    wait_for(lambda: site.count() == 1)
    assert call(again, "flush")["state"] in ("sent", "duplicate")
    assert set(site.bodies) == {bytes(stored)}


def test_a_withdrawn_report_is_deleted_and_never_sent(visit, site):
    tab, other = visit(spread=YEAR), visit(spread=YEAR)
    call(tab, "grant")
    tab.evaluate(REPORT)
    assert call(other, "withdraw")["state"] == "withdrawn"
    assert other.evaluate(STORED, JOURNAL) == [["withdrawn", []]]
    for each in (tab, other):
        each.close()
    assert call(visit(spread=0), "flush")["state"] == "withdrawn"
    assert site.bodies == []


def test_a_plan_that_the_author_signed_is_accepted(visit, site, author):
    tab = visit(publicKey=author.public_key)
    assert call(tab, "grant")["state"] == "ready"
    assert tab.evaluate(REPORT)["state"] == "queued"
    assert call(tab, "flush")["state"] == "sent"
    assert site.count() == 1


def test_a_plan_that_another_author_signed_is_refused(visit, site):
    tab = visit(publicKey=make_keys().public_key)
    receipt = call(tab, "grant")
    assert (receipt["state"], receipt["reason"]) == ("rejected", "bad-signature")
    assert tab.evaluate(REPORT)["reason"] == "no-consent"
    assert site.bodies == []


def test_a_report_waits_until_the_browser_is_online(firefox, container, visit, site):
    tab = visit()
    call(tab, "grant")
    firefox.set_offline(True, container)
    assert tab.evaluate(REPORT)["state"] == "queued"
    assert call(tab, "flush", 1)["reason"] == "collector-unreachable"
    assert site.bodies == []
    firefox.set_offline(False, container)
    assert call(tab, "flush", 20)["state"] == "sent"
    assert len(set(site.bodies)) == site.count() == 1


TOO_MANY = b"""HTTP/1.1 429 Too Many Requests\r
Access-Control-Allow-Origin: *\r
Access-Control-Expose-Headers: Retry-After\r
Content-Type: application/problem+json\r
Retry-After: 2\r
Content-Length: 31\r
\r
{"reason": "too-many-requests"}"""


def test_a_busy_collector_gets_the_same_bytes_after_the_pause_that_it_asks_for(visit, site):
    tab = visit(spread=0)
    call(tab, "grant")
    site.proxy.response = TOO_MANY
    start = time.monotonic()
    tab.evaluate(REPORT)
    wait_for(lambda: site.bodies)
    receipt = call(tab, "flush", 0.5)
    assert (receipt["state"], receipt["reason"]) == ("queued", "too-many-requests")
    site.proxy.response = b""
    wait_for(lambda: site.count() == 1)
    pauses = (time.monotonic() - start) // 2  # more than one if this machine is so slow that 429 came twice
    assert 1 <= len(site.bodies) - 1 <= pauses
    assert len(set(site.bodies)) == 1

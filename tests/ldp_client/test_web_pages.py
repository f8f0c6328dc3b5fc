"""Web pages in place of a collector's response: sign-in pages of networks, filters, maintenance."""

import gzip
import json

import pytest

from encoders.survey import Plan, read_survey
from ldp_client import Client, Response, State, TransportError, load_plan
from ldp_client.collector_response import parse_outcome
from ldp_silo import Silo
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport
from tests.support.silo_surveys import read_silo_survey
from tests.support.surveys import SLEEP

PAGE = b"<!doctype html><title>Sign in</title>"
BODIES = {
    "page": PAGE,
    "json": b'{"status":"ok"}',
    "format-as-text": b'{"format":"html"}',
    "format-as-boolean": b'{"format":true}',
    "list": b"[1]",
    "number": b"1",
    "null": b"null",
    "text": b"Bad Gateway",
    "empty": b"",
    "gzip": gzip.compress(PAGE),
    "not-utf-8": b'{"format":1,"id":"\xff"}',
    "deep": b"[" * 100_000,
}
STATUSES = {204: b"", 301: PAGE, 308: PAGE, 403: PAGE, 404: PAGE, 407: PAGE, 410: PAGE, 413: PAGE, 511: PAGE}
PAGES = {name: Response(200, body) for name, body in BODIES.items()}
PAGES |= {str(status): Response(status, body) for status, body in STATUSES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_page_in_place_of_the_plan_is_a_fault_of_the_network(client, plan, page, is_pinned):
    transport = FakeTransport(page, Response(200, plan.json), RECORDED)
    one = client(transport, URL, granted=False, digest=plan.digest if is_pinned else None)
    receipt = one.grant()
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "collector-unreachable")
    assert f"status {page.status} is not the plan of 'sleep'" in receipt.why
    assert one.grant().state is State.READY  # the same client, as soon as the network is there
    assert one.report(ROW, "no").state is State.QUEUED
    assert one.flush().state is State.SENT


def _change(plan: Plan, **entries: object) -> bytes:
    document = {**json.loads(plan.json), **entries}
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def test_a_plan_that_is_wrong_is_still_refused(client, plan):
    other = read_survey(SLEEP.replace("epsilon = 1", "epsilon = 2")).compile()
    for body, reason in [
        (other.json, "plan-changed"),
        (_change(plan, format=2), "invalid-plan"),
        (_change(plan, epsilon="0.5"), "invalid-plan"),
        (json.dumps(json.loads(plan.json), indent=1).encode(), "invalid-plan"),
        (b'{"format":1}', "invalid-plan"),
        (read_silo_survey().compile().json, "invalid-plan"),
    ]:
        one = client(FakeTransport(Response(200, body)), URL, granted=False, digest=plan.digest)
        assert (one.grant().state, one.grant().reason) == (State.REJECTED, reason)


def test_a_plan_that_was_cut_off_is_fetched_again(client, plan):
    cut = [Response(200, plan.json[:length]) for length in (1, 100, len(plan.json) - 1)]
    one = client(FakeTransport(*cut, Response(200, plan.json)), URL, granted=False)
    assert [one.grant().state for _ in range(4)] == [State.UNAVAILABLE] * 3 + [State.READY]


@pytest.mark.parametrize("page", [page for name, page in PAGES.items() if name != "null"])  # it is base64
def test_a_page_in_place_of_the_plan_or_signature_of_a_signed_survey(client, plan, page):
    key = "A" * 43 + "="
    for responses in ((page,), (Response(200, plan.json), page)):
        receipt = client(FakeTransport(*responses), URL, granted=False, public_key=key).grant()
        assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "collector-unreachable")


def test_a_page_in_place_of_a_relay_s_plan(client, plan):
    url = "https://relay.test/sleep"
    one = Client(url, relay="https://relay.test", digest=plan.digest, transport=FakeTransport(PAGES["page"]))
    receipt = one.grant()
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "relay-unreachable")


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_in_response_to_a_report_is_not_an_outcome(page):
    assert parse_outcome(page) is None
    assert parse_outcome(page, through_relay=True) is None


def test_a_page_in_place_of_a_silo_s_plan(tmp_path):
    plan, transport = read_silo_survey().compile(), FakeTransport(PAGES["page"])
    silo = Silo(f"http://collector.test/v1/surveys/{plan.id}", journal=tmp_path / "j", transport=transport)
    assert (silo.grant().state, silo.grant().reason) == (State.UNAVAILABLE, "collector-unreachable")


def test_a_command_that_loads_a_plan_names_the_page():
    with pytest.raises(TransportError, match="a network's sign-in page; try again later"):
        load_plan(URL, FakeTransport(PAGES["page"]))

"""The pages of a relay, without sockets."""

from __future__ import annotations

import io
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from flask.testing import FlaskClient

from encoders.survey import read_survey, sealing
from encoders.survey.invitation import read_code
from encoders.survey.plan_files import signature_path, texts_path
from encoders.survey.sealing import seal_envelope
from encoders.survey.signature import signature_text
from encoders.survey.unsealing import open_outer
from ldp_relay import held_messages
from ldp_relay.held_messages import HeldMessages
from ldp_relay.networks import MAX_REFUSALS
from ldp_relay.relay_app import create_app
from ldp_relay.relay_settings import read_settings
from tests.support.commands import command
from tests.support.relays import RELAY, relayed_report, small_text, write_relay_files

SURVEY = small_text(8100)
PLAN = read_survey(SURVEY).compile()
URL = f"/{PLAN.id}/{PLAN.digest}"


def make_web(folder: Path, survey: str = SURVEY, more: str = "") -> FlaskClient:
    path = write_relay_files(folder, survey, "http://127.0.0.1:9")
    if more:
        path.write_text(path.read_text().replace("messages_per_network = 0", more))
    settings = read_settings(path)
    [relayed] = settings.surveys.values()
    held, refusals = HeldMessages(settings.database), {relayed.plan.digest: Counter()}
    app = create_app(settings, held, refusals)
    app.extensions["held"] = held, relayed.plan.digest, refusals
    return app.test_client()


@pytest.fixture
def web(tmp_path: Path) -> FlaskClient:
    return make_web(tmp_path)


def message() -> bytes:
    return seal_envelope(PLAN, [relayed_report(PLAN)])


def post(web: FlaskClient, body: bytes, url: str = URL, method: str = "POST") -> tuple[int, object]:
    response = web.open(url, method=method, data=body, content_type="text/plain")
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    document = response.json if response.data else None
    return response.status_code, document.get("reason") if document else None


def waiting(web: FlaskClient) -> int:
    held, name, _ = web.application.extensions["held"]
    return held.counts(name)["waiting"]


def test_a_message_is_held_once(web):
    body = message()
    response = web.post(URL, data=body, content_type="text/plain")
    assert (response.status_code, response.json) == (202, {"status": "held"})
    assert post(web, body) == (202, None)
    assert waiting(web) == 1


def test_the_same_report_in_another_outer_seal_is_another_message_that_the_collector_counts_once(web):
    report = relayed_report(PLAN)
    for _ in range(2):
        assert post(web, seal_envelope(PLAN, [report])) == (202, None)
    assert waiting(web) == 2


@pytest.mark.parametrize(
    ("change", "url", "expected"),
    [
        (lambda body: b"", URL, (411, "length-required")),
        (lambda body: body[:-1], URL, (400, "malformed")),
        (lambda body: body + b"0", URL, (400, "malformed")),
        (lambda body: body[:-1] + bytes([body[-1] ^ 1]), URL, (400, "bad-seal")),
        (lambda body: body, f"/{PLAN.id}/{'0' * 64}", (404, "other-plan")),
        (lambda body: body, f"/other/{PLAN.digest}", (404, "unknown-survey")),
        (lambda body: body, f"/{PLAN.id}/{PLAN.digest}/x", (404, "no-such-page")),
    ],
    ids=range(7),  # the keys differ in each process
)
def test_what_is_not_a_message_of_this_plan_is_refused(web, change, url, expected):
    assert post(web, change(message()), url) == expected
    assert waiting(web) == 0


def test_a_body_without_a_length_or_a_truncated_one_is_refused_for_now(web):
    """A proxy may send a body in chunks; devices keep the message and try again."""
    environ = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(message())}
    response = web.post(URL, environ_overrides=environ)
    assert (response.status_code, response.json["reason"]) == (411, "length-required")
    environ = {"CONTENT_LENGTH": str(len(message())), "wsgi.input": io.BytesIO(message()[:50])}
    response = web.post(URL, environ_overrides=environ)
    assert (response.status_code, response.json["reason"]) == (400, "incomplete-body")
    assert "Retry-After" in response.headers


def test_refusals_are_counted_by_reason(web):
    post(web, message()[:-1])
    post(web, b"x" * len(message()))
    post(web, message(), f"/{PLAN.id}/{'0' * 64}")
    post(web, message(), f"/other/{PLAN.digest}")
    _, digest, refusals = web.application.extensions["held"]
    assert refusals[digest] == {"malformed": 1, "bad-seal": 1, "other-plan": 1}


def test_a_message_is_withdrawn_unless_it_has_left(web):
    body, held = message(), web.application.extensions["held"]
    assert post(web, body) == (202, None)
    assert post(web, body, method="DELETE") == (204, None)
    assert waiting(web) == 0
    assert post(web, body) == (202, None)
    assert waiting(web) == 0
    other = message()
    assert post(web, other) == (202, None)
    held[0].release(held[1], 1, is_closed=True, hour=1)
    assert post(web, other, method="DELETE") == (409, "passed-on")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("2001-11-01", "2199-11-01", (403, "survey-not-open")),
        ("2200-12-31", "2002-12-31", (410, "survey-closed")),
    ],
)
def test_messages_are_held_between_opening_and_closing(tmp_path, old, new, expected):
    survey = SURVEY.replace(old, new)
    plan = read_survey(survey).compile()
    web = make_web(tmp_path, survey)
    body = seal_envelope(plan, [relayed_report(plan)])
    url = f"/{plan.id}/{plan.digest}"
    assert post(web, body, url) == expected
    assert ("Retry-After" in web.post(url, data=body).headers) == (expected[0] == 403)
    deleted = (204, None) if expected[0] == 403 else expected
    assert post(web, body, url, "DELETE") == deleted


def test_a_full_network_is_told_so_and_what_it_has_sent_stays(tmp_path, caplog):
    caplog.set_level("INFO")
    web = make_web(tmp_path, more="messages_per_network = 2")
    first, second, third = message(), message(), message()
    assert post(web, first) == post(web, first) == post(web, second) == (202, None)  # a repeat counts nothing
    assert post(web, third) == (429, "network-full")
    assert post(web, third, method="DELETE") == (429, "network-full")
    response = web.post(URL, data=third)
    assert int(response.headers["Retry-After"]) == 8 * 3600
    assert post(web, first) == (202, None)
    assert post(web, second, method="DELETE") == (204, None)
    assert post(web, message()) == (429, "network-full")  # a withdrawn message stays counted
    _, name, refusals = web.application.extensions["held"]
    assert refusals[name]["network-full"] == 2  # people, not attempts
    assert "127.0.0.1" not in response.text + caplog.text


def test_another_network_is_not_full(tmp_path):
    web = make_web(tmp_path, more='messages_per_network = 1\nproxies = ["127.0.0.1"]')
    for sender, status in (("192.0.2.1", 202), ("192.0.2.2", 429), ("198.51.100.1", 202)):
        response = web.post(URL, data=message(), headers={"X-Forwarded-For": sender})
        assert response.status_code == status


def test_what_cannot_be_held_counts_nothing(tmp_path, monkeypatch):
    web = make_web(tmp_path, more="messages_per_network = 1")

    def fail(database: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(held_messages, "transaction", fail)
        assert post(web, message()) == (503, "store-unavailable")
    assert post(web, message()) == (202, None)


@pytest.mark.slow
def test_nonsense_locks_out_no_network(tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_relay.networks.monotonic", lambda: 1000.0)  # one is forgotten each second
    web = make_web(tmp_path, more='messages_per_network = 5\nproxies = ["127.0.0.1"]')
    nonsense = bytes(len(message()))

    def send(sender: str, body: bytes) -> tuple[int, str | None]:
        response = web.post(URL, data=body, headers={"X-Forwarded-For": sender})
        return response.status_code, response.json.get("reason")

    for _ in range(200):
        assert send("192.0.2.1", b"nonsense") == (400, "malformed")
    for _ in range(MAX_REFUSALS):
        assert send("192.0.2.1", nonsense) == (400, "bad-seal")
    assert send("192.0.2.1", nonsense) == (429, "too-many-requests")
    assert send("192.0.2.1", message()) == (429, "too-many-requests")
    deleted = web.delete(URL, data=message(), headers={"X-Forwarded-For": "192.0.2.1"})
    assert deleted.status_code == 204  # a withdrawal cannot wait
    assert send("192.0.2.2", message()) == (202, None)  # a neighbour


def test_a_survey_with_codes_holds_one_message_for_each(tmp_path):
    web = make_web(tmp_path, more="")
    path = tmp_path / "relay.toml"
    path.write_text(path.read_text() + "codes = true\n")
    codes = command("ldp-relay", "codes", path, PLAN.id, "--count", "2").stdout.split()
    settings = read_settings(path)
    held = HeldMessages(settings.database)
    app = create_app(settings, held, {PLAN.digest: Counter()})
    web = app.test_client()

    def sealed(code: str, report: bytes) -> bytes:
        return seal_envelope(PLAN, [report], read_code(PLAN, code))

    first, second = relayed_report(PLAN), relayed_report(PLAN)
    used = sealed(codes[0], first)
    assert post(web, used) == post(web, used) == (202, None)
    assert post(web, sealed(codes[0], second)) == (409, "code-used")
    assert post(web, sealed(codes[1], second)) == (202, None)
    assert post(web, sealed(codes[0], relayed_report(PLAN)), method="DELETE") == (204, None)
    assert post(web, message()) == (403, "code-missing")
    unknown = seal_envelope(PLAN, [relayed_report(PLAN)], bytes(16))
    assert post(web, unknown) == (403, "code-unknown")
    assert held.counts(PLAN.digest)["codes used"] == 2
    content = b"".join(each.read_bytes() for each in tmp_path.glob("relay.db*"))
    assert not any(read_code(PLAN, each) in content for each in codes)


def test_everybody_gets_the_same_plan_texts_and_signature(tmp_path):
    (tmp_path / "none").mkdir()
    web = make_web(tmp_path / "none")
    assert web.get(f"/{PLAN.id}/plan").data == PLAN.json
    assert post(web, b"", f"/{PLAN.id}/texts", "GET") == (404, "no-texts")
    assert post(web, b"", f"/{PLAN.id}/signature", "GET") == (404, "no-signature")
    plan = read_survey(f'{SURVEY}[about]\ntitle = "Nights"\n').compile()
    path = write_relay_files(tmp_path, f'{SURVEY}[about]\ntitle = "Nights"\n', "http://127.0.0.1:9")
    texts_path(tmp_path / "plan.json").write_bytes(plan.texts.json)
    signature_path(tmp_path / "plan.json").write_text(signature_text(bytes(64)))
    app = create_app(read_settings(path), HeldMessages(tmp_path / "relay.db"), {plan.digest: Counter()})
    web = app.test_client()
    assert web.get(f"/{PLAN.id}/texts").data == plan.texts.json
    assert web.get(f"/{PLAN.id}/signature").text == signature_text(bytes(64))


def test_pages_of_every_origin_may_send_and_withdraw_without_credentials(web):
    response = web.options(URL)
    assert response.status_code == 204
    assert response.headers["Access-Control-Allow-Methods"] == "DELETE, POST"
    assert "Access-Control-Allow-Credentials" not in response.headers


def test_a_database_that_fails_is_an_outage_and_not_a_202(web, monkeypatch, caplog):
    def fail(database: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("disk is full at 192.0.2.1")

    monkeypatch.setattr(held_messages, "transaction", fail)
    response = web.post(URL, data=message())
    assert (response.status_code, response.json["reason"]) == (503, "store-unavailable")
    assert response.json["retryable"] is True
    assert "192.0.2.1" not in response.text + caplog.text


def test_a_bug_is_reported_without_its_text(web, monkeypatch, caplog):
    def fail(*_: object) -> None:
        raise RuntimeError("a text with 192.0.2.1")

    monkeypatch.setattr(held_messages.HeldMessages, "hold", fail)
    response = web.post(URL, data=message())
    assert (response.status_code, response.json["reason"]) == (500, "internal-error")
    assert "192.0.2.1" not in response.text + caplog.text


def test_a_refusal_has_the_form_that_the_collector_gives_it(web):
    missing = web.get("/nothing/plan")
    assert missing.content_type == "application/problem+json"
    assert missing.json == {
        "type": "urn:ldp-bayes:problem:unknown-survey",
        "title": "unknown survey",
        "status": 404,
        "detail": "no such survey",
        "reason": "unknown-survey",
        "retryable": False,
    }


def test_the_same_content_that_is_sealed_anew_outside_is_held_once(web, tmp_path):
    body = message()
    content = open_outer(PLAN, body, RELAY)
    again = sealing._seal(content, RELAY.public_key, sealing.RELAY_INFO + PLAN.digest_bytes)
    assert again != body
    assert post(web, body) == post(web, again) == (202, None)
    assert HeldMessages(tmp_path / "relay.db").counts(PLAN.digest)["received"] == 1

"""The list of a collector's surveys is read only if it helps, and contains nothing but ids."""

import json

import pytest

import ldp_audit.cli
from encoders.errors import LdpError
from ldp_audit.cli import describe_served_surveys
from ldp_client import Response, TransportError

URL = "http://127.0.0.1:9/v1/surveys/nope"
UNKNOWN = TransportError("it does not serve this survey", "unknown-survey")


class FakeTransport:
    """Responds with `response`, and records the URLs."""

    def __init__(self, response: Response | TransportError) -> None:
        self.response = response
        self.urls: list[str] = []

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        self.urls.append(url)
        if isinstance(self.response, TransportError):
            raise self.response
        return self.response


def fake(monkeypatch: pytest.MonkeyPatch, response: Response | TransportError) -> FakeTransport:
    transport = FakeTransport(response)
    monkeypatch.setattr(ldp_audit.cli, "HttpTransport", lambda: transport)
    return transport


def list_of(*ids: object) -> Response:
    return Response(200, json.dumps({"surveys": [{"id": each} for each in ids]}).encode())


def test_surveys_are_listed_with_their_url(monkeypatch):
    transport = fake(monkeypatch, list_of("diet", "sleep"))
    assert describe_served_surveys(URL, UNKNOWN) == "; http://127.0.0.1:9/v1/surveys lists: diet, sleep"
    below_a_path = describe_served_surveys("http://127.0.0.1:9/health/v1/surveys/nope", UNKNOWN)
    assert below_a_path == "; http://127.0.0.1:9/health/v1/surveys lists: diet, sleep"
    assert transport.urls == ["http://127.0.0.1:9/v1/surveys", "http://127.0.0.1:9/health/v1/surveys"]


def test_a_long_list_is_cut_and_anything_but_an_id_is_left_out(monkeypatch):
    fake(monkeypatch, list_of("\x1b[31mred", 7, None, *(f"s{number}" for number in range(25))))
    text = describe_served_surveys(URL, UNKNOWN)
    assert ": s0, s1, " in text
    assert text.endswith(", s19 and 5 more")


@pytest.mark.parametrize(
    "response",
    [
        TransportError("down"),
        Response(404, b'{"surveys": [{"id": "diet"}]}'),
        Response(200, b'{"surveys": "diet"}'),
        Response(200, b'{"surveys": ["diet"]}'),
        Response(200, b"no JSON"),
    ],
)
def test_without_a_list_nothing_is_added(monkeypatch, response):
    fake(monkeypatch, response)
    assert describe_served_surveys(URL, UNKNOWN) == ""


def test_after_other_errors_no_list_is_requested(monkeypatch):
    transport = fake(monkeypatch, list_of("diet"))
    for error in (LdpError("no survey"), TransportError("no response"), TransportError("closed", "not-open")):
        assert describe_served_surveys(URL, error) == ""
    assert transport.urls == []

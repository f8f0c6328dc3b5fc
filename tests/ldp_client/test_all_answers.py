"""The Python client in a survey in which each person answers all questions through a relay."""

from __future__ import annotations

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.explain.preview import describe_relay
from encoders.survey.sealing import column_bytes, outer_bytes
from encoders.survey.unsealing import open_inner, open_outer
from ldp_client import Client, Journal, Response, State, TransportError
from ldp_client.cli import main
from ldp_client.report_maker import make_report
from tests.ldp_client.conftest import FakeTransport
from tests.support.relays import COLLECTOR, RELAY, ROW, relayed_plan
from tests.support.surveys import RELAYED

TEXT = RELAYED.replace("[relay]", '[relay]\nask = "all"').replace("batch = 600", "batch = 20_000")
PLAN = relayed_plan(TEXT.replace("epsilon = 2\n", "epsilon = 5.2\n", 1))
URL = "https://relay.example/night-work"
OPTIONS = {"relay": "https://relay.example", "max_local_epsilon": 5.2, "spread": 0}


class FakeRelay(FakeTransport):
    """Cannot be reached at first, and then holds the envelope."""

    def __init__(self) -> None:
        super().__init__(Response(202, b'{"status": "held"}'))
        self.is_away, self.attempts = True, set()

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        self.attempts.add(body)
        if self.is_away:
            raise TransportError("offline")
        return super().request(method, url, body, timeout)


@pytest.mark.slow
def test_one_envelope_has_an_answer_to_every_question(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("ldp_client.retry_after.FIRST_BACKOFF_SECONDS", 0.001)
    fake = FakeRelay()
    with Client(PLAN, URL, transport=fake, journal=tmp_path / "j.db", **OPTIONS) as client:
        assert client.grant().state is State.READY
        shown = client.preview(ROW)
        assert [set(each.truth) for each in shown.answers] == [{"nights"}, {"rested"}]
        receipt = client.report(ROW)
        assert (receipt.state, receipt.epsilon) == (State.QUEUED, 5.2)
        main(["preview", "--journal", str(tmp_path / "j.db")])
        printed = capsys.readouterr().out
        assert f"an encrypted message of {outer_bytes(PLAN)} bytes" in printed
        assert "\n".join(describe_relay(PLAN)) in printed
        fake.is_away = False
        assert client.flush(60).state is State.SENT
    [one] = [body for method, _, body in fake.requests if method == "POST"]
    assert fake.attempts == {one}
    content, start = open_outer(PLAN, one, RELAY), 0
    for column, size in enumerate(column_bytes(PLAN)):
        assert open_inner(PLAN, content[start : start + size], COLLECTOR, column)[36] == column
        start += size
    [entry] = Journal(tmp_path / "j.db").entries()
    assert (entry.epsilon, entry.report) == ("5.2", None)


def test_a_rehearsal_makes_the_envelope_and_sends_nothing(tmp_path):
    fake = FakeRelay()
    with Client(PLAN, URL, transport=fake, journal=tmp_path / "j.db", rehearsal=True, **OPTIONS) as client:
        client.grant()
        for _ in range(2):
            assert client.report(ROW).state is State.QUEUED
        shown = str(client.preview(ROW))
        assert shown.startswith(
            "This is a rehearsal: no report is sent or kept.\n\nAll your answers are sent,"
        )
    assert fake.requests == []


def test_reports_are_not_made_without_a_seal():
    with pytest.raises(TransportError):
        make_report(PLAN, ROW)

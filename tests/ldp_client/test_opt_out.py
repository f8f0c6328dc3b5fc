"""The environment variables that forbid reports."""

import pytest

from ldp_client import State, TransportError
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport

DOWN = TransportError("no network")


@pytest.mark.parametrize("switch", ["DO_NOT_TRACK", "LDP_CLIENT_OFF"])
def test_an_opt_out_variable_stops_everything(client, monkeypatch, switch):
    queued = client(FakeTransport(DOWN))
    queued.report(ROW, "no")
    queued.close()
    monkeypatch.setenv(switch, "1")
    transport = FakeTransport(RECORDED)
    one = client(transport, URL, journal=":memory:")
    for receipt in (one.grant(), one.report(ROW, "no")):
        assert (receipt.state, receipt.reason) == (State.NO_CONSENT, "do-not-track")
        assert switch in receipt.why
    later = client(transport)
    assert later.report(ROW, "no").state is State.NO_CONSENT
    assert later.flush(0.2).state is State.QUEUED
    later.close()
    assert transport.requests == []
    monkeypatch.setenv(switch, "0")
    assert client(transport).flush().state is State.SENT

"""What later calls know of a grant that failed; copies of a client."""

import copy
import pickle

import pytest

from ldp_client import AsyncClient, ConsentError, Response, State, TransportError
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport

SENTENCE = "the last grant() failed (collector-unreachable): no response from the collector: away"


def test_a_failed_grant_is_named_by_the_calls_that_miss_the_consent(client, plan):
    away = TransportError("no response from the collector: away")
    one = client(FakeTransport(away, Response(200, plan.json), RECORDED), URL, granted=False)
    assert one.report(ROW, "no").why.endswith("call grant() when they agree")
    assert one.grant().state is State.UNAVAILABLE
    receipt = one.report(ROW, "no")
    assert (receipt.state, receipt.reason) == (State.NO_CONSENT, "no-consent")
    assert receipt.why.endswith(f"call grant() when they agree; {SENTENCE}")
    assert (one.status().state, one.status().why) == (State.NO_CONSENT, SENTENCE)
    assert one.grant().state is State.READY
    assert one.status().why == ""
    one.withdraw()
    assert "grant() failed" not in one.report(ROW, "no").why


def test_a_strict_client_names_the_failed_grant_too(client):
    one = client(FakeTransport(TransportError("away")), URL, granted=False, strict=True)
    with pytest.raises(TransportError):
        one.grant()
    with pytest.raises(ConsentError, match=r"the last grant\(\) failed \(collector-unreachable\): away"):
        one.report(ROW, "no")


def test_the_text_of_an_unexpected_error_of_a_grant_is_not_repeated(client, monkeypatch):
    one = client(FakeTransport(RECORDED), URL, granted=False)
    with monkeypatch.context() as patch:
        patch.setattr(one._participation, "require_permission", lambda: {}["a secret"])
        one.grant()
    assert one.status().why.startswith("the last grant() failed (internal-error): an unexpected KeyError")
    assert "secret" not in one.status().why


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_client_says_what_to_pass_to_another_process(client, plan, tmp_path, duplicate):
    asynchronous = AsyncClient(plan, URL, journal=tmp_path / "j.db", on_outcome=lambda _: None)
    for one in (client(FakeTransport(RECORDED)), asynchronous):
        with pytest.raises(TypeError, match=r"pass the survey's URL or `client\.plan`, and the options"):
            duplicate(one)


def test_plans_and_receipts_can_be_pickled(client, plan):
    receipt = client(FakeTransport(RECORDED)).report({"age": "nobody", "hours": 1}, "no")
    assert receipt.problems
    assert pickle.loads(pickle.dumps(receipt)) == copy.deepcopy(receipt) == receipt
    again = pickle.loads(pickle.dumps(plan))
    assert (again, again.digest) == (plan, plan.digest)

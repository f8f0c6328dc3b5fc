"""The audit of the clients in other languages; `make audit` measures more."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchmarks.buggy_clients import SURVEY, compile_survey
from benchmarks.port_client import PortClient
from encoders.report import MEDIA_TYPE
from encoders.survey import read_survey
from ldp_audit import audit
from ldp_audit.audit import collect_reports
from ldp_audit.people import focus_plan, make_people
from ldp_audit.result import measure_leak
from tests.support.ports import PORTS
from tests.support.statistical_checks import small_and_full
from tests.support.surveys import VALIDATED

pytestmark = [pytest.mark.slow, pytest.mark.clients]

ALPHA = 1e-8
"""The probability of a false alarm of each audit."""
PLANS = {
    "DE and piecewise": compile_survey("DE", "piecewise"),
    "OUE and laplace, by invitation": replace(compile_survey("OUE", "laplace"), enrolment="token"),
    "a validation round": read_survey(VALIDATED).compile(),
}
PERSON: tuple[dict[str, object], str] = ({"kind": "a", "size": 3.5}, "yes")


@pytest.fixture(scope="module", params=PORTS)
def device(request: pytest.FixtureRequest) -> Iterator[PortClient]:
    request.param.require()
    with PortClient(request.param.name) as started:
        yield started


@pytest.mark.parametrize("trials", small_and_full(100, 1000, long=True))
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_client_passes(device, plan, trials):
    result = audit(plan, trials, device, alpha=ALPHA, copies=4, requests=10)
    assert result.faults == []
    assert all(check.passed for check in result.checks)


def test_messages_with_a_greater_epsilon_are_measured_as_such(device):
    text = SURVEY.replace("epsilon = 1", "epsilon = 4").format(frequency="DE", numeric="sign")
    plan = read_survey(text).compile()
    for question in plan.questions:
        people = [each for each in make_people(plan, question) if each.name.startswith(("first", "last"))]
        messages = collect_reports(device, focus_plan(plan, question), people, 1000)
        assert measure_leak(question.name, messages, ALPHA).leak.epsilon_lower_bound > 1


def test_whole_requests_hold_the_report_and_no_cookie_or_referrer(device):
    plans = compile_survey(), replace(compile_survey(), id="second", family="second")
    requests = device.send(plans, *PERSON)
    for plan, request in zip(plans, requests, strict=True):
        line, *headers = request.head.decode("ascii").split("\r\n")
        assert line == f"POST /v1/surveys/{plan.id}/reports HTTP/1.1"
        fields = dict(header.lower().split(": ", 1) for header in headers)
        assert fields["content-type"] in ("text/plain", MEDIA_TYPE)  # a web page sends a simple request
        assert not {"cookie", "referer", "authorization", "origin"} & fields.keys()
        assert bytes.fromhex(plan.digest) in request.body

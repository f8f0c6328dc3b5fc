"""The limit of the epsilon that a device spends on all surveys."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from encoders.survey import Plan
from ldp_client import BudgetError, Client, State
from tests.ldp_client.conftest import RECORDED, ROW, Build, FakeTransport


@pytest.fixture
def diet(client: Build, plan: Plan) -> Iterator[Callable[..., Client]]:
    """Build clients of a second survey, of epsilon 1, on a journal that has spent epsilon 1 on the first."""
    first = client(FakeTransport(RECORDED))
    first.report(ROW, "no")
    made: list[Client] = []

    def build(**options: object) -> Client:
        second = replace(plan, id="diet", family="diet")
        url = "http://collector.test/v1/surveys/diet"
        options = {"journal": first._journal, "transport": FakeTransport(RECORDED), **options}
        made.append(Client(second, url, **options))
        return made[-1]

    yield build
    for each in made:
        each.close()


def test_the_total_of_all_surveys_is_limited_before_anything_is_drawn(diet):
    assert diet().grant().state is State.READY  # a version of the application without a limit
    limited = diet(max_total_epsilon=1.9)
    receipt = limited.report(ROW, "no")
    assert (receipt.state, receipt.reason) == (State.REJECTED, "total-epsilon-spent")
    assert receipt.epsilon == 0.0
    assert limited.status().state is State.READY


def test_grant_refuses_a_survey_that_the_total_forbids_before_noting_consent(diet):
    limited = diet(max_total_epsilon=1.9)
    receipt = limited.grant()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "total-epsilon-spent")
    assert limited.status().state is State.NO_CONSENT
    with pytest.raises(BudgetError):
        diet(max_total_epsilon=1.9, strict=True).grant()
    diet().grant()
    assert limited.report(ROW, "no") == limited.grant() == receipt
    assert diet(max_total_epsilon=2.0).grant().state is State.READY


def test_grant_does_not_count_a_survey_twice_that_was_answered(client, plan):
    one = client(FakeTransport(RECORDED), max_total_epsilon=1.0)
    one.report(ROW, "no")
    one.flush()
    assert one.grant().state is State.SENT
    another_round = replace(plan, id="sleep-2")
    url = "http://collector.test/v1/surveys/sleep-2"
    with Client(
        another_round, url, journal=one._journal, transport=FakeTransport(RECORDED), max_total_epsilon=1.0
    ) as later:
        assert later.grant().state is State.ALREADY_REPORTED

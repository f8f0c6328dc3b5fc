"""A person's device in a survey without a label, with several answers to one question."""

import re

import pytest

import ldp_client
from encoders.survey import Plan
from encoders.survey.randomise import read_report
from ldp_client import Client, LdpError, RowError, State
from ldp_client.cli import main
from tests.support.surveys import make_plan

ROW = {"tea": "green", "cups": ["large"], "hours": 70}
URL = "https://collector.example/v1/surveys/tea"
EMPTY_NAMES = re.compile(r"\(\)|''|\"\"|: ,|, ,|= ,|\n *= ")


@pytest.fixture
def plan() -> Plan:
    features = {
        "tea": ["black", "green"],
        "cups": {"choices": ["small", "large"], "missing": "category"},
        "hours": {"range": [0, 12]},
    }
    return make_plan(label=None, features=features, enrolment="token")


def test_one_report_and_every_text_about_it(ldp_recorder, plan, capsys):
    ldp_recorder.serve(plan)
    ldp_recorder.offline = False
    client = ldp_client.configure(URL, token=ldp_recorder.token("tea"))
    texts = [str(client.grant()), str(client.preview(ROW)), str(client.preview(ROW | {"cups": None}))]
    ldp_recorder.offline = True
    receipt = ldp_client.report(ROW)
    assert (receipt.state, receipt.clipped) == (State.QUEUED, ("hours",))
    for command in ("status", "preview"):
        main([command])
        texts += [receipt.why, str(receipt), capsys.readouterr().out]
    ldp_recorder.offline = False
    texts += [str(client.flush()), str(client.report(ROW)), str(client.status())]
    assert len(ldp_recorder.reports) == 1
    read_report(plan, ldp_recorder.bodies[-1])
    main(["purge", "--all"])
    texts.append(capsys.readouterr().out)
    for text in texts:
        assert "label" not in text
        assert not EMPTY_NAMES.search(text)
    assert "cups" in texts[1]


@pytest.mark.parametrize(
    ("row", "label", "field"),
    [
        (ROW, "yes", "label"),
        (ROW | {"cups": "large"}, None, "cups"),
        (ROW | {"cups": ["huge"]}, None, "cups"),
        ({"tea": "green", "hours": 1}, None, "cups"),
    ],
)
def test_what_does_not_fit_draws_nothing(ldp_recorder, plan, row, label, field):
    ldp_recorder.serve(plan)
    with Client(URL, token=ldp_recorder.token("tea")) as client:
        client.grant()
        receipt = client.report(row, label)
        assert (receipt.state, receipt.field) == (State.INVALID, field)
        assert "huge" not in receipt.why
        assert client.report(ROW).state is State.QUEUED
    assert len(ldp_recorder.reports) == 1


def test_a_survey_with_a_label_says_that_it_is_missing(ldp_recorder):
    ldp_recorder.serve(make_plan())
    with Client(URL) as client:
        client.grant()
        receipt = client.report({"tea": "black", "hours": 3})
        assert (receipt.state, receipt.field) == (State.INVALID, "tired")
        assert receipt.why == "the label is missing: pass it after the row"


def test_a_rehearsal_can_be_repeated(ldp_recorder, plan):
    ldp_recorder.serve(plan)
    with Client(URL, token=ldp_recorder.token("tea"), rehearsal=True, strict=True) as client:
        client.grant()
        for cups in ([], ["small", "large"], None):
            assert client.report(ROW | {"cups": cups}).rehearsal
        with pytest.raises(RowError, match="contains something else"):
            client.report(ROW | {"cups": ["huge"]})
        with pytest.raises(LdpError, match="this survey has no label: pass only the row"):
            client.report(ROW, "yes")
    assert not ldp_recorder.reports


async def report_asynchronously(url: str, token: str) -> ldp_client.Receipt:
    async with ldp_client.AsyncClient(url, token=token) as client:
        await client.grant()
        return await client.report(ROW)


def test_an_asynchronous_client_needs_only_the_row(ldp_recorder, plan):
    import asyncio

    url = ldp_recorder.serve(plan)
    asyncio.run(report_asynchronously(url, ldp_recorder.token("tea")))
    assert len(ldp_recorder.reports) == 1

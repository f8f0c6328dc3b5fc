"""The texts of a survey on a device: fetched once, checked against the plan, and used in previews."""

import asyncio

import pytest

from encoders.survey import Plan, read_survey
from encoders.survey.plan_files import texts_path
from ldp_client import (
    AsyncClient,
    Client,
    ConsentError,
    ExpiredError,
    PlanError,
    Response,
    State,
    TransportError,
    load_plan,
)
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport
from tests.support.servers import collector
from tests.support.surveys import SLEEP, SLEEP_TEXTS


@pytest.fixture
def plan() -> Plan:
    return read_survey(SLEEP + SLEEP_TEXTS).compile()


def texts_of(plan: Plan) -> bytes:
    assert plan.texts
    return plan.texts.json


def bare(plan: Plan) -> Plan:
    """Return a plan as a client reads it from a collector, without its texts."""
    return Plan.from_json(plan.json)


def test_texts_are_fetched_once_and_displayed_in_each_language(plan, client):
    transport = FakeTransport(Response(200, texts_of(plan)))
    device = client(transport, bare(plan))
    assert device.texts("de").label.title == "Sind Sie ausgeruht?"
    assert device.texts().label.title == "Do you feel rested?"
    assert device.texts("de").features["age"].values["old"] == "40 or older"
    assert transport.requests == [("GET", f"{URL}/texts", None)]


def test_texts_are_fetched_from_the_collector_that_sent_the_plan(plan, client):
    transport = FakeTransport(Response(200, plan.json), Response(200, texts_of(plan)), RECORDED)
    device = client(transport, URL, granted=False)
    assert device.texts("en-GB").title == "Sleep and shift work"
    assert device.grant().state is State.READY
    assert device.texts("de").title == "Schlaf und Schichtarbeit"
    assert [url for _, url, _ in transport.requests] == [URL, f"{URL}/texts"]


def test_survey_without_texts_displays_its_names_without_a_request(transport, client):
    texts = client(transport, read_survey(SLEEP).compile()).texts("de")
    assert (texts.title, texts.label.title) == ("sleep", "rested")
    assert transport.requests == []


@pytest.mark.parametrize("changed", ["How young are you?", "How old are you"])
def test_texts_that_are_not_those_of_the_plan_are_refused(plan, client, changed):
    other = read_survey(SLEEP + SLEEP_TEXTS.replace("How old are you?", changed)).compile()
    device = client(FakeTransport(Response(200, texts_of(other))), bare(plan))
    with pytest.raises(PlanError, match="does not send the texts of the agreed plan") as caught:
        device.texts("en")
    assert caught.value.reason == "plan-changed"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"format":1}', PlanError),
        (b'{"about":"' + bytes(1 << 18) + b'","format":1}', TransportError),  # a string with zero bytes
        (b"", TransportError),
        (b"{}", TransportError),
        (b"<html>Sign in to the network</html>", TransportError),
    ],
)
def test_bytes_that_are_no_texts_are_refused(plan, client, body, error):
    with pytest.raises(error) as caught:
        client(FakeTransport(Response(200, body)), bare(plan)).texts()
    assert caught.value.reason == error.reason


@pytest.mark.parametrize(
    ("response", "error", "message"),
    [
        (Response(404, b'{"reason":"no-texts"}'), TransportError, "it does not have the texts of the survey"),
        (Response(503, b""), TransportError, "503"),
        (Response(410, b'{"reason":"survey-closed"}'), ExpiredError, "closed"),
        (TransportError("offline"), TransportError, "offline"),
    ],
)
def test_texts_that_cannot_be_fetched_raise_and_are_fetched_again(plan, client, response, error, message):
    device = client(FakeTransport(response, Response(200, texts_of(plan))), bare(plan))
    with pytest.raises(error, match=message):
        device.texts("en")
    assert device.texts("en").language == "en"


def test_opt_out_prevents_the_request(plan, client, monkeypatch):
    transport = FakeTransport(Response(200, texts_of(plan)))
    device = client(transport, bare(plan))
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    with pytest.raises(ConsentError):
        device.texts("en")
    assert transport.requests == []


def test_report_needs_no_texts(transport, plan, client):
    device = client(transport, bare(plan))
    assert device.report(ROW, "yes").state is State.QUEUED
    assert device.flush().state is State.SENT
    assert [method for method, _, _ in transport.requests] == ["POST"]


def test_person_who_agreed_to_other_texts_is_not_asked_with_new_ones(plan, client):
    other = read_survey(SLEEP + SLEEP_TEXTS.replace("How old", "How young")).compile()
    client(FakeTransport(RECORDED), plan)
    receipt = client(FakeTransport(RECORDED), other, granted=False).report(ROW, "yes")
    assert (receipt.state, receipt.reason) == (State.REJECTED, "plan-changed")


# -- files ---------------------------------------------------------------------------------------


def test_plan_file_is_loaded_with_the_texts_beside_it(tmp_path, plan, client):
    path = tmp_path / "plan.json"
    path.write_bytes(plan.json)
    texts_path(path).write_bytes(texts_of(plan))
    assert load_plan(path).texts == plan.texts
    transport = FakeTransport(RECORDED)
    assert client(transport, path).texts("de").title == "Schlaf und Schichtarbeit"
    assert transport.requests == []


def test_plan_file_without_its_texts_is_loaded_and_they_are_fetched(tmp_path, plan, client):
    path = tmp_path / "plan.json"
    path.write_bytes(plan.json)
    transport = FakeTransport(Response(200, texts_of(plan)))
    assert client(transport, path).texts("de").title == "Schlaf und Schichtarbeit"
    assert len(transport.requests) == 1


# -- previews ------------------------------------------------------------------------------------


def test_preview_shows_the_texts_of_a_language(plan, client):
    transport = FakeTransport(Response(200, texts_of(plan)))
    device = client(transport, bare(plan))
    named = str(device.preview(ROW, "yes"))
    assert "Do you feel rested?" not in named
    assert transport.requests == []
    german = str(device.preview(ROW, "yes", "de"))
    assert '  rested: "Sind Sie ausgeruht?"' in german
    assert '"Sind Sie ausgeruht?" = "Ja"' in german
    assert '"Do you feel rested?" = "Yes"' in str(device.preview(ROW, "yes"))
    assert len(transport.requests) == 1


# -- the other clients -----------------------------------------------------------------------------


def test_async_client_displays_texts_and_previews(plan, tmp_path):
    class Loop:
        async def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
            return Response(200, texts_of(plan) if url.endswith("/texts") else plan.json)

    async def run() -> tuple[str, str]:
        async with AsyncClient(URL, transport=Loop(), journal=tmp_path / "journal.db") as device:
            texts = await device.texts("de")
            return texts.title, str(await device.preview(ROW, "yes", "de"))

    title, shown = asyncio.run(run())
    assert title == "Schlaf und Schichtarbeit"
    assert "Sind Sie ausgeruht?" in shown


def test_rehearsing_client_displays_texts(plan, client):
    device = client(FakeTransport(Response(200, texts_of(plan))), bare(plan), rehearsal=True)
    assert device.texts("de").title == "Schlaf und Schichtarbeit"


def test_recorder_serves_the_texts_of_its_plans(plan, ldp_recorder):
    with Client(ldp_recorder.serve(plan)) as device:
        assert device.texts("de").title == "Schlaf und Schichtarbeit"
    with (
        Client(ldp_recorder.serve(bare(plan))) as device,
        pytest.raises(TransportError, match="does not have the texts"),
    ):
        device.texts("de")


@pytest.mark.slow
def test_client_displays_the_texts_of_a_real_collector(tmp_path, plan):
    survey = tmp_path / "sleep.toml"
    survey.write_text(SLEEP + SLEEP_TEXTS, encoding="utf-8")
    with (
        collector([survey], f"sqlite:///{tmp_path}/store.db", workers=1) as (base, _),
        Client(f"{base}/v1/surveys/sleep", journal=":memory:", spread=0) as device,
    ):
        assert device.texts("de").label.title == "Sind Sie ausgeruht?"
        assert device.texts("de").about["purpose"] == "To learn who sleeps well."
        assert "Sind Sie ausgeruht?" in str(device.preview(ROW, "yes", "de"))
        device.grant()
        assert device.report(ROW, "yes").state is State.QUEUED
        assert device.flush().state is State.SENT
        assert device.plan == plan

"""Every example runs with the commands in its docstring."""

import asyncio
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import ldp_client
from encoders.survey.any_survey import read_any_survey
from encoders.survey.plan_files import PEOPLE_PLANS
from ldp_aggregator import load_model
from ldp_client import Receipt, State
from tests.support.access import access, write_tokens
from tests.support.servers import TOKEN, collector
from tests.support.surveys import survey_toml

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parent.parent / "examples"
SURVEY = EXAMPLES / "yrbss" / "survey.toml"
PUMPS = EXAMPLES / "pumps.toml"


def run(
    script: str,
    *arguments: object,
    typed: Sequence[str] = (),
    code: int = 0,
    folder: Path | None = None,
    **environment: str,
) -> str:
    """Run an example in a folder, with some lines of input; return its output."""
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **environment},
        input="".join(f"{line}\n" for line in typed),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == code, result.stdout
    return result.stdout


@pytest.mark.parametrize("store", ["sqlite", "redis"])
def test_the_demo_counts_every_device_and_leaves_its_results(store, tmp_path):
    if store == "redis" and not shutil.which("redis-server"):
        pytest.skip("needs redis-server (Debian: apt-get install redis-server)")
    shown = run("demo.py", "--people", 250, "--store", store, folder=tmp_path)
    assert len(shown.splitlines()) < 20
    assert "{" not in shown
    assert re.search(r"\n  gender = male +█*▒+ +\d+\.\d% +\d+\.\d% to ", shown)  # few answers: any interval
    accuracy = re.search(r"Of 50 others, the model predicts \d\d\.\d% correctly", shown)
    page = re.search(r"Open the results in a browser: file://(\S+)", shown)
    assert accuracy
    assert page
    assert accuracy[0] in Path(page[1]).read_text("utf-8")
    assert load_model(Path(page[1]).with_name("model.json")).estimates_
    log = Path(page[1]).with_name("log.txt").read_text("utf-8")
    assert ("--workers 2" in log) == (store == "redis")
    assert "receipts: 200 sent" in log
    assert "200 people answered one question each" in " ".join(log.split())


def test_the_smallest_embedding_and_training_from_a_snapshot(tmp_path):
    plan = PEOPLE_PLANS.load(SURVEY)
    with collector([SURVEY], f"sqlite:///{tmp_path}/ldp.db", workers=1) as (base, _):
        url = f"{base}/v1/surveys/{plan.id}"
        environment = {"LDP_SURVEY_URL": url, "LDP_JOURNAL": str(tmp_path / "journal.db")}
        first, second = run("embed.py", **environment), run("embed.py", **environment)
        request = urllib.request.Request(f"{url}/snapshot", headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request) as response:
            (tmp_path / "snapshot.json").write_bytes(response.read())
    assert first.splitlines() == ["queued", "sent"]
    assert second.startswith("already_reported (")
    assert (
        sum(total["n"] for total in json.loads((tmp_path / "snapshot.json").read_bytes())["totals"].values())
        == 1
    )
    assert "NaiveBayes" in run("train.py", tmp_path / "snapshot.json", tmp_path / "model.json")


SHARES = survey_toml(
    id="shares",
    label=None,
    features={
        "smokes": {"values": ["yes", "no"], "missing": "category"},
        "drugs": {"choices": ["aspirin", "ibuprofen", "paracetamol"], "missing": "category"},
    },
)
"""A survey without a label that takes several answers to one question."""


# -- the device's side ----------------------------------------------------------------------------

ANSWERS = ["1", "7", "", "a lot", "30", "", "3,5", "3", "", "2"]
"""For yrbss: gender 1; grade 7 (asked again), none; hours_tv "a lot" (again), 30 (clipped); ..., active 2."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = tmp_path_factory.mktemp("collector") / "ldp.db"
    with collector([SURVEY, PUMPS], f"sqlite:///{store}", workers=1) as (url, _):
        yield f"{url}/v1/surveys"


@pytest.fixture
def person(tmp_path: Path) -> dict[str, str]:
    """A person's environment: their own journal, and no setting that forbids reports."""
    return {"LDP_JOURNAL": str(tmp_path / "journal.db"), "DO_NOT_TRACK": "", "LDP_CLIENT_OFF": ""}


def test_a_person_answers_in_the_terminal_once(base, person):
    url = f"{base}/yrbss-2013"
    first = run("terminal_survey.py", url, typed=["yes", *ANSWERS, "y"], **person)
    assert "at most 74% sure" in first
    assert PEOPLE_PLANS.load(SURVEY).digest in first
    assert first.count("Please type a number in brackets") == 1
    assert first.count("Please type a number like 7.5") == 2
    assert first.count("outside the survey's range") == 1
    assert "The true answer, which stays on the device" in first
    assert first.endswith("has arrived, and counts once. Thank you!\n")
    second = run("terminal_survey.py", SURVEY, url, **person)
    assert second == "You have answered: your disguised answer has arrived, and counts once. Thank you!\n"
    assert "cannot be taken back" in run("terminal_survey.py", url, "--withdraw", **person)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ([""], "You do not take part: nothing was sent.\n"),
        (["n"], "You do not take part: nothing was sent.\n"),
        (["y", "1", "2"], "You have agreed, but not answered yet: nothing was sent.\n"),
        (["y", *ANSWERS, ""], "You have agreed, but not answered yet: nothing was sent.\n"),
    ],
)
def test_nothing_is_sent_from_a_terminal_without_a_yes(base, person, typed, message):
    assert run("terminal_survey.py", f"{base}/yrbss-2013", typed=typed, **person).endswith(message)
    shown = run("terminal_survey.py", f"{base}/yrbss-2013", "--withdraw", **person)
    assert shown == "You do not take part: nothing was sent.\n"


def test_a_terminal_survey_waits_for_the_network_and_can_be_withdrawn(person):
    nowhere = "http://127.0.0.1:9/v1/surveys/yrbss-2013"
    assert "cannot be answered now" in run("terminal_survey.py", nowhere, code=1, **person)
    off = person | {"DO_NOT_TRACK": "1"}
    assert "DO_NOT_TRACK is set" in run("terminal_survey.py", SURVEY, nowhere, typed=["y"], **off)
    client = ldp_client.Client(SURVEY, nowhere, journal=person["LDP_JOURNAL"])
    client.grant()
    client.report(dict.fromkeys(entry.name for entry in client.plan.entries), "yes")
    client.close(0)
    assert "You have withdrawn" in run("terminal_survey.py", nowhere, "--withdraw", **person)
    assert "You have withdrawn" in run("terminal_survey.py", nowhere, **person)


def test_the_questionnaire_sends_after_consent_and_shows_the_answer_arrive(ldp_recorder, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    questionnaire = importlib.import_module("questionnaire")
    plan = PEOPLE_PLANS.load(SURVEY)
    ldp_recorder.offline = True

    async def answer() -> None:
        app = questionnaire.Questionnaire(plan, ldp_recorder.serve(plan), spread=0)
        async with app.run_test(size=(100, 80)) as pilot:

            async def wait_for_status(text: str) -> None:
                for _ in range(500):
                    await pilot.pause(0.01)
                    if text in str(app.query_one("#status").render()):
                        return
                raise AssertionError(f"{text!r} is not shown, but {app.query_one('#status').render()}")

            await wait_for_status("You do not take part")
            await pilot.press("ctrl+s")
            assert app.query_one("#form").disabled
            await pilot.press("space")  # the switch has the focus
            await wait_for_status("You have agreed")
            await pilot.press("space")
            await wait_for_status("You do not take part")
            await pilot.press("space")
            await wait_for_status("You have agreed")
            number = app.query("Input").first()
            number.value = "a lot"
            await pilot.press("ctrl+s")
            assert app.focused is number
            await pilot.press(*["backspace"] * 5, "2", "ctrl+s")
            assert app.focused is app.query("Select").last()  # the label needs an answer
            await pilot.press("enter", "down", "enter", "ctrl+s", "ctrl+s")
            await wait_for_status("waits here")
            assert not ldp_recorder.reports
            ldp_recorder.offline = False
            await wait_for_status("has arrived")
            assert app.query_one("#form").disabled
            assert app.query_one("Switch").disabled

    asyncio.run(answer())
    assert len(ldp_recorder.reports) == 1
    assert ldp_client.Client(plan, ldp_recorder.serve(plan)).status().state is ldp_client.State.SENT


def test_a_survey_without_a_label_and_with_several_answers(ldp_recorder, tmp_path, monkeypatch, person):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    (tmp_path / "shares.toml").write_text(SHARES)
    plan = PEOPLE_PLANS.load(tmp_path / "shares.toml")
    questionnaire = importlib.import_module("questionnaire")

    async def answer() -> None:
        app = questionnaire.Questionnaire(plan, ldp_recorder.serve(plan), spread=0)
        async with app.run_test(size=(100, 80)) as pilot:
            await pilot.press("space")
            for _ in range(500):
                await pilot.pause(0.01)
                if not app.query_one("#form").disabled:
                    break
            app.query_one("SelectionList").toggle("aspirin")
            await pilot.press("ctrl+s")
            for _ in range(500):
                await pilot.pause(0.01)
                if "has arrived" in str(app.query_one("#status").render()):
                    return
            raise AssertionError(app.query_one("#status").render())

    asyncio.run(answer())
    assert len(ldp_recorder.reports) == 1

    with collector([tmp_path / "shares.toml"], f"sqlite:///{tmp_path}/ldp.db", workers=1) as (base, _):
        url = f"{base}/v1/surveys/shares"
        shown = run("terminal_survey.py", url, typed=["yes", "", "4", "1, 3", "y"], **person)
        call = ["edge_gateway.py", url, "--i-agree", plan.digest, "--folder", tmp_path / "sensors"]
        line = json.dumps({"sensor": "one", "reading": {"smokes": "no", "drugs": []}})
        assert "1 sensors: 1 sent" in run(*call, typed=[line], **person)
    assert "asks you for: smokes, drugs." in shown
    assert shown.count("Please type numbers in brackets") == 1
    assert shown.endswith("has arrived, and counts once. Thank you!\n")
    assert "label" not in shown


def test_the_gateway_reports_each_sensor_once_and_repeats_no_reading(base, tmp_path):
    plan, pumps = PEOPLE_PLANS.load(PUMPS), (EXAMPLES / "pumps.jsonl").read_text().splitlines()
    bad = ['{"sensor": "../secret", "reading": {}, "label": "no"}', "secret", '["secret"]', "[" * 9999]
    odd = ['{"sensor": "odd", "reading": {"model": "secret"}, "label": "no"}']
    call = ["edge_gateway.py", PUMPS, f"{base}/{plan.id}", "--folder", tmp_path / "pumps"]
    environment = {"DO_NOT_TRACK": "", "LDP_CLIENT_OFF": ""}
    assert f"--i-agree {plan.digest}" in run(*call, typed=pumps, code=1, **environment)
    assert not (tmp_path / "pumps").exists()

    call += ["--i-agree", plan.digest]
    first = run(*call, typed=[*pumps, *pumps, *bad, *odd], **environment)
    assert re.findall(r"^line (\d+) is skipped", first, re.MULTILINE) == ["7", "8", "9", "10"]
    for line in ("hall-1-pump-1: sent", "hall-2-pump-1: sent", "odd: invalid (bearing_celsius: "):
        assert line in first
    assert "4 sensors: 3 sent, 1 invalid; bad lines: 4" in first
    assert "secret" not in first
    assert "61.5" not in first
    assert {path.name for path in (tmp_path / "pumps").iterdir()} == {
        "hall-1-pump-1.db", "hall-1-pump-2.db", "hall-2-pump-1.db", "odd.db",
    }  # fmt: skip
    assert "3 sensors: 3 already_reported; bad lines: 0" in run(*call, typed=pumps, **environment)

    call[2] = "http://127.0.0.1:9/v1/surveys/pumps-2026"
    fresh = [line.replace("hall", "cellar") for line in pumps]
    assert "3 sensors: 3 queued" in run(*call, "--wait", 0.1, typed=fresh, **environment)


def test_the_gateway_token_lifts_the_rate_limit_of_the_collector(tmp_path):
    plan, pumps = PEOPLE_PLANS.load(PUMPS), (EXAMPLES / "pumps.jsonl").read_text().splitlines()
    tokens = write_tokens(tmp_path / "tokens.toml", access("gateway", "a-token-of-the-gateway"))
    options = ["--rate", "1", "--tokens", tokens]
    with collector([PUMPS], f"sqlite:///{tmp_path}/ldp.db", workers=1, options=options) as (base, _):
        call = [
            "edge_gateway.py",
            PUMPS,
            f"{base}/v1/surveys/{plan.id}",
            "--i-agree",
            plan.digest,
            "--folder",
        ]
        environment = {
            "DO_NOT_TRACK": "",
            "LDP_CLIENT_OFF": "",
            "LDP_GATEWAY_TOKEN": "a-token-of-the-gateway",
        }
        assert "3 sensors: 3 sent" in run(*call, tmp_path / "pumps", typed=pumps, **environment)
        environment["LDP_GATEWAY_TOKEN"] = ""
        without = run(*call, tmp_path / "others", "--wait", 3, typed=pumps, **environment)
        assert "1 sent" in without
        assert "2 queued" in without


def test_the_page_of_silos_shows_the_survey_of_the_example():
    page = (EXAMPLES.parent / "docs" / "silos.md").read_text("utf-8")
    shown = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert shown
    survey = read_any_survey((EXAMPLES / "silos" / "survey.toml").read_text("utf-8"))
    assert read_any_survey(shown[1]).compile().digest == survey.compile().digest


def test_three_silos_report_and_their_estimates_are_near_the_truth():
    shown = run("silos/run.py")
    assert shown.count("epoch 1: counted by the collector") == 3
    assert shown.count("epoch 1: already counted") == 1
    assert shown.count("epoch later: counted by the collector") == 1
    assert "Silos sent 4 messages about an estimated" in " ".join(shown.split())
    # noise moves a share by less than .004 (standard error), and a mean by less than .2
    found = re.findall(r"(P\(|mean).* ([\d.]+) \[.*true ([\d.]+)$", shown, re.MULTILINE)
    assert [what for what, *_ in found] == ["P("] * 8 + ["mean"] * 2
    for what, estimate, truth in found:
        assert float(estimate) == pytest.approx(float(truth), abs=0.03 if what == "P(" else 1.2)


def test_a_survey_without_a_label_goes_from_its_file_to_a_results_page(tmp_path):
    shown = run("shares.py", "--people", 400, folder=tmp_path)
    assert "receipts: 400 sent" in shown
    found = re.findall(r"^  (.+?) +([\d.]+) \[([\d.]+), ([\d.]+)\]   true ([\d.]+)$", shown, re.MULTILINE)
    assert [name for name, *_ in found] == [
        *(f"smokes = {value}" for value in ("daily", "sometimes", "never")),
        *(f"tried = {choice}" for choice in ("cannabis", "stimulants", "sleeping pills")),
        "mean of drinks",
    ]
    page = (tmp_path / "build" / "shares" / "results.html").read_text("utf-8")
    assert "cannabis" in page
    assert not re.search(r"\b(label|class|classifier)\b", re.sub(r"(?s)<style.*?</style>|<[^>]*>", "", page))
    model = load_model(tmp_path / "build" / "shares" / "shares.json")
    assert [each.name for each in model.estimates_.features][:2] == ["smokes", "tried: cannabis"]


def test_every_state_has_a_sentence(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    assert set(importlib.import_module("wording").SENTENCES) == set(ldp_client.State)


def test_the_sentence_for_an_expired_survey_allows_a_counted_answer(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    sentence = importlib.import_module("wording").in_words(Receipt(State.EXPIRED))
    assert (
        sentence == "The survey is over: nothing more is sent. An answer sent before may have been counted."
    )


def test_every_answer_that_does_not_fit_is_shown_to_the_person(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    problems = (("age", "is missing"), ("hours", "is infinite"))
    receipt = Receipt(State.INVALID, field="age", why="is missing", problems=problems)
    sentence = importlib.import_module("wording").in_words(receipt)
    assert (
        sentence
        == "An answer does not fit the survey: nothing was sent. (age: is missing; hours: is infinite)"
    )

"""Two rounds with reports over HTTP: those of the first round decide what the second round asks."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator import load_model
from ldp_client import Client, State, load_plan, make_report
from tests.support.commands import command, post_reports
from tests.support.servers import TOKEN, collector

pytestmark = pytest.mark.slow

PILOT = """
[survey]
id = "sleep"
epsilon = 4

[label]
name = "tired"
values = ["yes", "no"]

[features.hours]
range = [0, 12]
bins = 2

[features.cups]
range = [0, 10]
bins = 2

[features.shoe]
range = [30, 50]
bins = 2
"""
PEOPLE = 2000
DrawPerson = Callable[[random.Random], tuple[dict[str, object], str]]


def draw_person(rng: random.Random) -> tuple[dict[str, object], str]:
    """Draw a row: tired people slept less and drink more; shoes do not depend on it."""
    tired = rng.choice(["yes", "no"])
    sign = -1 if tired == "yes" else 1
    hours, cups, shoe = rng.gauss(6 + 2 * sign, 2), rng.gauss(5 - 2 * sign, 2), rng.gauss(40, 4)
    return {"hours": hours, "cups": cups, "shoe": shoe}, tired


def same_address(base: str) -> list[str]:
    """Return options that serve a further round at the origin of the first."""
    return ["--bind", base.removeprefix("http://")]


def answer_survey(url: str, draw: DrawPerson, rng: random.Random, noise: FastStream) -> Plan:
    """Let many people answer a survey, each once, and return its plan."""
    plan = load_plan(url)
    reports = [make_report(plan, *draw(rng), noise) for _ in range(PEOPLE)]
    assert post_reports(url, b"".join(reports)) == {"recorded": PEOPLE, "duplicate": 0, "rejected": []}
    return plan


def test_the_second_round_asks_about_the_learned_projection_and_nobody_answers_both(tmp_path: Path) -> None:
    survey, second = tmp_path / "sleep.toml", tmp_path / "round2.toml"
    survey.write_text(PILOT)
    store, rng, noise = f"sqlite:///{tmp_path}/ldp.db", random.Random(1), FastStream(7)
    first_row, first_label = draw_person(rng)
    with collector([survey], store) as (base, _):
        url = f"{base}/v1/surveys/sleep"
        plan = answer_survey(url, draw_person, rng, noise)
        with Client(plan, url, journal=tmp_path / "journal.db", max_epsilon=5) as client:
            client.grant()
            client.report(first_row, first_label)
            assert client.flush().state is State.SENT
        command("ldp-train", url, "-o", tmp_path / "pilot.json", LDP_OPERATOR_TOKEN=TOKEN)

    second.write_text(command("ldp-survey", "learn", "--pilot", tmp_path / "pilot.json", survey).stdout)
    with collector([survey, second], store, options=same_address(base)) as (base, _):
        url = f"{base}/v1/surveys/sleep-learned1"
        plan = answer_survey(url, draw_person, rng, noise)
        with Client(plan, url, journal=tmp_path / "journal.db", max_epsilon=5) as client:
            client.grant()
            receipt = client.report(first_row, first_label)
            assert (receipt.state, receipt.survey) == (State.ALREADY_REPORTED, "sleep")
        command("ldp-train", url, "-o", tmp_path / "model.json", LDP_OPERATOR_TOKEN=TOKEN)

    model = load_model(tmp_path / "model.json")
    assert model.estimates_["reports"] == PEOPLE
    test = [draw_person(rng) for _ in range(400)]
    predicted = model.predict([row for row, _ in test])
    right = sum(prediction == label for prediction, (_, label) in zip(predicted, test, strict=True))
    assert right / len(test) > 0.85  # the best possible is .921; its standard error is .014 with 400 rows


SHOE = "[features.shoe{}]\nrange = [30, 50]\nbins = 2\n"
SHOES = 9


def draw_person_with_shoes(rng: random.Random) -> tuple[dict[str, object], str]:
    """Draw a row with more uninformative numbers."""
    row, tired = draw_person(rng)
    return row | {f"shoe{number}": rng.gauss(40, 4) for number in range(SHOES)}, tired


def test_a_narrowed_round_leaves_out_uninformative_features_and_all_reports_train_the_model(
    tmp_path: Path,
) -> None:
    survey, second = tmp_path / "sleep.toml", tmp_path / "round2.toml"
    survey.write_text(PILOT.replace("epsilon = 4", "epsilon = 0.8") + "".join(map(SHOE.format, range(SHOES))))
    store, rng, noise = f"sqlite:///{tmp_path}/ldp.db", random.Random(13), FastStream(13)
    row, label = draw_person_with_shoes(rng)
    journal = tmp_path / "journal.db"
    with collector([survey], store) as (base, _):
        url = f"{base}/v1/surveys/sleep"
        plan = answer_survey(url, draw_person_with_shoes, rng, noise)
        with Client(plan, url, journal=journal) as client:
            client.grant()
            client.report(row, label)
            assert client.flush().state is State.SENT
        command("ldp-train", url, "-o", tmp_path / "pilot.json", LDP_OPERATOR_TOKEN=TOKEN)

    second.write_text(command("ldp-survey", "narrow", "--pilot", tmp_path / "pilot.json", survey).stdout)
    with collector([survey, second], store, options=same_address(base)) as (base, _):
        urls = [f"{base}/v1/surveys/sleep", f"{base}/v1/surveys/sleep-round2"]
        plan = answer_survey(urls[1], draw_person_with_shoes, rng, noise)
        assert {"hours", "cups"} <= {each.name for each in plan.questions}
        assert len(plan.questions) < (SHOES + 3) / 2
        with Client(plan, urls[1], journal=journal) as client:
            client.grant()
            receipt = client.report(row, label)
            assert (receipt.state, receipt.survey) == (State.ALREADY_REPORTED, "sleep")
        output = command(
            "ldp-train", *reversed(urls), "-o", tmp_path / "model.json", LDP_OPERATOR_TOKEN=TOKEN
        ).stdout
        assert output.startswith(f"sleep: {2 * PEOPLE + 1} reports")
    rounds = ["--survey", "sleep-round2", "--survey", "sleep"]
    command("ldp-train", store, *rounds, "-o", tmp_path / "same.json")
    assert (tmp_path / "same.json").read_bytes() == (tmp_path / "model.json").read_bytes()

    model = load_model(tmp_path / "model.json")
    counted = {each["name"]: each["n"] for each in model.estimates_["features"]}
    assert counted["shoe"] < 0.2 * PEOPLE < 0.3 * PEOPLE < min(counted["hours"], counted["cups"])


TEA = """
[survey]
id = "tea"
epsilon = 4

[label]
name = "tired"
values = ["yes", "no"]

[features.related]
values = ["a", "b"]
"""
ECHO = '[features.echo{}]\nvalues = ["a", "b"]\n'
ECHOES = 5


def draw_person_with_echoes(rng: random.Random) -> tuple[dict[str, object], str]:
    """Draw a row: one feature equals the label in 90% of rows; the others repeat one that does in 70%."""
    tired = rng.choice(["yes", "no"])
    right, wrong = ("a", "b") if tired == "yes" else ("b", "a")
    related, echo = (right if rng.random() < often else wrong for often in (0.9, 0.7))
    return {"related": related, **{f"echo{number}": echo for number in range(ECHOES)}}, tired


def test_devices_validate_the_model_and_it_keeps_its_most_accurate_features(tmp_path: Path) -> None:
    survey, second = tmp_path / "tea.toml", tmp_path / "validation.toml"
    survey.write_text(TEA + "".join(map(ECHO.format, range(ECHOES))))
    store, rng, noise = f"sqlite:///{tmp_path}/ldp.db", random.Random(5), FastStream(5)
    row, label = draw_person_with_echoes(rng)
    journal = tmp_path / "journal.db"
    with collector([survey], store) as (base, _):
        url = f"{base}/v1/surveys/tea"
        plan = answer_survey(url, draw_person_with_echoes, rng, noise)
        with Client(plan, url, journal=journal, max_epsilon=5) as client:
            client.grant()
            client.report(row, label)
            assert client.flush().state is State.SENT
        command("ldp-train", url, "-o", tmp_path / "first.json", LDP_OPERATOR_TOKEN=TOKEN)

    second.write_text(command("ldp-survey", "validate", "--model", tmp_path / "first.json", survey).stdout)
    with collector([survey, second], store, options=same_address(base)) as (base, _):
        urls = [f"{base}/v1/surveys/tea-validation", f"{base}/v1/surveys/tea"]
        plan = answer_survey(urls[0], draw_person_with_echoes, rng, noise)
        with Client(plan, urls[0], journal=journal, max_epsilon=5) as client:
            client.grant()
            receipt = client.report(row, label)
            assert (receipt.state, receipt.survey) == (State.ALREADY_REPORTED, "tea")
        with Client(plan, urls[0], journal=tmp_path / "other.db", max_epsilon=5) as client:
            client.grant()
            client.report(row, label)
            assert client.flush().state is State.SENT
        output = command("ldp-train", *urls, "-o", tmp_path / "model.json", LDP_OPERATOR_TOKEN=TOKEN).stdout
    assert output.startswith(f"tea: {PEOPLE + 1} reports")
    assert f"tea-validation: {PEOPLE + 1} devices validated an earlier model" in output
    assert "the model keeps related" in output

    first, model = load_model(tmp_path / "first.json"), load_model(tmp_path / "model.json")
    test = [draw_person_with_echoes(rng) for _ in range(1000)]
    rows, labels = [row for row, _ in test], [label for _, label in test]
    before, after = ((each.predict(rows) == labels).mean() for each in (first, model))
    assert before < 0.8 < 0.85 < after  # .7 and .9; the standard error is at most .015 with 1,000 rows
    result = model.estimates_["validation"]["validation_result"]
    assert result["accuracy"]["low"] < before < result["accuracy"]["high"]

    chosen = command("ldp-survey", "narrow", "--pilot", tmp_path / "model.json", survey).stdout
    assert chosen.count("weight = 0") >= ECHOES - 1

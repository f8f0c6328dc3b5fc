"""What people read of a survey in which each person answers all questions through a relay."""

from __future__ import annotations

import json

import pytest

from encoders.explain.preview import describe_relay, explain_report, preview
from encoders.randomness import FastStream, GivenBytes
from encoders.survey import Plan, read_survey
from encoders.survey.randomise import randomise_all
from tests.support.javascript import FOLDER, run_node
from tests.support.surveys import RELAY_KEYS, RELAYED

ALL = RELAYED.replace("[relay]", f'[relay]\nask = "all"\n{RELAY_KEYS}').replace(
    "batch = 600", "batch = 20_000"
)
ROW = {"nights": "some", "rested": True}


def made(epsilon: str) -> Plan:
    return read_survey(ALL.replace("epsilon = 2\n", f"epsilon = {epsilon}\n", 1)).compile()


SMALL, LARGE = made("5"), made("5.2")


def test_the_first_sentence_says_that_all_answers_are_sent_then_comes_the_promise():
    for plan in (SMALL, LARGE):
        text = " ".join(describe_relay(plan))
        assert text.startswith(
            "All your answers are sent, each changed at random by itself. The relay mixes the"
        )
        assert "by at most 2.8 times, with a remainder of at most 1 in 1,000,000, if at least 14,600" in text


def test_a_large_sum_is_said_as_what_relay_and_collector_can_learn_together():
    together = "If relay and collector work together, "
    assert " ".join(describe_relay(SMALL)).endswith(f"{together}by at most 150 times.")  # e^5 is 148.4
    learn = "they can learn most of your answers: up to 94% of yes/no answers are sent as they are."
    assert " ".join(describe_relay(LARGE)).endswith(together + learn)  # e^2.6 / (1 + e^2.6) is .931


def test_a_preview_shows_every_true_answer_and_what_would_be_sent():
    bytes_of = bytes(range(200))
    shown = preview(LARGE, ROW, None, GivenBytes(bytes_of))
    made_reports = randomise_all(LARGE, LARGE.encode(ROW, None), GivenBytes(bytes_of))
    assert [each.report for each in shown.answers] == [each.report for each in made_reports]
    assert [each.truth for each in shown.answers] == [{"nights": "some"}, {"rested": "true"}]
    text = str(shown)
    assert text.startswith("\n".join(describe_relay(LARGE)))
    flat = " ".join(text.split())
    for number, truth in enumerate(("nights = some", "rested = true"), 1):
        assert (
            f"Question {number} of 2: {truth.split()[0]} The true answer, which stays on the device: {truth}."
            in flat
        )
    assert flat.count("This time it would be:") == 2
    assert "Sending all answers spends epsilon = 5.2 together." in flat
    assert "One question" not in text
    assert max(map(len, text.splitlines())) <= 110
    assert "some" not in repr(shown)


def test_the_json_has_every_answer():
    found = preview(LARGE, ROW, None, FastStream(1)).as_dict()
    assert (found["survey"], found["epsilon"]) == ("night-work", 5.2)
    assert [each["question"] for each in found["answers"]] == ["nights", "rested"]
    assert [each["probability"] for each in found["answers"]] == [1, 1]
    assert all(set(each) >= {"true_answer", "report", "chances", "mechanism"} for each in found["answers"])
    assert json.dumps(found)


def test_one_question_can_be_shown_and_a_report_explained():
    shown = preview(LARGE, ROW, None, FastStream(1), "rested")
    assert (shown.question, len(shown.answers)) == ("rested", 1)
    for text in (str(shown), explain_report(LARGE, shown.report)):
        assert "a report of its own answers it" in text
        assert "\n".join(describe_relay(LARGE)) in text
        assert "One question" not in text
        assert "e^5.2" not in text


@pytest.mark.slow
@pytest.mark.parametrize("plan", [SMALL, LARGE], ids=["small", "large"])
def test_the_javascript_client_says_the_same_of_the_relay(plan):
    program = f"""
        import {{ readPlan }} from {json.dumps(str(FOLDER / "src/core.js"))};
        import {{ preview }} from {json.dumps(str(FOLDER / "src/preview.js"))};
        const [plan, row] = {json.dumps([plan.json.decode(), ROW])};
        const read = readPlan(new TextEncoder().encode(plan), {{ check() {{}} }});
        console.log(String(preview(read, row)));
    """
    text = run_node("--input-type=module", "--eval", program)
    assert text.splitlines()[0] == " ".join(describe_relay(plan))
    for number, truth in enumerate(("nights = some", "rested = true"), 1):
        heading = f"Question {number} of 2: {truth.split()[0]}\n"
        assert f"{heading}The true answer, which stays on the device: {truth}." in text
    assert text.rstrip().endswith(f"Sending all answers spends epsilon = {plan.epsilon} together.")

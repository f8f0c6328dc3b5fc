"""What `ldp-survey check` and `ldp-survey size` say of a relay, and who refuses such a survey."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from encoders.survey import read_survey
from ldp_client import Client, make_report
from ldp_client.errors import TransportError
from tests.support.commands import command
from tests.support.surveys import RELAY_KEYS, RELAYED

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "night-work.toml"
    path.write_text(RELAYED, encoding="utf-8")
    return path


def test_check_prints_the_promise_and_what_would_fit(survey):
    text = " ".join(command("ldp-survey", "check", survey).stdout.split())
    assert "epsilon is 1 with delta 1e-06. This holds if 438 of the 600 reports of each batch" in text
    assert "the local epsilon may be up to 2.56;" in text
    assert "the batch must have at least 283 reports" in text
    assert "warning" not in text.split("relay https", 1)[1].split("digest")[0] or "batch is above" not in text
    found = json.loads(command("ldp-survey", "check", survey, "--json").stdout)["survey"]["relay"]
    assert found == {
        "url": "https://relay.example/night-work",
        "ask": "one",
        "epsilon": 1.0,
        "delta": 1e-6,
        "batch": 600,
        "honest_reports": 438,
        "largest_local_epsilon": 2.56,
        "smallest_batch": 283,
        "messages_per_network": 16,
        "has_keys": False,
    }


@pytest.mark.parametrize(
    ("entry", "changed", "warning"),
    [
        ("users = 1000", "users = 900", "relay.batch: the batch is above 60% of the expected 900 people"),
        ("delta = 1e-6", "delta = 1e-5\n", "relay.delta: delta times the expected people is above 0.01"),
        ("batch = 600", "batch = 60000", "survey.epsilon: epsilon is above 5: if relay and collector work"),
        (
            "\nepsilon = 1\n",
            "\nepsilon = 2.5\n",
            "relay.epsilon: epsilon is above 2, the maximum that clients",
        ),
    ],
)
def test_check_warns_of_risky_settings(survey, entry, changed, warning):
    text = RELAYED.replace(entry, changed)
    if "delta" in entry:
        text = text.replace("users = 1000", "users = 2000")
    if "batch" in entry:
        text = text.replace("epsilon = 2", "epsilon = 5.5").replace("users = 1000", "users = 1_000_000")
    survey.write_text(text, encoding="utf-8")
    problems = json.loads(command("ldp-survey", "check", survey, "--json").stdout)["problems"]
    assert warning in [f"{each['field']}: {each['message']}"[: len(warning)] for each in problems]


@pytest.mark.slow
def test_size_compares_with_the_same_promise_without_a_relay(survey):
    text = " ".join(command("ldp-survey", "size", survey).stdout.split())
    assert "Each way promises epsilon 1 towards everybody but the relay." in text
    assert "fewer answer with a probability below one in 100,000" in text
    [found] = json.loads(command("ldp-survey", "size", survey, "--json").stdout)
    assert 3 < found["relay"]["users_without"] / found["users"] < 6
    [few] = json.loads(command("ldp-survey", "size", survey, "--users", 620, "--json").stdout)
    assert 0.15 < few["relay"]["too_few"] < 0.25
    shares = " ".join(command("ldp-survey", "size", survey, "--users", 620).stdout.split())
    assert "fewer answer with a probability of at most 2" in shares


@pytest.mark.slow
def test_size_compares_all_answers_one_answer_and_no_relay(survey):
    [found] = json.loads(command("ldp-survey", "size", survey, "--json").stdout)
    ways = {each["ask"]: each for each in found["relay"]["ways"]}
    assert list(ways) == ["all", "one", None]
    assert ways["one"]["epsilon"] == 2
    assert ways["one"]["users"] == pytest.approx(found["users"], rel=0.01)
    assert ways[None]["epsilon"] == 1
    assert ways[None]["users"] == found["relay"]["users_without"]
    assert ways["all"]["margin"] < ways["one"]["margin"] < ways[None]["margin"]
    assert ways["all"]["users"] < found["users"] < ways[None]["users"]
    survey.write_text(ALL.format(ways["all"]["epsilon"]), encoding="utf-8")
    [other] = json.loads(command("ldp-survey", "size", survey, "--json").stdout)
    assert [each["margin"] for each in other["relay"]["ways"]][::2] == [
        ways["all"]["margin"],
        ways[None]["margin"],
    ]
    result = command("ldp-survey", "size", survey, "--questions", check=False)
    assert "each person answers all questions of this survey" in result.stderr
    weighted = RELAYED.replace("[features.nights]", "[features.nights]\nweight = 2")
    survey.write_text(weighted, encoding="utf-8")
    [third] = json.loads(command("ldp-survey", "size", survey, "--json").stdout)
    assert [each["ask"] for each in third["relay"]["ways"]] == ["one", None]


ALL = RELAYED.replace("epsilon = 2\n", "epsilon = {}\n").replace("[relay]", '[relay]\nask = "all"')


@pytest.mark.slow
def test_check_states_the_promise_and_what_relay_and_collector_learn_together(survey):
    survey.write_text(LARGE.format(5.5), encoding="utf-8")
    text = " ".join(command("ldp-survey", "check", survey).stdout.split())
    for part in (
        "of which each person answers all",
        "Each person answers all 2 questions, in one envelope.",
        "This holds if 4,380 of the 6,000 envelopes of each batch",
        "Together: 5.5 (at most 2.75 for one answer) if relay and collector work together. They then see",
        "which randomised answers come from the same person, and would learn most answers.",
        "Of yes/no answers with epsilon 2.75, 94% are sent as they are.",
        "Applications must allow this, and the page of ldp-survey page does: max_local_epsilon = 5.5.",
        'With ask = "one", each person would send one answer, whose epsilon could be 4.66. ldp-survey size',
    ):
        assert part in text
    found = json.loads(command("ldp-survey", "check", survey, "--json").stdout)
    relay = found["survey"]["relay"]
    assert relay["ask"] == "all"
    assert relay["epsilon_of_each"] == relay["epsilon_of_one_feature"] == 2.75
    assert relay["sent_as_they_are"] == pytest.approx(0.94, abs=0.001)
    assert relay["ask_one"] == {"largest_local_epsilon": 4.66}
    assert not [each for each in found["problems"] if each["field"] == "survey.epsilon"]
    survey.write_text(ALL.format(2).replace("[features.n", f"{LABEL}[features.n"), encoding="utf-8")
    text = " ".join(command("ldp-survey", "check", survey).stdout.split())
    assert "The answers that contain the label have epsilon 2 together." in text
    assert "max_local_epsilon" not in text


LARGE = ALL.replace("batch = 600", "batch = 6000").replace("users = 1000\n", "")
LABEL = '[label]\nname = "ill"\nvalues = ["yes", "no"]\n'


@pytest.mark.slow
def test_check_warns_from_three_on_for_one_answer(survey):
    def warnings(epsilon: str) -> list[str]:
        survey.write_text(LARGE.format(epsilon), encoding="utf-8")
        problems = json.loads(command("ldp-survey", "check", survey, "--json").stdout)["problems"]
        return [each["message"] for each in problems if each["field"] == "survey.epsilon"]

    assert warnings("5.99") == []
    [found] = warnings("6")
    assert found.startswith("the epsilon of one answer is 3.00: if relay and collector work together")


@pytest.mark.slow
def test_the_dossier_states_both_numbers_of_a_survey_that_asks_all(survey, tmp_path):
    survey.write_text(LARGE.format(5.5), encoding="utf-8")
    page = tmp_path / "dossier.html"
    command("ldp-survey", "dossier", survey, "-o", page)
    text = " ".join(re.sub("<[^>]+>", "", page.read_text("utf-8")).split())
    for part in (
        "All answers of a person are sent, each randomised by itself.",
        "1 with a delta of 0.000001, towards everybody but the relay.",
        "All answers of a person together: 5.5, if relay and collector work together.",
        "with an epsilon of 2.75 for one answer, 94.0% of yes/no answers are sent as they are",
        "at least 4,380 of the 6,000 envelopes of each batch",
        "one for each question, with a random number and your changed answer",
        "94.0% by one answer; 99.6% by all",
        "All reports of a person together are 5.5-locally differentially private",
        "What all reports of a person together can change at most, if relay and collector work together",
        "This is the first of 2 reports.",
        "all of them together for the relay",
    ):
        assert part in text
    wrong_of_one = (
        "Each report is",
        "What one report",
        "one randomised report",
        "two reports",
        "that are sent, in",
    )
    wrong_of_one += ("drawn at random", "whichever question", "question was drawn", "drawn question")
    for wrong in wrong_of_one:
        assert wrong not in text


def test_size_of_a_larger_epsilon_than_the_promise_allows_names_the_largest(survey):
    result = command("ldp-survey", "size", survey, "--epsilon", 4, check=False)
    assert "lower survey.epsilon to 2.56, or raise batch to" in result.stderr


def test_a_survey_with_a_relay_is_not_compiled_without_keys(survey):
    output = survey.with_name("plan.json")
    result = command("ldp-survey", "compile", survey, "-o", output, check=False)
    assert "relay: needs collector_key and relay_key" in result.stderr
    assert not output.exists()


def test_the_page_connects_to_the_relay_alone(survey, tmp_path):
    output = tmp_path / "site"

    def refusal(*options: object) -> str:
        result = command("ldp-survey", "page", survey, "-o", output, *options, check=False)
        assert result.exit_code != 0
        assert not output.exists()
        return result.stderr

    assert "needs collector_key and relay_key" in refusal()
    survey.write_text(RELAYED.replace("[relay]", f"[relay]\n{RELAY_KEYS}"), encoding="utf-8")
    assert "leave --collector out" in refusal("--collector", "https://collector.example")
    assert "the survey's epsilon is 1, and the page accepts at most 0.5" in refusal("--max-epsilon", 0.5)
    command("ldp-survey", "page", survey, "-o", output)
    page = (output / "index.html").read_text("utf-8")
    assert 'src="https://relay.example/night-work"' in page
    assert 'relay="https://relay.example"' in page
    assert "connect-src https://relay.example;" in page


def test_clients_never_report_directly(survey, tmp_path):
    survey.write_text(RELAYED.replace("[relay]", f"[relay]\n{RELAY_KEYS}"), encoding="utf-8")
    plan = read_survey(survey.read_text(encoding="utf-8")).compile()
    row = {"nights": "some", "rested": True}
    with pytest.raises(TransportError, match="needs a relay"):
        make_report(plan, row)
    url = "http://127.0.0.1:9/v1/surveys/night-work"
    for source in (plan, survey):
        with Client(source, url=url, person=None, journal=tmp_path / "journal.db") as client:
            assert (client.grant().state, client.grant().reason) == ("unavailable", "relay-unsupported")
            assert client.report(row).state == "no_consent"


@pytest.mark.slow
def test_the_dossier_says_what_the_relay_sees_and_what_the_board_must_check(survey, tmp_path):
    page = tmp_path / "dossier.html"
    command("ldp-survey", "dossier", survey, "-o", page)
    text = " ".join(re.sub("<[^>]+>", "", page.read_text("utf-8")).split())
    assert "It is at relay.example, and cannot read reports." in text
    assert "in a batch of at least 600 or not at all" in text
    assert "You can stop until the relay passes on what you sent" in text
    assert "at least 438 of the 600 reports of each batch" in text
    assert "The collector does not see them." in text
    for each in ("while the report arrives", "the machine of the collector", "the collector's address"):
        assert each not in text


WITH_A_RELAY = [
    *[(1, 614, 2.19, "one"), (5, 1602, 2.96, "one"), (10, 2551, 3.37, "one")],
    *[(5, 830, 8.3, "all"), (10, 1050, 14.1, "all")],
]
"""Yes/no questions, the people that they need, the epsilon of what a person sends, and how they are asked."""


@pytest.mark.slow
@pytest.mark.parametrize(("features", "people", "epsilon", "ask"), WITH_A_RELAY)
def test_the_people_that_pages_state_for_surveys_with_a_relay_are_enough(
    tmp_path, features, people, epsilon, ask
):
    """Shares within five points; the batch is 60% of the people, and 73% of it are honest."""
    relay = re.sub(
        "batch = .*",
        f"batch = {-(-people * 6 // 10)}\nask = '{ask}'",
        RELAYED[RELAYED.index("[relay]") : RELAYED.index("[features")],
    )
    questions = "".join(f'[features.q{each}]\nvalues = ["yes", "no"]\n' for each in range(features))
    path = tmp_path / "survey.toml"
    path.write_text(f'[survey]\nid = "night-work"\nepsilon = {epsilon}\nusers = {people}\n{questions}{relay}')
    assert "largest_local_epsilon" in command("ldp-survey", "check", path, "--json").stdout
    shown = command("ldp-survey", "size", path, "--margin", "0.05").stdout
    needed = re.search(r"margins of at most 5% need ([\d,]+) people", shown)
    assert needed
    assert int(needed[1].replace(",", "")) <= people


@pytest.mark.slow
def test_readme_states_the_people_that_ten_questions_need(tmp_path):
    """The rows with a relay are the figures of the test above, and the first row is what a command prints."""
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| (?:alone|through)[^|]*\|([^|]*)\|[^|]*\|([^|]*)\|$", readme, re.MULTILINE)
    people = [int(re.sub(r"\D", "", cell)) for cell, _ in rows]
    path = tmp_path / "survey.toml"
    path.write_text('[survey]\nid = "ten"\nepsilon = 1\n[features.q]\nvalues = ["yes", "no"]\n')
    shown = command("ldp-survey", "size", path, "--questions", "--margin", "0.05", "--json").stdout
    alone = next(each["without_label"] for each in json.loads(shown) if each["questions"] == 10)
    assert people == [alone, *(people for features, people, *_ in WITH_A_RELAY if features == 10)]
    assert [re.findall(r"ε = ([\d.]+)", promise) for _, promise in rows[1:]] == [
        [str(epsilon)] for features, _, epsilon, _ in WITH_A_RELAY if features == 10
    ]

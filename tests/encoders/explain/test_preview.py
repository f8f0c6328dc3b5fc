"""Previews: they take the same steps as a report, and need no numpy."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from encoders.errors import LdpError, Reason, ReportError, RowError
from encoders.explain.preview import explain_report, preview
from encoders.mechanisms import MECHANISMS, NUMERIC_MECHANISMS
from encoders.randomness import GivenBytes, SystemEntropy
from encoders.report import pack, unpack
from encoders.survey import Plan, read_survey
from encoders.survey.randomise import randomise, read_report
from ldp_client import make_report
from tests.support.surveys import SLEEP, make_plan

ROOT = Path(__file__).resolve().parents[3]
SURVEY = SLEEP.replace("bins = 4", '[mechanism]\nfrequency = "{frequency}"\nnumeric = "{numeric}"')
ROW = {"age": "old", "hours": 7.5}
WAYS = [*((name, "sign") for name in MECHANISMS), *(("OUE", name) for name in NUMERIC_MECHANISMS)]

every_way = pytest.mark.parametrize(("frequency", "numeric"), WAYS)


def made(frequency: str = "DE", numeric: str = "sign") -> Plan:
    return read_survey(SURVEY.format(frequency=frequency, numeric=numeric)).compile()


@every_way
def test_preview_equals_the_report_of_the_same_random_bytes(frequency, numeric):
    plan = made(frequency, numeric)
    for first in (0, 120, 255):
        draws = bytes([first] * 8) + bytes(range(16)) + bytes([77] * 4096)
        seen = preview(plan, ROW, "no", GivenBytes(draws))
        assert seen.report == make_report(plan, ROW, "no", GivenBytes(draws))
        assert seen.question == plan.questions[unpack(seen.report).question].name


@every_way
def test_every_question_is_explained_with_and_without_the_truth(frequency, numeric):
    plan = made(frequency, numeric)
    for question in plan.questions:
        seen = preview(plan, ROW, "no", SystemEntropy(), question_name=question.name)
        mine, theirs = str(seen), explain_report(plan, seen.report)
        assert mine.count("<- the truth") == 1
        assert question.mechanism.describe_output(seen.randomised.truth) in " ".join(mine.split())
        assert "truth" not in theirs
        for text in (mine, theirs):
            assert "<- this one" in next(line for line in text.splitlines() if f"  {question.name}  " in line)
            assert seen.report.hex() in "".join(text.split())
            assert "Sending it spends epsilon = 1;" in " ".join(text.split())
            assert max(map(len, text.splitlines())) <= 110


def test_explained_report_lists_the_likelihood_of_every_answer():
    plan = made("DE")
    seen = preview(plan, ROW, "no", SystemEntropy(), question_name="age")
    lines = [
        line for line in explain_report(plan, seen.report).splitlines() if "%" in line and "age = " in line
    ]
    beliefs = sorted(line.split()[-1] for line in lines)
    assert beliefs == ["13.0%"] * 5 + ["35.2%"]
    assert all(line.split()[-2] == line.split()[-1] for line in lines)  # of d answers one is sent


@pytest.mark.parametrize(
    ("question", "hours", "expected"),
    [
        ("hours (mean)", 12, "the number is already the highest and is not rounded;"),
        ("hours (mean)", 0, "the number is already the lowest and is not rounded;"),
        ("hours (mean)", 9, "the number is rounded to the highest with probability 75.0%, otherwise to"),
        ("hours (square)", 0, "the squared distance is already the highest and is not rounded;"),
        ("hours (square)", 6, "the squared distance is already the lowest and is not rounded;"),
        ("hours (square)", 9, "the squared distance is rounded to the highest with probability 25.0%,"),
    ],
)
def test_rounding_is_described_only_where_a_number_is_rounded(question, hours, expected):
    seen = preview(made(), ROW | {"hours": hours}, "no", SystemEntropy(), question_name=question)
    assert expected in " ".join(str(seen).split())


def test_the_square_of_a_number_is_explained_with_and_without_the_truth():
    plan = made()
    seen = preview(plan, ROW, "no", SystemEntropy(), question_name="hours (square)")
    for text in (str(seen), explain_report(plan, seen.report)):
        assert "It asks for the squared distance of hours from 6, the middle of its range." in text


def test_the_squares_of_several_numbers_are_explained_together():
    text = SURVEY.format(frequency="DE", numeric="laplace") + "[features.naps]\nrange = [0, 4]\n"
    plan = read_survey(text).compile()
    row = ROW | {"naps": 1}
    seen = preview(plan, row, "no", SystemEntropy(), question_name="hours, naps (square)")
    assert "It asks for the squared distances of hours, naps from the middle" in str(seen)


def test_preview_has_the_attributes_that_applications_show():
    seen = preview(made(), ROW | {"hours": 99}, "no", SystemEntropy(), question_name="hours (mean)")
    assert seen.question == "hours (mean)"
    assert seen.truth == {"hours": "12", "rested": "no"}
    assert seen.epsilon == 1.0
    assert seen.clipped == ("hours",)
    assert "(hours is outside its range, 0 to 12: the device moves it to the nearest end)" in str(seen)


def test_repr_does_not_contain_the_true_answer():
    draws = bytes(8) + bytes(16) + b"\xff" * 64  # DE: sends another answer
    one = preview(made(), {"age": "old", "hours": 1}, "no", GivenBytes(draws))
    other = preview(made(), {"age": "old", "hours": 99}, "no", GivenBytes(draws))
    assert one.truth == {"age": "old", "rested": "no"}
    for each in (one, one.randomised, [one.randomised]):
        assert "old" not in repr(each)
        assert f", {one.randomised.truth}," not in repr(each)
    assert repr(one) == repr(other)  # nor what was clipped
    assert f"{one.randomised}" == repr(one.randomised)


def test_preview_shows_the_whole_true_answer_if_two_entries_have_one_title():
    title = {"title": "Today?"}
    plan = make_plan(
        label={"name": "rested", "values": ["no", "yes"]},
        features={"tea": ["black", "green"]},
        texts={"en": {"label": title, "features": {"tea": title}}},
    )
    shown = str(preview(plan, {"tea": "green"}, "yes", SystemEntropy(), "tea"))
    assert "  tea = green, rested = yes\n" in shown


def test_row_or_question_that_does_not_fit_is_refused():
    plan = made()
    with pytest.raises(RowError):
        preview(plan, {"age": "ancient", "hours": 1}, "no", GivenBytes(b""))
    with pytest.raises(LdpError, match="the survey asks age; hours"):
        preview(plan, ROW, "no", GivenBytes(b""), question_name="tea")


def test_named_question_takes_no_random_bytes():
    plan = made()
    named = randomise(plan, ROW, "no", GivenBytes(bytes(32)), question_name="age")
    drawn = randomise(plan, ROW, "no", GivenBytes(bytes(40)))
    assert named == drawn


def test_a_question_about_several_features_is_explained_by_all_of_them():
    text = SURVEY.format(frequency="auto", numeric="sign").replace("epsilon = 1.0", "epsilon = 5")
    plan = read_survey(text.replace("[0, 12]", "[0, 12]\nbins = 2")).compile()
    assert [question.name for question in plan.questions] == ["age, hours"]
    seen = preview(plan, ROW, "no", GivenBytes(bytes(40)), question_name="age, hours")
    assert seen.truth == {"age": "old", "hours": "6 and more", "rested": "no"}
    for text in (str(seen), explain_report(plan, seen.report)):
        assert "Decoded:\n  age = old, hours = 6 and more, rested = no\n" in text
        assert "  age, hours  100.0%  <- this one" in text
        assert "  age = (missing), hours = below 6, rested = yes" in text
    assert "  age = old, hours = 6 and more, rested = no  " in str(seen)
    with pytest.raises(LdpError, match=r"no question 'age'; the survey asks age, hours$"):
        preview(plan, ROW, "no", GivenBytes(bytes(40)), question_name="age")


def test_report_of_another_plan_is_not_explained():
    plan = made()
    report = unpack(make_report(plan, ROW, "no"))
    wrong = {
        Reason.WRONG_PLAN: replace(report, plan_digest=bytes(32)),
        Reason.UNKNOWN_QUESTION: replace(report, question=9),
        Reason.BAD_PAYLOAD: replace(report, payload=b"\xff"),
    }
    for reason, other in wrong.items():
        for read in (explain_report, read_report):
            with pytest.raises(ReportError) as caught:
                read(plan, pack(other))
            assert caught.value.reason is reason
    with pytest.raises(ReportError, match="malformed"):
        explain_report(plan, b"no report")


@pytest.mark.slow
def test_a_device_without_numpy_explains_every_mechanism():
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
sys.modules["numpy"] = None  # importing it fails
from encoders.randomness import SystemEntropy
from encoders.survey import read_survey
from encoders.explain.preview import explain_report, preview
for frequency, numeric in {WAYS!r}:
    plan = read_survey({SURVEY!r}.format(frequency=frequency, numeric=numeric)).compile()
    for question in plan.questions:
        seen = preview(plan, {ROW!r}, "no", SystemEntropy(), question.name)
        assert "this one" in str(seen) and "this one" in explain_report(plan, seen.report)
print("done", *(name for name in sys.modules if name.startswith("numpy.")))
"""
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "done\n"

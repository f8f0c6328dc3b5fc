"""Waves in surveys and plans: their times, what is refused, and the indices of their questions."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from encoders.errors import LdpError, SurveyError, TokenError
from encoders.randomness import GivenBytes, SystemEntropy
from encoders.report import unpack
from encoders.survey import Plan, read_survey
from encoders.survey.compiled_plan import draw_report_id
from encoders.survey.invitation import format_token, read_invitation
from encoders.survey.randomise import randomise, read_report
from encoders.survey.wave_calendar import schedule_waves
from encoders.survey.waves import Wave, Waves
from ldp_client import make_report
from tests.support.waves import ROW, SURVEY, WAVES, compile_waves


def days(*arguments):
    return [
        (each.name, *(str(datetime.fromtimestamp(at, UTC).date()) for at in (each.opens, each.closes)))
        for each in schedule_waves(*arguments)
    ]


def test_waves_follow_the_calendar():
    assert days(date(2027, 1, 31), "month", 3, None) == [
        ("2027-01", "2027-01-31", "2027-02-28"),
        ("2027-02", "2027-02-28", "2027-03-31"),
        ("2027-03", "2027-03-31", "2027-04-30"),
    ]
    assert days(date(2027, 11, 1), "quarter", 2, 14) == [
        ("2027-q4", "2027-11-01", "2027-11-15"),
        ("2028-q1", "2028-02-01", "2028-02-15"),
    ]
    assert days(date(2028, 2, 29), "year", 2, 1)[1] == ("2029", "2029-02-28", "2029-03-01")
    assert days(date(2027, 12, 31), "week", 2, None)[1] == ("2028-01-07", "2028-01-07", "2028-01-14")
    assert days(date(2027, 12, 31), "day", 2, None)[1] == ("2028-01-01", "2028-01-01", "2028-01-02")


def test_a_plan_has_its_waves_and_reads_them_again():
    plan = compile_waves()
    again = Plan.from_json(plan.json)
    assert again == plan
    assert again.waves == plan.waves
    assert [each.name for each in again.waves.list] == ["2027-01", "2027-02", "2027-03"]
    assert plan.digest != read_survey(SURVEY).compile().digest
    assert [each.key for each in plan.questions] == [
        each.key for each in read_survey(SURVEY).compile().questions
    ]


def test_every_wave_counts_its_questions_apart():
    plan = compile_waves()
    asked = len(plan.questions)
    assert [each.index for each in plan.counted_questions] == list(range(3 * asked))
    for wave in range(3):
        question = plan.in_wave(plan.questions[1], wave)
        assert question.index == wave * asked + 1
        assert question.key == f"{plan.questions[1].key}@{wave}"
        assert question.support_key == f"{plan.questions[1].key}@{wave}:support"
        report = randomise(plan, ROW, "yes", SystemEntropy(), plan.questions[1].name, wave=wave)
        assert read_report(plan, report.report).question == question.index
        assert report.question == question


@pytest.mark.parametrize("wave", [None, -1, 3])
def test_an_answer_needs_a_wave_of_its_survey(wave):
    with pytest.raises(LdpError, match="wave"):
        randomise(compile_waves(), ROW, "yes", SystemEntropy(), wave=wave)


def test_a_survey_without_waves_takes_none():
    with pytest.raises(LdpError, match="which has 0 waves"):
        randomise(read_survey(SURVEY).compile(), ROW, "yes", SystemEntropy(), wave=0)


def test_reports_are_made_for_a_wave_by_its_name():
    plan = compile_waves()
    assert unpack(make_report(plan, ROW, "yes", wave="2027-03")).question // len(plan.questions) == 2
    with pytest.raises(LdpError, match="0 waves"):
        make_report(read_survey(SURVEY).compile(), ROW, "yes", wave="2027-03")
    with pytest.raises(SurveyError, match="no wave '2027-04'; the waves are 2027-01, 2027-02, 2027-03"):
        make_report(plan, ROW, "yes", wave="2027-04")


@pytest.mark.parametrize(
    ("drawn", "wave"), [(0, 0), (2**64 // 3 - 1, 0), (2**64 // 3, 1), (2**64 * 2 // 3, 2), (2**64 - 1, 2)]
)
def test_eight_bytes_draw_a_wave(drawn, wave):
    assert compile_waves().waves.draw(GivenBytes(drawn.to_bytes(8, "little"))) == wave


def test_a_token_chooses_the_wave():
    plan = compile_waves(SURVEY.replace("epsilon = 2", 'epsilon = 2, enrolment = "token"'))
    question = plan.in_wave(plan.questions[1], 2)
    token = format_token(plan, draw_report_id(plan, question, SystemEntropy()))
    assert read_invitation(plan, token)[0] == question
    assert unpack(make_report(plan, ROW, "yes", token=token)).question == question.index
    beyond = format_token(plan, b"\0\x7f" + bytes(14))
    with pytest.raises(TokenError, match="does not have"):
        read_invitation(plan, beyond)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("count = 3", "count = 1", "waves.count: needs a number of waves from 2 to 400"),
        ("count = 3", "count = 10_000", "waves.count: needs a number of waves from 2 to 400"),
        ("count = 3", "count = 3.0", "waves.count: needs a number"),
        ('"month"', '"fortnight"', "waves.every: needs one of: day, week, month, quarter, year"),
        ("2027-01-31", '"January"', "waves.first: needs the first day"),
        ("2027-01-31", "2027-01-31T00:00:00Z", "waves.first: needs the first day"),
        ("2027-01-31", "1969-01-01", "before the year 2242"),
        ("2027-01-31", "2242-02-01", "before the year 2242"),
        ("2027-01-31", "9999-12-01", "waves.count: the last wave is beyond the calendar"),
        ("open_days = 14", "open_days = 0", "waves.open_days: needs for how many days"),
        (
            "open_days = 14",
            "open_days = 1_000_000_000_000",
            "waves.count: the last wave is beyond the calendar",
        ),
        (
            "open_days = 14",
            "open_days = 32",
            "waves.open_days: each wave must open before it closes, and close before",
        ),
        ("open_days = 14", 'assign = "chosen"', 'waves.assign: must be "drawn"'),
        ("open_days = 14", "until = 3", "waves.until: is not an entry here"),
    ],
)
def test_mistakes_are_named(before, after, message):
    with pytest.raises(SurveyError) as raised:
        read_survey(SURVEY + WAVES.replace(before, after))
    assert message in str(raised.value)


@pytest.mark.parametrize("count", [2, 400])
def test_the_fewest_and_the_most_waves(count):
    waves = WAVES.replace("count = 3", f"count = {count}").replace("month", "day").replace("14", "1")
    assert len(read_survey(SURVEY + waves).compile().waves.list) == count


def test_waves_times_questions_are_limited():
    many = "".join(f'features.f{number}.values = ["a", "b"]\n' for number in range(11))
    waves = WAVES.replace("count = 3", "count = 400").replace("month", "day").replace("14", "1")
    with pytest.raises(SurveyError, match="400 waves of 13 questions: needs 2 to 400 waves"):
        read_survey(SURVEY + many + waves).compile()


W = [Wave("a", 10, 20), Wave("b", 20, 30), Wave("c", 30, 40)]


@pytest.mark.parametrize(
    ("waves", "message"),
    [
        ([W[1], W[0]], "close before the next"),
        ([W[0], replace(W[1], opens=19)], "close before the next"),
        ([W[0], replace(W[1], closes=20)], "open before it closes"),
        ([W[0], replace(W[1], name="a")], "must differ"),
        ([W[0], replace(W[1], name="A")], "names must differ"),
        ([W[0], replace(W[1], name="all")], "names must differ"),
        ([W[0], replace(W[1], closes=30.5)], "before the year 2242"),
        ([W[0], replace(W[1], closes=True)], "before the year 2242"),
        ([W[0]], "2 to 400"),
    ],
)
def test_a_plan_with_impossible_waves_is_refused(waves, message):
    plan = compile_waves()
    with pytest.raises(SurveyError, match=message):
        replace(plan, waves=Waves("drawn", tuple(waves)))


def test_an_edited_plan_is_refused():
    plan = compile_waves()
    for edited in (
        plan.json.replace(b'"assign":"drawn"', b'"assign":"chosen"'),
        plan.json.replace(b'"opens":', b'"opens": '),
        plan.json.replace(b'{"assign"', b'{"and":1,"assign"'),
        plan.json.replace(b'"closes":', b'"ends":'),
    ):
        with pytest.raises(SurveyError):
            Plan.from_json(edited)

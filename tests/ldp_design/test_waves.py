"""Commands for authors about a survey with waves: sizes of one wave, made-up reports of all."""

from dataclasses import replace

import pytest

from encoders.survey import read_survey
from ldp_aggregator.reports.archives import count_archives
from tests.support.commands import command
from tests.support.waves import SURVEY, WAVES

USERS = SURVEY.replace("epsilon = 2", "epsilon = 2, users = 3000")


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "mood.toml"
    path.write_text(USERS + WAVES)
    return path


def test_one_wave_has_its_part_of_the_people():
    one = read_survey(USERS + WAVES).of_one_wave()
    assert (one.waves, one.users) == (None, 1000)
    assert read_survey(SURVEY + WAVES).of_one_wave().users is None
    assert read_survey(USERS).of_one_wave() == read_survey(USERS)


@pytest.mark.slow
def test_the_size_is_that_of_one_wave(survey, tmp_path):
    for options in ([], ["--users", "3000"]):
        found = command("ldp-survey", "size", survey, *options)
        assert "those of one wave, which has 1/3 of the people" in found.stderr
        (tmp_path / "one.toml").write_text(USERS.replace("3000", "1000"))
        one = command("ldp-survey", "size", tmp_path / "one.toml").stdout.splitlines()
        assert set(one) < set(found.stdout.splitlines())
        assert "Of 3,000 people in 3 waves" in found.stdout


@pytest.mark.slow
def test_the_dossier_says_that_each_person_is_asked_once(survey, tmp_path):
    command("ldp-survey", "dossier", survey, "-o", tmp_path / "dossier.html")
    text = (tmp_path / "dossier.html").read_text("utf-8")
    assert "The survey has 3 waves. Each person is asked once" in " ".join(text.split())
    assert "--users 3000" in text


def test_made_up_reports_are_of_all_waves(survey, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("mood,sleep,paid\n" + "good,well,yes\nbad,badly,no\n" * 150)
    command("ldp-simulate", survey, rows, "--repeats", 2, "--reports", tmp_path / "reports.bin")
    plan = read_survey(USERS + WAVES).compile()
    snapshot = count_archives(plan, [str(tmp_path / "reports.bin")], pytest.fail)
    counts = [snapshot.select(each.name).total() for each in plan.waves.list]
    assert sum(counts) == 300
    assert all(50 < each < 150 for each in counts)  # six standard deviations


def test_a_preview_names_no_wave_that_is_not_drawn(survey):
    shown = " ".join(command("ldp-survey", "preview", survey).stdout.split())
    assert "You are asked once, in one of 3 waves, from 2027-01-31 00:00 UTC to 2027-04-14 00:00 UTC" in shown


def test_the_size_has_the_plan_that_is_compiled():
    """The weight of the label's question depends on the people of one wave."""
    many = "".join(f'features.f{number}.values = ["a", "b"]\n' for number in range(8))
    text = USERS.replace("epsilon = 2", "epsilon = 0.5").replace("mechanism", many + "mechanism") + WAVES
    survey = read_survey(text)
    surveys = survey, survey.of_one_wave(), replace(survey, users=10**6)
    whole, one, larger = ([each.weight for each in made.compile().questions] for made in surveys)
    assert whole == one != larger


def test_the_length_of_a_report_is_that_of_the_last_wave(tmp_path):
    path = tmp_path / "many.toml"
    waves = WAVES.replace("count = 3", "count = 300").replace("month", "day").replace("14", "1")
    path.write_text(SURVEY + waves)
    assert "60 bytes" in command("ldp-survey", "check", path).stdout


def test_the_check_names_the_first_and_the_last_wave(survey):
    shown = " ".join(command("ldp-survey", "check", survey).stdout.split())
    assert "3 waves, of which each person answers one: 2027-01 opens on 2027-01-31, and 2027-03" in shown

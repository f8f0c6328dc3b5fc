"""The table [series]: what the author writes, what the plan contains, and which key may sign it."""

import json
import re

import pytest

pytest.importorskip("cryptography")

from encoders.errors import SignatureError, SurveyError
from encoders.survey import Plan, read_survey
from encoders.survey.any_survey import read_any_survey
from ldp_design.authoring.overview import format_overview
from ldp_design.authoring.signing import make_keys, sign_file
from tests.support.surveys import SLEEP

KEYS = make_keys()
SERIES = f'\n[series]\nname = "sleep"\nkey = "{KEYS.public_key}"\n'


def test_a_plan_names_its_series_and_reads_back():
    plan = read_survey(SLEEP + SERIES).compile()
    assert json.loads(plan.json)["series"] == {"key": KEYS.public_key, "name": "sleep"}
    assert Plan.from_json(plan.json) == plan
    assert plan.series_id == f"sleep {KEYS.public_key}"


def test_a_plan_without_a_series_keeps_its_digest():
    assert b"series" not in read_survey(SLEEP).compile().json


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('name = "sleep"', "", "series.name"),
        ('name = "sleep"', 'name = "Sleep"', "series.name"),
        ("key =", "keys =", "series.keys"),
        ('="', '"', "series.key"),  # a character less
        (r"key = .*", "key = 1", "series.key"),
    ],
)
def test_a_mistake_is_named(old, new, field):
    with pytest.raises(SurveyError, match=field):
        read_survey(SLEEP + re.sub(old, new, SERIES))


def test_surveys_of_other_kinds_have_no_series():
    silo = SLEEP.replace("epsilon = 1.0", 'epsilon = 1.0\nkind = "silo"\nrows = 100')
    with pytest.raises(SurveyError, match="only a survey of people belongs to a series"):
        read_any_survey(silo + SERIES)


def test_check_shows_the_series():
    text = format_overview(read_survey(SLEEP + SERIES).compile())
    assert "one of the series sleep" in text
    assert KEYS.public_key in text


def test_another_key_signs_no_plan_of_the_series(tmp_path):
    (tmp_path / "survey.toml").write_text(SLEEP + SERIES)
    (tmp_path / "other.pem").write_bytes(make_keys().private_pem)
    with pytest.raises(SignatureError, match="the key in \\[series\\] is another"):
        sign_file(tmp_path / "survey.toml", tmp_path / "other.pem")
    (tmp_path / "author.pem").write_bytes(KEYS.private_pem)
    assert sign_file(tmp_path / "survey.toml", tmp_path / "author.pem").public_key == KEYS.public_key

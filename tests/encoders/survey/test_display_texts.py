"""Which text is displayed in a requested language, and the vectors for ports."""

import copy
import json
from hashlib import sha256
from pathlib import Path

import pytest

from encoders.survey import Plan, read_survey
from encoders.survey.display_texts import EntryTexts, display_texts, join_texts
from tests.support.surveys import SLEEP, SLEEP_TEXTS
from tools.vectors.texts import displayed

VECTORS = Path(__file__).resolve().parents[2] / "vectors" / "good-texts.json"


@pytest.fixture
def plan() -> Plan:
    return read_survey(SLEEP + SLEEP_TEXTS).compile()


def test_texts_of_the_requested_language_are_displayed(plan):
    texts = display_texts(plan, "de")
    assert texts.language == "de"
    assert texts.title == "Schlaf und Schichtarbeit"
    assert texts.label.title == "Sind Sie ausgeruht?"
    assert dict(texts.label.values) == {"yes": "Ja", "no": "Nein"}
    assert texts.about["contact"] == "A. Researcher, 1 Main Street"


def test_what_the_author_wrote_about_the_survey_can_be_translated():
    text = SLEEP + SLEEP_TEXTS + '[texts.de.about]\npurpose = "Wer gut schläft."\nethics = "Ja"\n'
    german, english = (display_texts(read_survey(text).compile(), tag).about for tag in ("de-AT", "en"))
    assert german["purpose"] == "Wer gut schläft."
    assert german["purpose"].language == "de"
    assert german["ethics"] == "Ja"
    assert german["contact"] == english["contact"] == "A. Researcher, 1 Main Street"
    assert english["purpose"] == "To learn who sleeps well."
    assert "ethics" not in english


def test_missing_text_falls_back_to_the_first_language_and_then_to_the_name(plan):
    texts = display_texts(plan, "de")
    assert texts.help == "It takes one minute."
    assert texts.features["age"].title == "How old are you?"
    assert texts.features["age"].values["(missing)"] == "I prefer not to answer"
    assert texts.features["hours"].title == "hours"
    assert texts.features["hours"].help == ""


@pytest.mark.parametrize(
    ("requested", "language"),
    [
        ("de", "de"),
        ("DE", "de"),
        ("de-AT", "de"),
        ("de_CH.UTF-8", "de"),
        ("de_CH", "de"),
        ("fr", "en"),
        ("", "en"),
        ("-", "en"),
    ],
)
def test_requested_language_is_found_by_its_base_language(plan, requested, language):
    assert display_texts(plan, requested).language == language


def test_values_are_in_the_order_of_the_survey(plan):
    assert list(display_texts(plan).features["age"].values) == ["young", "old", "(missing)"]
    assert display_texts(plan).features["hours"].values == {}


def test_survey_without_texts_displays_its_names():
    texts = display_texts(read_survey(SLEEP).compile(), "de")
    assert (texts.language, texts.title, texts.help, texts.about) == ("", "sleep", "", {})
    assert texts.label == EntryTexts(title="rested", help="", values={"yes": "yes", "no": "no"})
    assert list(texts.features) == ["age", "hours"]


def test_survey_without_a_title_displays_the_title_of_about():
    plan = read_survey(f'{SLEEP}[about]\ntitle = "Sleep"\n').compile()
    assert display_texts(plan).title == "Sleep"


def test_vectors_hold_the_texts_of_their_plan_and_what_is_displayed():
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    plan = Plan.from_json(vectors["plan"].encode())
    data = vectors["texts"].encode()
    assert json.loads(vectors["plan"])["texts"] == sha256(data).hexdigest()
    assert list(displayed(plan.with_texts(data))) == vectors["displayed"]


def test_each_text_has_the_language_it_was_found_in(plan):
    texts = display_texts(plan, "de")
    found = (texts.title, texts.help, texts.features["age"].title, texts.about["title"])
    assert [each.language for each in found] == ["de", "en", "en", ""]
    assert type(texts.features["hours"].title) is str
    assert copy.deepcopy(texts.title).language == "de"
    assert join_texts("both", [texts.title, texts.title]).language == "de"
    assert type(join_texts("both", [texts.title, texts.help])) is str

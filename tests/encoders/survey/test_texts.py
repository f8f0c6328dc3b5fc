"""The texts of a survey: what the reader refuses, the side file, and its digest in the plan."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from encoders.canonical import dump_canonical_json
from encoders.errors import SurveyError
from encoders.survey import Plan, read_survey
from encoders.survey.plan_files import PEOPLE_PLANS, texts_path
from encoders.survey.texts import MAX_LANGUAGES, MAX_TEXTS_BYTES
from tests.support.mistakes import refuse
from tests.support.surveys import SLEEP, SLEEP_TEXTS

WITH_TEXTS = SLEEP + SLEEP_TEXTS


def problems(text: str) -> list[tuple[str, int | None, str]]:
    """Return field, line and message of every mistake in a survey file."""
    return [(each.field, each.line, each.why) for each in refuse(text).problems]


def compiled() -> Plan:
    return read_survey(WITH_TEXTS).compile()


def line_of(part: str, text: str) -> int:
    return text[: text.index(part)].count("\n") + 1


# -- the survey file -----------------------------------------------------------------------------


def test_plan_of_a_survey_without_texts_has_no_entry_for_them():
    plan = read_survey(SLEEP).compile()
    assert plan.texts is None
    assert plan.texts_digest == ""
    assert "texts" not in json.loads(plan.json)


def test_plan_contains_the_digest_of_the_texts_and_nothing_else_of_them():
    plan, document = compiled(), json.loads(compiled().json)
    assert plan.texts
    assert document.pop("texts") == hashlib.sha256(plan.texts.json).hexdigest() == plan.texts_digest
    assert dump_canonical_json(document) == read_survey(SLEEP).compile().json


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("How old are you?", "How old?"),
        ('yes = "Yes"', 'yes = "yes"'),
        ("[texts.de]", "[texts.fr]"),
        ("To learn", "In order to learn"),
    ],
)
def test_every_changed_text_changes_the_digest_of_the_plan(old, new):
    assert old in WITH_TEXTS
    assert read_survey(WITH_TEXTS.replace(old, new)).compile().digest != compiled().digest


def test_order_of_languages_is_part_of_the_texts():
    reverse = SLEEP + '[texts.de]\ntitle = "S"\n[texts.en]\ntitle = "S"\n'
    forward = SLEEP + '[texts.en]\ntitle = "S"\n[texts.de]\ntitle = "S"\n'
    texts = read_survey(reverse).compile().texts
    assert texts
    assert list(texts.languages) == ["de", "en"]
    assert texts != read_survey(forward).texts
    assert len({read_survey(reverse), read_survey(forward), read_survey(reverse)}) == 2
    assert read_survey(reverse).compile() != read_survey(forward).compile()


def test_white_space_around_a_text_is_removed_and_line_breaks_inside_a_help_stay():
    texts = read_survey(SLEEP + '[about]\npurpose = """\n one\n\ntwo \n"""\n').texts
    assert texts
    assert texts.about == {"purpose": "one\n\ntwo"}


def test_texts_of_a_projected_survey_name_the_inputs():
    components = '[features.sum]\nrange = [-1, 1]\nweights = [1, 1]\nmissing = "category"\n'
    inputs = (
        '[projection.inputs.a]\nrange = [0, 1]\nmissing = "category"\n[projection.inputs.b]\nrange = [0, 1]\n'
    )
    survey = SLEEP + components + inputs
    values = '[texts.en.features.a.values]\n"(missing)" = "not known"\n'
    texts = read_survey(f"{survey}[texts.en.features.b]\ntitle = 'B?'\n{values}").compile().texts
    assert texts
    assert set(texts.languages["en"]["features"]) == {"a", "b"}
    ((field, _, why),) = problems(f"{survey}[texts.en.features.sum]\ntitle = 'S?'\n")
    assert field == "texts.en.features.sum"
    assert why == "is not an entry here; known: a, age, b, hours"


@pytest.mark.parametrize(
    ("old", "new", "field", "why"),
    [
        ("[about]", "[about]\nmore = 'x'", "about.more", "known: contact, ethics, purpose, retention, title"),
        ('title = "Sleep"', "title = 5", "about.title", "must be a text in quotes"),
        ('title = "Sleep"', 'title = " "', "about.title", "is empty"),
        ('title = "Sleep"', 'title = "\\u200d\\u200d"', "about.title", "is empty"),
        ('title = "Sleep"', f'title = "{"x" * 301}"', "about.title", "has 301 characters, more than 300"),
        ('title = "Sleep"', 'title = "a\\nb"', "about.title", "U+000A"),
        ('title = "Sleep"', 'title = "a\\u202eb"', "about.title", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ('help = "In years."', 'help = "a\\u0000b"', "texts.en.features.age.help", "U+0000"),
        ('help = "In years."', f'help = "{"x" * 4001}"', "texts.en.features.age.help", "4,001 characters"),
        ("[texts.de]", "[texts.german]", "texts.german", 'write for example "en"'),
        ("[texts.de]", "[texts.e]", "texts.e", "is not a language tag"),
        ("[texts.de]", "[texts.en-GB]\n[texts.en-gb]", "texts.en-gb", "is the language en-GB again"),
        ("[texts.de]", "[texts.de]\nname = 'x'", "texts.de.name", "known: about, features, help, label"),
        ("[texts.de]", "[texts.de]\nabout = 'x'", "texts.de.about", "must be a table"),
        ("[texts.de]", "[texts.de]\nabout.title = 'x'", "texts.de.about.title", "known: contact, ethics"),
        ("[texts.de]", "[texts.de]\nabout.ethics = 'a\u202eb'", "texts.de.about.ethics", "U+202E"),
        ("[texts.de.label]", "[texts.de.label]\nname = 'x'", "texts.de.label.name", "help, title, values"),
        ("[texts.en.features.age]", "[texts.en.features.b]", "texts.en.features.b", "known: age, hours"),
        ('yes = "Yes"', 'yess = "Yes"', "texts.en.label.values.yess", "known: no, yes"),
        ('yes = "Yes"', 'yes = "No"', "texts.en.label.values.no", "is the text of 'yes' too"),
        ('yes = "Yes"', 'yes = "No\u200b"', "texts.en.label.values.yes", "U+200B"),
        ('yes = "Yes"', 'yes = "No\u3164"', "texts.en.label.values.no", "is the text of 'yes' too"),
        ('yes = "Yes"', 'yes = "N\u200do"', "texts.en.label.values.no", "is the text of 'yes' too"),
        ('yes = "Yes"', 'yes = "\u115f\ufe0f"', "texts.en.label.values.yes", "is empty"),
        ('yes = "Yes"', "yes = 1", "texts.en.label.values.yes", "must be a text in quotes"),
        ('yes = "Yes"', f'yes = "{"x" * 201}"', "texts.en.label.values.yes", "has 201 characters"),
        ('"(missing)" = ', '"(none)" = ', "texts.en.features.age.values.(none)", "known: (missing), old"),
        ('{ yes = "Yes", no = "No" }', '["Yes", "No"]', "texts.en.label.values", "must be a table of texts"),
    ],
)
def test_reader_names_the_field_and_line_of_a_mistake_in_texts(old, new, field, why):
    assert old in WITH_TEXTS
    text = WITH_TEXTS.replace(old, new, 1)
    found = problems(text)
    assert [each[0] for each in found] == [field]
    assert why in found[0][2]
    assert found[0][1] == line_of(new.splitlines()[-1], text)


@pytest.mark.parametrize("table", ["about", "texts"])
def test_reader_refuses_texts_that_are_no_tables(table):
    ((field, line, why),) = problems(f"{table} = 5\n{SLEEP}")
    assert (field, line) == (table, 1)
    assert "must be" in why


def test_reader_reports_mistakes_in_texts_together_with_others():
    text = WITH_TEXTS.replace("range = [0, 12]", "range = [12, 0]").replace("How old are you?", "")
    assert [field for field, _, _ in problems(text)] == [
        "features.hours.range",
        "texts.en.features.age.title",
    ]


def test_values_of_a_number_have_no_texts_except_the_missing_one():
    ((field, _, why),) = problems(f'{SLEEP}[texts.en.features.hours.values]\n"7" = "seven"\n')
    assert field == "texts.en.features.hours.values.7"
    assert "number" in why
    survey = SLEEP.replace("bins = 4", 'bins = 4\nmissing = "category"')
    assert read_survey(f'{survey}[texts.en.features.hours.values]\n"(missing)" = "none"\n').texts


@pytest.mark.parametrize(
    "text", ["\u00c2ge\u202f?", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0628", "5\u00a0km"]
)
def test_texts_may_contain_the_spaces_and_joiners_that_languages_need(text):
    texts = read_survey(f'{SLEEP}[texts.fr]\ntitle = "{text}"\n').texts
    assert texts
    assert texts.languages["fr"]["title"] == text


def test_a_survey_has_at_most_the_documented_number_of_languages_and_bytes():
    tags = [f"{first}{second}" for first in "abcdefghijk" for second in "abcdefghij"]
    tables = [f"[texts.{tag}]\ntitle = 'x'\n" for tag in tags]
    assert read_survey(SLEEP + "".join(tables[:MAX_LANGUAGES])).texts
    ((field, _, why),) = problems(SLEEP + "".join(tables[: MAX_LANGUAGES + 1]))
    assert (field, why) == ("texts", "has 101 languages, more than 100: omit some")
    long = [f"[texts.{tag}]\nhelp = '{'x' * 4000}'\n" for tag in tags[:66]]
    ((field, _, why),) = problems(SLEEP + "".join(long))
    assert field == "texts"
    assert "more than 262,144" in why


# -- the side file -------------------------------------------------------------------------------


def test_plan_takes_the_texts_of_its_side_file():
    plan = compiled()
    assert plan.texts
    alone = Plan.from_json(plan.json)
    assert alone.texts is None
    complete = alone.with_texts(plan.texts.json)
    assert complete.texts == plan.texts
    assert complete == plan
    assert list(complete.texts.languages) == ["en", "de"]


def document_of(**changes: Any) -> bytes:
    plan = compiled()
    assert plan.texts
    return dump_canonical_json(json.loads(plan.texts.json) | changes)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        document_of() + b"\n",
        document_of(format=2),
        document_of(more=1),
        document_of(languages=["en"]),
        document_of(languages=["en", "en"]),
        document_of(languages=["en", 5]),
        document_of(languages="en, de"),
        document_of(languages=[1], texts={"1": {}}),
        document_of(languages=[None], texts={"None": {}}),
        document_of(texts=[]),
        document_of(about=None),
        document_of(about={"title": "\u202e"}),
        document_of(texts={"en": {"features": {"name": {}}}, "de": {}}),
        document_of(texts={"en": {"label": 5}, "de": {}}),
        document_of(texts={"en": {"label": {"values": []}}, "de": {}}),
    ],
)
def test_side_file_is_refused_if_its_form_is_wrong_even_if_the_plan_has_its_digest(data):
    document = json.loads(read_survey(SLEEP).compile().json) | {"texts": hashlib.sha256(data).hexdigest()}
    plan = Plan.from_json(dump_canonical_json(document))
    refuse(data, plan.with_texts)


def test_error_about_a_side_file_contains_no_control_characters():
    data = document_of(about={"\x1b[31m": "x"})
    document = json.loads(read_survey(SLEEP).compile().json) | {"texts": hashlib.sha256(data).hexdigest()}
    plan = Plan.from_json(dump_canonical_json(document))
    assert str(refuse(data, plan.with_texts)).startswith("about.\\x1b[31m: is not an entry here")


def test_plan_refuses_an_object_of_other_texts():
    other = read_survey(WITH_TEXTS.replace("How old are you?", "How old?")).compile()
    with pytest.raises(SurveyError, match="these texts belong to another plan"):
        replace(compiled(), texts=other.texts)


def test_side_file_of_other_bytes_is_refused():
    plan = Plan.from_json(compiled().json)
    assert "these texts belong to another plan" in str(refuse(document_of(about={}), plan.with_texts))
    assert "larger than" in str(refuse(bytes(MAX_TEXTS_BYTES + 1), plan.with_texts))
    assert "has no texts" in str(refuse(document_of(), read_survey(SLEEP).compile().with_texts))


def test_plan_file_is_loaded_with_the_texts_beside_it(tmp_path):
    plan, path = compiled(), tmp_path / "sleep.plan.json"
    assert plan.texts
    assert texts_path(path).name == "sleep.plan.texts.json"
    path.write_bytes(plan.json)
    assert PEOPLE_PLANS.load(path).texts is None
    texts_path(path).write_bytes(plan.texts.json + b"\n")
    assert PEOPLE_PLANS.load(path).texts == plan.texts
    texts_path(path).write_bytes(document_of(about={}))
    why = "sleep.plan.texts.json: texts: these texts belong to another plan"
    assert str(refuse(path, PEOPLE_PLANS.load)).startswith(why)


def test_plan_without_texts_ignores_the_file_beside_it(tmp_path):
    path = tmp_path / "plan.json"
    path.write_bytes(read_survey(SLEEP).compile().json)
    texts_path(path).write_bytes(b"something else")
    assert PEOPLE_PLANS.load(path).texts is None


@pytest.mark.slow
def test_reading_plans_without_texts_does_not_import_the_reader_of_texts():
    loaded = "import sys, ldp_client.client, encoders.explain.preview"
    program = f"{loaded}; print('encoders.survey.texts' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

"""docs/survey-file.md documents exactly the keys, defaults and limits of the reader.

docs/silos.md and docs/central.md document the keys of silo surveys and central surveys.
"""

import re
from pathlib import Path

import pytest

from encoders.errors import SurveyError
from encoders.survey import read_survey
from encoders.survey.any_survey import read_any_survey
from tests.support.mistakes import refuse
from tests.support.silo_surveys import read_silo_survey

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE, SILOS, CENTRAL = [
    (DOCS / name).read_text(encoding="utf-8") for name in ("survey-file.md", "silos.md", "central.md")
]
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)
DOCUMENTED = re.findall(r"^\| `([\w.]+)` \|", PAGE, re.MULTILINE)
EXAMPLE, EXAMPLE_OF_TABLES, EXAMPLE_OF_TEXTS, _, EXAMPLE_OF_WAVES, EXAMPLE_OF_A_RELAY = TOML.findall(PAGE)
[EXAMPLE_OF_SILOS] = TOML.findall(SILOS)
[EXAMPLE_OF_A_CURATOR] = TOML.findall(CENTRAL)
TABLES = ["survey", "label", "mechanism", "projection", "validation", "waves", "features.NAME", "tables.NAME"]
TABLES += ["series", "projection.inputs.NAME", "about", "texts.LANGUAGE", "texts.LANGUAGE.features.NAME"]
MINIMAL = """
[survey]
id = "tea"
epsilon = {epsilon}
{survey}
[label]
name = "label"
values = ["yes", "no"]
[features.kind]
{feature}
"""


@pytest.mark.parametrize("table", TABLES)
def test_page_documents_each_key_of_the_table_and_no_other(table):
    feature = "[features.NAME]\n" if table.startswith("texts") else ""
    error = refuse(f"[{table}]\nunknown_key = 1\n{feature}")
    known = re.search(r"unknown_key.*?known: ([\w, ]+)", str(error))
    assert known
    documented = {key.removeprefix(f"{table}.") for key in DOCUMENTED if key.startswith(f"{table}.")}
    assert {key for key in documented if "." not in key} == set(known[1].split(", "))


def test_page_documents_each_table():
    known = re.search(r"unknown_key.*?known: ([\w, ]+)", str(refuse("unknown_key = 1\n")))
    assert known
    assert {key.partition(".")[0] for key in DOCUMENTED} == set(known[1].split(", "))


def test_example_of_waves_is_a_series():
    plan = read_survey(EXAMPLE + EXAMPLE_OF_WAVES).compile()
    assert [each.name for each in plan.waves.list[::11]] == ["2027-01", "2027-12"]


def test_example_on_the_page_is_a_survey():
    assert read_survey(EXAMPLE).id == "missed-payments-2026"


def test_example_of_a_table_on_the_page_fits_the_example_survey():
    [table] = read_survey(EXAMPLE + EXAMPLE_OF_TABLES).tables
    assert table.feature_indices == (0, 4)


def test_example_of_texts_on_the_page_fits_the_example_survey():
    texts = read_survey(EXAMPLE + EXAMPLE_OF_TEXTS).texts
    assert texts
    assert texts.languages["en"]["features"]["age"]["values"]["young"] == "Under 30"


def test_example_of_a_relay_on_the_page_allows_the_epsilon_in_its_comment_and_no_more():
    survey = (
        '[survey]\nid = "sleep-2026"\nepsilon = {}\nusers = 10_000\n[features.a]\nvalues = [true, false]\n'
    )
    [largest] = re.findall(r"survey.epsilon can be up to (.*)", EXAMPLE_OF_A_RELAY)
    assert read_survey(survey.format(largest) + EXAMPLE_OF_A_RELAY).compile().relay
    with pytest.raises(SurveyError, match=f"lower survey.epsilon to {largest}"):
        read_survey(survey.format(float(largest) + 0.01) + EXAMPLE_OF_A_RELAY).compile()


def test_example_on_the_page_of_silos_compiles():
    plan = read_silo_survey(EXAMPLE_OF_SILOS).compile()
    assert (plan.id, plan.rows, plan.by_invitation) == ("wards-2026", 10_000, True)


def test_example_on_the_page_of_curators_is_a_survey():
    survey = read_any_survey(EXAMPLE_OF_A_CURATOR)
    assert (survey.id, survey.kind) == ("readmissions", "central")


@pytest.mark.parametrize(("rows", "beyond"), [(1, 0), (10**9, 10**9 + 1)])
def test_rows_have_the_documented_limits(rows, beyond):
    text = EXAMPLE_OF_SILOS.replace("10_000", str(rows))
    assert read_silo_survey(text).rows_per_person == 1
    refuse(text.replace(f"rows = {rows}", f"rows = {beyond}"), read_silo_survey)


def test_optional_keys_have_the_documented_defaults():
    survey = read_survey(MINIMAL.format(epsilon=1, survey="", feature='values = ["a", "b"]'))
    assert (survey.family, survey.enrolment, survey.users) == ("", "open", None)
    assert survey.weights == (None, 1)
    assert survey.features[0].missing == "error"
    assert (survey.frequency, survey.numeric) == ("auto", "auto")


@pytest.mark.parametrize(
    ("epsilon", "survey", "feature"),
    [
        ("0.0009", "", "range = [0, 1]"),
        ("32.1", "", "range = [0, 1]"),
        ("1", "users = 0", "range = [0, 1]"),
        ("1", "users = 100_000_000_001", "range = [0, 1]"),
        ("1", "", "range = [0, 1]\nbins = 1"),
        ("1", "", "range = [0, 1]\nbins = 1001"),
        ("1", "", "edges = [0, 1]"),
        ("1", "", "range = [0, 1]\nweight = 1_000_001"),
        ("1", "", "range = [0, 1.00000000000000000001]"),
        ("1", "", 'values = ["only"]'),
        ("1", "", 'values = ["a", "(missing)"]\nmissing = "category"'),
    ],
)
def test_reader_refuses_what_is_beyond_the_documented_limits(epsilon, survey, feature):
    assert refuse(MINIMAL.format(epsilon=epsilon, survey=survey, feature=feature))


@pytest.mark.parametrize(
    ("epsilon", "survey", "feature"),
    [
        ("0.001", "users = 1", "range = [0, 1]\nbins = 2"),
        ("32", "users = 100_000_000_000", "range = [0, 1]\nbins = 1000"),
        ("1", 'family = "teas"', 'values = ["only"]\nmissing = "category"'),
        ("1", 'enrolment = "token"', "edges = [0, 1, 3]\nweight = 1_000_000"),
        ("1", "", "range = [0, 1.0000000000000000001]"),
    ],
)
def test_reader_accepts_what_is_at_the_documented_limits(epsilon, survey, feature):
    assert read_survey(MINIMAL.format(epsilon=epsilon, survey=survey, feature=feature)).id == "tea"

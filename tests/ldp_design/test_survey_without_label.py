"""A survey without a label: no output of the author's commands mentions a label or a class."""

import json
import re
from pathlib import Path

import pytest
from click.testing import Result
from scipy import stats

from encoders.survey import read_survey
from ldp_design.simulation.accuracies import SimulationError, SimulationGrid, simulate
from ldp_design.simulation.shares import simulate_shares
from tests.support.commands import command
from tests.support.html_page import parse_page
from tests.support.surveys import survey_toml

FEATURES = {
    "tea": {"values": ["black", "green"], "missing": "category"},
    "cups": {"choices": ["small", "large", "glass"]},
    "hours": {"range": [0, 12], "missing": "category"},
    "naps": {"range": [0, 3]},
    "age": {"range": [0, 100], "bins": 4},
}
TEXTS = '[texts.en]\ntitle = "Tea"\n[texts.en.features.cups]\ntitle = "Which cups do you use?"\n'
SURVEY = survey_toml(label=None, features=FEATURES) + TEXTS
SILOS = survey_toml(label=None, features=FEATURES, kind="silo", rows=1000)
CURATOR = survey_toml(label=None, features=FEATURES, kind="central", epsilon=None)
LABELLED = survey_toml(features=FEATURES)
ROWS = "tea,cups,hours,naps,age\n" + "green,small; glass,7,1,30\n,;,,0,61\nblack,large,8.5,2,44\n" * 100
MENTIONS = re.compile(
    r"label|class|main question|“”|''|\"\"|\bP\(\)|: ,|^ *[=:]", re.IGNORECASE | re.MULTILINE
)
"""The words for a label and its classes, and places where its name would be empty."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with surveys of every kind and rows."""
    monkeypatch.chdir(tmp_path)
    surveys = {
        "tea": SURVEY,
        "tokens": survey_toml(label=None, features=FEATURES, enrolment="token", id="tokens"),
        "open": survey_toml(label=None, features={"tea": FEATURES["tea"]}),
        "grouped": survey_toml(label=None, features=FEATURES, epsilon=5.0),
        "silos": SILOS,
        "curator": CURATOR,
        "labelled": LABELLED,
    }
    for name, text in surveys.items():
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    (tmp_path / "rows.csv").write_text(ROWS, "utf-8")
    numbered = (f",{row}" if index == 0 else f"{index},{row}" for index, row in enumerate(ROWS.splitlines()))
    (tmp_path / "numbered.csv").write_text("\n".join(numbered), "utf-8")
    (tmp_path / "row.json").write_text('{"tea": null, "cups": [], "hours": 7, "naps": 1, "age": 30}')
    return tmp_path


def run(line: str) -> Result:
    name, *arguments = line.split()
    program = [f"ldp-{name}"] if name in ("simulate", "compare") else ["ldp-survey", name]
    return command(*program, *arguments, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        *("check tea.toml", "check tea.toml --json", "check tokens.toml", "check grouped.toml"),
        *("check silos.toml", "check silos.toml --json", "check curator.toml", "check curator.toml --json"),
        *("preview tea.toml", "preview tea.toml --csv rows.csv --row-number 2", "preview grouped.toml"),
        "preview tea.toml --csv numbered.csv",
        *(
            "preview tea.toml --row row.json --question naps",
            "preview tea.toml --question cups --language en",
        ),
        *("size tea.toml", "size tea.toml --users 10", "size tea.toml --users 20000 --json"),
        *("size tea.toml --margin 0.05", "size tea.toml --users 900 --epsilon 0.5,2", "size grouped.toml"),
        *("size silos.toml", "size silos.toml --rows 900 --silos 5", "size silos.toml --json"),
        *("size silos.toml --margin 0.1 --silos 2", "init --from rows.csv"),
        *("compile tea.toml", "compile silos.toml", "project tea.toml --from rows.csv --method pca"),
        *("simulate tea.toml rows.csv --repeats 2 --epsilon 1,4 --mechanism auto,OUE",),
        *("simulate tea.toml rows.csv --repeats 2 --numeric survey,bins:4,onebit --users 99 --json",),
        *("simulate tea.toml rows.csv --repeats 1 --reports reports.bin",),
    ],
)
def test_no_output_mentions_a_label_or_has_an_empty_name(folder, command):
    result = run(command)
    assert result.exit_code == 0, result.output
    assert not MENTIONS.findall(result.output.replace("labelled.toml", ""))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        *("tea.toml", "tea.toml --users 3000", "tokens.toml --users 10", "open.toml --users 1000000"),
        *("grouped.toml --users 500", "silos.toml", "silos.toml --rows 900 --silos 5"),
    ],
)
def test_no_dossier_mentions_a_label_or_a_prediction(folder, options):
    result = run(f"dossier {options} -o page.html")
    assert result.exit_code == 0, result.output
    text = parse_page((folder / "page.html").read_bytes()).find("main")[0].text
    assert not re.findall(r"(?i)label|\bclass(es)?\b|main question|“”|predict(s|ed|ion)|a model\b", text)
    assert re.search("Each choice of (cups|“Which cups do you use[?]”)", text) or "open" in options
    assert text.count("any of these: small; large; glass") == ("open" not in options)


@pytest.mark.slow
def test_a_dossier_says_who_sends_nothing_only_if_somebody_must_answer(folder):
    for name, required in (("open", False), ("tea", True)):
        run(f"dossier {name}.toml -o page.html")
        text = parse_page((folder / "page.html").read_bytes()).find("main")[0].text
        assert ("empty send nothing" in text) == required
        assert ("If you leave a question empty, this is randomised" in text) != required


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("preview tea.toml --label yes", "label: this survey has no label: pass only the row"),
        ("size tea.toml --accuracy 0.8", "--accuracy is about a model that predicts a label"),
        ("size tea.toml --label-shares yes=0.1,no=0.9", "the survey has no label: leave this option out"),
        ("size silos.toml --rows 9 --silos 1 --label-shares yes=1", "the survey has no label: leave this"),
        ("size tea.toml --questions --users 100", "--questions goes with --margin, --epsilon and --json"),
        ("size silos.toml --questions", "people do not answer this survey"),
        ("dossier tea.toml --label-shares yes=1 -o x.html", "the survey has no label: leave this option out"),
        ("project tea.toml --from rows.csv", "DCA separates the values of a label, and there is none"),
        ("compare tea.toml rows.csv", "the survey has no label, so there is no accuracy to compare"),
        (
            "simulate tea.toml rows.csv --public-share 0.2 --validate",
            "no label is predicted: leave --validate, --public-share out",
        ),
        ("simulate tea.toml rows.csv --project pca:1", "leave --project out"),
        ("simulate labelled.toml rows.csv", "there is no column 'tired' to take the label from"),
        ("init --label tea", "--label needs --from"),
    ],
)
def test_what_needs_a_label_is_refused_in_one_sentence(folder, command, why):
    result = run(command)
    assert result.exit_code
    assert why in " ".join(result.stderr.split())
    assert not isinstance(result.exception, AssertionError)


def test_a_choice_that_is_not_listed_is_an_error_with_its_row(folder):
    (folder / "bad.csv").write_text(ROWS.replace("large,8.5", "tiny,8.5", 1))
    for line in ("simulate tea.toml bad.csv", "preview tea.toml --csv bad.csv --row-number 3"):
        result = run(line)
        assert result.exit_code == 1
        assert "cups: " in result.stderr
        assert "contains something else than the survey's choices" in result.stderr
        assert "tiny" not in result.stderr
    assert "row 3" in run("simulate tea.toml bad.csv").stderr


# -- numbers ------------------------------------------------------------------------------------


def test_a_size_has_the_margins_of_shares_and_no_entry_about_a_label(folder):
    [size] = json.loads(run("size tea.toml --users 50000 --json").stdout)
    assert [each["name"] for each in size["margins"]] == [
        *("tea", "cups: small", "cups: large", "cups: glass", "hours", "naps", "age")
    ]
    # direct encoding of yes and no at epsilon 1: Var = 1/4 / (n (2p - 1)^2), p = e / (1 + e)
    n, p = size["margins"][1]["reports"][0], 0.7310585786
    assert size["margins"][1]["margin"] == pytest.approx(1.95996 * 0.5 / (2 * p - 1) / n**0.5, rel=1e-3)


@pytest.mark.slow
def test_yes_no_questions_need_people_in_closed_form(folder):
    found = json.loads(run("size tea.toml --questions --margin 0.05 --json").stdout)
    assert [each["questions"] for each in found] == [1, 5, 10]
    one = found[0]["without_label"]
    p = 0.7310585786
    assert one == pytest.approx((1.95996 * 0.5 / (2 * p - 1) / 0.05) ** 2, rel=2e-3)
    for each in found:
        assert each["without_label"] == pytest.approx(one * each["questions"], rel=6e-3)
        assert each["without_label"] < each["with_label"] < each["by_label"]
    table = run("size tea.toml --questions").stdout
    assert f"{one:,}" in table
    assert "people needed for margins of at most 5%" in table


@pytest.mark.slow
def test_with_a_label_a_size_has_margins_for_all_people_too(folder):
    [size] = json.loads(run("size labelled.toml --margin 0.1 --json").stdout)
    label, *features = size["margins"]
    assert (label["kind"], label["overall"]) == ("label", None)
    assert all(0 < each["overall"] < each["margin"] for each in features)
    assert "people of one class" in run("size labelled.toml --margin 0.1").stdout


@pytest.mark.slow
def test_simulated_shares_are_as_precise_as_their_intervals_state():
    survey = read_survey(SURVEY)
    rows = {
        "tea": ["green", None, "black", "black"] * 500,
        "cups": [["small"], [], ["small", "large"], ["glass"]] * 500,
        "hours": [7, None, 3, 9] * 500,
        "naps": [0, 1, 2, 3] * 500,
        "age": [10, 30, 60, 90] * 500,
    }
    repeats = 60
    variants = SimulationGrid(epsilons=[2]).list_variants(survey, "default")
    found = list(simulate_shares(survey, rows, variants, repeats, users=4_000))
    assert [each.feature for each in found] == [
        *("tea", "cups: small", "cups: large", "cups: glass", "hours", "naps", "age")
    ]
    # With other seeds, one of these fails with a probability below 1e-6.
    low = stats.binom.ppf(1e-8, repeats, 0.95) / repeats - 0.015
    for each in found:
        assert each.coverage >= low
        assert each.error == pytest.approx(each.margin / 1.96, rel=0.6)
    assert found == list(simulate_shares(survey, rows, variants, repeats, users=4_000))


def test_what_cannot_be_simulated_is_a_clear_error():
    survey = read_survey(SURVEY)
    rows = [{"tea": "green", "cups": [], "hours": None, "naps": 1, "age": 30}] * 2
    variants = SimulationGrid().list_variants(survey, "default")
    with pytest.raises(SimulationError, match="the survey has no label to predict"):
        simulate(survey, rows)
    with pytest.raises(SimulationError, match="hours: is missing in all rows, so it has no mean"):
        list(simulate_shares(survey, rows, variants))
    with pytest.raises(SimulationError, match="at least one row"):
        list(simulate_shares(survey, {name: [] for name in FEATURES}, variants))

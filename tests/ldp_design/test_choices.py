"""A survey with a label and a question with several answers: every author's command takes it."""

from pathlib import Path

import pytest
from click.testing import Result

from tests.support.commands import command
from tests.support.html_page import parse_page
from tests.support.surveys import survey_toml

FEATURES = {
    "cups": {"choices": ["small", "large", "glass"], "missing": "category"},
    "hours": {"range": [0, 12]},
    "naps": {"range": [0, 3]},
}
ROWS = "tired,cups,hours,naps\n" + "yes,small; glass,7,1\nno,;,9,0\nno,,3,3\nyes,large,11,2\n" * 50


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tea.toml").write_text(survey_toml(features=FEATURES), "utf-8")
    (tmp_path / "silos.toml").write_text(survey_toml(features=FEATURES, kind="silo", rows=500), "utf-8")
    (tmp_path / "rows.csv").write_text(ROWS, "utf-8")
    return tmp_path


def run(line: str) -> Result:
    """Run a command of a survey's author, without "ldp-" and, for most, without "survey"."""
    name, *arguments = line.split()
    words = (f"ldp-{name}",) if name in ("simulate", "compare") else ("ldp-survey", name)
    return command(*words, *arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("check tea.toml", "cups: glass 3 x 2 = 6"),
        ("check silos.toml", "cups: glass 3 values x 2"),
        ("preview tea.toml --csv rows.csv --question cups", "cups: glass = yes"),
        ("preview tea.toml --csv rows.csv --row-number 3 --question cups", "cups: small = (missing)"),
        ("size tea.toml --users 500", "cups: small"),
        ("size silos.toml --rows 300 --silos 2", "cups: small"),
        ("simulate tea.toml rows.csv --repeats 2", "non-private"),
        ("simulate tea.toml rows.csv --repeats 2 --validate", "non-private"),
        ("compare tea.toml rows.csv --splits 2 --epsilon 2 --trust none,central:nb,silo:2,local", "local"),
        ("project tea.toml --from rows.csv", 'choices = ["small", "large", "glass"]'),
        ("init --from rows.csv --label tired", 'choices = ["glass", "large", "small"]'),
    ],
)
def test_a_command_takes_several_answers(folder, line, shown):
    assert shown in " ".join(run(line).stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tea", "silos"])
def test_a_dossier_describes_several_answers_once(folder, name):
    run(f"dossier {name}.toml -o page.html")
    text = parse_page((folder / "page.html").read_bytes()).find("main")[0].text
    assert text.count("any of these: small; large; glass") == 1
    assert "Each choice of cups is" in text


def test_the_questions_of_an_entry_are_previewed_in_order(folder):
    shown = run("preview tea.toml --csv rows.csv --question cups").stdout
    places = [shown.index(f"cups: {choice} = ") for choice in ("small", "large", "glass")]
    assert places == sorted(places)


def test_a_label_with_lists_in_its_cells_is_refused(folder):
    result = command("ldp-survey", "init", "--from", "rows.csv", "--label", "cups", check=False)
    assert result.exit_code == 1
    assert 'cells of the label "cups" list several values' in result.stderr

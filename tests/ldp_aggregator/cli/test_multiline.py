"""Every command that reads rows refuses cells with line breaks, unless --multiline is given."""

from pathlib import Path

import pytest
from click.testing import Result

from tests.support.central_surveys import make_csv, survey_text
from tests.support.commands import command

COMMANDS = {
    "central": "train SURVEY ROWS --epsilon 1 --learner nb -o OUTPUT",
    "predict": "MODEL ROWS",
    "simulate": "SURVEY ROWS --repeats 1",
    "compare": "SURVEY ROWS --trust none --epsilon 1 --splits 3",
    "survey init": "init --from ROWS --label tired",
    "survey preview": "preview SURVEY --csv ROWS",
    "survey project": "project SURVEY --from ROWS --method pca",
}


def run(name: str, *arguments: str, **files: Path) -> Result:
    words = [files.get(word, word) for word in COMMANDS[name].split()]
    return command(f"ldp-{name.partition(' ')[0]}", *words, *arguments, check=False)


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    """A file of rows in which quotes join three rows into one, and a model of all rows."""
    names = {"SURVEY": "survey.toml", "ROWS": "rows.csv", "MODEL": "model.json", "OUTPUT": "new.json"}
    found = {word: tmp_path / name for word, name in names.items()}
    found["SURVEY"].write_text(survey_text().replace("0, 8]\nbins = 4", "0, 8]"))
    found["ROWS"].write_text(make_csv(300))
    assert run("central", "--name", "all", **{**found, "OUTPUT": found["MODEL"]}).exit_code == 0
    lines = make_csv(300).splitlines()
    lines[3], lines[5] = f'"{lines[3]}', f'"{lines[5]}'.replace(",", '",', 1).removeprefix('"')
    found["ROWS"].write_text("\n".join(lines) + "\n")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_names_the_line_of_a_cell_with_line_breaks(name, files):
    refused = run(name, **files)
    assert refused.exit_code == 1
    assert "rows.csv: line 4: a quoted cell continues on the next line. Write each" in refused.stderr
    assert "give --multiline" in refused.stderr
    assert not files["OUTPUT"].exists()
    assert run(name, "--multiline", **files).exit_code == 0

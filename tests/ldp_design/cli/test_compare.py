"""ldp-compare on the command line."""

import json
from pathlib import Path

import pytest

from ldp_design.cli import compare as module
from tests.support.central_surveys import make_csv, survey_text
from tests.support.commands import command
from tests.support.html_page import parse_page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "survey.toml").write_text(survey_text(400))
    (tmp_path / "rows.csv").write_text(make_csv(400))
    return tmp_path


@pytest.fixture
def run(folder: Path):
    def run(*arguments, epsilon="1,5", splits=3):
        options = ["--epsilon", epsilon, "--splits", splits, *arguments]
        return command("ldp-compare", folder / "survey.toml", folder / "rows.csv", *options, check=False)

    return run


@pytest.fixture
def unused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "compare", lambda *_: pytest.fail("the comparison was run"))


@pytest.mark.slow
def test_the_output_is_that_of_the_rows(run):
    result = run("--trust", "none,central,local")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("This output is not covered by any epsilon")
    assert lines[2].startswith("central-tea: Each of 3 splits trains on 320 rows")
    start = next(place for place, line in enumerate(lines) if line.startswith("trust model "))
    assert [line.split()[0] for line in lines[start + 1 : start + 6]] == ["none"] * 3 + ["central", "local"]


@pytest.mark.slow
def test_json_is_the_only_thing_on_standard_output(run):
    result = run("--json", "--trust", "none,central,labels,silo:4,local")
    document = json.loads(result.stdout)
    assert set(document) == {"rows", "majority", "non_private"}
    keys = {"trust", "learner", "adjacency", "epsilon", "accuracy", "stderr", "splits"}
    assert all(row.keys() == keys for row in document["rows"])
    assert len(document["rows"]) == 3 + 4 * 2
    assert all(0 <= row["accuracy"] <= 1 and row["splits"] == 3 for row in document["rows"])
    assert result.stderr.startswith("This output is not covered by any epsilon")


@pytest.mark.slow
def test_a_page_is_written(run, folder):
    result = run("--trust", "central,local", "-o", folder / "compare.html")
    assert result.stdout.splitlines()[-1] == f"wrote {folder}/compare.html: the same with a picture"
    page = parse_page((folder / "compare.html").read_bytes())
    assert page.section("picture").find("svg")
    both = run("--trust", "central,local", "--json", "-o", folder / "compare.html")
    assert json.loads(both.stdout)["rows"]


@pytest.mark.usefixtures("unused")
@pytest.mark.parametrize(
    ("arguments", "options", "code", "why"),
    [
        ([], {"epsilon": "0"}, 2, "'--epsilon': needs a number above 0"),
        ([], {"epsilon": "1,x"}, 2, "'--epsilon': needs a number above 0"),
        ([], {"epsilon": "1,,2"}, 2, "'--epsilon': needs a number above 0"),
        ([], {"epsilon": "33"}, 2, "'--epsilon': needs a number above 0 and at most 32; separate several by"),
        (["--trust", "local,everybody"], {}, 2, "'everybody' is not a trust model"),
        (["--trust", "silo:321"], {}, 1, "there are only 320 training rows"),
        (["--accuracy", "90"], {}, 2, "90.0 is not in the range 0<x<1"),
        ([], {"splits": 1}, 2, "1 is not in the range x>=2"),
        (["-o", "no/such/folder/compare.html"], {}, 2, "--output: there is no folder"),
    ],
)
def test_invalid_options_are_refused_before_anything_runs(run, arguments, options, code, why):
    result = run(*arguments, **options)
    assert result.exit_code == code
    assert why in " ".join(result.stderr.split())


@pytest.mark.usefixtures("unused")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.replace("green", "mate", 1), "tea: row "),
        (lambda text: text.replace("no", "never"), "tired: row 1"),
        (lambda text: text.replace("tired", "drowsy"), "there is no column 'tired'"),
        (lambda text: text.replace("hours", "time"), "there is no column 'hours'"),
        (
            lambda text: "\n".join(text.splitlines()[:10]),
            "there are 9 rows, but a comparison needs at least 10",
        ),
        (lambda text: text.splitlines()[0] + "\n", "there are 0 rows"),
        (lambda text: "", "the first line must name the columns"),
        (lambda text: text.replace(",", ";"), "separated by"),
    ],
)
def test_rows_that_do_not_fit_are_refused_before_anything_runs(run, folder, change, why):
    (folder / "rows.csv").write_text(change(make_csv(400)))
    result = run()
    assert result.exit_code == 1, result.output
    assert why in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.usefixtures("unused")
def test_the_rows_are_never_overwritten(run, folder):
    result = run("-o", folder / "rows.csv")
    assert result.exit_code == 2
    assert "is an input of this command too" in result.stderr

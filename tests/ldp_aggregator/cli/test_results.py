"""ldp-results on the command line."""

import csv
import os
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import read_results, save_results
from ldp_aggregator.statements.model import find_citation
from tests.ldp_aggregator.estimation.test_validation_result import trained, validated
from tests.ldp_aggregator.views.samples import make_curator_model, simulate
from tests.support.commands import command
from tests.support.snapshots import make_snapshot
from tests.support.surveys import make_plan

run = partial(command, "ldp-results", check=False)


@pytest.fixture
def model(tmp_path) -> Path:
    snapshot = simulate(2000)
    save_results(tmp_path / "model.json", make_results(snapshot))
    return tmp_path / "model.json"


def test_the_page_is_written_to_be_published(model, tmp_path):
    output = tmp_path / "results.html"
    found = run(model, "-o", output)
    assert (found.exit_code, found.stdout) == (0, f"wrote {output}\n")
    assert output.read_bytes().startswith(b"<!doctype html>")
    umask = os.umask(0)
    os.umask(umask)
    assert os.stat(output).st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.slow
def test_the_page_is_written_in_a_language(model, tmp_path):
    output, words = tmp_path / "results.html", tmp_path / "words.json"
    run(model, "-o", output, "--language", "de")
    assert '<html lang="de">' in output.read_text("utf-8")
    assert "Zu den Ergebnissen springen" in output.read_text("utf-8")
    refused = run(model, "-o", output, "--language", "nl")
    assert "nl: has no words: add them with --words, or choose en, de" in refused.stderr
    words.write_text('{"nl": {"wording/page.skip": "Naar de resultaten"}}', encoding="utf-8")
    refused = run(model, "-o", output, "--language", "nl", "--words", words)
    assert "words are missing, for example wording/counted.person if one" in refused.stderr
    words.write_text('{"nl": {"skip": "Naar de resultaten"}}', encoding="utf-8")
    refused = run(model, "-o", output, "--language", "nl", "--words", words)
    assert "nl.skip: is no word of the form or page" in refused.stderr


def test_the_output_may_not_be_an_input(model, tmp_path):
    before = model.read_bytes()
    assert "is an input of this command too" in run(model, "-o", model).stderr
    (tmp_path / "other.json").write_bytes(before)
    assert "is an input" in run(model, tmp_path / "other.json", "-o", tmp_path / "other.json").stderr
    assert model.read_bytes() == before


@pytest.mark.slow
def test_a_snapshot_is_compared_with_a_model_of_another_survey(model, tmp_path):
    (tmp_path / "other.json").write_bytes(trained(500).to_json())
    found = run(model, tmp_path / "other.json", "-o", tmp_path / "results.html")
    assert found.exit_code == 0
    text = (tmp_path / "results.html").read_text("utf-8")
    assert "Comparison of two surveys" in text
    assert "the labels differ: asleep and tired" in text


@pytest.mark.slow
def test_two_files_of_one_survey_need_the_statement_that_they_are_independent(model, tmp_path):
    (tmp_path / "other.json").write_bytes(simulate(2000, seed=9).to_json())
    command = (model, tmp_path / "other.json", "-o", tmp_path / "results.html")
    found = run(*command)
    assert found.exit_code == 1
    assert "results of one survey or of its rounds" in found.stderr
    assert not (tmp_path / "results.html").exists()
    assert run(*command, "--independent").exit_code == 0
    assert "stated that no report is in both" in (tmp_path / "results.html").read_text("utf-8")


@pytest.mark.slow
def test_a_validation_round_is_shown_but_not_compared(model, tmp_path):
    (tmp_path / "round.json").write_bytes(validated(2000).to_json())
    assert run(tmp_path / "round.json", "-o", tmp_path / "results.html").exit_code == 0
    found = run(model, tmp_path / "round.json", "-o", tmp_path / "results.html")
    assert "is a validation round, which does not have estimates to compare" in found.stderr


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), ("{", "truncated"), ("a,b\n1,2\n", "neither a")],
)
def test_a_file_that_is_no_result_is_refused_in_one_line(tmp_path, content, reason):
    if content is not None:
        (tmp_path / "file").write_text(content)
    found = run(tmp_path / "file", "-o", tmp_path / "results.html")
    assert found.exit_code == 1
    assert reason in found.stderr
    assert found.stderr.count("\n") == 1


def test_a_note_of_the_publisher_is_shown_as_text(model, tmp_path):
    output = tmp_path / "results.html"
    assert run(model, "-o", output, "--note", "{{ accuracy }} <b>of 50</b> others").exit_code == 0
    assert '<dd data-finding="about.note"><bdi>{{ accuracy }} &lt;b&gt;of 50&lt;/b&gt; others</bdi></dd>' in (
        output.read_text("utf-8")
    )


# -- the table in other software --------------------------------------------------------------------


@pytest.fixture
def table(model, tmp_path) -> Path:
    """A CSV file, also with names that other programs would take for missing values or formulas."""
    plan = make_plan(features={"tea": ["NA", "None", "=1+1", "true"], "hours": {"range": [0, 12]}})
    save_results(tmp_path / "odd.json", make_results(make_snapshot(plan)))
    found = run(tmp_path / "odd.json", "-o", tmp_path / "results.html", "--csv", tmp_path / "estimates.csv")
    assert found.stdout == f"wrote {tmp_path / 'results.html'}\nwrote {tmp_path / 'estimates.csv'}\n"
    return tmp_path / "estimates.csv"


def find_snippet(model: Path, name: str) -> str:
    """Return the code that the page of a model shows."""
    [statement] = [each for each in find_citation(read_results(model)) if each.id == f"citation.{name}"]
    [code] = re.findall(r"`([^`]*\(\"estimates\.csv\".*?)`", statement.entry.text)
    return code


@pytest.mark.slow
def test_the_snippet_of_the_page_reads_the_table_in_pandas(model, table, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(table.parent)
    frame = eval(find_snippet(model, "pandas"), {"pandas": pandas})
    with table.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(frame) == len(lines)
    assert list(frame["value"].fillna("")) == [line["value"] for line in lines]
    assert list(frame["estimate"].dropna()) == pytest.approx(  # pandas 2 rounds the last digit otherwise
        [float(line["estimate"]) for line in lines if line["estimate"]], rel=1e-15
    )
    assert frame["known"].dtype == bool
    assert set(frame["value"][:4]) == {"NA", "None", "'=1+1", "true"}


def test_the_snippet_of_the_page_reads_the_table_in_r(model, table):
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("needs R (Debian: apt-get install r-base-core)")
    program = f"""
e <- {find_snippet(model, "r")}
e <- subset(e, statistic == "P(value)" & toupper(known) == "TRUE")
cat(sprintf("%s %.17g %.17g\\n", e$value, e$estimate, e$high), sep = "")
"""
    words = [rscript, "--vanilla", "-e", program]
    printed = subprocess.run(words, cwd=table.parent, capture_output=True, text=True, check=True).stdout
    with table.open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["statistic"] == "P(value)"]
    found = [line.rsplit(" ", 2) for line in printed.splitlines()]
    assert [value for value, *_ in found] == [line["value"] for line in lines]
    assert [float(each) for _, *numbers in found for each in numbers] == pytest.approx(
        [float(line[name]) for line in lines for name in ("estimate", "high")], rel=1e-15
    )


def test_a_model_without_a_table_and_equal_outputs_are_refused(tmp_path):
    path = make_curator_model(tmp_path / "tree.json", "tree")
    found = run(path, "-o", tmp_path / "page.html", "--csv", tmp_path / "estimates.csv")
    assert found.stderr == "Error: a tree model has no table of estimates: train with --learner nb for one\n"
    assert not (tmp_path / "page.html").exists()
    assert "are the same file" in run(path, "-o", tmp_path / "one", "--csv", tmp_path / "one").stderr

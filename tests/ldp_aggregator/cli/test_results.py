"""ldp-results on the command line."""

import os
from functools import partial
from pathlib import Path

import pytest

from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import save_results
from tests.ldp_aggregator.estimation.test_validation_result import trained, validated
from tests.ldp_aggregator.views.samples import simulate
from tests.support.commands import command

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


def test_a_snapshot_is_compared_with_a_model_of_another_survey(model, tmp_path):
    (tmp_path / "other.json").write_bytes(trained(500).to_json())
    found = run(model, tmp_path / "other.json", "-o", tmp_path / "results.html")
    assert found.exit_code == 0
    text = (tmp_path / "results.html").read_text("utf-8")
    assert "Comparison of two surveys" in text
    assert "the labels differ: asleep and tired" in text


def test_two_files_of_one_survey_need_the_statement_that_they_are_independent(model, tmp_path):
    (tmp_path / "other.json").write_bytes(simulate(2000, seed=9).to_json())
    command = (model, tmp_path / "other.json", "-o", tmp_path / "results.html")
    found = run(*command)
    assert found.exit_code == 1
    assert "results of one survey or of its rounds" in found.stderr
    assert not (tmp_path / "results.html").exists()
    assert run(*command, "--independent").exit_code == 0
    assert "stated that no report is in both" in (tmp_path / "results.html").read_text("utf-8")


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

"""ldp-audit on the command line."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import ldp_audit.cli
from benchmarks.buggy_clients import SURVEY, PaddedByValue
from ldp_audit import audit
from ldp_audit.cli import main
from tests.support.servers import collector


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY.format(frequency="DE", numeric="sign").replace('"mutants"', '"audited"'))
    return path


@pytest.fixture(autouse=True)
def rare_false_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all audits here together be wrong less than once in a million runs of these tests."""
    monkeypatch.setattr(ldp_audit.cli, "audit", partial(audit, alpha=1e-8, copies=8, requests=20))
    monkeypatch.setattr(ldp_audit.cli, "TIMED_REPORTS", 30)


def run(*arguments: object):
    return CliRunner().invoke(main, ["--trials", "1000", *map(str, arguments)])


def test_the_tables_say_what_was_proved_and_measured(survey: Path, tmp_path: Path) -> None:
    result = run(survey, "--html", tmp_path / "page.html")
    assert result.exit_code == 0
    assert result.stdout.startswith("audited: epsilon 1, 1,000 messages of each person, plan ")
    assert result.stdout.endswith("\npassed\n")
    assert "1.00000000000" in result.stdout
    assert "8 of 8 are different" in result.stdout
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<li>passed</li>" in page
    assert "black box: kind" in result.stderr


def test_json_holds_everything(survey: Path) -> None:
    document = json.loads(run(survey, "--json").stdout)
    assert document["passed"] is True
    assert document["faults"] == []
    assert [note.split(": ")[1] for note in document["notes"]] == ["any question, whole requests"]  # few here
    assert [entry["question"] for entry in document["exact"]] == ["kind", "size (mean)", "size (square)"]
    assert all(int(part) > 0 for entry in document["exact"] for part in entry["ratio"])
    asked = [entry["question"] for entry in document["black_box"]]
    assert asked == ["any question", "any question, whole requests", "kind", "size (mean)", "size (square)"]
    assert {entry["layer"] for entry in document["checks"]} == {"homogeneity", "freshness", "timing"}


def test_a_fault_is_named_and_ends_with_1(survey: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(
        ldp_audit.cli, "audit", lambda plan, trials, **_: audit(plan, trials, PaddedByValue())
    )
    result = run(survey, "--html", tmp_path / "page.html")
    assert result.exit_code == 1
    assert "FAULT: homogeneity: every person's device sends one well-formed report" in result.stdout
    assert "passed" not in result.stdout
    assert "<li>FAULT: homogeneity" in (tmp_path / "page.html").read_text()


def test_a_collectors_survey_is_audited_by_its_url(survey: Path, tmp_path: Path) -> None:
    with collector([survey], f"sqlite:///{tmp_path}/ldp.db") as (base, _):
        result = run(f"{base}/v1/surveys/audited")
    assert result.exit_code == 0
    assert "passed" in result.stdout


def test_a_survey_that_cannot_be_read_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[survey]\n")
    for path, words in ((tmp_path / "absent.toml", "cannot be read"), (tmp_path / "bad.toml", "bad.toml: ")):
        result = run(path)
        assert result.exit_code == 2
        assert words in result.stderr
        assert "Traceback" not in result.output


def test_a_page_that_cannot_be_written_is_an_error_at_once(survey: Path, tmp_path: Path) -> None:
    result = run(survey, "--html", tmp_path / "absent" / "page.html")
    assert result.exit_code == 2
    assert "black box" not in result.stderr

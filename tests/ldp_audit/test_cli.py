"""ldp-audit on the command line."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import encoders.progress
import ldp_audit.cli
from benchmarks.buggy_clients import CERTAIN, SURVEY, LengthByValue
from encoders.survey import Plan
from ldp_audit import AuditResult, audit
from ldp_audit.audit import list_stages
from ldp_client import load_plan
from tests.support.commands import command
from tests.support.servers import collector

run = partial(command, "ldp-audit", "--trials", 1000, check=False)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY.format(frequency="DE", numeric="sign").replace('"mutants"', '"audited"'))
    return path


_results: dict[tuple[str, int, int], tuple[AuditResult, list[str]]] = {}
"""The audits of this module, by plan and options, with the stages that they showed."""


def audit_once(plan: Plan, trials: int, timed: int, progress: Callable[[str], object]) -> AuditResult:
    """Audit a plan, or return the result of the same audit before; a false alarm is rarer than 1e-8."""
    key = (plan.digest, trials, timed)
    if key not in _results:
        stages: list[str] = []
        result = audit(plan, trials, alpha=1e-8, copies=8, timed=timed, progress=stages.append, requests=10)
        _results[key] = (result, stages)
    result, stages = _results[key]
    for stage in stages:
        progress(stage)
    return result


@pytest.fixture(autouse=True)
def short_audits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ldp_audit.cli, "audit", audit_once)
    monkeypatch.setattr(ldp_audit.cli, "TIMED_REPORTS", 30)


@pytest.mark.slow
def test_the_tables_show_what_was_proved_and_measured(survey, tmp_path):
    result = run(survey, "--html", tmp_path / "page.html")
    assert result.exit_code == 0
    assert result.stdout.startswith("audited: epsilon 1, 1,000 messages of each person, plan ")
    assert result.stdout.splitlines()[-1].startswith("passed: every table keeps epsilon 1 exactly; ")
    assert "  <= 1 (exact)  " in result.stdout
    assert "(fails below " in result.stdout
    assert "8 of 8 are different" in result.stdout
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "passed: every table keeps epsilon 1 exactly; " in page


@pytest.mark.slow
def test_progress_names_every_stage(survey, monkeypatch):
    monkeypatch.setattr(encoders.progress, "LINE_SECONDS", 0.0)
    result = run(survey, "--json")
    lines = result.stderr.splitlines()
    stages = [re.search(r" \((.*)\)$", line)[1] for line in lines]
    expected = list_stages(load_plan(survey), timed=1)
    assert "black box: kind" in expected
    assert stages == [*expected, "timing"]
    assert lines[-1] == f"auditing: {len(expected)} of {len(expected)} stages (timing)"
    assert json.loads(result.stdout)["passed"] is True


@pytest.mark.slow
def test_json_contains_the_whole_result(survey):
    document = json.loads(run(survey, "--json").stdout)
    assert document["passed"] is True
    assert document["faults"] == []
    assert [note.split(": ")[1] for note in document["notes"]] == ["any question, whole requests"]  # few here
    assert [entry["question"] for entry in document["exact"]] == ["kind", "size (mean)", "size (square)"]
    assert all(int(part) > 0 for entry in document["exact"] for part in entry["ratio"])
    asked = [entry["question"] for entry in document["black_box"]]
    assert asked == ["any question", "any question, whole requests", "kind", "size (mean)", "size (square)"]
    assert {entry["layer"] for entry in document["checks"]} == {"homogeneity", "freshness", "timing"}


@pytest.mark.slow
def test_a_fault_is_named_and_ends_with_1(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(
        ldp_audit.cli, "audit", lambda plan, trials, **_: audit(plan, CERTAIN, LengthByValue(), copies=2)
    )
    result = run(survey, "--html", tmp_path / "page.html")
    assert result.exit_code == 1
    assert "FAULT: homogeneity: every person's device sends one well-formed report" in result.stdout
    assert "passed" not in result.stdout
    assert "FAULT: <bdi>homogeneity" in (tmp_path / "page.html").read_text()


@pytest.mark.slow
def test_a_survey_of_a_collector_is_audited_by_its_url(survey, tmp_path):
    with collector([survey], f"sqlite:///{tmp_path}/ldp.db") as (base, _):
        result = run(f"{base}/v1/surveys/audited")
    assert result.exit_code == 0
    assert "passed" in result.stdout


@pytest.mark.slow
def test_a_url_without_a_survey_is_an_error_that_lists_the_surveys_of_the_collector(survey, tmp_path):
    with collector([survey], f"sqlite:///{tmp_path}/ldp.db") as (base, _):
        unknown, elsewhere = run(f"{base}/v1/surveys/nope"), run(f"{base}/nope")
    for result, cause in ((unknown, "it does not serve this survey"), (elsewhere, "it has no such page")):
        assert result.exit_code == 2
        assert f"the collector does not send the plan of 'nope': {cause}" in result.stderr
        assert result.stderr.endswith(f"; {base}/v1/surveys lists: audited\n")


def test_a_survey_that_cannot_be_read_is_a_clear_error(tmp_path):
    (tmp_path / "bad.toml").write_text("[survey]\n")
    for path, words in ((tmp_path / "absent.toml", "cannot be read"), (tmp_path / "bad.toml", "bad.toml: ")):
        result = run(path)
        assert result.exit_code == 2
        assert words in result.stderr
        assert "Traceback" not in result.output


def test_a_page_that_cannot_be_written_is_an_error_at_once(survey, tmp_path):
    result = run(survey, "--html", tmp_path / "absent" / "page.html")
    assert result.exit_code == 2
    assert "black box" not in result.stderr


def test_the_page_never_replaces_the_survey(survey):
    text = survey.read_text()
    result = run(survey, "--html", survey)
    assert result.exit_code == 2
    assert "is an input of this command too" in result.stderr
    assert survey.read_text() == text

"""The audit of silos: it passes the silo of this project, and detects each buggy one."""

import json

import numpy as np
import pytest

from benchmarks.buggy_silos import MUTANTS
from encoders.errors import LdpError
from encoders.randomness import FastStream
from ldp_audit.silo_audit import PublicSilo, audit_silo, make_neighbours
from ldp_silo.epoch_reports import count_file
from tests.support.commands import command, once
from tests.support.silo_surveys import WARDS, read_silo_survey
from tests.support.statistical_checks import small_and_full
from tests.support.surveys import survey_toml


def audited_toml(**changes: object) -> str:
    features = {"a": ["x", "y"], "b": {"range": [0, 10]}}
    entries = {"id": "audited", "kind": "silo", "rows": 100, "label": ["no", "yes"], "features": features}
    return survey_toml(**(entries | changes))


SURVEY = audited_toml()
CATEGORIES = {"a": ["x", "y"], "b": ["x", "y"]}
SOME_REPORTS = 20


@pytest.mark.parametrize("text", [WARDS, WARDS.replace("rows_per_person = 1", "rows_per_person = 3")])
def test_the_counts_of_neighbours_are_those_of_their_files(text, tmp_path):
    plan = read_silo_survey(text).compile()
    pairs = make_neighbours(plan, tmp_path)
    assert [pair.name for pair in pairs] == [
        "yes, first values", "no, first values", "no, last values", "no, beyond values", "no, missing values"
    ]  # fmt: skip
    for pair in pairs:
        for file, counts in zip(pair.files, pair.counts, strict=True):
            assert count_file(plan, file, pair.person).counts == counts.tolist()
        change = pair.counts[1] - pair.counts[0]
        for table in plan.mechanism.tables:
            assert np.abs(change[table.start : table.end]).sum() == plan.rows_per_person * table.unit
        assert not pair.counts[0][pair.label :: len(plan.label.values)].any()


@pytest.mark.slow
@pytest.mark.parametrize("size", small_and_full((1200, 0.15), (6000, 0.5)))
def test_the_silo_of_this_project_passes_and_most_of_epsilon_is_visible(size):
    trials, least = size
    plan = read_silo_survey(audited_toml(features=CATEGORIES)).compile()
    found = audit_silo(plan, trials, PublicSilo(FastStream(21)), SOME_REPORTS)
    assert found.passed
    assert not found.faults
    assert least < max(leak.epsilon_lower_bound for leak in found.leaks) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("trials", small_and_full(300, 1000))
@pytest.mark.parametrize("text", [SURVEY, audited_toml(features=CATEGORIES, rows_per_person=2)])
def test_numbers_and_several_rows_of_a_person_pass(text, trials):
    plan = read_silo_survey(text).compile()
    assert audit_silo(plan, trials, PublicSilo(FastStream(22)), SOME_REPORTS).passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "trials"),
    [
        pytest.param(MUTANTS[0], 3000, id=MUTANTS[0].name, marks=pytest.mark.statistics),
        *(pytest.param(each, 400, id=each.name) for each in MUTANTS[1:]),
    ],
)
def test_every_buggy_silo_is_detected(mutant, trials):
    plan = read_silo_survey(SURVEY).compile()
    found = audit_silo(plan, trials, mutant.make(FastStream(21)), SOME_REPORTS)
    assert not found.passed, found


@pytest.mark.slow
def test_the_command_prints_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_audit.silo_audit.PublicSilo", lambda: PublicSilo(FastStream(23)))
    monkeypatch.setattr("ldp_audit.cli.audit_silo", once(audit_silo))
    (tmp_path / "survey.toml").write_text(audited_toml(enrolment="token"))
    words = ("ldp-audit", "silo", tmp_path / "survey.toml", "--trials", 200)
    found = json.loads(command(*words, "--json").stdout)
    assert found["passed"]
    assert found["faults"] == []
    assert len(found["messages"]) == 5
    assert command(*words).stdout.endswith("audit of silos passed\n")


def test_the_command_refuses_a_survey_of_people(tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(audited_toml(kind=None, rows=None))
    result = command("ldp-audit", "silo", path, check=False)
    assert result.exit_code == 2
    assert "answered by people" in result.stderr


def test_too_few_trials_and_too_few_rows_are_refused():
    with pytest.raises(LdpError, match="at least 200 trials"):
        audit_silo(read_silo_survey(SURVEY).compile(), 199)
    with pytest.raises(LdpError, match="needs 3 rows"):
        audit_silo(read_silo_survey(audited_toml(rows=2)).compile(), 200)

"""The audit of trainings by a curator: it passes correct trainings, and detects each buggy one."""

import json
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest

import ldp_audit.curator_audit
from benchmarks.buggy_curators import MUTANTS
from encoders.errors import LdpError
from encoders.randomness import FastStream
from encoders.survey import read_survey
from encoders.survey.toml_reader import read_curator_survey
from ldp_aggregator.estimation.tables.noisy_tables import ClassCounts, NoisyTable
from ldp_aggregator.prediction import LINEAR
from ldp_audit.blackbox import ALPHA
from ldp_audit.curator_audit import AUDITED, audit_trainings, make_neighbours
from ldp_audit.outcomes import measure_leak
from ldp_central import curator_naive_bayes
from ldp_central.coded_rows import CodedRows
from ldp_central.curator_naive_bayes import CentralNaiveBayes
from tests.support.central_surveys import survey_text
from tests.support.commands import command, once
from tests.support.surveys import survey_toml

SURVEY = survey_toml(
    id="audited", label=["no", "yes"], features={"a": ["x", "y"], "b": ["x", "y"], "c": {"range": [0, 10]}}
)


@pytest.fixture
def short_audits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the smoothing of released tables, which no audit reads, and make false alarms rarer."""

    def keep(_rows: CodedRows, tables: Mapping[int, NoisyTable]) -> CentralNaiveBayes:
        measured = tuple(tables.values())
        return CentralNaiveBayes(np.empty(0), (), tuple(tables), measured, ClassCounts.from_tables(measured))

    monkeypatch.setattr(curator_naive_bayes, "smooth", keep)
    monkeypatch.setattr(ldp_audit.curator_audit, "ALPHA", 1e-8)


def test_the_neighbours_differ_by_the_last_row():
    rows, more = make_neighbours(read_survey(survey_text()))
    assert len(more) == len(rows) + 1
    assert (more.codes[:-1] == rows.codes).all()
    assert (more.labels[:-1] == rows.labels).all()


@pytest.mark.slow
@pytest.mark.parametrize("learner", AUDITED)
@pytest.mark.usefixtures("short_audits")
def test_a_correct_training_passes(learner):
    [leak] = audit_trainings(read_survey(SURVEY), Fraction(1), 500, [learner])
    assert leak.passed
    assert leak.epsilon_lower_bound <= 1 < leak.max_detectable_epsilon


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant",
    [pytest.param(each, id=each.name, marks=[pytest.mark.statistics] * each.is_subtle) for each in MUTANTS],
)
@pytest.mark.usefixtures("short_audits")
def test_every_buggy_training_is_detected(mutant):
    trials = 400
    if mutant.is_subtle:  # the bound is then at least 5 standard deviations above epsilon
        trials = 1500 if mutant.learner == LINEAR else 4000
    leak = mutant.audit(read_survey(SURVEY), Fraction(1), trials)
    assert not leak.passed, leak


def test_the_bound_of_known_distributions_is_below_their_epsilon():
    source = FastStream(1)

    def draw(share: float, count: int = 20_000) -> list[int]:
        return [int(source.take(1)[0] < 256 * share) for _ in range(count)]

    for one, other in ((0.75, 0.25), (0.25, 0.75)):
        leak = measure_leak("bits", Fraction(1), [draw(one), draw(other)], ALPHA)
        assert 0.85 * math.log(3) < leak.epsilon_lower_bound <= math.log(3) < leak.max_detectable_epsilon
    leak = measure_leak("bits", Fraction(1), [draw(0.5), draw(0.5)], ALPHA)
    assert leak.epsilon_lower_bound < 0.05
    assert leak.passed


def test_too_few_trials_are_refused():
    with pytest.raises(LdpError, match="at least 200 trials"):
        audit_trainings(read_survey(SURVEY), Fraction(1), 199)


@pytest.mark.slow
@pytest.mark.usefixtures("short_audits")
def test_the_command_prints_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr(
        ldp_audit.curator_audit, "audit_trainings", once(ldp_audit.curator_audit.audit_trainings)
    )
    (tmp_path / "survey.toml").write_text(SURVEY)
    words = ("ldp-audit", "central", tmp_path / "survey.toml", "--trials", 200, "--epsilon", 2)
    found = json.loads(command(*words, "--json").stdout)
    assert [each["learner"] for each in found["learners"]] == list(AUDITED)
    assert all(each["passed"] and each["epsilon"] == "2" for each in found["learners"])
    assert "audit of trainings passed" in command(*words).stdout


@pytest.mark.slow
@pytest.mark.usefixtures("short_audits")
def test_without_a_label_the_tables_are_the_only_audited_learner(tmp_path):
    survey = tmp_path / "survey.toml"
    choices = {"cups": {"choices": ["small", "large"]}}
    survey.write_text(survey_toml(kind="central", epsilon=None, label=None, features=choices))
    [leak] = audit_trainings(read_curator_survey(survey.read_text()), Fraction(1), 1000)
    assert (leak.name, leak.passed) == ("nb", True)
    shown = command("ldp-audit", "central", survey, "--trials", 200).output
    assert "audit of trainings passed" in shown
    assert "label" not in shown


def test_an_epsilon_out_of_range_is_refused(tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY)
    words = ("ldp-audit", "central", tmp_path / "survey.toml", "--epsilon", "0.001")
    result = command(*words, check=False)
    assert result.exit_code == 2
    assert "'0.001' is not a number from 0.01 to 100" in result.stderr


def test_the_audit_of_devices_is_still_the_default():
    result = command("ldp-audit", "--help")
    assert "Usage: ldp-audit [OPTIONS] SURVEY" in result.stdout
    for target in ("central", "silo"):
        assert f"ldp-audit {target}" in result.stdout
        assert "made-up rows" in command("ldp-audit", target, "--help").stdout

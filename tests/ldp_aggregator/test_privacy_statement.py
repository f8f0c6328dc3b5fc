"""The privacy statement of a model file: epsilon, the audit, and the conditional shuffled epsilon."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import ldp_audit
from encoders.epsilon_proof import realised_epsilon
from encoders.survey import Plan
from encoders.survey.relay_promise import shuffled_epsilon
from ldp_aggregator.codec import from_json, to_json
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.privacy_statement import (
    AuditError,
    AuditResult,
    PrivacyStatement,
    RelayPrivacy,
    read_audit,
    state_privacy,
)
from ldp_aggregator.snapshot import Snapshot, take_snapshot
from ldp_aggregator.statements.privacy import find_privacy
from ldp_aggregator.stores import MemoryStore
from ldp_audit.blackbox import Leak
from ldp_audit.result import BlackBoxResult
from tests.support.relays import relayed_plan, relayed_report
from tests.support.snapshots import make_snapshot
from tests.support.surveys import make_plan


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return make_snapshot(make_plan(epsilon=4.0), 1000)


def test_the_statement_has_the_realised_epsilon_of_each_question(snapshot):
    statement = state_privacy(snapshot)
    assert [(each.question, each.mechanism, each.epsilon) for each in statement.people.questions] == [
        (each.name, each.mechanism.name, format(realised_epsilon(each.mechanism.ratio), "f"))
        for each in snapshot.plan.questions
    ]
    assert statement.only_if_shuffled.delta == 1e-6
    assert statement.only_if_shuffled.epsilon == shuffled_epsilon(math.exp(snapshot.plan.epsilon), 1000, 1e-6)
    json.dumps(to_json(statement), allow_nan=False)


def test_a_shuffler_hides_nobody_whose_invitation_determines_the_report(snapshot):
    invited = replace(snapshot, plan=replace(snapshot.plan, enrolment="token"))
    assert state_privacy(invited).only_if_shuffled.epsilon == pytest.approx(float(snapshot.plan.epsilon))


def written(path: Path, plan: Plan, **changes: object) -> Path:
    found = {
        "plan_digest": plan.digest,
        "passed": True,
        "faults": [],
        "trials": 20_000,
        "alpha": 1e-6,
        "black_box": [{"leak": {"epsilon_lower_bound": 0.7}}, {"leak": {"epsilon_lower_bound": 0.9}}],
    }
    path.write_text(json.dumps(found | changes))
    return path


def test_an_audit_of_the_plan_is_kept(tmp_path, snapshot):
    audit = read_audit(written(tmp_path / "audit.json", snapshot.plan), snapshot.plan)
    assert audit == AuditResult(passed=True, faults=0, trials=20_000, bound=0.9)
    assert state_privacy(snapshot, audit).audit == audit


def test_an_audit_of_this_release_is_kept(tmp_path, snapshot):
    leaks = [Leak("one", "another", "an event", bound, 2.0, 5000) for bound in (0.25, 0.75)]
    result = ldp_audit.AuditResult(
        plan=snapshot.plan,
        trials=5000,
        alpha=1e-6,
        exact=(),
        black_box=tuple(BlackBoxResult("any question", leak, pairs=6) for leak in leaks),
        checks=(),
    )
    (tmp_path / "audit.json").write_text(json.dumps(result.as_dict(), allow_nan=False))
    audit = read_audit(tmp_path / "audit.json", snapshot.plan)
    assert audit == AuditResult(passed=True, faults=0, trials=5000, bound=0.75)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"plan_digest": "0" * 64}, "of another plan"),
        ({"black_box": []}, "is not an audit"),
        ({"black_box": 1}, "not an audit"),
    ],
)
def test_what_is_no_audit_of_the_plan_is_refused(tmp_path, snapshot, changes, words):
    with pytest.raises(AuditError, match=words):
        read_audit(written(tmp_path / "audit.json", snapshot.plan, **changes), snapshot.plan)


@pytest.mark.parametrize(
    "changes",
    [{"faults": ["x"]}, {"faults": ["\ud800"]}, {"black_box": [{"leak": {"epsilon_lower_bound": 99}}]}],
)
def test_passed_is_computed_again_from_the_audit(tmp_path, snapshot, changes):
    assert not read_audit(written(tmp_path / "audit.json", snapshot.plan, **changes), snapshot.plan).passed


def test_an_absent_file_or_one_that_is_no_json_is_refused(tmp_path, snapshot):
    with pytest.raises(AuditError, match="cannot be read"):
        read_audit(tmp_path / "absent.json", snapshot.plan)
    (tmp_path / "other.json").write_text("[1, 2]")
    with pytest.raises(AuditError, match="is not an audit"):
        read_audit(tmp_path / "other.json", snapshot.plan)


def test_the_promise_of_a_relay_is_stated_in_place_of_a_condition():
    plan = relayed_plan()
    store = MemoryStore()
    store.publish(plan.id, plan.json)
    Intake(plan, store).record_body(b"".join(relayed_report(plan) for _ in range(600)))
    statement = state_privacy(take_snapshot(store, plan.id))
    assert statement.relay == RelayPrivacy(epsilon=1.0, delta=1e-6, batch=600, honest_reports=438)
    assert from_json(PrivacyStatement, json.loads(json.dumps(to_json(statement)))) == statement
    text = " ".join(map(str, find_privacy(statement)))
    assert "the survey promises epsilon 1 with delta 1e-06" in text
    assert "at least 438 of 600 reports" in text
    assert "only if a shuffler" not in text


def test_a_statement_without_a_relay_has_an_empty_entry(snapshot):
    statement = state_privacy(snapshot)
    assert to_json(statement)["relay"] is None
    assert from_json(PrivacyStatement, json.loads(json.dumps(to_json(statement)))) == statement

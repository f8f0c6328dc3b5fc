"""The poisoning check: of honest reports, of fabricated ones, and of mechanisms that cannot be tested."""

from __future__ import annotations

import re

import numpy as np

from encoders.randomness import FastStream
from ldp_aggregator.cli.training_summary import format_summary
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.models.model_file import dump_model, parse_model
from ldp_aggregator.rows.encode_table import true_answers
from ldp_aggregator.snapshot import Snapshot, Total
from tests.support.surveys import make_plan


def collected(frequency: str = "OUE", fakes: int = 0, counted: bool = True) -> Snapshot:
    """Return 6,000 honest reports to each question, and fakes for two values of the age."""
    features = {"age": ["young", "medium", "old", "very old"], "income": {"range": [0, 100]}}
    mechanism = {"frequency": frequency, "numeric": "sign-vector"}
    plan = make_plan(label={"name": "paid"}, features=features, mechanism=mechanism)
    totals = {}
    for question in plan.questions:
        mechanism, rng = question.mechanism, np.random.default_rng(2)
        codes = np.column_stack([rng.integers(0, 4, 6000), rng.integers(0, 1 << 21, 6000)])
        values = true_answers(question, codes, rng.integers(0, 2, 6000), np.arange(6000))
        payloads = mechanism.perturb_many(values, FastStream(7))
        if question.name == "age":
            payloads = np.concatenate([payloads, np.full((fakes, 1), 0b00001001, dtype=np.uint8)])
        totals[question.key] = Total(len(payloads), mechanism.tally(payloads))
        if counted and mechanism.support_counters:
            totals[question.support_key] = Total(0, mechanism.support_counters.count(payloads))
    return Snapshot(plan, totals)


def test_poisoning_is_checked_only_if_asked() -> None:
    snapshot = collected(fakes=600)
    estimates = estimate_snapshot(snapshot)
    assert (estimates.poisoning, estimates.as_dict()["poisoning"]) == (None, None)
    assert not any("devices send" in each for each in estimates.warnings)
    assert "poisoning" not in format_summary(estimates, snapshot)


def test_honest_reports_raise_no_alarm() -> None:
    """False alarms: 1e-6 per survey, by construction."""
    estimates = estimate_snapshot(collected(), poisoning=True)
    assert not any("devices send" in each for each in estimates.warnings)
    head, worst = estimates.poisoning.lines
    assert head == "poisoning: no alarm; 3 of 3 questions can be tested"
    assert worst.startswith("  if 1% of the reports at ")
    assert re.search(r"they could move P\(.+\) by [0-9.]+ standard errors$", worst)
    assert worst.endswith(" standard errors")


def test_fabricated_reports_raise_an_alarm_and_nothing_is_corrected() -> None:
    snapshot = collected(fakes=600)
    estimates = estimate_snapshot(snapshot, poisoning=True)
    warning = next(each for each in estimates.warnings if "devices send" in each)
    assert warning.startswith("age: some reports are not what devices send: ")
    assert "[age = young, paid = yes] with [age = medium, paid = no] (" in warning
    assert warning.endswith("Nothing was corrected")
    assert "poisoning: ALARM at age; 3 of 3" in format_summary(estimates, snapshot)
    blind = estimate_snapshot(collected(fakes=600, counted=False), poisoning=True)
    assert (estimates.raw_prior.value == blind.raw_prior.value).all()
    assert (estimates.features[0].smoothed == blind.features[0].smoothed).all()


def test_an_untestable_question_has_a_reason() -> None:
    checks = estimate_snapshot(collected("DE"), poisoning=True).as_dict()["poisoning"]["questions"]
    assert checks[0]["untested"] == "a report of DE is not a set of values, so it cannot be tested"
    assert checks[1]["support"]["reports"] == 6000


def test_a_store_without_support_counters_is_the_reason() -> None:
    checks = estimate_snapshot(collected(counted=False), poisoning=True).as_dict()["poisoning"]["questions"]
    assert {each["untested"] for each in checks} == {
        "the collector did not count which values reports support at once"
    }
    assert all(each["influence"] for each in checks)


def test_support_counters_are_kept_in_snapshots_and_add_up() -> None:
    snapshot = collected()
    read = Snapshot.from_json((snapshot + snapshot).to_json())
    checks = estimate_snapshot(read, poisoning=True).as_dict()["poisoning"]["questions"]
    assert [each["support"]["reports"] for each in checks] == [12_000] * 3


def test_a_model_file_contains_the_poisoning_check() -> None:
    snapshot = collected(fakes=600)
    estimates = estimate_snapshot(snapshot, poisoning=True)
    kept = parse_model(dump_model(snapshot, estimates)).estimates["poisoning"]
    assert kept == estimates.as_dict()["poisoning"]
    assert len(kept["questions"][0]["support"]["findings"]) == 2

"""The poisoning check: of honest reports, of fake ones, and of mechanisms that cannot be tested."""

import numpy as np

from encoders.randomness import FastStream
from ldp_aggregator.codec import to_json
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.estimation.poisoning.summary import Untested
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import dump_results, parse_results
from ldp_aggregator.simulated_population import true_answers
from ldp_aggregator.snapshot import Snapshot, Total
from ldp_aggregator.statements.warnings import find_warnings
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


def test_poisoning_is_checked_only_if_asked():
    estimates = estimate_snapshot(collected(fakes=600))
    assert (estimates.poisoning, estimates.as_dict()["poisoning"]) == (None, None)
    assert "warnings.fake-reports" not in [each.id for each in find_warnings(estimates)]


def test_honest_reports_raise_no_alarm():
    """False alarms: 1e-6 per survey, by construction."""
    poisoning = estimate_snapshot(collected(), poisoning=True).poisoning
    assert (poisoning.alarms, poisoning.untested) == ((), ())
    influences = [each.largest for check in poisoning.questions for each in check.influences]
    assert poisoning.largest_influence[1].largest == max(influences) > 0


def test_fake_reports_raise_an_alarm_and_nothing_is_corrected():
    estimates, classifier = estimate_survey(collected(fakes=600), poisoning=True)
    [check] = estimates.poisoning.alarms
    pairs = [each.values for each in check.alarm.suspicious_pairs]
    assert (check.question, pairs[0]) == ("age", ("[age = young, paid = yes]", "[age = medium, paid = no]"))
    assert "warnings.fake-reports" in [each.id for each in find_warnings(estimates)]
    blind, unchanged = estimate_survey(collected(fakes=600, counted=False), poisoning=True)
    assert (estimates.raw_prior.value == blind.raw_prior.value).all()
    assert (classifier.conditionals[0] == unchanged.conditionals[0]).all()


def test_an_untestable_question_has_a_reason():
    checks = estimate_snapshot(collected("DE"), poisoning=True).poisoning.questions
    assert checks[0].support == Untested.MECHANISM
    assert checks[1].support.n == 6000


def test_a_store_without_support_counters_is_the_reason():
    checks = estimate_snapshot(collected(counted=False), poisoning=True).poisoning.questions
    assert {each.support for each in checks} == {Untested.NOT_COUNTED}
    assert all(each.influences for each in checks)


def test_support_counters_are_kept_in_snapshots_and_add_up():
    snapshot = collected()
    read = Snapshot.from_json((snapshot + snapshot).to_json())
    checks = estimate_snapshot(read, poisoning=True).poisoning.questions
    assert [each.support.n for each in checks] == [12_000] * 3


def test_a_model_file_contains_the_poisoning_check():
    results = make_results(collected(fakes=600))
    kept = parse_results(dump_results(results)).estimates.poisoning
    assert kept.alarms
    assert to_json(kept) == to_json(results.estimates.poisoning)

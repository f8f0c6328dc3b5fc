"""The audit of this project's own client: exact tables, the black-box bound, homogeneity and freshness."""

from dataclasses import replace
from fractions import Fraction

import pytest

import ldp_audit.exact_epsilon
from benchmarks.buggy_clients import SURVEY, LabelInTheClear, StepwiseClient, compile_survey
from encoders.errors import LdpError
from encoders.mechanisms import DE
from encoders.mechanisms.base import MechanismParameters
from encoders.survey import Plan, read_survey
from ldp_audit import AuditResult, PublicClient, audit
from ldp_audit.audit import collect_reports
from ldp_audit.exact_epsilon import compute_exact
from ldp_audit.people import focus_plan, make_people
from ldp_audit.render import render_text
from ldp_audit.result import measure_leak
from tests.support.statistical_checks import small_and_full
from tests.support.surveys import VALIDATED, make_plan

ONE_QUESTION = {"features": {"feature": ["a", "b"]}}
MECHANISMS = [
    ("DE", "piecewise"),
    ("SUE", "onebit"),
    ("OUE", "sampled-laplace"),
    ("SHE", "sign-vector"),
    ("THE", "laplace"),
    ("SS", "sign"),
]
SHORT = {"trials": 100, "device": StepwiseClient(), "copies": 2}
LONG = {"trials": 1500, "copies": 8, "requests": 10}
SIZES = small_and_full(SHORT, LONG)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("frequency", "numeric"), MECHANISMS)
def test_every_mechanism_passes(frequency, numeric, size):
    plan = compile_survey(frequency, numeric)
    result = audit(plan, alpha=1e-8, **size)
    assert result.faults == []
    assert [each.question for each in result.exact] == [question.name for question in plan.questions]
    assert {each.mechanism for each in result.exact} >= {frequency, numeric}
    for each in result.exact:  # THE's threshold and one bit about a square cannot use all of epsilon
        assert each.unused_share < 1e-3 or frequency == "THE" or numeric == "onebit"


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_tables_and_levels_pass(size):
    features = {
        "uses": {"values": ["yes", "no"], "alone": True},
        "age": {"values": ["young", "old"], "missing": "category"},
        "hours": {"range": [0, 60], "bins": 60},
    }
    plan = make_plan(label=None, features=features, tables={"t": {"features": ["uses", "age"]}})
    assert "uses, age" in {each.name for each in plan.questions}
    assert any(each.width > 1 for each in plan.questions)
    result = audit(plan, alpha=1e-8, **size)
    assert result.faults == []
    assert max(each.unused_share for each in result.exact) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("epsilon", ["1.5", "4"])
def test_a_validation_round_passes(epsilon, size):
    plan = read_survey(VALIDATED.replace("1.5", epsilon).replace('"DE"', '"auto"')).compile()
    result = audit(plan, alpha=1e-8, **size)
    assert result.faults == []
    questions = {"1.5": ["top 1", "top 2"], "4": ["top 1, top 2"]}
    assert [each.question for each in result.exact] == questions[epsilon]
    assert max(each.unused_share for each in result.exact) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("trials", small_and_full(500, 1000))
def test_a_validation_code_in_the_clear_is_flagged(trials):
    result = audit(read_survey(VALIDATED).compile(), trials, LabelInTheClear(), alpha=1e-8, copies=4)
    assert {fault.split(":")[1] for fault in result.faults} == {" any question", " top 1", " top 2"}


@pytest.mark.slow
@pytest.mark.parametrize("size", small_and_full((2500, 0.1), (20_000, 0.75)))
def test_the_lower_bound_is_close_to_the_epsilon_of_the_tables(size):
    trials, least = size
    plan = compile_survey("DE", "sign")
    for question in plan.questions:
        people = make_people(plan, question)[:4]
        messages = collect_reports(PublicClient(), focus_plan(plan, question), people, trials)
        assert least < measure_leak(question.name, messages, 1e-8).leak.epsilon_lower_bound <= 1


@pytest.mark.slow
@pytest.mark.parametrize("size", small_and_full(LONG | {"trials": 100, "copies": 2}, LONG))
def test_a_plan_of_one_question_is_measured_once(size):
    plan = make_plan(epsilon=2, **ONE_QUESTION)
    result = audit(plan, alpha=1e-8, **size)
    assert result.passed
    assert len(result.exact) == 1
    assert [each.question for each in result.black_box] == ["any question", "any question, whole requests"]
    assert result.exact[0].enumerated_payloads == 4


class UnderstatedRatio(DE):
    """Claims a smaller ratio than that of its tables."""

    def __init__(self, domain: int, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self.ratio = self.ratio * Fraction(9, 10)


class IncompleteProbabilities(DE):
    """Its probabilities do not add up to one."""

    def likelihood(self, payload: bytes) -> list[Fraction]:
        return [each * Fraction(9, 10) for each in super().likelihood(payload)]


def with_mechanism(plan: Plan, kind: type[DE]) -> Plan:
    first = plan.questions[0]
    changed = kind(first.domain, first.mechanism.parameters)
    return replace(plan, questions=(replace(first, mechanism=changed), *plan.questions[1:]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [UnderstatedRatio, IncompleteProbabilities])
def test_tables_that_are_not_what_they_claim_are_flagged(kind):
    plan = with_mechanism(compile_survey(), kind)
    assert not compute_exact(plan, plan.questions[0]).passed
    result = audit(plan, 100, StepwiseClient(), alpha=1e-8, copies=2)
    assert "exact: kind: the tables do not keep epsilon" in result.faults


def test_tables_that_spend_more_than_epsilon_are_flagged(monkeypatch):
    plan = compile_survey()
    monkeypatch.setattr(ldp_audit.exact_epsilon, "exp_bounds", lambda _epsilon: (Fraction(2), Fraction(2)))
    assert not compute_exact(plan, plan.questions[0]).passed


class ImpossibleOutput(DE):
    """The first input excludes the second output; its probability is added to the first output's."""

    def likelihood(self, payload: bytes) -> list[Fraction]:
        probability, *others = super().likelihood(payload)
        moved = {b"\0": super().likelihood(b"\1")[0], b"\1": -probability}
        return [probability + moved.get(payload, 0), *others]


def test_an_output_that_one_input_excludes_is_flagged():
    plan = with_mechanism(compile_survey(), ImpossibleOutput)
    assert not compute_exact(plan, plan.questions[0]).passed


@pytest.mark.slow
def test_too_few_messages_for_a_large_epsilon_give_a_note():
    text = SURVEY.format(frequency="DE", numeric="sign").replace("epsilon = 1", "epsilon = 9")
    result = audit(read_survey(text).compile(), 100, alpha=1e-8, copies=2, requests=10)
    assert result.passed
    assert len(result.notes) == 5
    assert "cannot detect a leak above" in result.notes[0]


@pytest.mark.parametrize(
    "options", [{"trials": 99}, {"alpha": 0}, {"alpha": 2}, {"copies": 1}, {"requests": 9}]
)
def test_an_audit_that_could_detect_nothing_is_refused(options):
    with pytest.raises(LdpError):
        audit(compile_survey(), **options)


@pytest.mark.slow
@pytest.mark.parametrize("size", small_and_full(LONG | {"trials": 100, "copies": 2}, LONG))
def test_a_survey_by_invitation_passes(size):
    plan = replace(compile_survey(), enrolment="token")
    result = audit(plan, alpha=1e-8, **size)
    assert result.faults == []
    assert "the question that the invitation names" in [check.name for check in result.checks]


@pytest.mark.slow
@pytest.mark.parametrize("requests", small_and_full(12, 200))
def test_whole_requests_are_measured_and_checked(requests):
    plan = make_plan(epsilon=1, **ONE_QUESTION)
    result = audit(plan, 300, alpha=1e-8, copies=4, requests=requests)
    assert result.faults == []
    assert len(result.notes) == (requests < 100)  # few requests detect no small leak
    whole = next(each for each in result.black_box if each.question == "any question, whole requests")
    assert whole.leak.trials == requests
    assert (whole.leak.max_detectable_epsilon > 1.5) is (requests == 200)
    names = [check.name for check in result.checks if check.passed]
    assert sum(name.startswith("requests: ") for name in names) == 3
    assert any("method, path and headers" in name for name in names)


@pytest.fixture(scope="module", params=small_and_full((100, 2), (2000, 16)))
def without_requests(request: pytest.FixtureRequest) -> AuditResult:
    """Return the audit of a sound client that has no whole requests."""
    trials, copies = request.param
    return audit(compile_survey(), trials, StepwiseClient(), alpha=1e-8, copies=copies)


@pytest.mark.slow
def test_the_base_of_the_clients_with_bugs_passes(without_requests):
    assert without_requests.faults == []


@pytest.mark.slow
def test_a_device_without_requests_is_audited_by_its_reports(without_requests):
    check = next(check for check in without_requests.checks if check.name == "requests")
    assert check.passed is None
    assert check.finding == "not measured: the device has no send()"
    assert "any question, whole requests" not in [each.question for each in without_requests.black_box]
    assert not any(check.name.startswith("requests: ") for check in without_requests.checks)


@pytest.mark.slow
def test_people_who_cannot_answer_are_warned_about_and_are_no_fault(without_requests):
    result = without_requests
    assert [warning.split(":")[0] for warning in result.warnings] == ["size", "paid (the label)"]
    assert result.as_dict()["warnings"] == result.warnings
    assert result.passed
    assert f"warning: {result.warnings[0]}" in render_text(result)

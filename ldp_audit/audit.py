"""Audits a plan and the client that answers it; :func:`audit` runs all layers in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from encoders.errors import LdpError
from encoders.survey import Plan
from ldp_audit import freshness, result
from ldp_audit.blackbox import ALPHA, Messages, MessagesByPerson, required_requests
from ldp_audit.device import (
    Device,
    PublicClient,
    Reporter,
    RequestDevice,
    collect_requests,
    join_requests,
    list_reporters,
    request_body,
)
from ldp_audit.exact_epsilon import compute_exact
from ldp_audit.homogeneity import check_homogeneity
from ldp_audit.people import Person, draw_people, focus_plan, make_people
from ldp_audit.relay_audit import check_relay
from ldp_audit.request_capture import check_requests
from ldp_audit.series_audit import SeriesDevice, StandingDevice, check_series, check_standing
from ldp_audit.timing import check_timing

FORKED_COPIES = 64
ANY_QUESTION = "any question"
WHOLE_REQUESTS = "any question, whole requests"
_MIN_TRIALS = 100
_MIN_REQUESTS = 10
_TRIALS_PER_REQUEST = 160
_TRIALS_PER_SERIES = 40
_MIN_SERIES = 30
STANDING = "standing consent"
"""The stage of surveys that belong to a series."""
_REFERENCE_MESSAGES = 20_000
_RANDOM_PEOPLE = 64
_RANDOM_PEOPLE_WITH_REQUESTS = 16
_DEVICES_WITH_TWO_SURVEYS = 100
_MIN_REPORTS_PER_RANDOM_PERSON = 48
_MAX_REQUESTS_PER_RANDOM_PERSON = 24
_OTHER_TESTS = 7
"""Tests of the whole plan, homogeneity, whole requests, repeated reports, two surveys; two of forks."""


def audit(
    plan: Plan,
    trials: int = 20_000,
    device: Device | None = None,
    alpha: float = ALPHA,
    copies: int = FORKED_COPIES,
    timed: int = 0,
    progress: Callable[[str], object] | None = None,
    requests: int | None = None,
) -> result.AuditResult:
    """Audit a plan, and the client that answers it, from outside.

    Parameters
    ----------
    plan : Plan
    trials : int
        Number of messages of each made-up person: for each question alone, and for the whole plan.
    device : Device, optional
        The client to audit; this project's client by default.
    alpha : float
        The probability that any test finds a fault in a client that has none.
    copies : int
        Number of forked copies of this process, which must send different messages.
    timed : int
        Number of timed reports of each person; 0 leaves out the timing layer.
    progress : callable, optional
        Called with the name of each stage of :func:`list_stages` before it begins.
    requests : int, optional
        Number of whole requests of each made-up person, if the device is a
        :class:`~ldp_audit.device.RequestDevice`. By default one per 160 trials, but at least as many as
        detect an answer that is sent in the clear.

    Returns
    -------
    result.AuditResult

    Raises
    ------
    LdpError
        If there are too few trials, copies or requests, or alpha is not a probability.
    """
    _check_options(trials, alpha, copies, requests)
    requests = requests or max(required_requests(float(plan.epsilon)), trials // _TRIALS_PER_REQUEST)
    audited = plan  # with the relay that it may have
    # the reports that are sealed, and those of one wave
    plan = replace(plan, relay=None, waves=None, epsilon=result.report_epsilon(plan))
    tested_questions = len(plan.questions) if len(plan.questions) > 1 else 0
    run = _AuditRun(
        plan=plan,
        device=device or PublicClient(),
        people=make_people(plan),
        trials=trials,
        requests=requests,
        alpha=alpha / (tested_questions + _OTHER_TESTS + bool(audited.relay) + bool(audited.waves)),
        show_progress=progress or (lambda _stage: None),
    )

    # forked copies first, before anything starts a thread, which no process should fork with
    run.show_progress("freshness")
    forked = run.collect_forked_reports(copies)
    run.checks.append(freshness.check_retries(run.device, plan, run.people))

    run.show_progress("exact")
    exact = tuple(compute_exact(plan, question) for question in plan.questions)
    messages = run.measure_any_question()
    run.check_forks(forked, messages)
    run.measure_each_question(messages)
    run.check_others(audited, timed)
    return result.AuditResult(
        plan=audited,
        trials=trials,
        alpha=alpha,
        exact=exact,
        black_box=tuple(run.black_box),
        checks=tuple(run.checks),
    )


def list_stages(plan: Plan, timed: int = 0) -> list[str]:
    """Return the names of an audit's stages in order; arguments as of :func:`audit`."""
    questions = [each.name for each in plan.questions] if len(plan.questions) > 1 else []
    black_box = [f"black box: {name}" for name in (ANY_QUESTION, *questions)]
    relay = [result.RELAY] * bool(plan.relay) + [result.SERIES] * bool(plan.waves)
    relay += [STANDING] * bool(plan.series)
    timing = ["timing"] if timed else []
    return ["freshness", "exact", black_box[0], "homogeneity", *black_box[1:], *relay, *timing]


@dataclass(kw_only=True)
class _AuditRun:
    """The settings of one audit, and its results so far; `alpha` is the error probability of each test."""

    plan: Plan
    device: Device
    people: Sequence[Person]
    trials: int
    requests: int
    alpha: float
    show_progress: Callable[[str], object]
    black_box: list[result.BlackBoxResult] = field(default_factory=list)
    checks: list[result.Check] = field(default_factory=list)

    def collect_forked_reports(self, copies: int) -> dict[str, list[bytes]]:
        reporters = list_reporters(self.device)
        return {
            way: freshness.collect_forked_reports(reporter, self.plan, self.people[-1], copies)
            for way, reporter in reporters.items()
        }

    def measure_any_question(self) -> MessagesByPerson:
        """Audit reports to the whole plan, and whole requests; return some of the reports."""
        self.show_progress(f"black box: {ANY_QUESTION}")
        messages = collect_reports(self.device, self.plan, self.people, self.trials)
        self.black_box.append(result.measure_leak(ANY_QUESTION, messages, self.alpha))
        self.show_progress("homogeneity")
        random_people = draw_people(self.plan, _RANDOM_PEOPLE)
        trials = max(_MIN_REPORTS_PER_RANDOM_PERSON, self.trials // _RANDOM_PEOPLE)
        bodies = messages | collect_reports(self.device, self.plan, random_people, trials)
        bodies |= self._measure_requests(random_people[:_RANDOM_PEOPLE_WITH_REQUESTS])
        self.checks += check_homogeneity(self.plan, bodies, self.alpha)
        return {name: Messages.from_bytes(each.first(_REFERENCE_MESSAGES)) for name, each in messages.items()}

    def _measure_requests(self, random_people: Sequence[Person]) -> MessagesByPerson:
        if not isinstance(self.device, RequestDevice):
            self._skip(result.HOMOGENEITY, "requests", "send")
            return {}
        requests = collect_requests(self.device, self.plan, self.people, self.requests)
        whole = {
            name: Messages.from_bytes([join_requests(each) for each in devices])
            for name, devices in requests.items()
        }
        self.black_box.append(result.measure_leak(WHOLE_REQUESTS, whole, self.alpha))
        count = min(self.requests, _MAX_REQUESTS_PER_RANDOM_PERSON)
        requests |= collect_requests(self.device, self.plan, random_people, count)
        self.checks.append(check_requests(requests))
        return {
            f"{name}, by request": Messages.from_bytes([request_body(each) for each in devices])
            for name, devices in requests.items()
        }

    def check_others(self, audited: Plan, timed: int) -> None:
        if audited.relay:
            self.show_progress(result.RELAY)
            self.checks += check_relay(replace(audited, waves=None), self.people, self.requests, self.alpha)
        if audited.waves:
            self.show_progress(result.SERIES)
            if isinstance(self.device, SeriesDevice):
                plan = replace(audited, relay=None)
                count = max(_MIN_SERIES, self.trials // _TRIALS_PER_SERIES)
                leaks, checks = check_series(plan, self.device, self.people, count, self.alpha)
                self.black_box += leaks
                self.checks += checks
            else:
                self._skip(result.SERIES, "all waves", "series")
        if audited.series:
            self.show_progress(STANDING)
            if isinstance(self.device, StandingDevice):
                self.checks += check_standing(audited, self.device, self.people, _MIN_SERIES, self.alpha)
            else:
                self._skip(result.SERIES, "all plans", "standing")
        if timed:
            self.show_progress("timing")
            self.checks.append(check_timing(self.device, self.plan, self.people, timed))

    def _skip(self, layer: str, name: str, method: str) -> None:
        self.checks.append(result.Check(layer, name, None, f"not measured: the device has no {method}()"))

    def check_forks(self, forked: dict[str, list[bytes]], messages: MessagesByPerson) -> None:
        """Check the reports of forked copies; `messages` show how often a payload occurs by chance."""
        reference = messages[self.people[-1].name].first(_REFERENCE_MESSAGES)
        self.checks += [
            freshness.check_forks(self.plan, sent, reference, self.alpha, way) for way, sent in forked.items()
        ]

    def measure_each_question(self, messages: MessagesByPerson) -> None:
        plan, people, questions = self.plan, self.people, self.plan.questions
        reporters = list_reporters(self.device)
        widest = max(questions, key=lambda question: (question.mechanism.payload_bytes, question.cells))
        repeated: dict[str, dict[str, list[freshness.RepeatResult]]] = {way: {} for way in reporters}
        for question in questions:
            if len(questions) > 1:
                self.show_progress(f"black box: {question.name}")
                plan = focus_plan(self.plan, question)
                people = make_people(self.plan, question)
                messages = collect_reports(self.device, plan, people, self.trials)
                self.black_box.append(result.measure_leak(question.name, messages, self.alpha))
            alpha = self.alpha / (len(questions) * len(people) * len(reporters))
            for way, reporter in reporters.items():
                repeated[way][question.name] = freshness.repeat_for_all(
                    reporter, plan, people, messages, alpha
                )
            if question is widest and isinstance(self.device, RequestDevice):
                person, count = people[-1], min(_DEVICES_WITH_TWO_SURVEYS, self.requests)
                reference = messages[person.name].first(_REFERENCE_MESSAGES)
                check = freshness.check_two_surveys(self.device, plan, person, reference, self.alpha, count)
                self.checks.append(check)
        self.checks += [freshness.check_noise_reuse(results, way) for way, results in repeated.items()]


def _check_options(trials: int, alpha: float, copies: int, requests: int | None) -> None:
    if trials < _MIN_TRIALS:
        raise LdpError(f"an audit needs at least {_MIN_TRIALS} trials, not {trials}")
    if not 0 < alpha < 1:
        raise LdpError("alpha must be a probability above 0 and below 1")
    if copies < 2:
        raise LdpError("an audit compares at least 2 forked copies")
    if requests is not None and requests < _MIN_REQUESTS:
        raise LdpError(f"an audit needs at least {_MIN_REQUESTS} requests of each person, not {requests}")


def collect_reports(device: Reporter, plan: Plan, people: Sequence[Person], trials: int) -> MessagesByPerson:
    """Return `trials` reports of each person, as if that many identical people reported."""
    return {
        person.name: Messages.from_bytes(
            [device.report(plan, person.row, person.label) for _ in range(trials)]
        )
        for person in people
    }

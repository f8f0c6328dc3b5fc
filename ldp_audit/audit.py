"""The whole audit, told once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from encoders.errors import LdpError
from encoders.explain.nonresponse import silence_warnings
from encoders.survey import Plan, Question
from ldp_audit.blackbox import Leak, compare, requests_for
from ldp_audit.check import ALPHA, HOMOGENEITY, Check
from ldp_audit.device import Device, PublicClient, Reporting, Sending, body_of, requests_of, ways_of, whole_of
from ldp_audit.exact import Exact, exactly
from ldp_audit.freshness import copies_of, forks, retries, two_surveys
from ldp_audit.homogeneity import homogeneity
from ldp_audit.messages import Heard, as_array
from ldp_audit.noise_reuse import Repeated, fresh_noise, repeat_all
from ldp_audit.people import Case, cases_of, crowd_of, focused
from ldp_audit.request_capture import same_requests
from ldp_audit.timing import same_time

COPIES = 64
ANY = "any question"
REQUESTS = "any question, whole requests"
_FEWEST = 100
_LEAST_REQUESTS = 10
_TRIALS_PER_REQUEST = 160
_ALIKE = 20_000
_CROWD = 64
_SENDING_CROWD = 16
_DEVICES = 100
_FEWEST_EACH = 48
_FEWEST_SENT = 24
_OTHER_TESTS = 7
"""The plan as it is; homogeneity, whole requests, repeated reports, two surveys; forks in two ways."""


@dataclass(frozen=True)
class Measured:
    """What messages were found to give away at least, when one question is asked, or any.

    Attributes
    ----------
    question : str
        Its name, or `ANY`.
    leak : Leak
        The worst of all pairs of people.
    pairs : int
    """

    question: str
    leak: Leak
    pairs: int


@dataclass(frozen=True)
class Audit:
    """What an audit of a plan found.

    Attributes
    ----------
    plan : Plan
    trials : int
        Messages of each person compared.
    alpha : float
        The chance of finding fault where there is none, all tests together.
    exact : tuple of Exact
    measured : tuple of Measured
    checks : tuple of Check
    """

    plan: Plan
    trials: int
    alpha: float
    exact: tuple[Exact, ...]
    measured: tuple[Measured, ...]
    checks: tuple[Check, ...]

    @property
    def faults(self) -> list[str]:
        """What is wrong, a sentence each that begins with the layer that says so; empty if all is well."""
        unproved = [each.question for each in self.exact if not each.passed]
        leaks = [each for each in self.measured if each.leak.bound > float(self.plan.epsilon)]
        return [
            *(f"exact: {question}: the tables do not keep epsilon" for question in unproved),
            *(f"black box: {each.question}: {each.leak}" for each in leaks),
            *(f"{each.layer}: {each.name}: {each.found}" for each in self.checks if each.passed is False),
        ]

    @property
    def notes(self) -> list[str]:
        """What this audit could not have found, a sentence each."""
        return [
            f"black box: {each.question}: so few messages tell up to {each.leak.ceiling:.2f}, no leak beyond "
            f"epsilon: give more trials"
            for each in self.measured
            if each.leak.ceiling <= float(self.plan.epsilon)
        ]

    @property
    def warnings(self) -> list[str]:
        """Who cannot answer the survey, a sentence each: no test of messages finds those who send none."""
        return silence_warnings(self.plan)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON; ratios are pairs of decimal strings."""
        return {
            "survey": self.plan.id,
            "plan_digest": self.plan.digest,
            "epsilon": str(self.plan.epsilon),
            "trials": self.trials,
            "alpha": self.alpha,
            "passed": self.passed,
            "faults": self.faults,
            "notes": self.notes,
            "warnings": self.warnings,
            "exact": [
                asdict(each) | {"ratio": [str(each.ratio.numerator), str(each.ratio.denominator)]}
                for each in self.exact
            ],
            "black_box": [asdict(each) for each in self.measured],
            "checks": [asdict(each) for each in self.checks],
        }


def audit(
    plan: Plan,
    trials: int = 20_000,
    device: Device | None = None,
    alpha: float = ALPHA,
    copies: int = COPIES,
    timed: int = 0,
    progress: Callable[[str], object] | None = None,
    requests: int | None = None,
) -> Audit:
    """Audit a plan, and the client that answers it, from outside.

    Parameters
    ----------
    plan : Plan
    trials : int
        Messages of each made-up person, for each question and for the plan as it is.
    device : Device, optional
        This project's client by default.
    alpha : float
        The chance of finding fault where there is none, all tests together.
    copies : int
        Forked copies of this process that must differ in what they send.
    timed : int
        Timed reports of each person; 0 leaves the layer of time out.
    progress : callable, optional
        Called with what is about to be done.
    requests : int, optional
        Whole requests of each made-up person, where the device is :class:`~ldp_audit.device.Sending`. By
        default one for 160 trials, and at least as many as show an answer in the clear.

    Returns
    -------
    Audit

    Raises
    ------
    LdpError
        If there are too few trials, copies or requests, or alpha is no chance.
    """
    _check(trials, alpha, copies, requests)
    device = device or PublicClient()
    say = progress or (lambda _text: None)
    people = cases_of(plan)
    share = alpha / (len(_asked(plan)) + _OTHER_TESTS)
    requests = requests or max(requests_for(float(plan.epsilon)), trials // _TRIALS_PER_REQUEST)
    course = _Course(plan, device, trials, requests, share, say)
    say("freshness")  # first, before anything starts a thread, which no process should fork with
    forked = {way: copies_of(each, plan, people[-1], copies) for way, each in ways_of(device).items()}
    course.checks.append(retries(device, plan, people))
    say("exact")
    exact = tuple(exactly(plan, question) for question in plan.questions)
    heard = course.compare_whole_plan(people)
    alike = heard[people[-1].name].first(_ALIKE)
    course.checks += [forks(plan, sent, alike, share, way) for way, sent in forked.items()]
    course.compare_each_question(people, heard)  # few of the messages above: all of them are large
    if timed:
        say("timing")
        course.checks.append(same_time(device, plan, people, timed))
    return Audit(plan, trials, alpha, exact, tuple(course.measured), tuple(course.checks))


@dataclass
class _Course:
    """One audit: what it looks at, and what it has found so far."""

    plan: Plan
    device: Device
    trials: int
    requests: int
    share: float
    say: Callable[[str], object]
    measured: list[Measured] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    def compare_whole_plan(self, people: Sequence[Case]) -> Heard:
        """Compare messages that answer any question; return some of those that `report` made."""
        self.say(f"black box: {ANY}")
        heard = listen(self.device, self.plan, people, self.trials)
        self.measured.append(measure(ANY, heard, self.share))
        self.say("homogeneity")
        crowd = crowd_of(self.plan, _CROWD)
        bodies = heard | listen(self.device, self.plan, crowd, max(_FEWEST_EACH, self.trials // _CROWD))
        bodies |= self._compare_requests(people, crowd[:_SENDING_CROWD])
        self.checks += homogeneity(self.plan, bodies, self.share)
        return {name: as_array(messages.first(_ALIKE)) for name, messages in heard.items()}

    def _compare_requests(self, people: Sequence[Case], crowd: Sequence[Case]) -> Heard:
        """Compare whole requests; return their bodies."""
        if not isinstance(self.device, Sending):
            self.checks.append(Check(HOMOGENEITY, "requests", None, "not measured: the device has no send()"))
            return {}
        sent = requests_of(self.device, self.plan, people, self.requests)
        whole = {name: as_array([whole_of(each) for each in devices]) for name, devices in sent.items()}
        self.measured.append(measure(REQUESTS, whole, self.share))
        sent |= requests_of(self.device, self.plan, crowd, min(self.requests, _FEWEST_SENT))
        self.checks.append(same_requests(sent))
        return {
            f"{name}, by request": as_array([body_of(each) for each in devices])
            for name, devices in sent.items()
        }

    def compare_each_question(self, people: Sequence[Case], heard: Heard) -> None:
        """Compare messages that answer one question; repeat reports under the same conditions.

        The arguments are for a plan of one question, whose messages were compared already.
        """
        questions, ways = self.plan.questions, ways_of(self.device)
        widest = max(questions, key=lambda question: (question.mechanism.payload_bytes, question.cells))
        repeated: dict[str, dict[str, list[Repeated]]] = {way: {} for way in ways}
        plan = self.plan
        for question in questions:
            if _asked(self.plan):
                self.say(f"black box: {question.name}")
                plan, people = focused(self.plan, question), cases_of(self.plan, question)
                heard = listen(self.device, plan, people, self.trials)
                self.measured.append(measure(question.name, heard, self.share))
            alpha = self.share / (len(questions) * len(people) * len(ways))
            for way, device in ways.items():
                repeated[way][question.name] = repeat_all(device, plan, people, heard, alpha)
            if question is widest and isinstance(self.device, Sending):
                case, count = people[-1], min(_DEVICES, self.requests)
                alike = heard[case.name].first(_ALIKE)
                self.checks.append(two_surveys(self.device, plan, case, alike, self.share, count))
        self.checks += [fresh_noise(found, way) for way, found in repeated.items()]


def _asked(plan: Plan) -> Sequence[Question]:
    """Return the questions to measure one by one: none where the plan has just one."""
    return plan.questions if len(plan.questions) > 1 else ()


def _check(trials: int, alpha: float, copies: int, requests: int | None) -> None:
    if trials < _FEWEST:
        raise LdpError(f"an audit needs at least {_FEWEST} trials, not {trials}")
    if not 0 < alpha < 1:
        raise LdpError("alpha is a chance: above 0 and below 1")
    if copies < 2:
        raise LdpError("an audit compares at least 2 forked copies")
    if requests is not None and requests < _LEAST_REQUESTS:
        raise LdpError(f"an audit needs at least {_LEAST_REQUESTS} requests of each person, not {requests}")


def listen(device: Reporting, plan: Plan, people: Sequence[Case], trials: int) -> Heard:
    """Let each person's device report so many times, as so many people alike would."""
    return {
        case.name: as_array([device.report(plan, case.row, case.label) for _ in range(trials)])
        for case in people
    }


def measure(question: str, heard: Heard, alpha: float) -> Measured:
    """Compare every two people's messages; return the worst.

    Parameters
    ----------
    question : str
        What the answers are to, for people.
    heard : dict of Messages
    alpha : float
        The chance that some pair's bound exceeds what that pair really gives away.
    """
    pairs = list(combinations(heard, 2))
    leaks = [compare(pair, heard[pair[0]], heard[pair[1]], alpha / len(pairs)) for pair in pairs]
    return Measured(question, max(leaks, key=lambda leak: leak.bound), len(pairs))

"""The whole audit, told once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from encoders.errors import LdpError
from encoders.survey import Plan
from ldp_audit.blackbox import Leak, compare
from ldp_audit.cases import Case, cases_of, focused
from ldp_audit.checks import ALPHA, Check
from ldp_audit.device import Device, PublicClient
from ldp_audit.exact import Exact, exactly
from ldp_audit.freshness import copies_of, forks, retries
from ldp_audit.homogeneity import homogeneity
from ldp_audit.messages import Messages, as_array
from ldp_audit.timing import same_time

COPIES = 64
ANY = "any question"
_FEWEST = 100
_ALIKE = 20_000

Heard = dict[str, Messages]
"""The messages of each person, by name."""


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

    Returns
    -------
    Audit

    Raises
    ------
    LdpError
        If there are too few trials or copies, or alpha is no chance.
    """
    _check(trials, alpha, copies)
    device = device or PublicClient()
    say = progress or (lambda _text: None)
    people = cases_of(plan)
    asked = plan.questions if len(plan.questions) > 1 else ()
    share = alpha / (len(asked) + 3)  # the plan as it is, each question, homogeneity, forks
    say("freshness")  # first, before anything starts a thread, which no process should fork with
    sent = copies_of(device, plan, people[-1], copies)
    checks = [retries(device, plan, people)]
    say("exact")
    exact = tuple(exactly(plan, question) for question in plan.questions)
    say(f"black box: {ANY}")
    heard = listen(device, plan, people, trials)
    measured = [measure(ANY, heard, share)]
    say("homogeneity")
    checks += homogeneity(plan, heard, share)
    checks.append(forks(plan, sent, heard[people[-1].name].first(_ALIKE), share))
    del heard  # long messages of many people are large
    for question in asked:
        say(f"black box: {question.name}")
        answers = listen(device, focused(plan, question), cases_of(plan, question), trials)
        measured.append(measure(question.name, answers, share))
    if timed:
        say("timing")
        checks.append(same_time(device, plan, people, timed))
    return Audit(plan, trials, alpha, exact, tuple(measured), tuple(checks))


def _check(trials: int, alpha: float, copies: int) -> None:
    if trials < _FEWEST:
        raise LdpError(f"an audit needs at least {_FEWEST} trials, not {trials}")
    if not 0 < alpha < 1:
        raise LdpError("alpha is a chance: above 0 and below 1")
    if copies < 2:
        raise LdpError("an audit compares at least 2 forked copies")


def listen(device: Device, plan: Plan, people: Sequence[Case], trials: int) -> Heard:
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

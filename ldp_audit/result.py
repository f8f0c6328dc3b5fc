"""The result of an audit: the checks, the largest leaks, and the faults that follow from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any

from encoders.epsilon_proof import realised_epsilon
from encoders.explain.nonresponse import nonresponse_warnings
from encoders.survey import Plan
from ldp_aggregator.wording.statement import Texts
from ldp_audit.blackbox import Leak, MessagesByPerson, compare
from ldp_audit.exact_epsilon import ExactResult

TEXTS = Texts("ldp_audit")
HOMOGENEITY = "homogeneity"
FRESHNESS = "freshness"
RELAY = "relay"
SERIES = "series"
TIMING = "timing"


@dataclass(frozen=True)
class Check:
    layer: str
    """The part of the audit that makes the claim."""
    name: str
    passed: bool | None
    """Whether the claim holds; None if the result is reported without a decision."""
    finding: str


def format_p_value(p: float, digits: int) -> str:
    """Return a p-value as text; one that is too small for a float is not written as 0."""
    return f"p = {p:.{digits}g}" if p else "p < 1e-300"


@dataclass(frozen=True)
class BlackBoxResult:
    """The largest leak between two people's messages, for one question or for all."""

    question: str
    """The question's name, or `audit.ANY_QUESTION` or `audit.WHOLE_REQUESTS`."""
    leak: Leak
    pairs: int

    def exceeds(self, epsilon: Decimal) -> bool:
        return self.leak.epsilon_lower_bound > float(epsilon)

    def can_exceed(self, epsilon: Decimal) -> bool:
        """Return whether this many messages can prove any leak above epsilon."""
        return self.leak.max_detectable_epsilon > float(epsilon)


def measure_leak(question: str, messages: MessagesByPerson, alpha: float) -> BlackBoxResult:
    """Return the largest leak between any two people; each bound fails with the probability `alpha`."""
    pairs = list(combinations(messages, 2))
    leaks = [compare(pair, messages[pair[0]], messages[pair[1]], alpha / len(pairs)) for pair in pairs]
    return BlackBoxResult(question, max(leaks, key=lambda leak: leak.epsilon_lower_bound), len(pairs))


def report_epsilon(plan: Plan) -> Decimal:
    """Return the plan's epsilon or, if a person sends several reports, the largest epsilon of one."""
    spent = (realised_epsilon(each.mechanism.ratio) for each in plan.questions)
    return max(spent) if plan.asks_all else plan.epsilon


@dataclass(frozen=True)
class AuditResult:
    """The result of the audit of a plan."""

    plan: Plan
    trials: int
    """Number of messages of each person that were compared."""
    alpha: float
    """The probability that any test finds a fault in a client that has none."""
    exact: tuple[ExactResult, ...]
    black_box: tuple[BlackBoxResult, ...]
    checks: tuple[Check, ...]

    @property
    def epsilon(self) -> Decimal:
        return report_epsilon(self.plan)

    @property
    def faults(self) -> list[str]:
        """One sentence per fault, which begins with the layer that found it; empty if there is no fault."""
        leaks = [each for each in self.black_box if each.exceeds(self.epsilon)]
        failed = [each for each in self.checks if each.passed is False]
        return [
            *(_state("unproved", question=each.question) for each in self.exact if not each.passed),
            *(_state("leak", question=each.question, leak=each.leak) for each in leaks),
            *(_state("failed", layer=each.layer, name=each.name, finding=each.finding) for each in failed),
        ]

    @property
    def notes(self) -> list[str]:
        """One sentence for each leak that this audit could not have detected."""
        return [
            _state("undetectable", question=each.question, largest=f"{each.leak.max_detectable_epsilon:.2f}")
            for each in self.black_box
            if not each.can_exceed(self.epsilon)
        ]

    @property
    def warnings(self) -> list[str]:
        """One sentence per reason why some people cannot answer; tests of messages do not detect this."""
        return nonresponse_warnings(self.plan)

    @property
    def passed(self) -> bool:
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        """Return the whole result as a dict for JSON; ratios are pairs of decimal strings."""
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
            "black_box": [asdict(each) for each in self.black_box],
            "checks": [asdict(each) for each in self.checks],
        }


def _state(name: str, /, **values: object) -> str:
    return str(TEXTS.find(f"conclusions.{name}", **values))

"""The privacy statement of results: what reports, messages and a curator's model promise, and the audit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from encoders.canonical import decimal_text
from encoders.epsilon_proof import MAX_EPSILON, realised_epsilon
from encoders.errors import LdpError, Reason
from encoders.file_kind import describe_other
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.plan_checks import MAX_SUM
from encoders.survey.relay import ALL, ONE
from encoders.survey.relay_promise import shuffled_epsilon
from ldp_aggregator.codec import OPTIONAL, require
from ldp_aggregator.estimation.raw_estimates import total_of
from ldp_aggregator.snapshot import AnySnapshot, SiloSnapshot, Snapshot
from ldp_aggregator.stores.failure import NO_LOSS, Loss

_MAX_DELTA = 1e-6
_MAX_DIGITS = 40
"""Most characters of an epsilon in a file."""
_NO_AUDIT = "is not an audit; ldp-audit --json writes audits"


class AuditError(LdpError):
    """A file that does not contain an audit of this survey."""


@dataclass(frozen=True, kw_only=True)
class QuestionPrivacy:
    question: str
    mechanism: str
    epsilon: str
    """The exact epsilon, a decimal number that was rounded up."""
    reports: int


@dataclass(frozen=True, kw_only=True)
class ReportsPrivacy:
    """The privacy of what each person sends under one plan: a report, or one to each question."""

    plan_digest: str
    epsilon: str
    """The nominal epsilon of one report, or of all reports of a person."""
    reports: int
    """Each person counts once, see :attr:`Snapshot.people`."""
    questions: tuple[QuestionPrivacy, ...]
    rejected: Mapping[str, int]
    """Numbers of rejected reports by reason."""
    ask: str = field(default=ONE, metadata=OPTIONAL)
    """Whether each person answers "one" question, or "all"."""

    @property
    def asks_all(self) -> bool:
        return self.ask == ALL

    @property
    def spent(self) -> Decimal:
        """The largest exact epsilon of any question, or the sum if each person answers all."""
        exact = [Decimal(each.epsilon) for each in self.questions]
        return sum(exact, Decimal()) if self.asks_all else max(exact, default=Decimal(self.epsilon))

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> Self:
        return cls(
            plan_digest=snapshot.plan.digest,
            epsilon=decimal_text(snapshot.plan.epsilon),
            reports=snapshot.people,
            questions=tuple(
                QuestionPrivacy(
                    question=each.name,
                    mechanism=each.mechanism.name,
                    epsilon=format(realised_epsilon(each.mechanism.ratio), "f"),
                    reports=total_of(snapshot, each).n,
                )
                for each in snapshot.plan.questions
            ),
            rejected={why: n for why, n in snapshot.rejections.items() if why != Reason.PROMISE_BROKEN},
            ask=ALL if snapshot.plan.asks_all else ONE,
        )


@dataclass(frozen=True, kw_only=True)
class SiloPrivacy:
    """The privacy of the messages of silos to one survey. Neighbours differ by the presence of one person."""

    survey: str
    plan_digest: str
    epsilon: str
    rows_per_person: int
    rows_limit: int
    """The largest number of rows of a silo."""
    messages: int
    rejected: Mapping[str, int]
    simulated: bool = False
    """Whether any of the messages were simulated."""

    @classmethod
    def from_snapshot(cls, snapshot: SiloSnapshot) -> Self:
        plan = snapshot.plan
        return cls(
            survey=plan.id,
            plan_digest=plan.digest,
            epsilon=decimal_text(plan.epsilon),
            rows_per_person=plan.rows_per_person,
            rows_limit=plan.rows,
            messages=snapshot.messages,
            rejected=dict(snapshot.rejections),
            simulated=snapshot.simulated,
        )


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    passed: bool
    faults: int
    trials: int
    """Number of messages of each made-up person."""
    bound: float
    """The lower bound on epsilon."""


@dataclass(frozen=True, kw_only=True)
class ShuffledPrivacy:
    """The central privacy of the reports, if a trusted shuffler mixed them before anyone saw them."""

    epsilon: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class RelayPrivacy:
    """What a survey promises towards everybody but its relay."""

    epsilon: float
    delta: float
    batch: int
    honest_reports: int
    """The number of reports of a batch that must come from people who do not help the collector."""
    broken_batches: int = 0
    """The number of batches for which rejected messages prove that it was smaller."""

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> Self | None:
        relay = snapshot.plan.relay
        if relay is None:
            return None
        return cls(
            epsilon=float(relay.epsilon),
            delta=float(relay.delta),
            batch=relay.batch,
            honest_reports=relay.honest_reports,
            broken_batches=snapshot.rejections.get(Reason.PROMISE_BROKEN, 0),
        )


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement:
    people: ReportsPrivacy | None = None
    """None for silos alone."""
    validation: ReportsPrivacy | None = None
    """The validation round of the model."""
    silos: tuple[SiloPrivacy, ...] = ()
    simulated: bool = False
    """Whether any of the people's reports were simulated, also in a validation round."""
    audit: AuditResult | None = None
    only_if_shuffled: ShuffledPrivacy | None = None
    """None for silos alone."""
    relay: RelayPrivacy | None = None
    """The promise of the survey of people, if its reports came through a relay."""
    curator: CuratorPrivacy | None = None
    """What a trusted curator promises; None for people and silos."""
    losses: Loss = field(default=NO_LOSS, metadata=OPTIONAL)
    """What is missing in the counts of all snapshots."""

    @property
    def rounds(self) -> tuple[ReportsPrivacy, ...]:
        return tuple(filter(None, (self.people, self.validation)))

    @property
    def rejected(self) -> Mapping[str, int]:
        total: dict[str, int] = {}
        for part in (self.people, *self.silos):
            for reason, count in part.rejected.items() if part else ():
                total[reason] = total.get(reason, 0) + count
        return total

    def check_entries(self) -> None:
        epsilons = [(each.epsilon, MAX_SUM if each.asks_all else MAX_EPSILON) for each in self.rounds]
        epsilons += [(each.epsilon, MAX_EPSILON) for each in self.silos]
        epsilons += [(part.epsilon, MAX_EPSILON) for each in self.rounds for part in each.questions]
        for epsilon, most in epsilons:
            is_epsilon = len(epsilon) <= _MAX_DIGITS and 0 < Decimal(epsilon) <= most
            require(is_epsilon, f"the epsilon {epsilon!r} is not a number above 0 and at most {most}")
        asks = {each.ask for each in self.rounds}
        is_known = asks <= {ONE, ALL} and (ALL not in asks or self.relay is not None)
        require(is_known, "ask: needs one or, with a relay, all")
        has_messages = self.people is not None or bool(self.silos)
        is_one = has_messages != (self.curator is not None)
        require(is_one, "needs a statement about reports and messages of silos, or about a curator")


def state_privacy(
    snapshot: AnySnapshot,
    audit: AuditResult | None = None,
    validation: Snapshot | None = None,
    silos: Sequence[SiloSnapshot] = (),
) -> PrivacyStatement:
    """Return the privacy statement of results.

    `audit` is that of the survey's plan, see :func:`read_audit`. The people of the `validation` round
    answered with the same epsilon. `silos` are all surveys of silos, if estimates of several surveys are
    pooled.
    """
    if isinstance(snapshot, SiloSnapshot):
        silos = silos or (snapshot,)
    of_silos = tuple(map(SiloPrivacy.from_snapshot, silos))
    of_people = [each for each in (snapshot, validation) if isinstance(each, Snapshot)]
    of_each = [*(each.losses for each in of_people), *(each.losses for each in silos)]
    losses = sum(of_each, NO_LOSS)
    if isinstance(snapshot, SiloSnapshot):
        return PrivacyStatement(silos=of_silos, audit=audit, losses=losses)
    people = ReportsPrivacy.from_snapshot(snapshot)
    of_validation = None if validation is None else ReportsPrivacy.from_snapshot(validation)
    # a report names its plan, so the reports of each plan are mixed with each other only
    counts = [each.reports for each in (people, of_validation) if each]
    delta = min(_MAX_DELTA, 1 / (10 * max(*counts, 1)))
    # a token determines the id of its report, so no shuffler can hide whose it is
    mixed = 0 if snapshot.plan.by_invitation else min(counts)
    shuffled = shuffled_epsilon(math.exp(float(snapshot.plan.epsilon)), mixed, delta)
    return PrivacyStatement(
        people=people,
        validation=of_validation,
        silos=of_silos,
        simulated=any(each.simulated for each in of_people),
        audit=audit,
        only_if_shuffled=ShuffledPrivacy(epsilon=shuffled, delta=delta),
        relay=RelayPrivacy.from_snapshot(snapshot),
        losses=losses,
    )


def read_audit(path: Path, plan: AnyPlan) -> AuditResult:
    return read_audit_document(path, plan)[0]


def read_audit_document(path: Path, plan: AnyPlan) -> tuple[AuditResult, dict[str, Any]]:
    """Return the result of a plan's audit (``ldp-audit --json``), and the document; else AuditError."""
    try:
        audit = json.loads(path.read_bytes(), parse_constant=float)
        digest, faults, trials = audit["plan_digest"], audit["faults"], audit["trials"]
        leaks = [entry["leak"] for entry in audit["black_box"]]
        bound = max(float(leak["epsilon_lower_bound"]) for leak in leaks)
    except OSError as error:
        raise AuditError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise AuditError(f"{path}: {_NO_AUDIT}{describe_other(path)}") from error
    if not (isinstance(faults, list) and type(trials) is int and 0 <= bound < math.inf):
        raise AuditError(f"{path}: {_NO_AUDIT}")
    if digest != plan.digest:
        raise AuditError(f"{path}: is the audit of another plan; audit this plan")
    passed = not faults and bound <= plan.epsilon
    return AuditResult(passed=passed, faults=len(faults), trials=trials, bound=bound), audit


# -- a curator's promise ----------------------------------------------------------------------------


ADD_REMOVE, REPLACE = "add-remove", "replace"
MAX_CURATOR_EPSILON = 1000
_MAX_STEPS = 100


@dataclass(frozen=True)
class Spending:
    step: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, kw_only=True)
class CuratorPrivacy:
    """What a curator promises. Amounts are exact fractions; the amounts of the steps add up to the total."""

    adjacency: str
    rows_per_person: int
    epsilon: Fraction
    delta: Fraction
    steps: tuple[Spending, ...]
    expected_rows: int
    are_rows_public: bool
    """Whether the expected number of rows is the survey's, and not a noisy number."""

    def check_entries(self) -> None:
        require(self.adjacency in (ADD_REMOVE, REPLACE), "adjacency: is unknown")
        require(1 <= len(self.steps) <= _MAX_STEPS, f"needs 1 to {_MAX_STEPS} steps")
        is_sum = self.epsilon == sum(each.epsilon for each in self.steps) <= MAX_CURATOR_EPSILON
        require(is_sum, "the epsilon of the steps does not add up")
        is_sum = self.delta == sum(each.delta for each in self.steps) <= 1
        require(is_sum, "the delta of the steps does not add up")
        for name in ("rows_per_person", "expected_rows"):
            require(getattr(self, name) > 0, f"{name}: needs a whole number of at least 1")

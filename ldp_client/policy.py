"""The limits that an application sets on behalf of its users: on epsilon, and on the plan."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from encoders.errors import SignatureError
from encoders.survey.signature import read_public_key
from ldp_client.errors import BAD_OPTION, BudgetError, PlanError

MAX_EPSILON = 2.0
"""The default of `max_epsilon`."""


class QueuedPlan(Protocol):
    """What a journal records of the plan of a queued report."""

    @property
    def digest(self) -> str:
        """The plan's digest."""
        ...

    @property
    def epsilon(self) -> str:
        """The epsilon that was spent."""
        ...

    @property
    def signer(self) -> str:
        """The public key with which the plan's signature was verified, or ""."""
        ...


@dataclass(frozen=True)
class ClientPolicy:
    """The limits that a client checks every plan and every queued report against."""

    max_epsilon: Fraction
    """Largest epsilon of one survey."""
    max_total_epsilon: Fraction | None
    """Largest sum of epsilon over all surveys of a journal."""
    digest: str
    """The only plan to accept, if not empty."""
    public_key: str
    """The key that must have signed the plan, if not empty."""

    @classmethod
    def from_options(
        cls, max_epsilon: float, max_total_epsilon: float | None, digest: str | None, public_key: str | None
    ) -> ClientPolicy:
        """Check and convert the options of a client.

        Raises BudgetError, PlanError or SignatureError.
        """
        if digest is not None and not (isinstance(digest, str) and re.fullmatch("[0-9a-fA-F]{64}", digest)):
            raise PlanError("digest must be the plan's published digest, 64 hexadecimal digits", "bad-digest")
        if public_key is not None:
            try:
                read_public_key(public_key if isinstance(public_key, str) else "")
            except SignatureError as error:
                error.reason = BAD_OPTION
                raise
        return cls(
            max_epsilon=_parse_limit(max_epsilon, "max_epsilon"),
            max_total_epsilon=(
                None if max_total_epsilon is None else _parse_limit(max_total_epsilon, "max_total_epsilon")
            ),
            digest=(digest or "").lower(),
            public_key=(public_key or "").strip(),
        )

    def check_queued_report(self, entry: QueuedPlan) -> None:
        """Raise PlanError or BudgetError if the policy no longer accepts the plan of a queued report."""
        self.check(entry.digest, entry.epsilon)
        if self.public_key not in ("", entry.signer):
            raise PlanError("the waiting report's plan lacks the signature now required: call grant() again")

    def accepts_queued_report(self, entry: QueuedPlan) -> bool:
        """Return whether the policy, which may have become stricter, still accepts a queued report."""
        try:
            self.check_queued_report(entry)
        except (PlanError, BudgetError):
            return False
        return True

    def check(self, digest: str, epsilon: str) -> None:
        """Raise PlanError or BudgetError unless the policy accepts a plan; does not check the signature."""
        if self.digest not in ("", digest):
            raise PlanError(f"the plan has digest {digest}, but `digest` accepts only {self.digest}")
        if Fraction(epsilon) > self.max_epsilon:
            raise BudgetError(
                f"the plan's epsilon is {float(epsilon):g}, but max_epsilon is {float(self.max_epsilon):g}"
            )


def _parse_limit(epsilon: float, name: str) -> Fraction:
    try:
        limit = Fraction(str(epsilon))
    except (ValueError, ZeroDivisionError):
        limit = Fraction(0)
    if limit <= 0:
        raise BudgetError(f"{name} must be a finite number above 0", BAD_OPTION)
    return limit

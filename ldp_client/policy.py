"""What an application accepts on behalf of its users: caps on epsilon, and which plan."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from encoders.survey.plan import Plan
from encoders.survey.signature import read_public_key
from ldp_client.errors import BudgetError, PlanError
from ldp_client.journal.entry import JournalEntry


@dataclass(frozen=True)
class ClientPolicy:
    """Checked when a client is made; from then on held against every plan, and every report that waits.

    Attributes
    ----------
    max_epsilon : Fraction
        Of one survey.
    max_total : Fraction or None
        Of all surveys of a journal together.
    digest : str
        The only plan to accept, if not empty.
    signer : str
        The public key that has to have signed the plan, if not empty.
    """

    max_epsilon: Fraction
    max_total: Fraction | None
    digest: str
    signer: str

    @classmethod
    def read(
        cls, max_epsilon: float, max_total: float | None, digest: str | None, public_key: str | None
    ) -> ClientPolicy:
        """Read what an application says.

        Raises
        ------
        BudgetError, PlanError, SignatureError
            If a cap is no number, a digest no digest, a key no key.
        """
        if digest is not None and not re.fullmatch("[0-9a-fA-F]{64}", digest):
            raise PlanError("digest must be the plan's published digest, 64 hexadecimal digits", "bad-digest")
        if public_key is not None:
            read_public_key(public_key)
        return cls(
            _cap(max_epsilon, "max_epsilon"),
            None if max_total is None else _cap(max_total, "max_total_epsilon"),
            (digest or "").lower(),
            (public_key or "").strip(),
        )

    def check(self, plan: Plan) -> None:
        """Raise PlanError or BudgetError unless a plan is acceptable; its signature is checked elsewhere."""
        self._check(plan.digest, Fraction(plan.epsilon))

    def check_waiting(self, entry: JournalEntry) -> None:
        """Raise PlanError or BudgetError if a report that waits answers what is no longer accepted."""
        self._check(entry.digest, Fraction(entry.epsilon))
        if self.signer not in ("", entry.signer):
            raise PlanError("the report that waits answers a plan without the signature that is asked for")

    def _check(self, digest: str, epsilon: Fraction) -> None:
        if self.digest not in ("", digest):
            raise PlanError(f"the plan has digest {digest}, and the application takes {self.digest} alone")
        if epsilon > self.max_epsilon:
            raise BudgetError(
                f"the plan's epsilon is {float(epsilon):g}, this client grants {float(self.max_epsilon):g}"
            )


def _cap(epsilon: float, name: str) -> Fraction:
    try:
        cap = Fraction(str(epsilon))
    except (ValueError, ZeroDivisionError):
        cap = Fraction(0)
    if cap <= 0:
        raise BudgetError(f"{name} must be a finite number above 0")
    return cap

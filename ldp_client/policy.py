"""The limits that an application sets on behalf of its users: on epsilon, and on the plan."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction

from encoders.errors import SignatureError
from encoders.survey.relay import is_relay_url
from encoders.survey.signature import read_public_key
from ldp_client.errors import BAD_OPTION, BudgetError, OptionError, PlanError
from ldp_client.journal.table import JournalEntry
from ldp_client.survey_identity import origin_of_url

MAX_EPSILON = 2.0
"""The default of `max_epsilon`."""
MAX_LOCAL_EPSILON = 5.0
"""The default of `max_local_epsilon`."""
_MAX_LIMIT = 10**9


@dataclass(frozen=True)
class ClientPolicy:
    """The limits that a client checks every plan and every queued report against."""

    max_epsilon: Fraction
    """Largest epsilon of one survey; with a relay, largest epsilon that the survey promises."""
    max_total_epsilon: Fraction | None
    """Largest sum of epsilon over all surveys of a journal."""
    digest: str
    """The only plan to accept, if not empty."""
    public_key: str
    """The key that must have signed the plan, if not empty."""
    relay: str = ""
    """The origin of the only relay through which reports may be sent; empty if they are sent directly."""
    max_local_epsilon: Fraction = Fraction(MAX_LOCAL_EPSILON)
    """With a relay, the largest epsilon of all that a person sends, if relay and collector collude."""

    @classmethod
    def from_options(
        cls,
        max_epsilon: float,
        max_total_epsilon: float | None,
        digest: str | None,
        public_key: str | None,
        relay: str | None = None,
        max_local_epsilon: float = MAX_LOCAL_EPSILON,
    ) -> ClientPolicy:
        """Check and convert the options; raise BudgetError, OptionError, PlanError or SignatureError."""
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
            relay=_parse_relay(relay),
            max_local_epsilon=_parse_limit(max_local_epsilon, "max_local_epsilon"),
        )

    def check_queued_report(self, digest: str, epsilon: str, signer: str) -> None:
        """Raise PlanError or BudgetError if the policy no longer accepts the plan of a queued report."""
        self.check(digest, epsilon)
        if self.public_key not in ("", signer):
            raise PlanError("the waiting report's plan lacks the signature now required: call grant() again")

    def accepts_queued_report(self, entry: JournalEntry) -> bool:
        """Return whether the policy, which may have become stricter, still accepts a queued report."""
        if (entry.sealed is not None) != bool(self.relay):
            return False
        if self.relay and (origin_of_url(entry.url) != self.relay or _promise(entry) > self.max_epsilon):
            return False
        try:
            self.check_queued_report(entry.digest, entry.epsilon, entry.signer)
        except (PlanError, BudgetError):
            return False
        return True

    def check(self, digest: str, epsilon: str) -> None:
        """Raise PlanError or BudgetError unless the policy accepts a plan; does not check the signature."""
        if self.digest not in ("", digest):
            raise PlanError(f"the plan has digest {digest}, but `digest` accepts only {self.digest}")
        name = "max_local_epsilon" if self.relay else "max_epsilon"
        if Fraction(epsilon) > (limit := getattr(self, name)):
            why = f"the plan's epsilon is {float(epsilon):g}, but {name} is {float(limit):g}"
            hint = f": raise {name} if relay and collector together may learn so much about a person"
            raise BudgetError(why + hint * bool(self.relay))


def parse_lifetime(series: bool, lifetime_epsilon: float | None) -> Fraction | None:
    """Return the epsilon that all plans of a series may spend; None for consent to one plan.

    Raises OptionError or BudgetError if it is missing, or not a number above 0.
    """
    if series != (lifetime_epsilon is not None):
        raise OptionError("series=True needs lifetime_epsilon, what all plans of the series may spend")
    return None if lifetime_epsilon is None else _parse_limit(lifetime_epsilon, "lifetime_epsilon")


def _promise(entry: JournalEntry) -> Fraction:
    """Return the epsilon that the plan of a report for a relay promises."""
    return Fraction(json.loads(entry.plan or b"{}")["relay"]["epsilon"])


def _parse_relay(relay: str | None) -> str:
    """Return the origin of a relay; raise OptionError unless it is an https origin, or on this machine."""
    if relay is None:
        return ""
    if not (isinstance(relay, str) and is_relay_url(f"{relay.removesuffix('/')}/id")):
        raise OptionError('relay must be the address of a relay, for example relay="https://relay.example"')
    return origin_of_url(relay)


def _parse_limit(epsilon: float, name: str) -> Fraction:
    try:
        limit = Fraction(str(epsilon))
    except (ValueError, ZeroDivisionError):
        limit = Fraction(0)
    if not 0 < limit <= _MAX_LIMIT:
        raise BudgetError(f"{name} must be a finite number above 0, and at most 10^9", BAD_OPTION)
    return limit

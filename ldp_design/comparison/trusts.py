"""The trust models that a comparison runs: who sees true answers, and what epsilon is about."""

from __future__ import annotations

import re
from dataclasses import dataclass

from encoders.errors import LdpError
from encoders.survey.plan_checks import CENTRAL, LOCAL, SILO
from ldp_aggregator.central.learner import AUTO, LEARNERS
from ldp_aggregator.central.promise import REPLACE

NONE, LABELS = "none", "labels"
REPLACE_LABEL = "replace-label"
"""The adjacency of `labels`: two neighbours differ in one label; all features are in the clear."""
EXAMPLE = "none,central,labels,silo:10,local"
MAX_SILOS = 10_000

_CENTRAL = re.compile(rf"{CENTRAL}(?::({'|'.join(LEARNERS)}))?")
_SILO = re.compile(rf"{SILO}:([1-9][0-9]{{0,8}})")
_RANKS = {LOCAL: 0, SILO: 1, CENTRAL: 2, NONE: 3}


class TrustComparisonError(LdpError):
    """A comparison that cannot be run."""


@dataclass(frozen=True, kw_only=True)
class Trust:
    """One trust model."""

    text: str
    """Its name for :func:`parse_trust`, for example "silo:10"."""
    kind: str
    """One of "none", "central", "labels", "silo" or "local"."""
    learner: str = AUTO
    """The learner of a curator: "auto", "nb", "linear" or "tree"."""
    silos: int = 0
    """The number of silos."""

    @property
    def adjacency(self) -> str | None:
        """What two neighbours differ in: "replace" a row, "replace-label" a label; None without a promise."""
        return {NONE: None, LABELS: REPLACE_LABEL}.get(self.kind, REPLACE)

    @property
    def is_ranked(self) -> bool:
        """Whether it protects whole rows or nothing; only such trust models can be weaker than another."""
        return self.kind in _RANKS

    @property
    def rank(self) -> tuple[int, int]:
        """A key that sorts ranked trust models, the weakest first: there the fewest see the fewest rows."""
        return _RANKS[self.kind], -self.silos


def parse_trust(text: str) -> Trust:
    """Return the trust model that a text names: none, central, central:LEARNER, labels, silo:N or local.

    Raises
    ------
    TrustComparisonError
        If there is no such trust model.
    """
    if text in (NONE, LABELS, LOCAL):
        return Trust(text=text, kind=text)
    if match := _CENTRAL.fullmatch(text):
        return Trust(text=text, kind=CENTRAL, learner=match[1] or AUTO)
    match = _SILO.fullmatch(text)
    if match and int(match[1]) <= MAX_SILOS:
        return Trust(text=text, kind=SILO, silos=int(match[1]))
    learners = ", ".join(f"{CENTRAL}:{each}" for each in LEARNERS[1:])
    raise TrustComparisonError(
        f"{text!r} is not a trust model: choose among none, central, {learners}, labels, silo:N with N from "
        f"1 to {MAX_SILOS:,}, and local, for example {EXAMPLE}"
    )

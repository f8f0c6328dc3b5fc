"""The estimates that an operator sees now, with wider intervals until the survey has closed."""

from __future__ import annotations

from dataclasses import dataclass

from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.collector.openapi import LOOKS
from ldp_aggregator.estimation import Estimates, estimate_snapshot
from ldp_aggregator.estimation.sequential_intervals import hold_at_all_looks
from ldp_aggregator.snapshot import AnySnapshot, Snapshot

ONE_LOOK, ALL_LOOKS = LOOKS


@dataclass(frozen=True)
class CurrentEstimates:
    """The estimates of a survey so far."""

    estimates: Estimates
    looks: str
    """Whether the intervals are valid for "one look" or for "all looks"."""

    @classmethod
    def from_snapshot(
        cls, snapshot: AnySnapshot, plan: Plan | SiloPlan, *, is_closed: bool, poisoning: bool = False
    ) -> CurrentEstimates:
        """Estimate; the intervals of silos, which send few messages, are for one look.

        Parameters
        ----------
        snapshot : Snapshot or SiloSnapshot
        plan : Plan or SiloPlan
            The same plan with what a store does not have: texts, and the number of expected people.
        is_closed : bool
            Whether no more reports can arrive.
        poisoning : bool
            Whether to check the reports of people for fake ones.
        """
        found = estimate_snapshot(snapshot, poisoning=poisoning and isinstance(snapshot, Snapshot))
        if is_closed or isinstance(plan, SiloPlan):
            return cls(found, ONE_LOOK)
        return cls(hold_at_all_looks(found, plan), ALL_LOOKS)

"""A survey's counters at one time: plan, totals and rejections. Training reads snapshots."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from operator import add
from typing import Any, Generic, Self, TypeVar

import numpy as np

from encoders.canonical import dump_canonical_json
from encoders.errors import SurveyError
from encoders.file_kind import describe_other
from encoders.survey import Plan
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.compiled_plan import SILO_REFUSAL
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.codec import to_json
from ldp_aggregator.snapshot_entries import (
    FieldError,
    SnapshotError,
    choose_covering_plan,
    counter_names,
    dump_plan_entry,
    read_losses,
    read_plan_entry,
    read_rejections,
    read_totals,
)
from ldp_aggregator.stores.failure import NO_LOSS, Loss, require_whole
from ldp_aggregator.stores.operator_log import require_living
from ldp_aggregator.stores.schedule import require_usable
from ldp_aggregator.stores.shards import join_shards, read_shards
from ldp_aggregator.stores.store import Store, Total, count_reports, sum_totals, unknown_survey_error

__all__ = [
    "AnySnapshot",
    "CounterSnapshot",
    "SiloSnapshot",
    "Snapshot",
    "SnapshotError",
    "Total",
    "choose_covering_plan",
    "counter_names",
    "make_snapshot",
    "read_snapshot",
    "read_stored_plan",
    "require_different",
    "require_people",
    "sum_snapshots",
    "take_snapshot",
]

FORMAT = "ldp-bayes snapshot"
VERSION = 1
LAST_WAVE, ALL_WAVES = "last", "all"
_RETAKE_HINT = "Take the snapshot from the collector again"
PlanT = TypeVar("PlanT", Plan, SiloPlan)


@dataclass(frozen=True)
class CounterSnapshot(ABC, Generic[PlanT]):
    """Totals of one survey at one time; see :class:`Snapshot` and :class:`SiloSnapshot`."""

    plan: PlanT
    totals: Mapping[str, Total]
    """Questions without reports may be absent. Support counters (`Question.support_key`) may be absent
    too: older stores did not count them."""
    rejections: Mapping[str, int] = field(default_factory=dict)
    simulated: bool = False
    """Whether some of the reports are from an archive that ldp-simulate wrote."""
    losses: Loss = NO_LOSS
    """What is missing in the totals."""

    def __add__(self, other: Self) -> Self:
        plan = self._choose_plan(other)
        totals = sum_totals(chain(self.totals.items(), other.totals.items()))
        rejections = Counter(self.rejections) + Counter(other.rejections)
        return type(self)(
            plan, totals, rejections, self.simulated or other.simulated, self.losses + other.losses
        )

    @abstractmethod
    def _choose_plan(self, other: CounterSnapshot[Any]) -> PlanT:
        """Return the plan of the sum; raise SnapshotError if the two cannot be added."""

    def total(self) -> int:
        """Return the number of reports."""
        return count_reports(self.totals)

    @property
    def people(self) -> int:
        """Number of people: of reports, or the largest of a question if each person answers all."""
        if not self.plan.asks_all:
            return self.total()
        most: dict[str, int] = {}  # of each wave
        for key, total in self.totals.items():
            wave = _wave_of(key)
            most[wave] = max(most.get(wave, 0), total.n)
        return sum(most.values())

    def to_json(self) -> bytes:
        """Return the snapshot as JSON."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            **dump_plan_entry(self.plan),
            "totals": {
                key: {"n": total.n, "cells": total.cells.tolist()} for key, total in self.totals.items()
            },
            "rejections": dict(self.rejections),
            **({"simulated": True} if self.simulated else {}),
            **({"losses": to_json(self.losses)} if self.losses != NO_LOSS else {}),
        }
        return dump_canonical_json(document)


@dataclass(frozen=True)
class Snapshot(CounterSnapshot[Plan]):
    """Totals of one survey of people at one time.

    Snapshots of one plan can be added. So can those of a family's rounds, if one round has all questions of
    the others; the sum has the plan of that round. In a survey with waves, the totals have the keys of
    :attr:`~encoders.survey.plan.Plan.counted_questions`; estimates need :meth:`select`.
    """

    wave: str = ""
    """The wave that :meth:`select` has chosen, or "all"; empty for the totals of all waves apart."""

    def select(self, wave: str = LAST_WAVE) -> Snapshot:
        """Return the totals of one wave by its name, of all together, or of the last with reports.

        The keys are those of `plan.questions`. Without waves, "all" and "last" change nothing; without any
        report, "last" is the first wave. Raises SnapshotError if there is no such wave.
        """
        waves = self.plan.waves
        names = [each.name for each in waves.list] if waves else []
        if self.wave or (not waves and wave in (LAST_WAVE, ALL_WAVES)):
            return self
        if wave == LAST_WAVE:
            counted = [int(_wave_of(key)) for key, each in self.totals.items() if each.n]
            wave = names[max(counted, default=0)]
        if wave not in (*names, ALL_WAVES):
            known = ", ".join(names) or "it has no waves"
            raise SnapshotError(f"{self.plan.id} has no wave {wave!r}; known: {known}")
        chosen = range(len(names)) if wave == ALL_WAVES else [names.index(wave)]
        apart = [(each, self.plan.in_wave(each, index)) for each in self.plan.questions for index in chosen]
        keys = [(each.key, other.key) for each, other in apart]
        keys += [(each.support_key, other.support_key) for each, other in apart]
        found = ((key, self.totals[key_apart]) for key, key_apart in keys if key_apart in self.totals)
        return replace(self, totals=sum_totals(found), wave=wave)

    def _choose_plan(self, other: CounterSnapshot[Any]) -> Plan:
        if not isinstance(other, Snapshot):
            raise _different_kinds_error(other.plan.id, self.plan.id)
        return choose_covering_plan(self.plan, other.plan)

    @classmethod
    def from_json(cls, data: bytes, name: str = "the snapshot") -> Snapshot:
        """Read a snapshot of people's answers from JSON; see :func:`read_snapshot`."""
        return require_people(read_snapshot(data, name), name)


@dataclass(frozen=True)
class SiloSnapshot(CounterSnapshot[SiloPlan]):
    """Totals of one survey of silos at one time: the sums of all messages. Those of one plan can be added."""

    def _choose_plan(self, other: CounterSnapshot[Any]) -> SiloPlan:
        if not isinstance(other, SiloSnapshot):
            raise _different_kinds_error(self.plan.id, other.plan.id)
        if self.plan.digest != other.plan.digest:
            raise SnapshotError(
                f"the messages of {self.plan.id} and {other.plan.id} cannot be added: they follow different "
                "plans. Give ldp-train both, as separate sources"
            )
        return self.plan

    def select(self, wave: str = LAST_WAVE) -> SiloSnapshot:
        """Return the snapshot; raise SnapshotError for the name of a wave, of which silos have none."""
        if wave in (LAST_WAVE, ALL_WAVES):
            return self
        raise SnapshotError(f"{self.plan.id} is a survey of silos, which has no waves: leave --wave out")

    @property
    def messages(self) -> int:
        return self.total()

    @property
    def cells(self) -> IntArray:
        """The sums of all cells, shape (cells,); zeros without messages."""
        question = self.plan.question
        total = self.totals.get(question.key)
        return np.zeros(question.cells, dtype=np.int64) if total is None else total.cells


def _wave_of(key: str) -> str:
    return key.partition("@")[2].partition(":")[0]


AnySnapshot = Snapshot | SiloSnapshot
SnapshotT = TypeVar("SnapshotT", bound=CounterSnapshot[Any])


def _different_kinds_error(silos: str, people: str) -> SnapshotError:
    return SnapshotError(
        f"{silos} is a survey of silos and {people} one of people: their counters are not added. Give "
        "ldp-train both, as separate sources"
    )


def make_snapshot(
    plan: Plan | SiloPlan,
    totals: Mapping[str, Total],
    rejections: Mapping[str, int] | None = None,
    simulated: bool = False,
    losses: Loss = NO_LOSS,
) -> AnySnapshot:
    if isinstance(plan, SiloPlan):
        return SiloSnapshot(plan, totals, rejections or {}, simulated, losses)
    return Snapshot(plan, totals, rejections or {}, simulated, losses)


def require_people(snapshot: AnySnapshot, name: str = "") -> Snapshot:
    """Return a snapshot of people's answers; raise SnapshotError, which begins with `name`, for silos."""
    if isinstance(snapshot, SiloSnapshot):
        raise SnapshotError(f"{name or snapshot.plan.id}: {SILO_REFUSAL}")
    return snapshot


def read_snapshot(data: bytes, name: str = "the snapshot") -> AnySnapshot:
    """Read a snapshot from JSON; errors begin with `name` and name the wrong entry.

    Raises SnapshotError if the data are not a snapshot, are truncated or of another version, or have an
    invalid plan or counters that do not fit it.
    """
    if other := describe_other(data, "snapshot", "json"):
        raise SnapshotError(f"{name}: not a snapshot{other}")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{name}: not JSON ({error}); it may be truncated. {_RETAKE_HINT}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SnapshotError(f"{name}: not a snapshot. {_RETAKE_HINT}")
    if document.get("version") != VERSION:
        raise SnapshotError(
            f"{name}: the snapshot has version {document.get('version')!r}, and only {VERSION} is supported: "
            "use the release that wrote it, or take it again"
        )
    try:
        # the plan was canonical when it was written; sorting its keys restores those bytes
        plan = read_plan_entry(document)
        totals = read_totals(document["totals"], plan)
        rejections = read_rejections(document["rejections"])
        losses = read_losses(document["losses"]) if "losses" in document else NO_LOSS
    except SurveyError as error:
        raise SnapshotError(f"{name}: plan: {error}. {_RETAKE_HINT}") from error
    except FieldError as error:
        raise SnapshotError(f"{name}: {error}. {_RETAKE_HINT}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SnapshotError(f"{name}: the counters do not fit the plan. {_RETAKE_HINT}") from error
    return make_snapshot(plan, totals, rejections, document.get("simulated") is True, losses)


def sum_snapshots(snapshots: Iterable[SnapshotT]) -> SnapshotT:
    """Add up snapshots of one plan, or of the rounds of one family, in any order.

    If several rounds have all questions, the sum has the plan of the family's first round, otherwise that of
    the first id in alphabetical order.
    Raises SnapshotError, see :func:`choose_covering_plan`; also for a survey of silos with one of people.
    """

    def rank(snapshot: SnapshotT) -> tuple[int, bool, str]:
        # the round with most questions comes first: neither of two others may cover the other
        plan = snapshot.plan
        return -len(plan.questions), plan.id != plan.family, plan.id

    return reduce(add, sorted(snapshots, key=rank))


def require_different(snapshots: Mapping[str, AnySnapshot]) -> None:
    """Raise SnapshotError if two named snapshots have one plan and equal counters with reports."""
    names: dict[tuple[str, str], str] = {}
    for name, snapshot in snapshots.items():
        counters = {key: (total.n, total.cells.tolist()) for key, total in snapshot.totals.items()}
        content = snapshot.plan.digest, json.dumps(counters, sort_keys=True)
        former = names.setdefault(content, name)
        if former != name and snapshot.total():
            raise SnapshotError(
                f"{former} and {name} have the same counters, so one is a copy of the other, and its "
                "reports would count twice: give one of them"
            )


def take_snapshot(store: Store, survey: str, thorough: bool = True) -> AnySnapshot:
    """Return one survey's snapshot, read from a store; `thorough` is that of :meth:`Store.find_losses`.

    Raises StoreError if the store lacks the survey, has lost reports, is a backup (BackupError), holds an
    incomplete import (IncompleteImportError), or the survey was deleted (DeletedSurveyError).
    """
    plan = read_stored_plan(store, survey)
    schedule = require_usable(store, survey)
    losses = store.find_losses(survey, counter_names(plan, read_shards(store, survey)), thorough)
    totals = join_shards(schedule.correct(store.totals(survey)))
    snapshot = make_snapshot(plan, totals, store.rejections(survey), losses=schedule.loss)
    require_living(store, survey)  # else a deletion that began meanwhile may have taken a part of the totals
    require_whole({survey: losses})
    return snapshot


def read_stored_plan(store: Store, survey: str) -> Plan | SiloPlan:
    """Read a survey's plan; StoreError if there is none, DeletedSurveyError if it was deleted."""
    plans = store.plans(survey)
    if survey not in plans:
        require_living(store, survey)
        raise unknown_survey_error(survey, store.plans())
    return ANY_PLANS.from_json(plans[survey])

"""A pilot: people that an earlier survey has told of, for one that asks about the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from encoders.errors import LdpError
from encoders.survey import Feature, Plan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.authoring.toml_text import quote
from ldp_aggregator.estimation import ClassConditional, estimate_parameters
from ldp_aggregator.models.model_file import FORMAT as MODEL
from ldp_aggregator.models.model_file import parse_model
from ldp_aggregator.simulation.expected_totals import ExpectedTotals
from ldp_aggregator.simulation.synthetic_people import SyntheticPopulation
from ldp_aggregator.sizing.margins import expected_margins
from ldp_aggregator.snapshot import FORMAT as SNAPSHOT
from ldp_aggregator.snapshot import Snapshot


class PilotError(LdpError):
    """A pilot that cannot be read, or that did not ask about the same."""


@dataclass(frozen=True)
class Pilot:
    """What a pilot says of people.

    Attributes
    ----------
    name : str
        What it is called in texts.
    plan : Plan
        Which it answered.
    prior : (k,) array
        P(label).
    conditionals : sequence of (A_i, k) arrays and Gaussians
        P(value | label) of each feature of its plan.
    reports : int
    """

    name: str
    plan: Plan
    prior: FloatArray
    conditionals: Sequence[ClassConditional]
    reports: int

    def people(self, plan: Plan) -> SyntheticPopulation:
        """Return the pilot's people as another survey sees them; it may ask about fewer features.

        Raises
        ------
        PilotError
            Naming the label or the feature that the pilot did not ask about, or asked about otherwise.
        """
        own, wanted = self.plan.label, plan.label
        if own.name != wanted.name:
            raise PilotError(
                f"{self.name}: its label is {quote(own.name)}, the survey's is {quote(wanted.name)}"
            )
        if own.values != wanted.values:
            raise PilotError(
                f"{self.name}: its label {quote(own.name)} has the values {_listed(own.values)}, "
                f"the survey's has {_listed(wanted.values)}"
            )
        return SyntheticPopulation(self.prior, tuple(map(self._said, plan.features)))

    @property
    def caution(self) -> str:
        """Say whose word is taken for people."""
        return (
            f"People are as the pilot of {self.reports:,} reports describes them; a larger one may find more."
        )

    @cached_property
    def noise(self) -> tuple[str, ...]:
        """The features that so few reports as the pilot's own tell too vaguely, see :mod:`margins`."""
        people = self.people(self.plan)
        margins = expected_margins(ExpectedTotals(self.plan, people), people, self.reports)
        return tuple(each.name for each in margins[1:] if each.is_noise)

    def as_dict(self) -> dict[str, Any]:
        """Return for JSON what it is called, how large it is and what it tells too vaguely."""
        return {"name": self.name, "reports": self.reports, "noise": list(self.noise)}

    def _said(self, feature: Feature) -> ClassConditional:
        names = [each.name for each in self.plan.features]
        if feature.name not in names:
            raise PilotError(f"{self.name}: it has no feature {quote(feature.name)}, which the survey has")
        place = names.index(feature.name)
        own, wanted = self.plan.features[place].as_dict(), feature.as_dict()
        differing = sorted(key for key in own.keys() | wanted.keys() if own.get(key) != wanted.get(key))
        if differing:
            raise PilotError(
                f"{self.name}: its feature {quote(feature.name)} differs from the survey's in "
                f"{', '.join(differing)}: size the survey that the pilot answered, or leave --pilot out"
            )
        return self.conditionals[place]


def read_pilot(path: Path) -> Pilot:
    """Read a model that ldp-train wrote, or a snapshot.

    Raises
    ------
    PilotError, ModelError, SnapshotError
        If it is neither, or damaged, or holds no reports.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PilotError(f"{path.name}: cannot be read: {error.strerror}") from error
    form = _format(data)
    if form not in (MODEL, SNAPSHOT):
        raise PilotError(f"{path.name}: neither a model of ldp-train nor a snapshot, or damaged")
    pilot = _of_model(data, path.name) if form == MODEL else _of_snapshot(data, path.name)
    if not pilot.reports:
        raise PilotError(f"{path.name}: it holds no reports: nobody has answered, so leave --pilot out")
    return pilot


def _of_model(data: bytes, name: str) -> Pilot:
    model = parse_model(data, name)
    return Pilot(name, model.plan, model.prior, model.conditionals, model.reports)


def _of_snapshot(data: bytes, name: str) -> Pilot:
    snapshot = Snapshot.from_json(data, name)
    found = estimate_parameters(snapshot)
    reports = sum(snapshot.totals[q.key].n for q in snapshot.plan.questions if q.key in snapshot.totals)
    return Pilot(name, snapshot.plan, found.prior, found.conditionals, reports)


def _format(data: bytes) -> object:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document.get("format") if isinstance(document, dict) else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quote, names))

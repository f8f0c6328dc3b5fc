"""A pilot: people that an earlier survey has told of, for one that asks about the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from encoders.errors import LdpError
from encoders.survey import Feature, Plan
from ldp_aggregator.authoring.toml_text import quote
from ldp_aggregator.estimation import Conditional, estimate_probabilities
from ldp_aggregator.imagined import People
from ldp_aggregator.models.model_file import parse_model
from ldp_aggregator.models.scoring import FloatArray
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
    conditionals: Sequence[Conditional]
    reports: int

    def people(self, plan: Plan) -> People:
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
        return People(self.prior, tuple(map(self._said, plan.features)))

    def _said(self, feature: Feature) -> Conditional:
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
        If it is neither, or damaged.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PilotError(f"{path.name}: cannot be read: {error.strerror}") from error
    if _format(data) != SNAPSHOT:
        model = parse_model(data, path.name)
        return Pilot(path.name, model.plan, model.prior, model.conditionals, model.reports)
    snapshot = Snapshot.from_json(data)
    found = estimate_probabilities(snapshot)
    reports = sum(snapshot.totals[q.key].n for q in snapshot.plan.questions if q.key in snapshot.totals)
    return Pilot(path.name, snapshot.plan, found.prior, found.conditionals, reports)


def _format(data: bytes) -> object:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document.get("format") if isinstance(document, dict) else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quote, names))

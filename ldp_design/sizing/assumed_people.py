"""A pilot: the model or snapshot of an earlier survey, which describes the people of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from encoders.errors import LdpError
from encoders.file_kind import describe_other, find_kind
from encoders.survey import Feature, Plan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.classifiers.model_file import parse_model
from ldp_aggregator.estimation import ClassConditional, estimate_parameters
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.synthetic_people import SyntheticPopulation
from ldp_design.authoring.toml_edit import quote
from ldp_design.simulation.expected_totals import ExpectedTotals
from ldp_design.sizing.margins import compute_expected_margins, features_of

_REMEDY = "size the survey that the pilot answered, or leave --pilot out"


class PilotError(LdpError):
    """A pilot that cannot be read, or that asked about another label or other features."""


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """The estimates of an earlier survey."""

    name: str
    """The pilot's name in messages."""
    plan: Plan
    """The plan of the pilot."""
    prior: FloatArray
    """P(label). Shape (k,)."""
    conditionals: Sequence[ClassConditional]
    """P(value | label) of each feature of the pilot's plan. Sequence of (A_i, k) arrays and Gaussians."""
    reports: int

    def build_population(self, plan: Plan) -> SyntheticPopulation:
        """Return the pilot's population with the features of another plan, which may have fewer.

        Raises
        ------
        PilotError
            If the pilot did not ask about the label or a feature, or defines it differently; the message has
        its name.
        """
        pilot, survey = self.plan.label, plan.label
        if pilot.name != survey.name:
            pilot_name, survey_name = (
                quote(each.name) if each.exists else "none" for each in (pilot, survey)
            )
            raise PilotError(
                f"{self.name}: its label is {pilot_name}, the survey's is {survey_name}: {_REMEDY}"
            )
        if pilot.values != survey.values:
            raise PilotError(
                f"{self.name}: its label {quote(pilot.name)} has the values {_join_quoted(pilot.values)}, "
                f"the survey's has {_join_quoted(survey.values)}: {_REMEDY}"
            )
        return SyntheticPopulation(self.prior, tuple(map(self._find_conditional, plan.features)))

    @cached_property
    def noise(self) -> tuple[str, ...]:
        """The features that are noise in the pilot itself, see :mod:`margins`."""
        expected = ExpectedTotals(self.plan, self.build_population(self.plan))
        margins = compute_expected_margins(expected, self.reports)
        return tuple(margin.name for margin in features_of(margins) if margin.is_noise)

    def as_dict(self) -> dict[str, Any]:
        """Return the name, the number of reports and the noisy features for JSON."""
        return {"name": self.name, "reports": self.reports, "noise": list(self.noise)}

    def _find_conditional(self, feature: Feature) -> ClassConditional:
        names = [each.name for each in self.plan.features]
        if feature.name not in names:
            raise PilotError(
                f"{self.name}: it has no feature {quote(feature.name)}, which the survey has: {_REMEDY}"
            )
        index = names.index(feature.name)
        pilot, survey = self.plan.features[index].as_dict(), feature.as_dict()
        differing = sorted(key for key in pilot.keys() | survey.keys() if pilot.get(key) != survey.get(key))
        if differing:
            raise PilotError(
                f"{self.name}: its feature {quote(feature.name)} differs from the survey's in "
                f"{', '.join(differing)}: {_REMEDY}"
            )
        return self.conditionals[index]


def read_pilot(path: Path) -> Pilot:
    """Read a model that ldp-train wrote, or a snapshot.

    Raises
    ------
    PilotError, ModelError, SnapshotError
        If the file is neither, is damaged, or holds no reports.
    """
    data = path.read_bytes()
    kind, _ = find_kind(data)
    if kind == "model":
        model = parse_model(data, path.name)
        plan, prior, conditionals, reports = model.people_plan, model.prior, model.conditionals, model.reports
    elif kind == "snapshot":
        snapshot = Snapshot.from_json(data, path.name)
        estimates = estimate_parameters(snapshot)
        plan, prior, conditionals = snapshot.plan, estimates.prior, estimates.conditionals
        keys = [question.key for question in plan.questions]
        reports = sum(snapshot.totals[key].n for key in keys if key in snapshot.totals)
    else:
        why = f"is neither a model of ldp-train nor a snapshot, or it is damaged{describe_other(data)}"
        raise PilotError(f"{path.name}: {why}")
    if not reports:
        raise PilotError(f"{path.name}: it does not contain a report yet: leave --pilot out")
    return Pilot(name=path.name, plan=plan, prior=prior, conditionals=conditionals, reports=reports)


def _join_quoted(names: Sequence[str]) -> str:
    return ", ".join(map(quote, names))

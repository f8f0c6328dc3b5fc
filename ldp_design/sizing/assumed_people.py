"""The people that a size assumes: equal shares, shares of the labels that the author expects, or a pilot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from encoders.errors import LdpError
from encoders.file_kind import describe_other, find_kind
from encoders.survey import Feature, Plan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, NaiveBayesParameters, estimate_parameters
from ldp_aggregator.results_file import read_trained
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_aggregator.snapshot import Snapshot
from ldp_design.authoring.toml_edit import quote
from ldp_design.sizing.margins import ExpectedTotals, compute_expected_margins, features_of

FEATURE_STRENGTHS = {"little": (1.25, 0.25), "much": (2.0, 1.0)}
"""Without a pilot, how strongly features are related to the label: the ratio and the mean shift of
:meth:`SyntheticPopulation.from_strength`."""
PILOT = "pilot"
LabelShares = tuple[float, ...]
"""The assumed share of each label, in the order of the survey."""
_MANY_PEOPLE = 10**9


# -- the shares of the labels that an author expects ------------------------------------------------


_MAX_SUM_ERROR = 0.01
_RARE_SHARE = 0.1
"""The share of the example of a rare label; smaller if the survey has many labels."""


class LabelSharesError(LdpError):
    """Shares that do not describe the labels of a survey."""


def make_rare_shares(labels: int) -> tuple[float, ...]:
    """Return shares of the labels of which the first is rare, and all others are equally frequent."""
    share = min(_RARE_SHARE, 1 / (2 * labels))
    return share, *[(1 - share) / max(labels - 1, 1)] * (labels - 1)


def parse_label_shares(text: str, labels: Sequence[str]) -> tuple[float, ...]:
    """Return the share of each label, in the order of `labels`; they add up to 1.

    A label may contain commas and equals signs: names are matched from the longest one on.
    Raises LabelSharesError if the survey has no label, if a label is unknown, missing or named twice, if a
    share is not a number above 0, or if the shares do not add up to 1 within 0.01.
    """
    if len(labels) < 2:
        raise LabelSharesError("the survey has no label: leave this option out")
    shares: dict[str, float] = {}
    rest = text.strip()
    while rest:
        name = next(
            (each for each in sorted(labels, key=len, reverse=True) if rest.startswith(f"{each}=")), None
        )
        if name is None:
            unknown = rest.partition("=")[0]
            raise LabelSharesError(f"{quote(unknown)} is not a label: choose among {_join(labels)}")
        value, _, rest = rest[len(name) + 1 :].partition(",")
        if name in shares:
            raise LabelSharesError(f"{quote(name)} occurs twice: give each label once")
        shares[name] = _parse_share(name, value.strip())
        rest = rest.lstrip()
    missing = [label for label in labels if label not in shares]
    if missing:
        raise LabelSharesError(
            f"there is no share of {_join(missing)}: give each label a share, as in yes=0.1,no=0.9"
        )
    total = math.fsum(shares.values())
    if abs(total - 1) > _MAX_SUM_ERROR:
        raise LabelSharesError(f"the shares add up to {total:.4g}: change them so that they add up to 1")
    return tuple(shares[label] / total for label in labels)


def _parse_share(name: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise LabelSharesError(f"{quote(name)} has the share {text!r}: write a number as in 0.05")
    return share


def _join(names: Sequence[str]) -> str:
    return ", ".join(map(quote, names))


def to_prior(label_shares: LabelShares | None) -> FloatArray | None:
    """Return the shares of the labels as a distribution; None if they are equal."""
    return None if label_shares is None else np.array(label_shares) / sum(label_shares)


def compute_rare_label_factor(plan: Plan) -> str | None:
    """Return the factor of people that the widest margin needs if the first label is rare.

    With many people a margin is proportional to one over the root of their number. None if the survey asks
    about no feature.
    """
    k = len(plan.label.values)
    margins = []
    for prior in (np.full(k, 1 / k), np.array(make_rare_shares(k))):
        expected = ExpectedTotals(plan, SyntheticPopulation.uniform(plan, prior))
        found = features_of(compute_expected_margins(expected, _MANY_PEOPLE))
        if not found:
            return None
        margins.append(max(margin.share for margin in found))
    return f"{(margins[1] / margins[0]) ** 2:.0f}"


# -- a pilot: an earlier survey ---------------------------------------------------------------------


_REMEDY = "size the survey that the pilot answered, or leave --pilot out"


class PilotError(LdpError):
    """A pilot that cannot be read, or that asked about another label or other features."""


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """The estimates of an earlier survey."""

    name: str
    plan: Plan
    prior: FloatArray
    """P(label). Shape (k,)."""
    conditionals: Sequence[ClassConditional]
    """P(value | label) of each feature of the pilot's plan. Sequence of (A_i, k) arrays and Gaussians."""
    reports: int

    def build_population(self, plan: Plan) -> SyntheticPopulation:
        """Return the pilot's population with another plan's features; PilotError if the pilot lacks one."""
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
                f"{self.name}: its label {quote(pilot.name)} has the values {_join(pilot.values)}, "
                f"the survey's has {_join(survey.values)}: {_REMEDY}"
            )
        return SyntheticPopulation(self.prior, tuple(map(self._find_conditional, plan.features)))

    @cached_property
    def noise(self) -> tuple[str, ...]:
        """The features that are noise in the pilot itself, see :mod:`margins`."""
        expected = ExpectedTotals(self.plan, self.build_population(self.plan))
        margins = compute_expected_margins(expected, self.reports)
        return tuple(margin.name for margin in features_of(margins) if margin.is_noise)

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
    """Read a model of ldp-train or a snapshot; PilotError, ModelError or SnapshotError for other files."""
    data = path.read_bytes()
    kind, _ = find_kind(data)
    if kind == "model":
        plan, results = read_trained(data, path.name)
        assert isinstance(results.classifier, NaiveBayesParameters)
        found, reports = results.classifier, results.estimates.reports
    elif kind == "snapshot":
        snapshot = Snapshot.from_json(data, path.name)
        plan, found = snapshot.plan, estimate_parameters(snapshot)
        keys = [question.key for question in plan.questions]
        reports = sum(snapshot.totals[key].n for key in keys if key in snapshot.totals)
    else:
        why = f"is neither a model of ldp-train nor a snapshot, or it is damaged{describe_other(data)}"
        raise PilotError(f"{path.name}: {why}")
    if not reports:
        raise PilotError(f"{path.name}: it does not contain a report yet: leave --pilot out")
    return Pilot(
        name=path.name, plan=plan, prior=found.prior, conditionals=found.conditionals, reports=reports
    )


def assume_population(
    plan: Plan, pilot: Pilot | None, label_shares: LabelShares | None
) -> SyntheticPopulation:
    """Return the pilot's population, or one in which no feature depends on the label."""
    if pilot:
        return pilot.build_population(plan)
    return SyntheticPopulation.uniform(plan, to_prior(label_shares))

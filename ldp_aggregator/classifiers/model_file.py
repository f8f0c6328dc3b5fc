"""Reads and writes model files: canonical JSON with a checksum, never pickle.

A model file holds the plan and its digest, a privacy statement, and every estimate with its errors. The
probabilities that the classifier uses are among the estimates. The checksum detects a file that was truncated
or edited by hand.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from encoders.errors import SurveyError
from encoders.survey import NumericFeature, Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.classifiers.curator_file import read_central_content
from ldp_aggregator.classifiers.model_document import (
    DAMAGED_ERRORS,
    FORMAT,
    VERSION,
    ModelError,
    ModelKind,
    check_missing,
    dump_content,
    inconsistent,
    parse_content,
    read_file,
    read_model_plan,
)
from ldp_aggregator.classifiers.usefulness import find_useless
from ldp_aggregator.estimation import ClassConditional, Estimates, FeatureResult, NumberResult
from ldp_aggregator.estimation.json_form import reading, require
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.privacy_statement import AuditResult, PrivacyStatement, state_privacy
from ldp_aggregator.snapshot import AnySnapshot
from ldp_aggregator.snapshot_plans import dump_plan_entry
from ldp_aggregator.views.survey_results import SurveyResults

if TYPE_CHECKING:
    from ldp_aggregator.classifiers.survey_classifier import SurveyClassifier
    from ldp_aggregator.classifiers.survey_estimates import SurveyEstimates

__all__ = [
    "FORMAT",
    "Model",
    "ModelError",
    "dump_model",
    "load_model",
    "parse_model",
    "read_model",
    "save_model",
]


def save_model(
    path: str | os.PathLike[str],
    snapshot: AnySnapshot,
    estimates: Estimates,
    audit: AuditResult | None = None,
) -> None:
    """Write a model file atomically.

    Parameters
    ----------
    path : path
        The file to write; a new file can be read only by its owner.
    snapshot : Snapshot or SiloSnapshot
        The counters that the estimates were computed from.
    estimates : Estimates
    audit : AuditResult, optional
        The audit of the survey's plan, see :func:`~ldp_aggregator.privacy_statement.read_audit`.
    """
    write_atomically(path, dump_model(snapshot, estimates, audit))


def dump_model(snapshot: AnySnapshot, estimates: Estimates, audit: AuditResult | None = None) -> bytes:
    """Return the bytes of a model file."""
    plan = snapshot.plan
    if isinstance(plan, Plan):
        refuse_validation(plan)
    silos = estimates.silos.snapshots if estimates.silos else ()
    return dump_content(
        {
            "format": FORMAT,
            "version": VERSION,
            "kind": ModelKind.SILOS if silos else ModelKind.PEOPLE,
            **dump_plan_entry(plan),
            "plan_digest": plan.digest,
            "privacy": state_privacy(snapshot, audit, estimates.validation_snapshot, silos).as_dict(),
            "estimates": estimates.as_dict(),
        }
    )


@dataclass(frozen=True)
class Model:
    """The content of a model file."""

    plan: Plan | SiloPlan
    estimates: Estimates
    privacy: PrivacyStatement

    @property
    def prior(self) -> FloatArray:
        """P(label), smoothed. Shape (k,)."""
        return self.estimates.prior

    @property
    def conditionals(self) -> tuple[ClassConditional, ...]:
        """P(value | label) of each feature, smoothed: (A_i, k) arrays and Gaussians."""
        return tuple(each.smoothed for each in self.estimates.features)

    @property
    def reports(self) -> int:
        """Number of reports that the model was trained on."""
        return self.estimates.reports

    @property
    def results(self) -> SurveyResults:
        """What pages and cards show of the model."""
        return SurveyResults(
            plan=self.plan,
            estimates=self.estimates,
            privacy=self.privacy,
            useless=find_useless(self.estimates),
        )

    @property
    def people_plan(self) -> Plan:
        """The plan, if it is one of people.

        Raises
        ------
        ModelError
            If the model was trained on messages of silos alone.
        """
        if isinstance(self.plan, SiloPlan):
            raise ModelError(
                f"{self.plan.id} is a survey of silos, and this needs a model of people's reports"
            )
        return self.plan


def load_model(path: str | os.PathLike[str]) -> SurveyClassifier | SurveyEstimates:
    """Read a model file of ldp-train or ldp-central into a fitted classifier.

    Returns
    -------
    NaiveBayes, CentralClassifier or SurveyEstimates
        A survey without a label has only estimates.

    Raises
    ------
    ModelError
        If the file cannot be read, is not a model file, is truncated, was edited by hand, or has another
        version.

    Examples
    --------
    >>> load_model("absent.json")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    ModelError: absent.json: cannot be read: No such file or directory
    """
    # these load scikit-learn
    from ldp_aggregator.classifiers.curator_classifier import CentralClassifier, CentralEstimates
    from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
    from ldp_aggregator.classifiers.survey_estimates import SurveyEstimates

    name = str(path)
    content = parse_content(read_file(path), name)
    if content["kind"] == ModelKind.CENTRAL:
        central = read_central_content(content, name)
        has_label = central.plan.label.exists
        return CentralClassifier.from_file(central) if has_label else CentralEstimates(central)
    model = _read_model(content, name)
    if not model.estimates.has_label:
        return SurveyEstimates(model.results)
    return NaiveBayes.from_probabilities(
        model.plan, model.prior, model.conditionals, model.estimates, model.privacy
    )


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file of ldp-train.

    Raises
    ------
    ModelError
        As for :func:`load_model`, and if ldp-central wrote the file.
    """
    return parse_model(read_file(path), str(path))


def parse_model(data: bytes, name: str = "model") -> Model:
    """Return the model in the bytes of a file of ldp-train; errors begin with `name`."""
    content = parse_content(data, name)
    if content["kind"] == ModelKind.CENTRAL:
        raise ModelError(
            f"{name}: was trained by ldp-central on rows of a curator, and this needs a model of ldp-train, "
            "which is made from reports"
        )
    return _read_model(content, name)


def _read_model(content: dict[str, Any], name: str) -> Model:
    try:
        return _read_content(content)
    except (KeyError, SurveyError, *DAMAGED_ERRORS) as error:
        raise inconsistent(name, error) from error


def _read_content(content: dict[str, Any]) -> Model:
    plan = read_model_plan(content)
    with reading("estimates"):
        estimates = Estimates.from_dict(content["estimates"])
        _check_same_plan(estimates, plan)
    with reading("privacy"):
        privacy = PrivacyStatement.from_dict(content["privacy"])
    if content["kind"] == ModelKind.SILOS:
        require(bool(privacy.silos and estimates.silos), "kind: needs estimates and a statement of silos")
    else:
        require(isinstance(plan, Plan), "kind: a plan of silos needs the kind silos")
        require(privacy.people is not None, "privacy: needs a statement about reports")
    return Model(plan=plan, estimates=estimates, privacy=privacy)


def _check_same_plan(estimates: Estimates, plan: Plan | SiloPlan) -> None:
    """Raise ValueError unless the estimates are of the label and the features of a plan."""
    is_same_label = (estimates.label, estimates.classes) == (plan.label.name, tuple(plan.label.values))
    require(is_same_label, "label: is not that of the plan")
    require(len(estimates.features) == len(plan.features), "the number of features is not that of the plan")
    for feature, result in zip(plan.features, estimates.features, strict=True):
        with reading(feature.name):
            require((result.name, result.kind) == (feature.name, feature.kind), "is not that of the plan")
            if isinstance(result, NumberResult) and isinstance(feature, NumericFeature):
                check_missing(result.overall.missing, feature)
                check_missing(result.by_class.missing, feature)
                if estimates.has_label:
                    check_missing(result.smoothed.missing, feature)
                require(result.width == feature.width, "width: is not that of the plan")
            elif isinstance(result, FeatureResult) and not isinstance(feature, NumericFeature):
                require(list(result.values) == list(feature.texts), "values: are not those of the plan")

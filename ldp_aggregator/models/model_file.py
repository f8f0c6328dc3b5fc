"""Reads and writes model files: canonical JSON with a checksum, never pickle.

A model file holds the plan and its digest, a privacy statement, every estimate with its errors, and the
probabilities that the classifier uses. These are among the estimates; only a classifier that was fitted to
rows without labels has tables of its own. The checksum detects a file that was truncated or edited by hand.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.errors import LdpError, SurveyError
from encoders.survey import Plan
from encoders.survey.canonical import dump_canonical_json
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.estimation import ClassConditional, Estimates
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.models.file_content import (
    check_estimates,
    check_unlabelled,
    dump_classifier,
    read_classifier,
    read_conditional,
    read_probabilities,
    require,
)
from ldp_aggregator.models.file_keys import ESTIMATE_KEYS, FILE_KEYS, rename_keys
from ldp_aggregator.models.privacy_statement import build_privacy_statement
from ldp_aggregator.results.unlabelled_text import is_fitted, state_privacy
from ldp_aggregator.snapshot import Snapshot

if TYPE_CHECKING:
    from ldp_aggregator.models.naive_bayes import NaiveBayes
    from ldp_aggregator.models.unlabelled_training import UnlabelledClassifier

FORMAT = "ldp-bayes model"
VERSION = 1
FITTED_VERSION = 2
"""The version of a file whose classifier does not use the estimates, which readers of version 1 would use."""
_RETRAIN_HINT = "Restore the original or run ldp-train again"


class ModelError(LdpError):
    """A model or model file that cannot be used; the message states what is wrong and what to do."""


def save_model(
    path: str | os.PathLike[str],
    snapshot: Snapshot,
    estimates: Estimates,
    audit: dict[str, Any] | None = None,
    classifier: UnlabelledClassifier | None = None,
) -> None:
    """Write a model file atomically.

    Parameters
    ----------
    path : path
        The file to write; a new file can be read only by its owner.
    snapshot : Snapshot
        The counters that the estimates were computed from.
    estimates : Estimates
    audit : dict, optional
        The audit of the survey's plan, see :func:`~ldp_aggregator.models.privacy_statement.read_audit`.
    classifier : UnlabelledClassifier, optional
        The classifier that rows without labels were given for, see
        :func:`~ldp_aggregator.models.unlabelled_training.fit_unlabelled`.
    """
    write_atomically(path, dump_model(snapshot, estimates, audit, classifier))


def dump_model(
    snapshot: Snapshot,
    estimates: Estimates,
    audit: dict[str, Any] | None = None,
    classifier: UnlabelledClassifier | None = None,
) -> bytes:
    """Return the bytes of a model file."""
    plan = snapshot.plan
    refuse_validation(plan)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "plan": json.loads(plan.json),
        "plan_digest": plan.digest,
        "privacy": build_privacy_statement(snapshot, audit, estimates.validation_snapshot),
        "estimates": rename_keys(estimates.as_dict(), FILE_KEYS),
    }
    if classifier:
        content["privacy"]["unlabelled_rows"] = state_privacy(classifier.description)
        content["unlabelled"] = classifier.description
        if classifier.kept:
            content["version"] = FITTED_VERSION
            content["classifier"] = dump_classifier(classifier.prior, classifier.conditionals)
    return dump_canonical_json({**content, "checksum": _compute_checksum(content)}) + b"\n"


@dataclass(frozen=True)
class Model:
    """The content of a model file.

    Attributes
    ----------
    plan : Plan
    prior : (k,) array
        P(label), smoothed: Naive Bayes uses it.
    conditionals : tuple of (A_i, k) arrays and Gaussians
        P(value | label) of each feature of the plan, smoothed: Naive Bayes uses them.
    classifier : (prior, conditionals)
        What the classifier uses: the above, or weights that were fitted to rows without labels.
    estimates : dict
        Everything estimated, see :meth:`Estimates.as_dict`.
    privacy : dict
        The privacy statement; empty if the file has none.
    unlabelled : dict or None
        What rows without labels did to the classifier, see :class:`UnlabelledClassifier`; None without rows.
    """

    plan: Plan
    prior: FloatArray
    conditionals: tuple[ClassConditional, ...]
    classifier: tuple[FloatArray, tuple[ClassConditional, ...]]
    estimates: dict[str, Any]
    privacy: dict[str, Any]
    unlabelled: dict[str, Any] | None = None

    @property
    def reports(self) -> int:
        """Number of reports that the model was trained on."""
        return int(self.estimates["reports"])


def load_model(path: str | os.PathLike[str]) -> NaiveBayes:
    """Read a model file into a fitted classifier.

    Raises
    ------
    ModelError
        See :func:`read_model`.
    """
    from ldp_aggregator.models.naive_bayes import NaiveBayes  # loads scikit-learn

    model = read_model(path)
    return NaiveBayes.from_probabilities(
        model.plan, *model.classifier, model.estimates, model.privacy, model.unlabelled
    )


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file.

    Raises
    ------
    ModelError
        If the file cannot be read, is not a model file, is truncated, was edited by hand, or has another
        version.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    return parse_model(data, str(path))


def parse_model(data: bytes, name: str = "model") -> Model:
    """Return the model in the bytes of a model file; errors begin with `name`."""
    content = _parse_json(data, name)
    if content.get("format") != FORMAT:
        raise ModelError(f"{name}: this is not a model file; ldp-train writes model files")
    if content.get("version") not in (VERSION, FITTED_VERSION):
        raise ModelError(
            f"{name}: the file has version {content.get('version')!r}, and only versions {VERSION} and "
            f"{FITTED_VERSION} are supported: train again, or use the release that wrote it"
        )
    checksum = content.pop("checksum", None)
    if not _has_checksum(content, checksum):
        raise ModelError(
            f"{name}: the checksum does not match: the file was edited or damaged. {_RETRAIN_HINT}"
        )
    try:
        return _read_content(content)
    except KeyError as error:
        why = f"the content is inconsistent (it has no entry {error})"
        raise ModelError(f"{name}: {why}. {_RETRAIN_HINT}") from error
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError, SurveyError) as error:
        raise ModelError(f"{name}: the content is inconsistent ({error}). {_RETRAIN_HINT}") from error


def _parse_json(data: bytes, name: str) -> dict[str, Any]:
    try:
        content = json.loads(
            data.decode("utf-8"),
            parse_constant=_parse_finite,
            parse_float=_parse_finite,
            object_pairs_hook=_build_dict,
        )
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"{name}: not readable ({error}): the file was truncated or edited. {_RETRAIN_HINT}"
        ) from error
    if not isinstance(content, dict):
        raise ModelError(f"{name}: this is not a model file; ldp-train writes model files")
    return content


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it contains the number {text}, which is not finite")
    return number


def _build_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _read_content(content: dict[str, Any]) -> Model:
    plan = Plan.from_json(dump_canonical_json(content["plan"]))
    if plan.digest != content["plan_digest"]:
        raise ValueError("plan_digest is not the digest of the plan")
    k = len(plan.label.values)
    estimates = content["estimates"]
    check_estimates(estimates)
    prior = read_probabilities(estimates["label"]["smoothed"], (k,), plan.label.name)
    if len(estimates["features"]) != len(plan.features):
        raise ValueError("the number of features is not that of the plan")
    conditionals = tuple(
        read_conditional(entry["smoothed"], feature, k)
        for feature, entry in zip(plan.features, estimates["features"], strict=True)
    )
    privacy = content.get("privacy", {})
    require(isinstance(privacy, dict), "privacy: needs an object")
    classifier, unlabelled = (prior, conditionals), content.get("unlabelled")
    if unlabelled is not None:
        check_unlabelled(unlabelled)
    if content["version"] == FITTED_VERSION:
        require(is_fitted(unlabelled), "version 2 needs a classifier that was fitted to rows without labels")
        classifier = read_classifier(content["classifier"], plan.features, k)
    return Model(
        plan=plan,
        prior=prior,
        conditionals=conditionals,
        classifier=classifier,
        estimates=rename_keys(estimates, ESTIMATE_KEYS),
        privacy=privacy,
        unlabelled=unlabelled,
    )


def _compute_checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(dump_canonical_json(content)).hexdigest()


def _has_checksum(content: dict[str, Any], checksum: object) -> bool:
    try:
        return checksum == _compute_checksum(content)
    except (ValueError, RecursionError):  # half of a surrogate pair has no UTF-8 form
        return False

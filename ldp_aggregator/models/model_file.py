"""Reads and writes model files: canonical JSON with a checksum, never pickle.

A model file holds the plan and its digest, a privacy statement, every estimate with its errors, and the
probabilities that the classifier uses. The checksum detects a file that was truncated or edited by hand.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.errors import LdpError, SurveyError
from encoders.survey import Feature, NumericFeature, Plan
from encoders.survey.canonical import dump_canonical_json
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.estimation import ClassConditional, Estimates, Gaussian
from ldp_aggregator.estimation.numeric.variance_floor import MIN_VARIANCE
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.models.file_keys import ESTIMATE_KEYS, FILE_KEYS, rename_keys
from ldp_aggregator.models.privacy_statement import build_privacy_statement
from ldp_aggregator.snapshot import Snapshot

if TYPE_CHECKING:
    from ldp_aggregator.models.naive_bayes import NaiveBayes

FORMAT = "ldp-bayes model"
VERSION = 1
_SUM_TOLERANCE = 1e-6
_RETRAIN_HINT = "Restore the original or run ldp-train again"


class ModelError(LdpError):
    """A model or model file that cannot be used; the message states what is wrong and what to do."""


def save_model(
    path: str | os.PathLike[str],
    snapshot: Snapshot,
    estimates: Estimates,
    audit: dict[str, Any] | None = None,
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
    """
    write_atomically(path, dump_model(snapshot, estimates, audit))


def dump_model(snapshot: Snapshot, estimates: Estimates, audit: dict[str, Any] | None = None) -> bytes:
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
    return dump_canonical_json({**content, "checksum": _compute_checksum(content)}) + b"\n"


@dataclass(frozen=True)
class Model:
    """The content of a model file.

    Attributes
    ----------
    plan : Plan
    prior : (k,) array
        P(label), for the classifier.
    conditionals : tuple of (A_i, k) arrays and Gaussians
        P(value | label) of each feature of the plan, for the classifier.
    estimates : dict
        Everything estimated, see :meth:`Estimates.as_dict`.
    privacy : dict
        The privacy statement; empty if the file has none.
    """

    plan: Plan
    prior: FloatArray
    conditionals: tuple[ClassConditional, ...]
    estimates: dict[str, Any]
    privacy: dict[str, Any]

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
        model.plan, model.prior, model.conditionals, model.estimates, model.privacy
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
    if content.get("version") != VERSION:
        raise ModelError(
            f"{name}: the file has version {content.get('version')!r}, and only version {VERSION} is "
            "supported: train again, or use the release that wrote it"
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
    _check_estimates(estimates)
    prior = _read_probabilities(estimates["label"]["smoothed"], (k,), plan.label.name)
    if len(estimates["features"]) != len(plan.features):
        raise ValueError("the number of features is not that of the plan")
    conditionals = tuple(
        _read_conditional(entry["smoothed"], feature, k)
        for feature, entry in zip(plan.features, estimates["features"], strict=True)
    )
    privacy = content.get("privacy", {})
    _require(isinstance(privacy, dict), "privacy: needs an object")
    return Model(plan, prior, conditionals, rename_keys(estimates, ESTIMATE_KEYS), privacy)


def _check_estimates(estimates: dict[str, Any]) -> None:
    """Check the entries of `estimates` that commands read; the error names the wrong entry."""
    _require(isinstance(estimates["estimator"], str), "estimates.estimator: needs a text")
    _require(_is_count(estimates["reports"]), "estimates.reports: needs a whole number below 2^63")
    for index, entry in enumerate(estimates["features"]):
        relevance = entry.get("relevance", {})  # files of older releases lack it
        for name in ("value", "stderr", "low", "high", "noise"):
            is_number = type(relevance.get(name)) in (float, type(None)) or _is_count(relevance[name])
            _require(is_number, f"estimates.features.{index}.relevance.{name}: needs a number or null")
        maximum = relevance.get("maximum", 1.0)
        is_maximum = type(maximum) is float or _is_count(maximum)
        _require(is_maximum, f"estimates.features.{index}.relevance.maximum: needs a number")
    validation = estimates.get("validation")
    if validation is not None:
        _require(_is_count(validation["reports"]), "estimates.validation.reports: needs a whole number")
        result, field = validation["verdicts"], "estimates.validation.verdicts"
        names, count = result["features"], result["kept"]
        are_names = isinstance(names, list) and all(isinstance(name, str) for name in names)
        _require(are_names, f"{field}.features: needs a list of names")
        _require(count is None or _is_count(count), f"{field}.kept: needs a whole number or null")


def _is_count(number: object) -> bool:
    return type(number) is int and 0 <= number < 2**63


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)


def _read_conditional(smoothed: Any, feature: Feature, k: int) -> ClassConditional:
    """Return P(value | label) of one feature from its entry `smoothed`."""
    if not isinstance(feature, NumericFeature):
        return _read_probabilities(smoothed, (feature.size, k), feature.name)
    mean, variance = (np.asarray(smoothed[key], dtype=np.float64) for key in ("mean", "variance"))
    if mean.shape != (k,) or variance.shape != (k,) or not np.isfinite(mean).all():
        raise ValueError(f"the means or variances of {feature.name} are invalid")
    if not (np.isfinite(variance) & (variance >= MIN_VARIANCE)).all():
        raise ValueError(f"a variance of {feature.name} is less than {MIN_VARIANCE:g}")
    if (smoothed["missing"] is None) != (feature.missing == "error"):
        raise ValueError(f"{feature.name} has shares of missing values but cannot be missing, or lacks them")
    if smoothed["missing"] is None:
        return Gaussian(mean, variance, None)
    missing = np.asarray(smoothed["missing"], dtype=np.float64)
    if missing.shape != (k,) or not ((missing > 0) & (missing < 1)).all():  # 0 or 1 would exclude a label
        raise ValueError(f"the shares of missing values of {feature.name} are not between 0 and 1")
    return Gaussian(mean, variance, missing)


def _read_probabilities(nested: object, shape: tuple[int, ...], name: str) -> FloatArray:
    """Read probabilities that add up to one along the first axis."""
    array = np.asarray(nested, dtype=np.float64)
    is_valid = array.shape == shape and bool((array >= 0).all())
    if not is_valid or abs(array.sum(axis=0) - 1).max() > _SUM_TOLERANCE:
        raise ValueError(f"the probabilities of {name} are invalid or do not add up to one")
    return array


def _compute_checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(dump_canonical_json(content)).hexdigest()


def _has_checksum(content: dict[str, Any], checksum: object) -> bool:
    try:
        return checksum == _compute_checksum(content)
    except (ValueError, RecursionError):  # half of a surrogate pair has no UTF-8 form
        return False

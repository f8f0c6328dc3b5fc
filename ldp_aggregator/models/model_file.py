"""The model file: canonical JSON that carries its own proof of being whole. Never pickle.

What it holds: the plan and its digest, a statement on privacy, every estimate with its errors, and the
probabilities the classifier uses. A checksum over all of it tells a truncated or hand-edited file from a
good one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from encoders.errors import LdpError, SurveyError
from encoders.survey import Feature, NumericFeature, Plan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.estimation import ClassConditional, Estimates, Gaussian
from ldp_aggregator.estimation.numeric.gaussians import MIN_VARIANCE
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.models.naive_bayes import NaiveBayes
from ldp_aggregator.models.privacy_statement import build_privacy_statement
from ldp_aggregator.snapshot import Snapshot

FORMAT = "ldp-bayes model"
VERSION = 1
_SUM_SLACK = 1e-6


class ModelError(LdpError):
    """A model or its file that cannot be used so; says what is wrong with it and what to do."""


def save_model(
    path: str | os.PathLike[str],
    snapshot: Snapshot,
    estimates: Estimates,
    audit: dict[str, Any] | None = None,
) -> None:
    """Write a model file, whole or not at all.

    Parameters
    ----------
    path : path
        Replaced atomically; a new file can be read by its owner alone.
    snapshot : Snapshot
        What the estimates were made from.
    estimates : Estimates
    audit : dict, optional
        Of the survey's plan, see :func:`~ldp_aggregator.models.privacy_statement.read_audit`.
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
        "estimates": estimates.as_dict(),
    }
    return _canonical({**content, "checksum": _checksum(content)}) + b"\n"


@dataclass(frozen=True)
class Model:
    """What a model file holds.

    Attributes
    ----------
    plan : Plan
    prior : (k,) array
        P(label), for the classifier.
    conditionals : tuple of (A_i, k) arrays and Gaussians
        P(value | label) of each feature of the plan, for the classifier.
    estimates : dict
        Everything estimated, see :meth:`Estimates.as_dict`.
    """

    plan: Plan
    prior: FloatArray
    conditionals: tuple[ClassConditional, ...]
    estimates: dict[str, Any]

    @property
    def reports(self) -> int:
        """How many reports it was trained on."""
        return int(self.estimates["reports"])


def load_model(path: str | os.PathLike[str]) -> NaiveBayes:
    """Read a model file into a fitted classifier.

    Raises
    ------
    ModelError
        See :func:`read_model`.
    """
    model = read_model(path)
    return NaiveBayes.from_probabilities(model.plan, model.prior, model.conditionals, model.estimates)


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file.

    Raises
    ------
    ModelError
        If the file cannot be read, is no model file, is truncated, was edited by hand, or has
        another version.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    return parse_model(data, str(path))


def parse_model(data: bytes, name: str = "model") -> Model:
    """Read the bytes of a model file; `name` appears in errors."""
    content = _parse(data, name)
    if content.get("format") != FORMAT:
        raise ModelError(f"{name}: this is no model file; ldp-train writes them")
    if content.get("version") != VERSION:
        raise ModelError(
            f"{name}: the file has version {content.get('version')!r}, and only version {VERSION} is "
            "understood: train again, or use the release that wrote it"
        )
    checksum = content.pop("checksum", None)
    if not _fits(checksum, content):
        raise ModelError(f"{name}: the checksum does not fit: the file was edited or damaged. {_AGAIN}")
    try:
        return _build(content)
    except KeyError as error:
        why = f"the content does not fit together (it has no entry {error})"
        raise ModelError(f"{name}: {why}. {_AGAIN}") from error
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError, SurveyError) as error:
        raise ModelError(f"{name}: the content does not fit together ({error}). {_AGAIN}") from error


_AGAIN = "Restore the original or run ldp-train again"


def _parse(data: bytes, name: str) -> dict[str, Any]:
    try:
        content = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_unique,
        )
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"{name}: not readable ({error}): the file was truncated or edited. {_AGAIN}"
        ) from error
    if not isinstance(content, dict):
        raise ModelError(f"{name}: this is no model file; ldp-train writes them")
    return content


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"it contains {text}, and every number must be finite")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse_constant(text)
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _build(content: dict[str, Any]) -> Model:
    plan = Plan.from_json(_canonical(content["plan"]))
    if plan.digest != content["plan_digest"]:
        raise ValueError("the plan does not have the digest it should have")
    k = len(plan.label.values)
    estimates = content["estimates"]
    _check_estimates(estimates)
    prior = _distribution(estimates["label"]["smoothed"], (k,), plan.label.name)
    if len(estimates["features"]) != len(plan.features):
        raise ValueError("the features are not those of the plan")
    conditionals = tuple(
        _conditional(entry["smoothed"], feature, k)
        for feature, entry in zip(plan.features, estimates["features"], strict=True)
    )
    return Model(plan, prior, conditionals, estimates)


def _check_estimates(estimates: dict[str, Any]) -> None:
    """Check the entries that commands read besides the probabilities, and name one that is wrong."""
    _require(isinstance(estimates["estimator"], str), "estimates.estimator: needs a text")
    _require(_is_count(estimates["reports"]), "estimates.reports: needs a whole number below 2^63")
    for place, entry in enumerate(estimates["features"]):
        relevance = entry.get("relevance", {})  # files of older releases lack it
        for name in ("value", "stderr", "low", "high", "noise"):
            known = type(relevance.get(name)) in (float, type(None)) or _is_count(relevance[name])
            _require(known, f"estimates.features.{place}.relevance.{name}: needs a number or null")
    judged = estimates.get("validation")
    if judged is not None:
        _require(_is_count(judged["reports"]), "estimates.validation.reports: needs a whole number")
        verdicts, field = judged["verdicts"], "estimates.validation.verdicts"
        names, kept = verdicts["features"], verdicts["kept"]
        good = isinstance(names, list) and all(isinstance(name, str) for name in names)
        _require(good, f"{field}.features: needs a list of names")
        _require(kept is None or _is_count(kept), f"{field}.kept: needs a whole number or null")


def _is_count(number: object) -> bool:
    return type(number) is int and 0 <= number < 2**63


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)


def _conditional(smoothed: Any, feature: Feature, k: int) -> ClassConditional:
    """Read what the classifier needs of one feature."""
    if not isinstance(feature, NumericFeature):
        return _distribution(smoothed, (feature.size, k), feature.name)
    mean, variance = (np.asarray(smoothed[key], dtype=np.float64) for key in ("mean", "variance"))
    if mean.shape != (k,) or variance.shape != (k,) or not np.isfinite(mean).all():
        raise ValueError(f"the means or variances of {feature.name} are none")
    if not (np.isfinite(variance) & (variance >= MIN_VARIANCE)).all():
        raise ValueError(f"a variance of {feature.name} is less than {MIN_VARIANCE:g}")
    if (smoothed["missing"] is None) != (feature.missing == "error"):
        raise ValueError(f"{feature.name} has shares of missing values where it should not, or the reverse")
    return Gaussian(mean, variance, _shares(smoothed["missing"], k, feature.name))


def _shares(nested: object, k: int, name: str) -> FloatArray | None:
    """Read P(missing | label): above zero and below one, or every row would veto a label."""
    if nested is None:
        return None
    array = np.asarray(nested, dtype=np.float64)
    if array.shape != (k,) or not ((array > 0) & (array < 1)).all():
        raise ValueError(f"the shares of missing values of {name} are none")
    return array


def _distribution(nested: object, shape: tuple[int, ...], name: str) -> FloatArray:
    """Read probabilities that add up to one along the first axis."""
    array = np.asarray(nested, dtype=np.float64)
    good = array.shape == shape and bool((array >= 0).all())
    if not good or abs(array.sum(axis=0) - 1).max() > _SUM_SLACK:
        raise ValueError(f"the probabilities of {name} are none")
    return array


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(content)).hexdigest()


def _fits(checksum: object, content: dict[str, Any]) -> bool:
    try:
        return checksum == _checksum(content)
    except (ValueError, RecursionError):  # half of a surrogate pair has no UTF-8 form
        return False


def _canonical(content: object) -> bytes:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")

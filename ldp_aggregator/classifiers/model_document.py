"""Canonical JSON with a checksum: what all kinds of model files share."""

from __future__ import annotations

import hashlib
import json
import math
import os
from enum import StrEnum
from pathlib import Path
from typing import Any

from encoders.errors import LdpError
from encoders.file_kind import describe_other
from encoders.survey import NumericFeature, Plan, Survey
from encoders.survey.canonical import dump_canonical_json
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation.json_form import require
from ldp_aggregator.snapshot_plans import read_plan_entry

FORMAT = "ldp-bayes model"
VERSION = 1
RETRAIN_HINT = "Restore the original or train again"
DAMAGED_ERRORS = (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, IndexError)


class ModelKind(StrEnum):
    """The kind of a model file, its entry `kind`."""

    PEOPLE = "people"
    """Naive Bayes of estimates from people's reports."""
    SILOS = "silos"
    """Naive Bayes of estimates from messages of silos, which may be pooled with people's reports."""
    CENTRAL = "central"
    """A model of ldp-central."""


class ModelError(LdpError):
    """A model or model file that cannot be used; the message states what is wrong and what to do."""


def no_classifier(survey: Plan | SiloPlan | Survey, instead: str) -> ModelError:
    """Return the error of a survey without a label, which has no classifier."""
    return ModelError(f"{survey.id}: this survey has no label, so there is no classifier: {instead}")


def dump_content(content: dict[str, Any]) -> bytes:
    """Return the bytes of a model file: its content with a checksum."""
    return dump_canonical_json({**content, "checksum": _compute_checksum(content)}) + b"\n"


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file; raise ModelError if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error


def parse_content(data: bytes, name: str) -> dict[str, Any]:
    """Return the content of a model file of any kind, without its checksum.

    Raises
    ------
    ModelError
        If the bytes are no model file, are truncated, were edited by hand, or have another version or kind;
        the message begins with `name`.
    """
    if other := describe_other(data, "model", "json", "empty", "text", "binary"):
        raise ModelError(f"{name}: this is not a model file{other}")
    content = _parse_json(data, name)
    if content.get("format") != FORMAT:
        raise ModelError(f"{name}: this is not a model file; ldp-train and ldp-central write model files")
    version, kind = content.get("version"), content.get("kind")
    if version != VERSION or kind not in list(ModelKind):
        raise ModelError(
            f"{name}: the file has version {version!r} and kind {kind!r}, and only version {VERSION} with "
            f"kind {', '.join(ModelKind)} is supported: train again, or use the release that wrote it"
        )
    checksum = content.pop("checksum", None)
    if not _has_checksum(content, checksum):
        raise ModelError(
            f"{name}: the checksum does not match: the file was edited or damaged. {RETRAIN_HINT}"
        )
    return content


def _parse_json(data: bytes, name: str) -> dict[str, Any]:
    try:
        content = json.loads(
            data.decode("utf-8"),
            parse_constant=_parse_finite,
            parse_float=_parse_finite,
            object_pairs_hook=_build_dict,
        )
    except (ValueError, RecursionError) as error:
        why = f"not readable ({error}): the file was truncated or edited. {RETRAIN_HINT}"
        raise ModelError(f"{name}: {why}{describe_other(data, 'model', 'json')}") from error
    if not isinstance(content, dict):
        raise ModelError(f"{name}: this is not a model file; ldp-train and ldp-central write model files")
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


def _compute_checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(dump_canonical_json(content)).hexdigest()


def _has_checksum(content: dict[str, Any], checksum: object) -> bool:
    try:
        return checksum == _compute_checksum(content)
    except (ValueError, RecursionError):  # half of a surrogate pair has no UTF-8 form
        return False


def inconsistent(name: str, error: Exception) -> ModelError:
    """Return the error of a file with a valid checksum whose entries are missing or wrong."""
    why = f"it has no entry {error}" if isinstance(error, KeyError) else str(error)
    return ModelError(f"{name}: the content is inconsistent ({why}). {RETRAIN_HINT}")


def read_plan(content: dict[str, Any]) -> Plan:
    """Return the plan of people in a model file; ValueError if it has another digest."""
    plan = read_model_plan(content)
    if not isinstance(plan, Plan):
        raise ValueError("the plan is of silos")
    return plan


def read_model_plan(content: dict[str, Any]) -> Plan | SiloPlan:
    """Return the plan of a model file, of people or of silos; ValueError if it has another digest."""
    plan = read_plan_entry(content)
    if plan.digest != content["plan_digest"]:
        raise ValueError("plan_digest is not the digest of the plan")
    return plan


def check_missing(missing: object, feature: NumericFeature) -> None:
    """Raise ValueError unless a number has shares of missing values exactly if it can be missing."""
    can_be_missing = feature.missing != "error"
    require(can_be_missing or missing is None, "has shares of missing values, but cannot be missing")
    require(not can_be_missing or missing is not None, "lacks the shares of missing values")

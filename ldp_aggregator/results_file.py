"""Reads and writes results as model files: canonical JSON with a checksum, never pickle.

The checksum detects a file that was truncated or edited by hand.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from encoders.build import Build
from encoders.canonical import dump_canonical_json
from encoders.errors import LdpError, SurveyError
from encoders.file_kind import describe_other, find_kind
from encoders.survey import NumericFeature, Plan, Survey
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.codec import from_json, read_one_of, reading, require, to_json
from ldp_aggregator.estimation import Estimates, FeatureResult, NaiveBayesParameters, NumberResult
from ldp_aggregator.estimation.estimators import check_missing
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.prediction.predictor import Classifier
from ldp_aggregator.privacy_statement import PrivacyStatement
from ldp_aggregator.results import Results, Usefulness, make_results
from ldp_aggregator.series.series import Series
from ldp_aggregator.snapshot import ALL_WAVES, read_snapshot
from ldp_aggregator.snapshot_entries import dump_plan_entry, read_plan_entry

FORMAT = "ldp-bayes model"
VERSION = 2
_RETRAIN = "Restore the original or train again"
_NO_MODEL = "this is not a model file; ldp-train and ldp-central write model files"
_DAMAGED = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    SurveyError,
    TypeError,
    ValueError,
)

_T = TypeVar("_T")


class ModelError(LdpError):
    """A model or model file that cannot be used; the message states what is wrong and what to do."""


class ResultsError(LdpError):
    """A file whose results cannot be shown; the message states why."""


def no_classifier(plan: Plan | SiloPlan | Survey, instead: str) -> ModelError:
    return ModelError(f"{plan.id}: this survey has no label, so there is no classifier: {instead}")


# -- writing --------------------------------------------------------------------------------------


def save_results(path: str | os.PathLike[str], results: Results) -> None:
    """Write a model file atomically; a new file can be read only by its owner.

    Raises
    ------
    SurveyError
        If the results are those of a validation round, which cannot be used alone.
    """
    write_atomically(path, dump_results(results))


def dump_results(results: Results) -> bytes:
    plan = results.plan
    refuse_validation(plan)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        **({"build": to_json(results.build)} if results.build else {}),
        **dump_plan_entry(plan),
        "plan_digest": plan.digest,
        "privacy": to_json(results.privacy),
        "estimates": to_json(results.estimates),
        "classifier": to_json(results.classifier),
        "usefulness": to_json(results.usefulness) if results.usefulness else None,
        **({"series": to_json(results.series)} if results.series else {}),
    }
    return dump_canonical_json({**content, "checksum": _compute_checksum(content)}) + b"\n"


def _compute_checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(dump_canonical_json(content)).hexdigest()


# -- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StoredClassifier:
    plan: Plan | SiloPlan
    classifier: Classifier
    usefulness: Usefulness | None


def read_classifier(path: str | os.PathLike[str]) -> StoredClassifier:
    """Read what a prediction needs of a model file; raise ModelError if it is not a whole, unedited one."""
    return _read(_read_bytes(path), str(path), _read_classifier)


def load_results(path: str | os.PathLike[str]) -> Results:
    return parse_results(_read_bytes(path), str(path))


def parse_results(data: bytes, name: str = "model") -> Results:
    return _read(data, name, _read_results)


def read_results(path: Path) -> Results:
    """Read the results in a model file, or compute those of a snapshot; ResultsError for other files."""
    data = path.read_bytes()
    kind, _ = find_kind(data)
    if kind == "model":
        return parse_results(data, str(path))
    if kind != "snapshot":
        raise ResultsError(
            f"{path}: is neither a model file, which ldp-train and ldp-central write, nor a snapshot of a "
            f"collector, or it is truncated{describe_other(data)}"
        )
    return make_results(read_snapshot(data, str(path)))


def read_trained(data: bytes, name: str) -> tuple[Plan, Results]:
    """Read the plan and results of people's reports from a model file; ModelError for any other."""
    results = parse_results(data, name)
    if results.is_curator:
        raise ModelError(
            f"{name}: was trained by ldp-central on rows of a curator, and this needs a model of ldp-train, "
            "which is made from reports"
        )
    if not isinstance(results.plan, Plan):
        raise ModelError(
            f"{results.plan.id} is a survey of silos, and this needs a model of people's reports"
        )
    return results.plan, results


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error


def _read(data: bytes, name: str, read: Callable[[dict[str, Any]], _T]) -> _T:
    content = _parse_content(data, name)
    try:
        return read(content)
    except _DAMAGED as error:
        why = f"it has no entry {error}" if isinstance(error, KeyError) else str(error)
        raise ModelError(f"{name}: the content is inconsistent ({why}). {_RETRAIN}") from error


def _read_classifier(content: dict[str, Any]) -> StoredClassifier:
    plan = read_plan_entry(content)
    require(plan.digest == content["plan_digest"], "plan_digest is not the digest of the plan")
    with reading("classifier"):
        read: Classifier = read_one_of(get_args(Classifier), content["classifier"])
        classifier = read.for_plan(plan.features, len(plan.label.values))
    with reading("usefulness"):
        entry = content["usefulness"]
        usefulness = None if entry is None else from_json(Usefulness, entry)
        needs_it = plan.label.exists and content["privacy"]["curator"] is None
        require(needs_it == (usefulness is not None), "is there without a model of reports, or is missing")
        majority = usefulness.majority if usefulness else None
        require(majority is None or majority in plan.label.values, "majority: is no class of the plan")
    return StoredClassifier(plan=plan, classifier=classifier, usefulness=usefulness)


def _read_results(content: dict[str, Any]) -> Results:
    found = _read_classifier(content)
    with reading("estimates"):
        estimates = from_json(Estimates, content["estimates"])
        _check_same_plan(estimates, found.plan)
    with reading("privacy"):
        privacy = from_json(PrivacyStatement, content["privacy"])
        is_stated = bool(privacy.silos) == (estimates.silos is not None)
        require(is_stated, "needs a statement about silos exactly if there are estimates from silos")
        if isinstance(found.plan, SiloPlan):
            require(bool(privacy.silos), "needs a statement about messages of silos")
        else:
            is_stated = privacy.people is not None or privacy.curator is not None
            require(is_stated, "needs a statement about reports")
        is_counted = isinstance(found.classifier, NaiveBayesParameters)
        require(is_counted or privacy.curator is not None, "needs a statement about a curator")
    with reading("build"):
        build = from_json(Build, content["build"]) if "build" in content else None
    with reading("series"):
        series = from_json(Series, content["series"]) if "series" in content else None
        waves = found.plan.waves
        names = {ALL_WAVES, *(each.name for each in waves.list)} if waves else set()
        require(not series or {series.wave, *series.waves} <= names, "wave: is not one of the plan")
    return Results(
        plan=found.plan,
        privacy=privacy,
        estimates=estimates,
        classifier=found.classifier,
        usefulness=found.usefulness,
        series=series,
        build=build,
    )


def _check_same_plan(estimates: Estimates, plan: Plan | SiloPlan) -> None:
    is_same_label = (estimates.label, estimates.classes) == (plan.label.name, tuple(plan.label.values))
    require(is_same_label, "label: is not that of the plan")
    require(len(estimates.features) == len(plan.features), "the number of features is not that of the plan")
    for feature, result in zip(plan.features, estimates.features, strict=True):
        with reading(feature.name):
            require((result.name, result.kind) == (feature.name, feature.kind), "is not that of the plan")
            if isinstance(result, NumberResult) and isinstance(feature, NumericFeature):
                for each in (result.overall, result.by_class):
                    check_missing(each.missing, feature)
                require(result.width == feature.width, "width: is not that of the plan")
            elif isinstance(result, FeatureResult) and not isinstance(feature, NumericFeature):
                require(list(result.values) == list(feature.texts), "values: are not those of the plan")


# -- JSON with a checksum -------------------------------------------------------------------------


def _parse_content(data: bytes, name: str) -> dict[str, Any]:
    if other := describe_other(data, "model", "json", "empty", "text", "binary"):
        raise ModelError(f"{name}: this is not a model file{other}")
    content = _parse_json(data, name)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelError(f"{name}: {_NO_MODEL}")
    version = content.get("version")
    if type(version) is not int or version != VERSION:
        raise ModelError(
            f"{name}: the file has version {version!r}, and only version {VERSION} is "
            "supported: train again, or use the release that wrote it"
        )
    checksum = content.pop("checksum", None)
    has_checksum = False
    with suppress(ValueError, RecursionError):  # half of a surrogate pair has no UTF-8 form
        has_checksum = checksum == _compute_checksum(content)
    if not has_checksum:
        raise ModelError(f"{name}: the checksum does not match: the file was edited or damaged. {_RETRAIN}")
    return content


def _parse_json(data: bytes, name: str) -> Any:
    try:
        return json.loads(
            data.decode("utf-8"),
            parse_constant=_parse_finite,
            parse_float=_parse_finite,
            object_pairs_hook=_build_dict,
        )
    except (ValueError, RecursionError) as error:
        why = f"not readable ({error}): the file was truncated or edited. {_RETRAIN}"
        raise ModelError(f"{name}: {why}{describe_other(data, 'model', 'json')}") from error


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it contains the number {text}, which is not finite")
    return number


def _build_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)

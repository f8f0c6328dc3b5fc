"""Model files of a trusted curator, with another privacy statement than for reports.

Instead of estimates, the file of Naive Bayes has the noisy counts that estimates are computed from.

Everything in the file is public, or was computed from what the training released. There is no digest of the
rows, no exact number of rows and no time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.errors import SurveyError
from encoders.mechanisms.soft_cells import SOFT_UNIT
from encoders.survey import Feature, NumericFeature, Plan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.classifiers.model_document import (
    DAMAGED_ERRORS,
    FORMAT,
    VERSION,
    ModelKind,
    check_missing,
    dump_content,
    inconsistent,
    read_plan,
)
from ldp_aggregator.curator_privacy import CentralPrivacy
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_aggregator.estimation.json_form import read_probabilities, reading, to_json_list
from ldp_aggregator.estimation.tables.noisy_tables import NoisyTable
from ldp_aggregator.prediction import LINEAR, NAIVE_BAYES, TREE
from ldp_aggregator.prediction.decision_tree import DecisionTree, Split
from ldp_aggregator.prediction.linear_model import LEAST_DEGREE, MAX_DEGREE, Design, LinearModel
from ldp_aggregator.snapshot_plans import dump_plan_entry

_MAX_CELL = 1 << 62
_SOFT_CELLS = 3
"""Number of cells of a number that is not missing."""
_MIN_VARIANCE = 1e-30
"""Less than the variance of any noise that is drawn."""


@dataclass(frozen=True)
class Conditionals:
    """The probabilities of Naive Bayes: P(label), and P(value | label) of each feature of the plan."""

    prior: FloatArray
    """Shape (k,)."""
    tables: tuple[ClassConditional, ...]
    """Tuple of (A_i, k) arrays and Gaussians."""
    selected: tuple[int, ...]
    """Indices of the features that were measured; the others do not distinguish labels."""
    counts: tuple[NoisyTable, ...]
    """The noisy counts of the selected features, from which everything else was computed."""


CentralScorer = Conditionals | LinearModel | DecisionTree


@dataclass(frozen=True)
class CentralModelFile:
    """The content of a model file of ldp-central."""

    plan: Plan
    learner: str
    """One of "nb", "linear" or "tree"."""
    model: CentralScorer
    privacy: CentralPrivacy


def dump_central_model(model: CentralModelFile) -> bytes:
    """Return the bytes of a model file."""
    return dump_content(
        {
            "format": FORMAT,
            "version": VERSION,
            "kind": ModelKind.CENTRAL,
            **dump_plan_entry(model.plan),
            "plan_digest": model.plan.digest,
            "learner": model.learner,
            "privacy": model.privacy.as_dict(),
            "model": _dump_learner(model.model),
        }
    )


def _dump_learner(model: CentralScorer) -> dict[str, Any]:
    if isinstance(model, LinearModel):
        return {"degree": model.degree, "weights": model.weights.tolist()}
    if isinstance(model, DecisionTree):
        splits = [[split.feature, split.low, split.high] for split in model.splits]
        return {"splits": splits, "leaves": model.leaves.tolist()}
    return {
        "prior": to_json_list(model.prior),
        "conditionals": [
            each.as_dict() if isinstance(each, Gaussian) else to_json_list(each) for each in model.tables
        ],
        "selected": list(model.selected),
        "counts": [
            {"cells": table.cells.tolist(), "unit": table.unit, "variance": table.cell_variance}
            for table in model.counts
        ],
    }


def read_central_content(content: dict[str, Any], name: str) -> CentralModelFile:
    """Return the model in the content of a file; raise ModelError if it is damaged."""
    try:
        plan = read_plan(content)
        learner = content["learner"]
        with reading("privacy"):
            privacy = CentralPrivacy.from_dict(content["privacy"])
        model = _read_learner(learner, content["model"], plan)
        return CentralModelFile(plan, learner, model, privacy)
    except (KeyError, SurveyError, *DAMAGED_ERRORS) as error:
        raise inconsistent(name, error) from error


def _read_learner(learner: str, document: Mapping[str, Any], plan: Plan) -> CentralScorer:
    k = len(plan.label.values)
    if learner == NAIVE_BAYES:
        return _read_naive_bayes(document, plan, k)
    if learner == LINEAR:
        degree = document["degree"]
        if type(degree) is not int or not LEAST_DEGREE <= degree <= MAX_DEGREE:
            raise ValueError(f"degree: needs a whole number from {LEAST_DEGREE} to {MAX_DEGREE}")
        shape = (Design.from_features(plan.features, degree).columns, k - 1)
        weights = np.asarray(document["weights"], dtype=np.float64)
        if weights.shape != shape or not np.isfinite(weights).all():
            raise ValueError(f"the weights need the shape {shape}")
        return LinearModel(plan.features, k, degree, weights)
    if learner == TREE:
        return _read_tree(document, plan, k)
    raise ValueError(f"the learner {learner!r} is unknown")


def _read_naive_bayes(document: Mapping[str, Any], plan: Plan, k: int) -> Conditionals:
    prior = read_probabilities(document["prior"], (k,), plan.label.name)
    tables = tuple(
        _read_conditional(entry, feature, k)
        for feature, entry in zip(plan.features, document["conditionals"], strict=True)
    )
    selected = tuple(document["selected"])
    if any(type(index) is not int or not 0 <= index < len(tables) for index in selected):
        raise ValueError("a selected feature is not in the plan")
    counts = tuple(
        _read_counts(entry, plan.features[index], k)
        for index, entry in zip(selected, document["counts"], strict=True)
    )
    if not counts:
        raise ValueError("no feature was selected")
    return Conditionals(prior, tables, selected, counts)


def _read_conditional(entry: Any, feature: Feature, k: int) -> ClassConditional:
    """Return P(value | label) of one feature."""
    if not isinstance(feature, NumericFeature):
        return read_probabilities(entry, (feature.size, k), feature.name)
    with reading(feature.name):
        gaussian = Gaussian.from_dict(entry, k)
        check_missing(gaussian.missing, feature)
    return gaussian


def _read_counts(entry: Mapping[str, Any], feature: Feature, k: int) -> NoisyTable:
    cells, unit, variance = entry["cells"], entry["unit"], entry["variance"]
    is_number = isinstance(feature, NumericFeature)
    size = _SOFT_CELLS + (feature.missing == "category") if is_number else feature.size
    if any(type(cell) is not int or abs(cell) >= _MAX_CELL for row in cells for cell in row):
        raise ValueError(f"a count of {feature.name} is no whole number")
    if [len(row) for row in cells] != [k] * size or unit != (SOFT_UNIT if is_number else 1):
        raise ValueError(f"the counts of {feature.name} need the shape {(size, k)}, in units of the feature")
    if type(variance) is not float or not _MIN_VARIANCE < variance < _MAX_CELL**2:
        raise ValueError(f"the variance of the counts of {feature.name} is invalid")
    return NoisyTable(np.array(cells, dtype=np.int64), unit, variance)


def _read_tree(document: Mapping[str, Any], plan: Plan, k: int) -> DecisionTree:
    splits = tuple(Split(*each) for each in document["splits"])
    for split in splits:
        are_whole = all(type(part) is int for part in (split.feature, split.low, split.high))
        if not are_whole or not 0 <= split.feature < len(plan.features):
            raise ValueError("a split of the tree is invalid")
        if not 0 <= split.low <= split.high < plan.features[split.feature].size:
            raise ValueError("a split of the tree is outside its feature")
    count = len(splits) + 1
    if count < 2 or count & (count - 1):
        raise ValueError("the tree is not complete")
    leaves = read_probabilities(np.asarray(document["leaves"], dtype=np.float64).T, (k, count), "the leaves")
    if not (leaves > 0).all():
        raise ValueError("a leaf excludes a label")
    return DecisionTree(splits, leaves.T.copy(), np.zeros((count, k), dtype=np.int64))

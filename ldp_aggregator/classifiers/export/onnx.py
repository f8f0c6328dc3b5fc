"""Exports a model as an ONNX file, which predicts label and probabilities without Python.

The graph repeats the steps of `NaiveBayes` in doubles. A row that does not fit the survey becomes an index
beyond the end of a table, which every runtime refuses.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from encoders.canonical import decimal_text
from encoders.survey import BinnedFeature, CategoricalFeature, NumericFeature, Plan
from encoders.survey.compiled_plan import CENTRAL, SILO
from encoders.survey.features import GRID, ChoiceFeature
from encoders.survey.projection import UNIT, Projection
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.classifiers.export import ONNX
from ldp_aggregator.classifiers.row_reader import SurveyClassifier
from ldp_aggregator.classifiers.stored_model import SurveyEstimates
from ldp_aggregator.prediction.scoring import DiscreteLikelihood, GaussianLikelihood, LogProbabilities
from ldp_aggregator.results_file import ModelError, no_classifier

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

_OPSET, _ML_OPSET, _IR_VERSION = 17, 3, 8
"""Versions of 2022, which all later runtimes support."""
_INT64, _STRING, _DOUBLE = 7, 8, 11
"""Types of TensorProto."""


def save_onnx(path: str | os.PathLike[str], model: SurveyClassifier | SurveyEstimates) -> None:
    """Write a model as an ONNX file, atomically; see :func:`to_onnx`."""
    write_atomically(path, to_onnx(model).SerializeToString())


def to_onnx(model: SurveyClassifier | SurveyEstimates) -> ModelProto:
    """Convert a model to an ONNX graph.

    Each entry of a row is an input with its name, shape (rows,): categories are strings, spelt as in the
    survey, empty if missing; numbers are doubles, NaN if missing. The outputs are `label`, shape (rows,), and
    `probabilities`, doubles of shape (rows, k), columns as in `classes_`. If a feature has the name of an
    output, the output's name ends with an underscore. The ONNX runtime raises an error for every value that
    `predict` refuses; the model's `handle_unknown` is not exported.

    Raises ModelError if the package onnx (extra [onnx]) is not installed, the model is a linear model or a
    tree, or a feature has several answers.
    """
    if isinstance(model, SurveyEstimates):
        raise no_classifier(model.plan_, "there is nothing to export")
    helper = ONNX.load().helper
    check_is_fitted(model)
    probabilities = _find_probabilities(model)
    if any(isinstance(each, ChoiceFeature) for each in model.plan_.features):
        raise ModelError("features with several answers cannot be exported as ONNX: use ldp-predict")
    graph = _GraphBuilder([entry.name for entry in model.plan_.entries])
    outputs = graph.add_outputs(_add_scores(graph, model.plan_, probabilities), model.classes_)
    proto: ModelProto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "naive-bayes",
            [
                helper.make_tensor_value_info(
                    entry.name, _STRING if isinstance(entry, CategoricalFeature) else _DOUBLE, ["rows"]
                )
                for entry in model.plan_.entries
            ],
            outputs,
            graph.constants,
        ),
        producer_name="ldp-bayes",
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)],
    )
    plan = model.plan_
    helper.set_model_props(proto, {"survey": plan.id, "plan_digest": plan.digest, **_state_privacy(model)})
    return proto


def _find_probabilities(model: SurveyClassifier) -> LogProbabilities:
    found = model._predictor.model
    if not isinstance(found, LogProbabilities):
        raise ModelError(
            "only Naive Bayes can be exported as ONNX: train with --learner nb, or use ldp-predict"
        )
    return found


def _state_privacy(model: SurveyClassifier) -> dict[str, str]:
    if curator := model.privacy_.curator:
        found = {"trust": CENTRAL, "adjacency": curator.adjacency}
        return found | {"epsilon": str(curator.epsilon), "delta": str(curator.delta)}
    statement = {"epsilon": decimal_text(model.plan_.epsilon)}
    if model.privacy_.silos:
        statement["trust"] = SILO
    return statement


class _GraphBuilder:
    def __init__(self, inputs: Sequence[str]) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._taken = set(inputs)
        self._helper = ONNX.load().helper

    def _choose_name(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def add_constant(self, value: Any) -> str:
        name = self._choose_name(f"constant {len(self.constants)}")
        self.constants.append(ONNX.load().numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, operator: str, *inputs: Any, name: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its output.

        An input is the name of an output or of a feature; anything else is a constant.
        """
        names = [each if isinstance(each, str) else self.add_constant(each) for each in inputs]
        name = self._choose_name(name or f"step {len(self.nodes)}")
        self.nodes.append(self._helper.make_node(operator, names, [name], domain=domain, **attributes))
        return name

    def add_outputs(self, scores: str, classes: np.ndarray[Any, Any]) -> list[ValueInfoProto]:
        best = self.add("ArgMax", scores, axis=1, keepdims=0)
        names = self.add_constant(classes if classes.dtype.kind in "biuf" else classes.astype(object))
        kind = self.constants[-1].data_type
        label = self.add("Gather", names, best, name="label")
        # if all labels have probability zero, the row becomes uniform, as in normalise_log_scores
        peak = self.add("ReduceMax", scores, axes=[1], keepdims=1)
        finite_scores = self.add("Where", self.add("IsInf", peak), 0.0, scores)
        probabilities = self.add("Softmax", finite_scores, axis=1, name="probabilities")
        return [
            self._helper.make_tensor_value_info(label, kind, ["rows"]),
            self._helper.make_tensor_value_info(probabilities, _DOUBLE, ["rows", len(classes)]),
        ]

    def add_is_finite(self, numbers: str) -> str:
        """Add nodes that test which numbers are finite (x - x is zero); return the name of their output."""
        return self.add("Equal", self.add("Sub", numbers, numbers), 0.0)

    def add_missing_index(self, numbers: str, is_finite: str) -> str:
        """Add nodes whose output is 0 for a number, 1 if missing, 2 if infinite; no table has a row 2."""
        infinite = self.add("Cast", self.add("IsInf", numbers), to=_INT64)
        return self.add("Add", self.add("Cast", self.add("Not", is_finite), to=_INT64), infinite)

    def add_column(self, numbers: str) -> str:
        return self.add("Unsqueeze", numbers, np.array([1]))


def _add_scores(graph: _GraphBuilder, plan: Plan | SiloPlan, probabilities: LogProbabilities) -> str:
    """Add the scores of `LogProbabilities.compute_scores`, shape (rows, k)."""
    projected = _add_projection(graph, plan.projection) if plan.projection else {}
    scores = graph.add_constant(probabilities.prior[None, :])
    for feature, likelihood in zip(plan.features, probabilities.likelihoods, strict=True):
        value = projected.get(feature.name, feature.name)
        if isinstance(feature, NumericFeature):
            assert isinstance(likelihood, GaussianLikelihood)
            log_likelihood = _add_log_density(graph, feature, likelihood, value)
        else:
            assert isinstance(likelihood, DiscreteLikelihood)
            code = _add_code(graph, feature, value)
            log_likelihood = graph.add("Gather", likelihood.log_table, code, axis=0)
        scores = graph.add("Add", scores, log_likelihood)
    return scores


def _add_code(graph: _GraphBuilder, feature: CategoricalFeature | BinnedFeature, value: str) -> str:
    """Add the code of a category or a bin; a value that does not fit gets an index beyond the table."""
    missing = feature.size - (feature.missing == "category")
    if isinstance(feature, CategoricalFeature):
        return graph.add(
            "LabelEncoder",
            value,
            domain="ai.onnx.ml",
            keys_strings=[*feature.values, ""],
            values_int64s=[*range(len(feature.values)), missing],
            default_int64=feature.size,
        )
    edges = np.array([float(edge) for edge in feature.edges[1:-1]] or [np.inf])
    above = graph.add("Cast", graph.add("GreaterOrEqual", graph.add_column(value), edges), to=_INT64)
    bins = graph.add("ReduceSum", above, np.array([1]), keepdims=0)
    is_finite = graph.add_is_finite(value)
    missing_code = graph.add("Add", graph.add_missing_index(value, is_finite), np.int64(missing - 1))
    return graph.add("Where", is_finite, bins, missing_code)


def _add_grid_steps(graph: _GraphBuilder, feature: NumericFeature, value: str, is_finite: str) -> str:
    """Add the code of a number minus GRID, a double; a missing number counts as zero."""
    low, high = feature.bounds
    clipped = graph.add("Clip", graph.add("Where", is_finite, value, 0.0), low, high)
    share = graph.add("Div", graph.add("Sub", clipped, low), high - low)
    steps = graph.add("Mul", share, 2.0 * GRID)
    code = graph.add("Floor", graph.add("Add", steps, 0.5))
    return graph.add("Sub", code, float(GRID))


def _add_log_density(
    graph: _GraphBuilder, feature: NumericFeature, likelihood: GaussianLikelihood, value: str
) -> str:
    """Add the log-density of a number, or log P(missing | label), shape (rows, k)."""
    is_finite = graph.add_is_finite(value)
    x = graph.add("Div", _add_grid_steps(graph, feature, value, is_finite), float(GRID))
    deviation = graph.add("Sub", graph.add_column(x), likelihood.mean)
    exponent = graph.add("Mul", 0.5 * likelihood.precision, graph.add("Mul", deviation, deviation))
    density = graph.add("Sub", likelihood.log_peak, exponent)
    finite_density = graph.add("Where", graph.add_column(is_finite), density, 0.0)
    missing_rows = [] if likelihood.log_missing is None else [likelihood.log_missing]
    table = np.array([np.zeros_like(likelihood.mean), *missing_rows])
    missing_term = graph.add("Gather", table, graph.add_missing_index(value, is_finite), axis=0)
    return graph.add("Add", finite_density, missing_term)


def _add_projection(graph: _GraphBuilder, projection: Projection) -> dict[str, str]:
    """Add each component, by name: NaN where an input is missing, as in Projection.columns."""
    codes = []
    for feature in projection.inputs:
        is_finite = graph.add_is_finite(feature.name)
        steps = _add_grid_steps(graph, feature, feature.name, is_finite)
        table = np.array([0.0, np.nan] if feature.missing == "category" else [0.0])
        missing_term = graph.add("Gather", table, graph.add_missing_index(feature.name, is_finite), axis=0)
        codes.append(graph.add_column(graph.add("Add", steps, missing_term)))
    inputs = graph.add("Concat", *codes, axis=1)
    components = {}
    for component, (weights, offset) in zip(projection.components, projection.millionths, strict=True):
        products = graph.add("Mul", inputs, np.array(weights, dtype=np.float64))
        total = graph.add("ReduceSum", products, np.array([1]), keepdims=0)
        total = graph.add("Add", total, float(offset * GRID))
        components[component.name] = graph.add("Div", total, float(UNIT * GRID))
    return components

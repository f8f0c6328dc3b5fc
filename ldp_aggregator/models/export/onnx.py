"""A model as an ONNX file, which runs without Python: features in, label and probabilities out.

It does what predicting does, step by step, in doubles: the same coding, the same sums in the same order. A
row that coding refuses - a category that is none, a missing value where the survey has no place for one -
points beyond the end of a table, which every runtime refuses.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from encoders.extras import needs_extra
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, NumericFeature
from encoders.survey.numeric_features import GRID
from encoders.survey.projection import UNIT, Projection
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.models.model_file import ModelError
from ldp_aggregator.models.naive_bayes import NaiveBayes
from ldp_aggregator.models.scoring import DiscreteLikelihood, GaussianLikelihood

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

_OPSET, _ML_OPSET, _IR = 17, 3, 8
"""Of 2022: runtimes since then read it."""


def save_onnx(path: str | os.PathLike[str], model: NaiveBayes) -> None:
    """Write a model as ONNX, whole or not at all; see :func:`to_onnx`."""
    write_atomically(path, to_onnx(model).SerializeToString())


def require_onnx() -> None:
    """Raise ModelError unless onnx is installed; to be asked before a long training."""
    with needs_extra("onnx", "an ONNX file", ModelError):
        import onnx  # noqa: F401


def to_onnx(model: NaiveBayes) -> ModelProto:
    """Return a model as ONNX.

    Each entry of a row is an input of its name, shape (rows,): categories are strings, spelt as in the
    survey, empty if missing; numbers are doubles, NaN if missing. The outputs are `label`,
    shape (rows,), and `probabilities`, doubles of shape (rows, k), columns as in `classes_`; they get an
    underscore where a feature has their name. A value that `predict` refuses is an index outside a table,
    at which the runtime stops.

    Raises
    ------
    ModelError
        If onnx is not installed: the extra [onnx].
    """
    require_onnx()
    from onnx import helper

    check_is_fitted(model)
    graph = _Graph([entry.name for entry in model.plan_.entries])
    outputs = graph.classify(_scores(graph, model), model.classes_)
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "naive-bayes",
            [graph.input(entry) for entry in model.plan_.entries],
            outputs,
            graph.constants,
        ),
        producer_name="ldp-bayes",
        ir_version=_IR,
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)],
    )
    plan = model.plan_
    helper.set_model_props(
        made,
        {"survey": plan.id, "plan_digest": plan.digest, "epsilon": format(plan.epsilon.normalize(), "f")},
    )
    return made


class _Graph:
    """Nodes and constants in the order they are made; each gets a name that no feature has."""

    def __init__(self, inputs: Sequence[str]) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._taken = set(inputs)

    def _name(self, wish: str) -> str:
        while wish in self._taken:
            wish += "_"
        self._taken.add(wish)
        return wish

    def constant(self, value: Any) -> str:
        from onnx import numpy_helper

        name = self._name(f"constant {len(self.constants)}")
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def do(self, operator: str, *inputs: str, wish: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node and return the name of what it makes."""
        from onnx import helper

        name = self._name(wish or f"step {len(self.nodes)}")
        self.nodes.append(helper.make_node(operator, inputs, [name], domain=domain, **attributes))
        return name

    def input(self, entry: Feature) -> ValueInfoProto:
        from onnx import TensorProto, helper

        kind = TensorProto.STRING if isinstance(entry, CategoricalFeature) else TensorProto.DOUBLE
        return helper.make_tensor_value_info(entry.name, kind, ["rows"])

    def classify(self, scores: str, classes: np.ndarray[Any, Any]) -> list[ValueInfoProto]:
        """Add what leads from scores (rows, k) to the outputs."""
        from onnx import TensorProto, helper

        best = self.do("ArgMax", scores, axis=1, keepdims=0)
        names = self.constant(classes if classes.dtype.kind in "biuf" else classes.astype(object))
        label = self.do("Gather", names, best, wish="label")
        kind = self.constants[-1].data_type
        # a row that every label's veto met is uniform, as in normalise_log_scores
        top = self.do("ReduceMax", scores, axes=[1], keepdims=1)
        bare = self.do("Where", self.do("IsInf", top), self.constant(0.0), scores)
        shares = self.do("Softmax", bare, axis=1, wish="probabilities")
        return [
            helper.make_tensor_value_info(label, kind, ["rows"]),
            helper.make_tensor_value_info(shares, TensorProto.DOUBLE, ["rows", len(classes)]),
        ]

    def finite(self, numbers: str) -> str:
        """Tell which numbers are there: x - x is zero."""
        return self.do("Equal", self.do("Sub", numbers, numbers), self.constant(0.0))

    def absence(self, numbers: str, there: str) -> str:
        """Return 0 for a number, 1 for a missing one, and 2 for an infinite one: no table has a row 2."""
        infinite = self.do("Cast", self.do("IsInf", numbers), to=7)
        return self.do("Add", self.do("Cast", self.do("Not", there), to=7), infinite)

    def clear(self, numbers: str, there: str) -> str:
        """Put zero where no number is."""
        return self.do("Where", there, numbers, self.constant(0.0))

    def look_up(self, rows: Any, codes: str) -> str:
        return self.do("Gather", self.constant(rows), codes, axis=0)

    def column(self, numbers: str) -> str:
        """Turn shape (rows,) into (rows, 1)."""
        return self.do("Unsqueeze", numbers, self.constant(np.array([1])))


def _scores(graph: _Graph, model: NaiveBayes) -> str:
    projected = _project(graph, model.plan_.projection) if model.plan_.projection else {}
    total = graph.constant(model.log_probabilities_.prior[None, :])
    for feature, column in zip(model.plan_.features, model.log_probabilities_.likelihoods, strict=True):
        value = projected.get(feature.name, feature.name)
        if isinstance(feature, NumericFeature):
            assert isinstance(column, GaussianLikelihood)
            said = _density(graph, feature, column, value)
        else:
            assert isinstance(column, DiscreteLikelihood)
            said = graph.look_up(column.log_table, _code(graph, feature, value))
        total = graph.do("Add", total, said)
    return total


def _code(graph: _Graph, feature: CategoricalFeature | BinnedFeature, value: str) -> str:
    """Return the code of a category or a bin; one too many for what is refused."""
    missing = feature.size - (feature.missing == "category")
    if isinstance(feature, CategoricalFeature):
        return graph.do(
            "LabelEncoder",
            value,
            domain="ai.onnx.ml",
            keys_strings=[*feature.values, ""],
            values_int64s=[*range(len(feature.values)), missing],
            default_int64=feature.size,
        )
    edges = np.array([float(edge) for edge in feature.edges[1:-1]] or [np.inf])
    above = graph.do("GreaterOrEqual", graph.column(value), graph.constant(edges))
    bins = graph.do("ReduceSum", graph.do("Cast", above, to=7), graph.constant(np.array([1])), keepdims=0)
    there = graph.finite(value)
    lost = graph.do("Add", graph.absence(value, there), graph.constant(np.int64(missing - 1)))
    return graph.do("Where", there, bins, lost)


def _on_grid(graph: _Graph, feature: NumericFeature, value: str, there: str) -> str:
    """Return a number's code less GRID, a double; zero steps above the lower bound where it is missing."""
    low, high = feature.bounds
    clipped = graph.do("Clip", graph.clear(value, there), graph.constant(low), graph.constant(high))
    share = graph.do("Div", graph.do("Sub", clipped, graph.constant(low)), graph.constant(high - low))
    steps = graph.do("Mul", share, graph.constant(2.0 * GRID))
    code = graph.do("Floor", graph.do("Add", steps, graph.constant(0.5)))
    return graph.do("Sub", code, graph.constant(float(GRID)))


def _density(graph: _Graph, feature: NumericFeature, column: GaussianLikelihood, value: str) -> str:
    there = graph.finite(value)
    x = graph.do("Div", _on_grid(graph, feature, value, there), graph.constant(float(GRID)))
    off = graph.do("Sub", graph.column(x), graph.constant(column.mean))
    bent = graph.do("Mul", graph.constant(0.5 * column.precision), graph.do("Mul", off, off))
    density = graph.do("Sub", graph.constant(column.log_peak), bent)
    gone = [] if column.log_missing is None else [column.log_missing]
    said = graph.look_up(np.array([np.zeros_like(column.mean), *gone]), graph.absence(value, there))
    return graph.do("Add", graph.clear(density, graph.column(there)), said)


def _project(graph: _Graph, projection: Projection) -> dict[str, str]:
    """Return each component by name: NaN where an input is missing, as in Projection.columns."""
    codes = []
    for feature in projection.inputs:
        there = graph.finite(feature.name)
        gone = [0.0, np.nan] if feature.missing == "category" else [0.0]
        lost = graph.look_up(np.array(gone), graph.absence(feature.name, there))
        codes.append(graph.column(graph.do("Add", _on_grid(graph, feature, feature.name, there), lost)))
    table = graph.do("Concat", *codes, axis=1)
    made = {}
    for component, (weights, offset) in zip(projection.components, projection.millionths, strict=True):
        parts = graph.do("Mul", table, graph.constant(np.array(weights, dtype=np.float64)))
        total = graph.do("ReduceSum", parts, graph.constant(np.array([1])), keepdims=0)
        total = graph.do("Add", total, graph.constant(float(offset * GRID)))
        made[component.name] = graph.do("Div", total, graph.constant(float(UNIT * GRID)))
    return made

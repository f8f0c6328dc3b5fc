"""Exports models in the formats of other libraries."""

from encoders.late_imports import LateImport
from ldp_aggregator.results_file import ModelError

ONNX = LateImport("onnx", "onnx", "an ONNX file", ModelError)
"""The package; load it before a long training, to raise an error unless it is installed."""

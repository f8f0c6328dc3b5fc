"""Returns the table of estimates as a pandas DataFrame; pandas is imported on use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from encoders.late_imports import LateImport
from ldp_aggregator.views.estimate_rows import EstimateRow, list_columns, list_records

if TYPE_CHECKING:
    import pandas as pd

_PANDAS = LateImport("pandas", "pandas", "to_frame")
_NUMBER_COLUMNS = ("estimate", "stderr", "low", "high", "simultaneous_low", "simultaneous_high", "raw")


def build_frame(rows: Sequence[EstimateRow]) -> pd.DataFrame:
    """Return the table as a DataFrame; numbers are doubles, NaN where unknown, and unknown texts are None.

    `distinguishable` is pandas' nullable boolean. Raises MissingExtraError if pandas is not installed.
    """
    pandas = _PANDAS.load()
    frame: pd.DataFrame = pandas.DataFrame(list_records(rows), columns=list(list_columns(rows)))
    types = dict.fromkeys(_NUMBER_COLUMNS, "float64") | {
        "n": "int64",
        "distinguishable": "boolean",
        "stands_out": "boolean",
    }
    return frame.astype({name: each for name, each in types.items() if name in frame})

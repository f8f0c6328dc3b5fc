"""Returns estimates as pandas DataFrames; pandas is imported on use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from encoders.late_imports import LateImport
from ldp_aggregator.estimation.table_result import TableResult
from ldp_aggregator.results_file import ResultsError
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


_NORMALIZED = ("all", "index", "columns")


def build_crosstab(tables: Sequence[TableResult], features: Sequence[str], normalize: str) -> pd.DataFrame:
    """Return the consistent shares of one table; see `DescribedModel.crosstab`."""
    name, known = " x ".join(features), {table.name: table for table in tables}
    if name not in known:
        raise ResultsError(f"{name}: the survey has no such table; known: {', '.join(known) or 'none'}")
    if normalize not in _NORMALIZED:
        raise ResultsError(f"normalize: must be one of {', '.join(_NORMALIZED)}")
    table, pandas = known[name], _PANDAS.load()
    shares = table.make_consistent()[_NORMALIZED.index(normalize)]
    columns = pandas.MultiIndex.from_tuples(table.columns, names=table.across)
    if len(table.across) == 1:
        columns = columns.get_level_values(0)
    index = pandas.Index(table.rows, name=table.features[0])
    frame: pd.DataFrame = pandas.DataFrame(shares, index=index, columns=columns)
    return frame

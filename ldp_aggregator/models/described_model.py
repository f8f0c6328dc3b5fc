"""What a fitted classifier shows to people: its estimates as a table, and its card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from ldp_aggregator.results.data_frame import build_frame
from ldp_aggregator.results.table import build_table

if TYPE_CHECKING:
    import pandas as pd

    from encoders.survey import Plan


class DescribedModel:
    """Adds descriptions to a classifier with a plan and estimates."""

    plan_: Plan
    estimates_: dict[str, Any]

    def to_frame(self) -> pd.DataFrame:
        """Return all estimates as a DataFrame: one row per class and quantity.

        docs/analysing.md describes the columns.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        check_is_fitted(self)
        return build_frame(build_table(self.estimates_))

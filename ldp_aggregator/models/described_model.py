"""What a fitted classifier shows to people: its estimates as a table, and its card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ldp_aggregator.results.card import ModelDescription
from ldp_aggregator.results.data_frame import build_frame
from ldp_aggregator.results.table import build_table

if TYPE_CHECKING:
    import pandas as pd

    from encoders.survey import Plan


class DescribedModel(BaseEstimator):
    """A classifier that describes itself once it is fitted; before that, scikit-learn describes it."""

    plan_: Plan
    estimates_: dict[str, Any]
    classes_: NDArray[Any]
    privacy_: dict[str, Any] | None
    unlabelled_: dict[str, Any] | None

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

    def card(self) -> str:
        """Return the model card in Markdown: data, privacy, accuracy, limits, and how to cite it."""
        check_is_fitted(self)
        return self._describe().format_card()

    def _describe(self) -> ModelDescription:
        privacy = self.privacy_ or {}
        audit = privacy.get("audit")
        return ModelDescription(
            plan=self.plan_,
            classes=self.classes_,
            estimates=self.estimates_,
            audit_passed=bool(audit.get("passed")) if isinstance(audit, dict) else None,
            simulated=self.privacy_ is None or bool(privacy.get("simulated")),
            unlabelled=self.unlabelled_,
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not hasattr(self, "estimates_"):
            unfitted: str = super().__repr__(N_CHAR_MAX)
            return unfitted
        return self._describe().format_line(type(self).__name__)

    def __str__(self) -> str:
        return (
            self._describe().format_lines(type(self).__name__) if hasattr(self, "estimates_") else repr(self)
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        if not hasattr(self, "estimates_"):
            unfitted: str = super()._repr_html_()
            return unfitted
        return self._describe().format_html(type(self).__name__)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what IPython shows, instead of scikit-learn's diagram of parameters."""
        if not hasattr(self, "estimates_"):
            bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
            return bundle
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

"""What a fitted classifier shows to people: its description in several forms, and its card."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ldp_aggregator.statements.finding import Finding
from ldp_aggregator.views.model_card import ModelDescription


class DescribedModel(BaseEstimator):
    """A classifier that describes itself once it is fitted; before that, scikit-learn describes it."""

    privacy_: Any

    def card(self) -> str:
        """Return the model card in Markdown: data, privacy, accuracy, limits, and how to cite it."""
        check_is_fitted(self)
        return self._describe().format_card()

    @property
    def notices(self) -> list[Finding]:
        """What a user of predictions must not miss: a useless model, or fake reports."""
        return []

    @abstractmethod
    def _describe(self) -> ModelDescription:
        """Return the description of the fitted model."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not hasattr(self, "privacy_"):
            unfitted: str = super().__repr__(N_CHAR_MAX)
            return unfitted
        return self._describe().format_line(type(self).__name__)

    def __str__(self) -> str:
        return self._describe().format_lines() if hasattr(self, "privacy_") else repr(self)

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        if not hasattr(self, "privacy_"):
            unfitted: str = super()._repr_html_()
            return unfitted
        return self._describe().format_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return the representations for IPython, which replace scikit-learn's diagram of parameters."""
        if not hasattr(self, "privacy_"):
            bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
            return bundle
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

"""What a fitted classifier shows to people: its description in several forms, and its card."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted


class Description(Protocol):
    """Texts that describe a model."""

    def format_line(self, name: str) -> str:
        """Return one line, for `repr`."""
        ...

    def format_lines(self, name: str) -> str:
        """Return a few lines, for `print`."""
        ...

    def format_html(self, name: str) -> str:
        """Return a small HTML table, in which all texts are escaped."""
        ...

    def format_card(self) -> str:
        """Return the model card in Markdown."""
        ...


class DescribedModel(BaseEstimator):
    """A classifier that describes itself once it is fitted; before that, scikit-learn describes it."""

    privacy_: dict[str, Any] | None

    def card(self) -> str:
        """Return the model card in Markdown: data, privacy, accuracy, limits, and how to cite it."""
        check_is_fitted(self)
        return self._describe().format_card()

    @abstractmethod
    def _describe(self) -> Description:
        """Return the description of the fitted model."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not hasattr(self, "privacy_"):
            unfitted: str = super().__repr__(N_CHAR_MAX)
            return unfitted
        return self._describe().format_line(type(self).__name__)

    def __str__(self) -> str:
        return self._describe().format_lines(type(self).__name__) if hasattr(self, "privacy_") else repr(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        if not hasattr(self, "privacy_"):
            unfitted: str = super()._repr_html_()
            return unfitted
        return self._describe().format_html(type(self).__name__)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what IPython shows, instead of scikit-learn's diagram of parameters."""
        if not hasattr(self, "privacy_"):
            bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
            return bundle
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

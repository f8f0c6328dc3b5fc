"""What a model shows to people: its description in several forms, its card, and its table of estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ldp_aggregator.results import Results
from ldp_aggregator.results_file import ModelError
from ldp_aggregator.statements.model import find_notices
from ldp_aggregator.views.data_frame import build_frame
from ldp_aggregator.views.model_card import ModelDescription, describe_model
from ldp_aggregator.views.series_sections import build_full_table
from ldp_aggregator.wording.statement import Statement

if TYPE_CHECKING:
    import pandas as pd


class DescribedModel(BaseEstimator):
    """A model that describes itself once it is fitted; before that, scikit-learn describes it.

    `results_` is all that a model file stores; `plan_`, `estimates_` and `privacy_` are parts of it. After
    `fit` the privacy statement says that the reports are simulated.
    """

    results_: Results

    def _set_results(self, results: Results) -> None:
        self.results_ = results
        self.plan_, self.estimates_, self.privacy_ = results.plan, results.estimates, results.privacy

    def card(self) -> str:
        """Return the model card in Markdown: data, privacy, accuracy, limits, and how to cite it."""
        check_is_fitted(self)
        return self._describe().format_card()

    def to_frame(self) -> pd.DataFrame:
        """Return all estimates as a DataFrame: one row per class and quantity.

        docs/analysing.md describes the columns. Estimates of a curator were released with the model, and cost
        no more epsilon. Raises MissingExtraError without pandas, and ModelError for a linear model or a tree
        of a curator.
        """
        check_is_fitted(self, "results_")
        if not self.results_.has_estimates:
            raise ModelError(
                f"a {self.results_.classifier.kind} model has no table of estimates: train with --learner nb "
                "for one"
            )
        return build_frame(build_full_table(self.results_))

    @property
    def notices(self) -> list[Statement]:
        return find_notices(self.results_.plan, self.results_.usefulness)

    def _describe(self) -> ModelDescription:
        classes = getattr(self, "classes_", None)
        name = "Estimates" if classes is None else type(self).__name__
        return describe_model(self.results_, [] if classes is None else classes, name)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not hasattr(self, "results_"):
            unfitted: str = super().__repr__(N_CHAR_MAX)
            return unfitted
        return self._describe().format_line(type(self).__name__)

    def __str__(self) -> str:
        return self._describe().format_lines() if hasattr(self, "results_") else repr(self)

    def _repr_html_(self) -> str:
        if not hasattr(self, "results_"):
            unfitted: str = super()._repr_html_()
            return unfitted
        return self._describe().format_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return the representations for IPython, which replace scikit-learn's diagram of parameters."""
        if not hasattr(self, "results_"):
            bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
            return bundle
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

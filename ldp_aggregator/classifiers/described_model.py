"""What a model shows to people: its description in several forms, its card, and its table of estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ldp_aggregator.results import Results
from ldp_aggregator.statements.model import find_notices
from ldp_aggregator.views.data_frame import build_crosstab, build_frame
from ldp_aggregator.views.model_card import ModelDescription, describe_model
from ldp_aggregator.views.plot import plot_estimates
from ldp_aggregator.views.series_sections import build_full_table
from ldp_aggregator.wording.statement import Statement

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


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
        return build_frame(build_full_table(self.results_))

    def plot(self, name: str, *, by: str = "", figure: Figure | None = None) -> Figure:
        """Draw the estimates of one name as bars with their intervals, as the results page shows them.

        Strong lines are individual 95% intervals, faint ones simultaneous. Numbers have their own unit.

        Parameters
        ----------
        name : str
            A feature, the label, or the features of a table, as in ``"age x smokes"``.
        by : {"", "class", "wave"}
            Whether to draw all people, each class of the label, or each wave with its trend.
        figure : matplotlib.figure.Figure, optional
            The empty figure to draw in, such as ``plt.figure()``; by default a new one. Its size is set.

        Raises
        ------
        ResultsError, MissingExtraError
            If there are no such estimates; if matplotlib is not installed.
        """
        check_is_fitted(self, "results_")
        return plot_estimates(self.results_, name, by, figure)

    def crosstab(self, *features: str, normalize: str = "all") -> pd.DataFrame:
        """Return the consistent estimates of a table of the survey, as :func:`pandas.crosstab` does.

        Parameters
        ----------
        *features : str
            In the order of the table. Rows are the values of the first; columns those of the others and, if
            the table contains the label, the classes.
        normalize : {"all", "index", "columns"}
            Whether all cells add up to 1, as P(row, column); each row, as P(column | row); or each column.

        Returns
        -------
        (rows, columns) pandas.DataFrame
            Shares from 0 to 1; NaN where unknown. :meth:`to_frame` has their intervals.

        Raises
        ------
        ResultsError, MissingExtraError
            If the survey has no such table; if pandas is not installed.
        """
        check_is_fitted(self, "results_")
        return build_crosstab(self.results_.estimates.tables, features, normalize)

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

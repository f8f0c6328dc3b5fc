"""Naive Bayes from randomised reports, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from encoders.errors import RowError
from encoders.randomness import FastStream
from encoders.survey import Plan, Survey
from encoders.survey.encode_table import encode_labels, encode_table
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import ClassConditional, Gaussian, estimate_snapshot
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.models.described_model import DescribedModel
from ldp_aggregator.models.fast_predict import UNDECIDED, FastPredictor
from ldp_aggregator.models.infer_survey import infer_survey
from ldp_aggregator.models.scoring import LogProbabilities, normalise_log_scores
from ldp_aggregator.models.table_input import (
    Columns,
    has_column_names,
    is_list_of_dicts,
    name_columns,
    select_columns,
    take_rows,
    to_array,
)
from ldp_aggregator.simulated_population import simulate_reports


class NaiveBayes(ClassifierMixin, DescribedModel):
    """Naive Bayes whose probabilities come from reports under local differential privacy.

    The method is that of Yilmaz et al. 2019, see docs/references.md. A model of real reports comes from
    :func:`ldp_aggregator.load_model`, already fitted. :meth:`fit` simulates the protocol on a labelled
    table, to estimate its accuracy: every row becomes a user who sends one randomised report.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of each user's one report.
    survey : Survey, optional
        The survey to simulate, which then determines epsilon, bins and mechanisms. By default it is
        inferred from the rows given to `fit`: the categories that occur, and numbers between the least
        and the greatest. In a real survey categories and bounds are public; use inference from private
        rows for experiments only.
    bins : int or None, default=8
        Number of equal-width bins of an inferred number. With None it stays a number, and the model uses
        a normal distribution per label, from its mean and variance.
    mechanism : str, default="auto"
        The mechanism for categories and bins: a frequency oracle, or "auto" for the least variance per
        question.
    numeric : str, default="auto"
        The mechanism for numbers if `bins` is None: one of "sign", "sign-vector", "piecewise", "onebit",
        "sampled-laplace", "laplace", or "auto" for the least variance per question.
    estimator : {"default", "paper"}, default="default"
        See :func:`ldp_aggregator.estimation.estimate_snapshot`.
    random_state : int, RandomState or None
        Seeds the simulated devices.

    Attributes
    ----------
    classes_ : (k,) array
        The labels, sorted.
    n_features_in_ : int
        Number of entries of a row; with a projection these are its inputs, not its components.
    feature_names_in_ : (n,) array of str
        Names of the entries of a row; absent if `fit` was called with an array without names.
    plan_ : Plan
        The plan of the survey.
    log_probabilities_ : LogProbabilities
        The logarithms whose sums are the scores; labels as in `classes_`.
    estimates_ : dict
        All estimates with their errors, see :meth:`Estimates.as_dict`.
    privacy_ : dict or None
        The privacy statement of the model file; None after `fit`, whose reports are simulated.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        survey: Survey | None = None,
        bins: int | None = 8,
        mechanism: str = "auto",
        numeric: str = "auto",
        estimator: str = "default",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.survey = survey
        self.bins = bins
        self.mechanism = mechanism
        self.numeric = numeric
        self.estimator = estimator
        self.random_state = random_state

    @classmethod
    def from_probabilities(
        cls,
        plan: Plan,
        prior: FloatArray,
        conditionals: Sequence[ClassConditional],
        estimates: dict[str, Any],
        privacy: dict[str, Any] | None = None,
    ) -> Self:
        """Return a fitted classifier from the content of a model file.

        Parameters
        ----------
        plan : Plan
        prior : (k,) array
        conditionals : sequence of (A_i, k) arrays and Gaussians
            P(value | label), one per feature of the plan.
        estimates : dict
            Stored as the attribute `estimates_`.
        """
        model = cls(epsilon=float(plan.epsilon), estimator=estimates["estimator"])
        names = [entry.name for entry in plan.entries]
        model.n_features_in_ = len(names)
        model.feature_names_in_ = np.array(names, dtype=object)
        model._reads_by_name = True
        model._set_probabilities(plan, prior, conditionals, np.array(plan.label.values))
        model.estimates_, model.privacy_ = estimates, privacy or {}
        return model

    def _set_probabilities(
        self, plan: Plan, prior: FloatArray, conditionals: Sequence[ClassConditional], labels: NDArray[Any]
    ) -> None:
        # scikit-learn's scorers take the columns of predict_proba to follow sorted labels
        order = np.argsort(labels)
        self.plan_ = plan
        self.classes_ = labels[order]
        self.log_probabilities_ = LogProbabilities.from_probabilities(
            prior[order], [_reorder_labels(each, order) for each in conditionals]
        )
        self._fast_predictor = FastPredictor.from_model(plan, self.log_probabilities_)

    @property
    def tables_(self) -> LogProbabilities:
        """`log_probabilities_` under its old name, for one release."""
        return self.log_probabilities_

    def fit(self, X: Any, y: Any) -> Self:
        """Simulate the whole protocol over a population: one randomised report per row.

        Parameters
        ----------
        X : list of dicts, DataFrame or (m, n) array
        y : (m,) sequence of labels

        Raises
        ------
        RowError
            If a row or label does not fit the given survey.
        ValueError
            If there are fewer than two classes, or X and y do not match.
        """
        if self.survey is not None:
            refuse_validation(self.survey)
        columns, y = self._read_training_table(X, y)
        check_classification_targets(y)
        labels, label_codes = np.unique(y, return_inverse=True)
        if self.survey is None:
            if len(labels) < 2:
                raise ValueError("a classifier needs at least two classes, and y has only one class")
            plan = infer_survey(
                columns,
                [str(label) for label in labels],
                epsilon=self.epsilon,
                bins=self.bins,
                mechanism=self.mechanism,
                numeric=self.numeric,
                # Yilmaz et al.'s estimator needs the label question, asked as often as each of the others
                label_weight=1 if self.estimator == "paper" else None,
                users=len(y),
            ).compile()
        else:
            plan = self.survey.compile()
            labels, label_codes = np.array(plan.label.values), encode_labels(plan, y)
        seed = check_random_state(self.random_state).randint(2**31)
        snapshot = simulate_reports(plan, encode_table(plan, columns), label_codes, FastStream(seed))
        estimates = estimate_snapshot(snapshot, self.estimator)
        conditionals = [feature.smoothed for feature in estimates.features]
        self._set_probabilities(plan, estimates.prior, conditionals, labels)
        self.estimates_, self.privacy_ = estimates.as_dict(), None
        return self

    def _read_training_table(self, X: Any, y: Any) -> tuple[Columns, NDArray[Any]]:
        known = [entry.name for entry in self.survey.entries] if self.survey else None
        self._reads_by_name = is_list_of_dicts(X) or (known is not None and has_column_names(X))
        if self._reads_by_name:
            names = known or list(X[0])
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            return select_columns(X, names), y
        X, y = validate_data(self, to_array(X), y, dtype=None, ensure_all_finite="allow-nan")
        names = known or [str(name) for name in getattr(self, "feature_names_in_", range(X.shape[1]))]
        if len(names) != X.shape[1]:
            raise ValueError(f"X has {X.shape[1]} features, but the survey has {len(names)}")
        return name_columns(X, names), y

    def _read_table(self, X: Any) -> Columns | NDArray[Any]:
        """Return rows as columns by name, or as an (m, n) array."""
        check_is_fitted(self)
        names = [entry.name for entry in self.plan_.entries]
        if is_list_of_dicts(X) or (self._reads_by_name and has_column_names(X)):
            return select_columns(X, names)
        if self._reads_by_name:
            # an array has no names to compare; without this scikit-learn would warn about it
            X = check_array(to_array(X), dtype=None, ensure_all_finite="allow-nan")
            if X.shape[1] != len(names):
                raise ValueError(f"X has {X.shape[1]} features, but the survey has {len(names)}")
        else:
            X = validate_data(self, to_array(X), reset=False, dtype=None, ensure_all_finite="allow-nan")
        table: NDArray[Any] = X
        return table

    def _encode(self, rows: Columns | NDArray[Any]) -> IntArray:
        if isinstance(rows, np.ndarray):
            rows = name_columns(rows, [entry.name for entry in self.plan_.entries])
        return encode_table(self.plan_, rows)

    def _compute_scores(self, rows: Columns | NDArray[Any]) -> FloatArray:
        return self.log_probabilities_.compute_scores(self._encode(rows))

    def encode(self, X: Any) -> IntArray:
        """Return the codes of m rows, computed as devices do; shape (m, number of features of the plan).

        The code of a category or bin is its index, missing last. The code of a number counts steps of a grid.
        """
        return self._encode(self._read_table(X))

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return the scores of m rows and k labels, shape (m, k), columns as in `classes_`.

        A score is log P(label) plus the sum of log P(value | label) over the features.
        """
        return self._compute_scores(self._read_table(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log P(label | row), shape (m, k), columns as in `classes_`."""
        return normalise_log_scores(self.predict_joint_log_proba(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(label | row), shape (m, k), columns as in `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each row, shape (m,)."""
        best = self._find_best(self._read_table(X))
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def _find_best(self, rows: Columns | NDArray[Any]) -> IntArray:
        """Return the index of the best label of each row: by fast prediction, else by the scores."""
        best: IntArray
        if self._fast_predictor is None or not self._fast_predictor.supports(rows):
            best = self._compute_scores(rows).argmax(axis=1)
            return best
        best = self._fast_predictor.predict(rows)
        undecided = np.flatnonzero(best == UNDECIDED)
        if len(undecided):
            try:
                best[undecided] = self._compute_scores(take_rows(rows, undecided)).argmax(axis=1)
            except RowError:
                self._compute_scores(rows)  # raises the same error, with the number of the row in all rows
                raise
        return best

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        # scikit-learn's checks train on a few hundred rows, too few for a small epsilon
        tags.classifier_tags.poor_score = self.epsilon < 4
        return tags


def _reorder_labels(conditional: ClassConditional, order: NDArray[np.intp]) -> ClassConditional:
    """Put the labels of one feature's probabilities in another order."""
    if isinstance(conditional, Gaussian):
        missing = None if conditional.missing is None else conditional.missing[order]
        return Gaussian(conditional.mean[order], conditional.variance[order], missing)
    return conditional[:, order]

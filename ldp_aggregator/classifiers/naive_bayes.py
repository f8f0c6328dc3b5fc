"""Naive Bayes from randomised reports, as a scikit-learn classifier; without a survey, one is inferred."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from encoders.canonical import decimal_text, equal_width_edges, to_nfc
from encoders.errors import RowError, SurveyError
from encoders.mechanisms import check_name, check_numeric_name
from encoders.randomness import FastStream
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, Label, NumericFeature, Plan, Survey
from encoders.survey.compiled_plan import SILO_REFUSAL
from encoders.survey.parse_value import category_text, is_missing, parse_number
from encoders.survey.schema_tables import MAX_BINS
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.classifiers import row_reader
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.prediction.predictor import Predictor, encode_any_labels, spell_labels
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.results import Results, make_results
from ldp_aggregator.results_file import no_classifier
from ldp_aggregator.rows.encode_table import drop_missing_codes, encode_table, read_boolean_columns
from ldp_aggregator.rows.table_input import Columns, name_rows_by_index
from ldp_aggregator.simulated_population import parse_epsilon, simulate_reports


class NaiveBayes(row_reader.SurveyClassifier):
    """Naive Bayes whose probabilities come from reports under local differential privacy.

    The method is that of Yilmaz et al. 2019, see docs/results/replication.md. A model of real reports
    comes from :func:`ldp_aggregator.load_model`, already fitted. :meth:`fit` simulates the protocol on a
    labelled table, to estimate its accuracy: every row becomes a user who sends one randomised report.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of each user's one report.
    survey : Survey or Plan, optional
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
    handle_unknown : {"error", "ignore"}, default="error"
        What to do in prediction about a category that the survey does not have, and about a missing value
        or missing code where the survey has no category for it: raise RowError, or leave the feature out of
        the row's score. `fit` leaves out rows with such a code.
    random_state : int, RandomState or None
        Seeds the simulated devices.

    Attributes
    ----------
    classes_ : (k,) array
        The labels, sorted: booleans if the survey's are true and false, integers if all are, otherwise texts.
        After `fit` they are spelt as in `y`.
    n_features_in_ : int
        Number of entries of a row; with a projection these are its inputs, not its components.
    feature_names_in_ : (n,) array of str
        Names of the entries of a row; absent if `fit` was called with an array without names.
    log_probabilities_ : LogProbabilities
        The logarithms whose sums are the scores; labels as in `classes_`.

    Examples
    --------
    >>> rows = [{"tea": "daily"}, {"tea": "never"}] * 1000
    >>> model = NaiveBayes(epsilon=2, random_state=0).fit(rows, ["smoker", "other"] * 1000)
    >>> model.predict([{"tea": "daily"}])
    array(['smoker'], dtype='<U6')
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        survey: Survey | Plan | SiloPlan | None = None,
        bins: int | None = 8,
        mechanism: str = "auto",
        numeric: str = "auto",
        estimator: str = "default",
        handle_unknown: str = row_reader.ERROR,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.survey = survey
        self.bins = bins
        self.mechanism = mechanism
        self.numeric = numeric
        self.estimator = estimator
        self.handle_unknown = handle_unknown
        self.random_state = random_state

    @classmethod
    def from_results(cls, results: Results) -> Self:
        plan, estimates = results.plan, results.estimates
        model = cls(epsilon=float(plan.epsilon), survey=plan, estimator=estimates.estimator)
        model._set_stored(Predictor.from_parameters(plan, results.classifier))
        model._set_results(results)
        return model

    def _set_predictor(self, predictor: Predictor) -> None:
        super()._set_predictor(predictor)
        assert isinstance(predictor.model, LogProbabilities)
        self.log_probabilities_ = predictor.model

    def fit(self, X: Any, y: Any) -> Self:
        """Simulate the whole protocol over a population: one randomised report per row.

        Parameters
        ----------
        X : list of dicts, dict of columns, DataFrame or (m, n) array
            A DataFrame of pandas or polars, or a table of pyarrow.
        y : (m,) sequence of labels

        Raises
        ------
        RowError
            If a row or label does not fit the given survey.
        ModelError
            If the given survey has no label.
        ValueError
            If there are fewer than two classes, or X and y do not match.
        TypeError
            If a parameter of the classifier has a wrong type.
        """
        _check_types(self)
        row_reader.check_handling(self.handle_unknown)
        if self.survey is not None:
            _check_survey(self.survey)
        with name_rows_by_index(X):
            columns, labels = self._read_training_table(X, y)
        check_classification_targets(labels)
        with name_rows_by_index(y):
            plan, classes, label_codes = choose_plan(self, columns, labels)
        seed = check_random_state(self.random_state).randint(2**31)
        with name_rows_by_index(X):
            columns, kept = drop_missing_codes(plan.entries, columns)
            codes = encode_table(plan, read_boolean_columns(plan.features, columns))[kept]
        snapshot = simulate_reports(plan, codes, label_codes[kept], FastStream(seed))
        results = make_results(replace(snapshot, simulated=True), self.estimator, poisoning=False)
        self._set_predictor(Predictor.from_parameters(plan, results.classifier, classes))
        self._set_results(results)
        return self

    def _compute_scores(self, rows: Columns | NDArray[Any]) -> FloatArray:
        row_reader.check_handling(self.handle_unknown)
        columns, unknown = self._to_columns(rows), None
        if self.handle_unknown == row_reader.IGNORE:
            columns, unknown = row_reader.replace_unknown_values(self.plan_, columns)
        return self._predictor.compute_scores(self._predictor.encode(columns), unknown)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's checks train on a few hundred rows, too few for a small epsilon
        epsilon: Any = self.epsilon  # `fit` checks its type
        tags.classifier_tags.poor_score = not (isinstance(epsilon, Real) and float(epsilon) >= 4)
        return tags


_TYPES: dict[str, tuple[Any, str]] = {
    "epsilon": (Real | Decimal, "a number such as 1.0, not {}"),
    "survey": (
        Survey | Plan | SiloPlan | None,
        "a Survey or a Plan, not {}: see encoders.survey.read_survey",
    ),
    "bins": (Real | None, "a whole number or None, not {}"),
    "mechanism": (str, 'a name such as "auto", not {}'),
    "numeric": (str, 'a name such as "auto", not {}'),
    "estimator": (str, '"default" or "paper", not {}'),
    "handle_unknown": (str, '"error" or "ignore", not {}'),
    "random_state": (
        Integral | None | np.random.RandomState,
        "a whole number, None or a RandomState, not {}",
    ),
}


def _check_types(model: NaiveBayes) -> None:
    """Raise TypeError if a parameter has a wrong type; a boolean is not a number."""
    for name, (kind, needs) in _TYPES.items():
        value = getattr(model, name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError(f"{name} needs {needs.format(type(value).__name__)}")


def _check_survey(survey: Survey | Plan | SiloPlan) -> None:
    """Raise an error unless people can be simulated who answer a survey, with a label, for a classifier."""
    if isinstance(survey, SiloPlan):
        raise SurveyError(f"{survey.id}: {SILO_REFUSAL}")
    refuse_validation(survey)
    if not survey.label.exists:
        raise no_classifier(survey, "ldp-simulate estimates its shares from the same rows")


def choose_plan(
    settings: NaiveBayes, columns: Mapping[str, Any], y: NDArray[Any]
) -> tuple[Plan, NDArray[Any], IntArray]:
    if settings.survey is None:
        labels, label_codes = np.unique(y, return_inverse=True)
        if len(labels) < 2:
            raise ValueError("a classifier needs at least two classes, and y has only one class")
        survey = infer_survey(
            columns,
            [to_nfc(str(label)) for label in labels],
            epsilon=settings.epsilon,
            bins=settings.bins,
            mechanism=settings.mechanism,
            numeric=settings.numeric,
            # Yilmaz et al.'s estimator needs the label question, asked as often as each of the others
            label_weight=1 if settings.estimator == "paper" else None,
            users=len(y),
        )
        return survey.compile(), labels, label_codes
    plan = settings.survey.compile() if isinstance(settings.survey, Survey) else settings.survey
    assert isinstance(plan, Plan)
    label_codes = encode_any_labels(plan.label, y)
    return plan, spell_labels(plan.label, y, label_codes), label_codes


def infer_survey(
    columns: Mapping[str, Any],
    labels: Sequence[str],
    *,
    epsilon: float | str | Decimal = 1,
    bins: int | None = 8,
    mechanism: str = "auto",
    numeric: str = "auto",
    label_name: str = "class",
    label_weight: int | None = None,
    users: int | None = None,
) -> Survey:
    """Return a survey that fits the given columns.

    Numbers become `bins` equal-width bins between the least and the greatest number; without bins they stay
    numbers between these bounds. Any other column becomes a feature with one category per distinct value. If
    values are missing, missing becomes one more category. `mechanism` is for discrete features, `numeric` for
    numbers. `label_weight` is the weight of the label question, where each feature has weight 1; by default
    it is asked only if no other question estimates the label, or if few users need it. `users` is the number
    of people who will answer.
    """
    if bins is not None and not (1 <= bins <= MAX_BINS and bins == int(bins)):
        raise ValueError(f"bins must be None or a whole number above 0, not {bins!r}, and at most {MAX_BINS}")
    return Survey(
        id="inferred",
        epsilon=parse_epsilon(epsilon),
        label=Label(label_name, tuple(labels)),
        features=tuple(_infer_feature(name, values, bins and int(bins)) for name, values in columns.items()),
        weights=(label_weight, *(1 for _ in columns)),
        frequency=_check_name(check_name, mechanism, "mechanism"),
        numeric=_check_name(check_numeric_name, numeric, "numeric"),
        users=users,
    )


def _check_name(check: Callable[[str], str], name: str, parameter: str) -> str:
    try:
        return check(name)
    except SurveyError as error:
        raise SurveyError(error.why, parameter) from None


def _infer_feature(name: str, column: Any, bins: int | None) -> Feature:
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    present = [value for value in values if not is_missing(value)]
    missing = "category" if len(present) < len(values) else "error"
    if present and all(
        isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in present
    ):
        numbers = [number for value in present if (number := parse_number(value, name)) is not None]
        return _infer_numeric_feature(name, numbers, bins, missing)
    return CategoricalFeature(name, _infer_values(name, present), missing)


def _infer_numeric_feature(name: str, numbers: Sequence[float], bins: int | None, missing: str) -> Feature:
    low, high = min(numbers), max(numbers)
    edges = equal_width_edges(Decimal(repr(low)), Decimal(repr(high)), bins or 1)
    if len({float(edge) for edge in edges}) == (bins or 1) + 1:
        return (
            BinnedFeature(name, edges, missing)
            if bins
            else NumericFeature(name, edges[0], edges[-1], missing)
        )
    # all numbers are equal: one bin, so that the coupled question asks about the label alone
    above = decimal_text(Decimal(repr(math.nextafter(low, math.inf))))
    return BinnedFeature(name, (decimal_text(Decimal(repr(low))), above), missing)


def _infer_values(name: str, present: Sequence[Any]) -> tuple[str, ...]:
    texts = {category_text(value) for value in set(present)}
    if None in texts:
        raise RowError(name, "has a value that is neither a number nor a text: convert it")
    return tuple(sorted(text for text in texts if text is not None))

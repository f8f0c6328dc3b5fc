"""A fit can be published in a survey: it is rounded, bounded, centred and reproducible."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.survey.features import NumericFeature
from ldp_aggregator.rows.encode_table import project_columns
from reduction.fit import METHODS, Fit, FitError, fit, round_outward

AGE = NumericFeature("age", "0", "100")
INCOME = NumericFeature("income", "0", "200000")
HOURS = NumericFeature("hours", "0", "12")
INPUTS = (AGE, INCOME, HOURS)


def sample(m: int = 400, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the inputs in their own units, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, m)
    shared = rng.normal(size=m)
    age = 40 + 10 * shared + 5 * labels
    income = 60_000 + 8000 * shared + 5000 * rng.normal(size=m)
    hours = 6 + rng.normal(size=m) + (labels == 2)
    return np.stack([age, income, hours], axis=1), labels


def normalised(rows: np.ndarray) -> np.ndarray:
    return np.stack(
        [(column - f.bounds[0]) / f.width - 1 for f, column in zip(INPUTS, rows.T, strict=True)], 1
    )


ROWS, LABELS = sample()
X = normalised(ROWS)


@pytest.mark.parametrize("method", METHODS)
def test_the_fitted_rows_have_mean_zero_deviation_one_and_lie_within_the_bounds(method):
    found = fit(method, INPUTS, X, LABELS, 3)
    columns = dict(zip(["age", "income", "hours"], ROWS.T, strict=True))
    projected = project_columns(found.projection, columns)
    assert list(projected) == [f"{method}1", f"{method}2", f"{method}3"]
    for (low, high), (inner, outer), column in zip(
        found.bounds, found.middle, projected.values(), strict=True
    ):
        assert column.mean() == pytest.approx(0, abs=1e-5)
        assert column.std() == pytest.approx(1, abs=1e-5)
        assert float(low) - 1e-5 <= column.min() < inner < outer < column.max() <= float(high) + 1e-5
        assert float(high) - float(low) < 1.3 * np.ptp(column)
    assert len(found.powers) == 3
    assert sorted(found.powers, reverse=True) == list(found.powers)


@pytest.mark.parametrize("method", METHODS)
def test_the_largest_weight_is_positive_so_that_every_fit_has_the_same_signs(method):
    found = fit(method, INPUTS, X, LABELS, 3)
    for component in found.projection.components:
        assert max(map(float, component.weights), key=abs) > 0
    shuffled = np.random.default_rng(9).permutation(len(X))
    again = fit(method, INPUTS, X[shuffled], LABELS[shuffled], 3)
    for one, other in zip(found.projection.components, again.projection.components, strict=True):
        np.testing.assert_allclose(
            [float(weight) for weight in one.weights], [float(weight) for weight in other.weights], atol=2e-6
        )


def test_the_first_of_equally_large_weights_is_positive():
    x = np.array([0.1, -0.2, 0.4, 0.3])
    weights = fit("pca", INPUTS[:2], np.stack([x, -x], axis=1)).projection.components[0].weights
    assert float(weights[0]) == -float(weights[1]) > 0


def test_a_component_can_be_recovered_from_its_deviation():
    x = np.array([-0.5, 0.5, 0.5, -0.5])
    found = fit("pca", (AGE,), x[:, None])
    assert found.projection.components[0].weights == ("2",)
    assert found.projection.components[0].offset == "0"
    assert found.bounds == (("-1", "1"),)
    assert found.powers == (1.0,)


def test_inputs_that_hardly_vary_get_the_largest_weights_that_fit_the_devices_arithmetic():
    rows = X * 1e-5
    found = fit("dca", INPUTS, rows, LABELS, 3)
    found.projection.check()
    for component in found.projection.components:
        assert 3800 < sum(abs(float(weight)) for weight in component.weights) < 3900


def test_dca_finds_what_pca_misses():
    rng = np.random.default_rng(5)
    labels = np.arange(1000) % 2
    loud, quiet = rng.uniform(-0.9, 0.9, 1000), 0.05 * rng.normal(size=1000) + 0.1 * labels
    rows = np.stack([loud, quiet], axis=1)
    by_dca, by_pca = (fit(method, INPUTS[:2], rows, labels) for method in ("dca", "pca"))

    def share_of_quiet(found: Fit) -> float:
        weights = np.abs([float(weight) for weight in found.projection.components[0].weights])
        return (weights * rows.std(axis=0))[1] / (weights * rows.std(axis=0)).sum()

    assert share_of_quiet(by_dca) > 0.9
    assert share_of_quiet(by_pca) < 0.1


# -- rows that cannot be fitted -----------------------------------------------------------------


def broken(column: int, value: float, row: Any = ...) -> np.ndarray:
    rows = X.copy()
    rows[row, column] = value
    return rows


ERRORS = {
    "not finite": ({"rows": broken(1, np.nan, 7)}, "income: is not a finite number in some row"),
    "infinite": ({"rows": broken(2, np.inf, 7)}, "hours: is not a finite number"),
    "constant": ({"rows": broken(0, 0.25)}, "age: is the same in every row.* widen its range"),
    "not normalised": ({"rows": broken(0, 1.5, 7)}, "age: has values outside"),
    "one row": ({"rows": X[:1], "labels": LABELS[:1]}, "at least 2 rows without missing values, not 1"),
    "no rows": ({"rows": X[:0], "labels": LABELS[:0]}, "at least 2 rows without missing values, not 0"),
    "one class": ({"labels": LABELS * 0}, "all rows are of one class"),
    "no labels": ({"labels": None}, "DCA needs a label for each row"),
    "too few labels": ({"labels": LABELS[:5]}, "DCA needs a label for each row"),
    "more components than inputs": ({"components": 4}, "3 inputs make 1 to 3 components, not 4"),
    "no components": ({"components": 0}, "3 inputs make 1 to 3 components, not 0"),
    "too few columns": ({"rows": X[:, :2]}, "one column for each of the 3 inputs"),
    "no inputs": ({"inputs": (), "rows": X[:, :0]}, "and at least one"),
    "no matrix": ({"rows": X[0]}, "one column for each"),
    "unknown method": ({"method": "lda"}, "unknown method; choose one of dca, pca"),
    "negative ridge": ({"ridge": -0.1}, "the ridge must be a finite number, 0 or more"),
    "no ridge": ({"ridge": np.nan}, "the ridge must be a finite number, 0 or more"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_what_cannot_be_fitted(name):
    changes, why = ERRORS[name]
    arguments = {"method": "dca", "inputs": INPUTS, "rows": X, "labels": LABELS} | changes
    with pytest.raises(FitError, match=why):
        fit(**arguments)


@pytest.mark.parametrize("method", METHODS)
def test_a_component_without_variance_is_refused(method):
    doubled = np.hstack([X, X[:, :1]])
    inputs = (*INPUTS, replace(AGE, name="years"))
    assert len(fit(method, inputs, doubled, LABELS, 3).powers) == 3
    with pytest.raises(FitError, match="component 4 is the same in every row"):
        fit(method, inputs, doubled, LABELS, 4)


@pytest.mark.slow
@settings(deadline=None)
@given(st.floats(-8000, 8000), st.floats(1e-6, 1000))
def test_bounds_are_rounded_outward_to_two_digits_of_their_distance(low, span):
    start, end = map(float, round_outward(low, low + span))
    assert start <= low
    assert low + span <= end
    assert end - start <= 1.21 * span + 1e-9


def test_bounds_have_few_digits():
    assert round_outward(-2.0471, 2.391) == ("-2.1", "2.4")
    assert round_outward(np.float64(-0.0123), np.float64(0.0041)) == ("-0.013", "0.005")


@pytest.mark.slow
def test_importing_the_package_loads_no_numpy():
    code = "import reduction, sys; print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"

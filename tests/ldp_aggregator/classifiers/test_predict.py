"""For random models and rows, predict gives the label of the highest score, or the error of the scores."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from encoders.errors import RowError
from encoders.survey import Feature
from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
from ldp_aggregator.estimation import Gaussian
from tests.ldp_aggregator.prediction.random_models import give_probabilities, random_model

WHOLE = [
    'values = ["3", "-2", "7", "none", "007"]',
    "range = [-4, 12]\nbins = 3",
    "edges = [-1.5, 0, 0.5, 99]",
]
REAL = ["range = [0, 100]", "range = [-1000.5, 250000]", "range = [1000000000, 1000000001]"]
FAR = ["edges = [0, 9007199254740991, 9007199254740993, 1e16]", "range = [0, 200000]\nbins = 8"]
PROJECTED = [
    f'weights = [1, -0.5]\nrange = [-1, 1]\nmissing = "category"{bins}' for bins in ("", "\nbins = 3")
]
INPUTS = "".join(f'[projection.inputs.i{j}]\nrange = [0, 12]\nmissing = "category"\n' for j in range(2))
TYPES = "int8 int16 int64 >i8 uint8 uint64 float32 float64 >f8 longdouble bool object"
ODD = [np.nan, np.inf, -np.inf, 999, -1, 2.0**53 + 2, 2.0**63]


def random_survey(rng: np.random.Generator) -> str:
    if rng.random() < 0.1:
        return INPUTS + "".join(f"[features.f{j}]\n{kind}\n" for j, kind in enumerate(PROJECTED))
    kinds = [WHOLE, REAL, WHOLE + REAL, WHOLE + REAL + FAR][rng.integers(4)]
    missing = ["", 'missing = "category"']
    chosen = enumerate(rng.choice(kinds, rng.choice([1, 2, 6])))
    return "".join(f"[features.f{j}]\n{kind}\n{rng.choice(missing)}\n" for j, kind in chosen)


def with_ties(rng: np.random.Generator, conditional: Gaussian | np.ndarray) -> Gaussian | np.ndarray:
    """Make some features uninformative, so that labels tie, and some values impossible."""
    if rng.random() < 0.3:
        if isinstance(conditional, Gaussian):
            return Gaussian(conditional.mean * 0, conditional.variance * 0 + 0.1, conditional.missing)
        return np.full_like(conditional, 1 / len(conditional))
    if not isinstance(conditional, Gaussian):
        conditional[rng.integers(len(conditional)), rng.integers(conditional.shape[1])] = 0
        conditional[-1] += 1e-9
        conditional /= conditional.sum(axis=0)
    return conditional


def random_tied_model(rng: np.random.Generator) -> NaiveBayes:
    k = int(rng.integers(2, 27))
    seen = random_model(random_survey(rng), k)
    conditionals = []
    for feature, column in zip(seen.plan_.features, seen.log_probabilities_.likelihoods, strict=True):
        if feature.kind == "numeric":
            gone = rng.uniform(0.1, 0.2, k) if feature.missing == "category" else None
            made = Gaussian(column.mean, 10 ** rng.uniform(-4, 0, k), gone)
        else:
            made = np.exp(column.log_table)
        conditionals.append(with_ties(rng, made))
    prior = np.full(k, 1 / k) if rng.random() < 0.4 else rng.dirichlet(np.ones(k))
    prior[rng.integers(k)] *= rng.random() < 0.7
    return give_probabilities(seen, prior / prior.sum(), conditionals)


def random_cells(rng: np.random.Generator, entry: Feature, count: int) -> np.ndarray:
    if entry.kind == "categorical":
        return rng.choice([3.0, -2.0, 7.0], count)
    low, high = entry.bounds
    near = rng.choice([float(edge) for edge in getattr(entry, "edges", (low, high))], count)
    near += rng.choice([-1, 0, 0, 0.5], count)
    return np.where(
        rng.random(count) < 0.3, near, rng.uniform(1.2 * low - 0.2 * high, 1.2 * high - 0.2 * low, count)
    )


def random_tables(rng: np.random.Generator, model: NaiveBayes, count: int) -> Iterator[Any]:
    """Return one table in the forms that predict takes."""
    cells = np.column_stack([random_cells(rng, entry, count) for entry in model.plan_.entries])
    if count and rng.random() < 0.3:
        cells[rng.integers(count), rng.integers(cells.shape[1])] = rng.choice(ODD)
    with np.errstate(invalid="ignore"):  # casts that wrap around
        table = cells.astype(rng.choice(TYPES.split()))
    native = table.astype(table.dtype.newbyteorder("="))
    columns = dict(zip(model.feature_names_in_, native.T, strict=True))
    frame = pd.DataFrame(columns)
    yield from (
        table,
        np.asfortranarray(table),
        np.repeat(table, 2, axis=0)[::2],
        table[:, ::-1].copy()[:, ::-1],
    )
    yield from (frame, frame[frame.columns[::-1]], frame.astype(object).where(frame.notna(), None), columns)
    yield from (table.tolist(), frame.to_dict("records"), frame.to_dict("series"))
    yield {**columns, "f0": columns["f0"].astype(float)} if "f0" in columns else columns


def outcome(predict: Callable[[Any], object], rows: Any) -> object:
    try:
        return predict(rows).tolist()
    except (RowError, ValueError) as error:
        return type(error), str(error)


def predict_by_scores(model: NaiveBayes, rows: Any) -> np.ndarray:
    return model.classes_[model.predict_joint_log_proba(rows).argmax(axis=1)]


@pytest.mark.slow
@pytest.mark.parametrize("assume_finite", [False, True])
@pytest.mark.filterwarnings("ignore:(invalid|overflow).*:RuntimeWarning")  # scikit-learn's, of infinities
def test_predict_gives_the_label_of_the_highest_score_or_the_same_error(assume_finite):
    refused = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, assume_finite])
        model = random_tied_model(rng)
        for place, rows in enumerate(random_tables(rng, model, rng.choice([0, 1, 2, 60]))):
            with config_context(assume_finite=assume_finite):
                found = outcome(model.predict, rows)
                expected = outcome(partial(predict_by_scores, model), rows)
            assert found == expected, (seed, place)
            refused += isinstance(found, tuple)
    assert 50 < refused < 400


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
@pytest.mark.parametrize("missing", ["", 'missing = "category"'])
def test_infinity_is_refused_even_where_scikit_learn_does_not_look_for_it(infinite, missing):
    table = np.array([[50.0], [infinite], [20.0]])
    model = random_model(f"[features.f0]\nrange = [0, 100]\n{missing}")
    with config_context(assume_finite=True), pytest.raises(RowError, match=r"^f0: row 2: is infinite"):
        model.predict(table)

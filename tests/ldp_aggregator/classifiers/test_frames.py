"""The same rows give the same survey, codes and predictions, whichever library their table is of."""

import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from encoders.errors import RowError, SurveyError
from encoders.survey import Survey, read_survey
from ldp_aggregator import NaiveBayes
from ldp_aggregator.rows.table_input import select_columns
from ldp_design import simulate
from tests.support.surveys import survey_toml

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

_CELLS = {
    "tea": ["daily", "never", None, "rarely"],
    "number": [3, 9007199254740993, 3, 5],
    "count": [1, None, 4, 2],
    "height": [1.5, 2.0, None, 3.0],
    "smokes": [True, False, True, True],
    "drinks": [True, None, False, True],
    "team": ["a", "b", "a", "b"],
}
COLUMNS = {name: cells * 10 for name, cells in _CELLS.items()}
LABELS = ["yes", "no", "no", "yes"] * 10
ROWS = [dict(zip(COLUMNS, cells, strict=True)) for cells in zip(*COLUMNS.values(), strict=True)]

SURVEY = survey_toml(
    id="frames",
    epsilon=8.0,
    label={"name": "ill"},
    features={
        "smokes": [True, False],
        "drinks": {"values": [True, False], "missing": "category"},
        "number": [3, 5, 9007199254740993],
        "count": {"values": [1, 2, 4], "missing": "category"},
        "tea": {"values": ["daily", "rarely", "never"], "missing": "category"},
        "height": {"range": [0, 4], "missing": "category"},
        "team": ["a", "b"],
    },
)

READ = read_survey(SURVEY)


def pandas_frame(columns: dict[str, list[Any]]) -> pd.DataFrame:
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    return frame.infer_objects()  # a number with gaps stays an object


def arrow_frame(columns: dict[str, list[Any]]) -> pd.DataFrame:
    return pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)


def categorical_frame(columns: dict[str, list[Any]]) -> pd.DataFrame:
    return pandas_frame(columns).astype(
        {name: "category" for name in ("tea", "team", "number") if name in columns}
    )


def polars_categories(columns: dict[str, list[Any]]) -> Any:
    return pl.DataFrame(columns).with_columns(pl.col(pl.String).cast(pl.Categorical))


def arrow_dictionaries(columns: dict[str, list[Any]]) -> Any:
    return pa.table({name: pa.array(cells).dictionary_encode() for name, cells in columns.items()})


def chunks(columns: dict[str, list[Any]]) -> Any:
    table = pa.table(columns)
    return pa.concat_tables([table.slice(0, 5), table.slice(5)])


FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pandas_frame,
    "pandas objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas nullable": lambda columns: pandas_frame(columns).convert_dtypes(),
    "pandas pyarrow": arrow_frame,
    "pandas categories": categorical_frame,
    "polars": pl.DataFrame,
    "polars categories": polars_categories,
    "pyarrow": chunks,
    "pyarrow batch": pa.RecordBatch.from_pydict,
    "pyarrow dictionaries": arrow_dictionaries,
}
TABLES = FRAMES | {
    "dict of lists": dict,
    "dict of Series": lambda columns: dict(pandas_frame(columns)),
    "dict of polars": lambda columns: {name: pl.Series(cells) for name, cells in columns.items()},
    "dict of pyarrow": lambda columns: {name: pa.array(cells) for name, cells in columns.items()},
    "dict of arrays": lambda columns: {n: np.array(cells, dtype=object) for n, cells in columns.items()},
    "list of lists": lambda columns: list(map(list, zip(*columns.values(), strict=True))),
}
LABEL_KINDS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "Series": pd.Series,
    "Arrow Series": lambda labels: pd.Series(labels, dtype=pd.ArrowDtype(pa.array(labels).type)),
    "category": lambda labels: pd.Series(labels, dtype="category"),
    "polars": pl.Series,
    "pyarrow": lambda labels: pa.chunked_array([labels[:7], labels[7:]]),
    "objects": lambda labels: np.array(labels, dtype=object),
}


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> Any:
    return TABLES[request.param](COLUMNS)


@pytest.fixture(params=FRAMES)
def make_frame(request: pytest.FixtureRequest) -> Iterator[Callable[[dict[str, list[Any]]], Any]]:
    return FRAMES[request.param]


def fit(rows: Any, labels: Any = LABELS, **parameters: Any) -> NaiveBayes:
    return NaiveBayes(epsilon=8, random_state=0, **parameters).fit(rows, labels)


@cache
def fit_rows(spelling: type = str, survey: Survey | None = None, **parameters: Any) -> NaiveBayes:
    """Return the model of the rows, with which many others are compared."""
    return fit(ROWS, spell_labels(spelling), survey=survey, **parameters)


def spell_labels(spelling: type) -> list[Any]:
    return [each if spelling is str else spelling(each == "yes") for each in LABELS]


@pytest.mark.slow
@pytest.mark.parametrize("bins", [3, None])
def test_a_table_of_any_library_gives_the_same_model(table, bins):
    expected, model = fit_rows(bins=bins), fit(table, bins=bins)
    assert [each.as_dict() | {"name": ""} for each in model.plan_.features] == [
        each.as_dict() | {"name": ""} for each in expected.plan_.features
    ]
    np.testing.assert_array_equal(model.encode(table), expected.encode(ROWS))
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(ROWS))
    np.testing.assert_array_equal(model.predict(table), expected.predict(ROWS))


@pytest.mark.slow
def test_a_table_of_any_library_is_read_by_a_survey(make_frame):
    frame = make_frame(COLUMNS)
    expected, model = fit_rows(survey=READ), fit(frame, survey=READ)
    np.testing.assert_array_equal(model.encode(frame), expected.encode(ROWS))
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(ROWS))
    assert model.score(frame, pl.Series(LABELS)) == expected.score(ROWS, LABELS)


@pytest.mark.slow
def test_a_model_of_one_library_predicts_rows_of_each_other(make_frame):
    model = fit(make_frame(COLUMNS))
    expected = fit_rows().predict_proba(ROWS)
    for rows in (ROWS, *(make(COLUMNS) for make in FRAMES.values())):
        np.testing.assert_array_equal(model.predict_proba(rows), expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LABEL_KINDS)
@pytest.mark.parametrize("spelling", [str, int, bool])
def test_labels_of_any_library_give_the_same_model(kind, spelling):
    labels = spell_labels(spelling)
    expected, model = fit_rows(spelling), fit(ROWS, LABEL_KINDS[kind](labels))
    assert model.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_array_equal(model.predict_proba(ROWS), expected.predict_proba(ROWS))
    assert model.score(ROWS, LABEL_KINDS[kind](labels)) == expected.score(ROWS, labels)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("survey", [None, read_survey(SURVEY)])
def test_a_label_that_is_missing_is_named_by_row(missing, survey):
    with pytest.raises(ValueError, match=r"^y: row 2: is missing: leave out the rows"):
        fit(ROWS, ["yes", missing, *LABELS[2:]], survey=survey)
    with pytest.raises(ValueError, match=r"^y: row 2: is missing: leave out the rows"):
        fit(ROWS).score(ROWS, ["yes", missing, *LABELS[2:]])


@pytest.mark.slow
def test_fits_and_simulations_read_the_same_frames(make_frame):
    columns = {name: cells * 30 for name, cells in COLUMNS.items()}
    labels, survey = LABELS * 30, read_survey(SURVEY)
    one, other = (
        NaiveBayes(survey=survey, random_state=0).fit(make(columns), labels) for make in (make_frame, dict)
    )
    np.testing.assert_array_equal(one.predict_proba(ROWS), other.predict_proba(ROWS))
    found, expected = (
        simulate(survey, make(columns | {"ill": labels}), repeats=1, seed=1) for make in (make_frame, dict)
    )
    assert found.as_dict() == expected.as_dict()


@pytest.mark.parametrize("cells", [[1, 2, 3, None], [0.5, None, 2.25, 1.0], [1, 2, 3, 3]])
def test_numbers_without_gaps_are_arrays_and_all_others_exact(make_frame, cells):
    column = select_columns(make_frame({"n": cells}), ["n"])["n"]
    assert [None if pd.isna(each) else each for each in list(column)] == cells


def test_lists_of_ticked_choices_are_read_from_every_library():
    pets = {"choices": ["cat", "dog"], "missing": "category"}
    survey = read_survey(survey_toml(epsilon=8, label={"name": "ill"}, features={"pets": pets}))
    cells = [["cat"], [], None, ["dog", "cat"]] * 10
    expected = fit([{"pets": each} for each in cells], survey=survey)
    best = expected.classes_[expected.predict_proba({"pets": cells}).argmax(axis=1)]
    for make in (pa.table, pl.DataFrame, pd.DataFrame, arrow_frame):
        frame = make({"pets": cells})
        np.testing.assert_array_equal(expected.encode(frame), expected.encode({"pets": cells}))
        np.testing.assert_array_equal(expected.predict(frame), best)


@pytest.mark.parametrize(
    "cells",
    [
        pd.date_range("2024-01-02", periods=2).to_pydatetime().tolist(),
        [datetime.date(2024, 1, 2), datetime.date(2024, 1, 3)],
        [datetime.timedelta(hours=1), datetime.timedelta(hours=2)],
    ],
)
def test_dates_are_refused_by_name_in_every_library(make_frame, cells):
    why = "^when: has a value that is neither a number nor a text: convert it"
    for rows in (
        make_frame({"when": cells * 20}),
        {"when": np.array(cells * 20, dtype="M8[ns]")}
        if isinstance(cells[0], datetime.datetime)
        else {"when": cells * 20},
    ):
        with pytest.raises(RowError, match=why):
            fit(rows)


@pytest.mark.slow
def test_decimals_are_numbers_in_every_library():
    cells = [Decimal("1.5"), Decimal("2.25")] * 20
    expected = fit({"price": list(map(float, cells))}).plan_.features
    for make in (pd.DataFrame, pl.DataFrame, pa.table, dict):
        assert fit(make({"price": cells})).plan_.features == expected


# -- frames that cannot be read --------------------------------------------------------------------


@pytest.mark.slow
def test_a_column_that_is_missing_or_there_twice_is_named():
    survey = read_survey(SURVEY)
    twice = pandas_frame(COLUMNS)
    twice.columns = [*list(COLUMNS)[:-1], "tea"]
    with pytest.raises(RowError, match=r"tea: there are 2 columns of this name: rename all but one"):
        fit(twice)
    with pytest.raises(
        RowError, match=r"tea: there are 2 columns of this name: rename all but one\nteam: the table has"
    ):
        fit(twice, survey=survey)
    arrow = pa.table([[1], ["a"]], names=["tea", "tea"])
    with pytest.raises(RowError, match=r"tea: there are 2 columns of this name"):
        fit(ROWS).predict(arrow)
    for make in (pl.DataFrame, pa.table, pandas_frame):
        with pytest.raises(ValueError, match="Feature names must be in the same order"):
            fit(make(COLUMNS)).predict(make(dict(reversed(COLUMNS.items()))))
        with pytest.raises(RowError, match="tea: the table has no such column: add it"):
            fit(ROWS).predict(make({"cup": [1]}))


@pytest.mark.slow
def test_columns_of_several_levels_are_refused():
    frame = pandas_frame(COLUMNS)
    frame.columns = pd.MultiIndex.from_product([["a"], list(COLUMNS)])
    for survey in (None, read_survey(SURVEY)):
        with pytest.raises(ValueError, match="columns of several levels: join their names"):
            fit(frame, survey=survey)
    with pytest.raises(ValueError, match="columns of several levels"):
        fit(ROWS).predict(frame)


@pytest.mark.slow
def test_lazy_frames_and_single_columns_are_refused():
    with pytest.raises(ValueError, match=r"lazy frame.*give X.collect\(\)"):
        fit(pl.DataFrame(COLUMNS).lazy())
    for column in (pl.Series([1, 2]), pa.chunked_array([[1, 2]]), pd.Series([1, 2])):
        with pytest.raises(ValueError, match=r"Expected (2D array|a 2-dimensional)"):
            fit(ROWS).predict(column)


@pytest.mark.parametrize("form", ["csr_matrix", "dok_matrix", "coo_array"])
def test_sparse_tables_are_refused(form):
    table = getattr(scipy.sparse, form)(np.eye(4))
    with pytest.raises((TypeError, ValueError), match=r"(?i)sparse"):
        fit(table, LABELS[:4])


@pytest.mark.slow
def test_names_that_are_not_texts_hide_no_column():
    frame = pandas_frame(COLUMNS)
    named, survey = frame.rename(columns={"team": 0}), read_survey(SURVEY)
    np.testing.assert_array_equal(fit(named).predict_proba(named), fit(frame).predict_proba(frame))
    model = fit(frame.assign(x=1).rename(columns={"x": 7})[[7, *COLUMNS]], survey=survey)
    np.testing.assert_array_equal(model.encode(frame), fit(frame, survey=survey).encode(frame))
    numbered = frame.set_axis(range(len(COLUMNS)), axis="columns")
    np.testing.assert_array_equal(fit(numbered).predict_proba(numbered), fit(ROWS).predict_proba(ROWS))


def test_sparse_columns_of_a_frame_are_read():
    cells = [0, 0, 3, 4] * 10
    expected = fit({"n": cells})
    frame = pd.DataFrame({"n": pd.arrays.SparseArray(cells, fill_value=0)})
    np.testing.assert_array_equal(expected.predict_proba(frame), expected.predict_proba({"n": cells}))


@pytest.mark.parametrize("empty", [pd.DataFrame(), pl.DataFrame(), pa.table({}), {}, []])
def test_a_table_without_columns_is_refused(empty):
    with pytest.raises((ValueError, RowError, TypeError)) as caught:
        fit(empty, [])
    assert str(caught.value)


# -- parameters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"epsilon": "1"}, "epsilon needs a number such as 1.0, not str"),
        ({"epsilon": True}, "epsilon needs a number such as 1.0, not bool"),
        ({"epsilon": None}, "epsilon needs a number such as 1.0, not NoneType"),
        ({"survey": 5}, "survey needs a Survey or a Plan, not int"),
        ({"bins": "8"}, "bins needs a whole number or None, not str"),
        ({"bins": True}, "bins needs a whole number or None, not bool"),
        ({"mechanism": None}, 'mechanism needs a name such as "auto", not NoneType'),
        ({"numeric": 3}, 'numeric needs a name such as "auto", not int'),
        ({"estimator": ["paper"]}, 'estimator needs "default" or "paper", not list'),
        ({"handle_unknown": None}, 'handle_unknown needs "error" or "ignore", not NoneType'),
        ({"random_state": "x"}, "random_state needs a whole number, None or a RandomState, not str"),
        ({"random_state": 1.5}, "random_state needs a whole number, None or a RandomState, not float"),
    ],
)
def test_a_parameter_of_a_wrong_type_is_named(wrong, why):
    model = NaiveBayes(**wrong)
    model.__sklearn_tags__()  # scikit-learn asks any classifier for them, and displays it
    with pytest.raises(TypeError, match=f"^{why}"):
        model.fit(ROWS, LABELS)


@pytest.mark.parametrize("bins", [float("inf"), 10**9, 10**400])
def test_more_bins_than_a_survey_may_have_are_refused(bins):
    with pytest.raises(ValueError, match="at most 1000"):
        NaiveBayes(bins=bins).fit(ROWS, LABELS)


@pytest.mark.parametrize("name", ["mechanism", "numeric"])
def test_an_unknown_mechanism_is_named_by_its_parameter(name):
    with pytest.raises(SurveyError, match=f"^{name}: choose one of"):
        NaiveBayes(**{name: "XYZ"}).fit(ROWS, LABELS)

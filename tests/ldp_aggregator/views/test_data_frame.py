"""The table as a DataFrame, and what happens without pandas."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from encoders.late_imports import MissingExtraError
from ldp_aggregator import NaiveBayes, load_model
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.estimation.figures import CONDITIONAL
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import save_results
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.views.data_frame import build_frame
from ldp_aggregator.views.estimate_rows import build_table, list_records
from tests.ldp_aggregator.views.samples import PLAIN_COLUMNS, simulate


@pytest.mark.slow
def test_a_frame_has_the_columns_and_values_of_the_table(tmp_path):
    snapshot = simulate(2000)
    results = make_results(snapshot, poisoning=False)
    estimates = results.estimates
    save_results(tmp_path / "model.json", results)
    frame = load_model(tmp_path / "model.json").to_frame()
    assert tuple(frame.columns) == PLAIN_COLUMNS
    rows = build_table(estimates)
    for name in PLAIN_COLUMNS:
        assert [None if pd.isna(cell) else cell for cell in frame[name]] == [
            row[name] for row in list_records(rows)
        ]
    assert frame["raw"].dtype == np.float64
    assert frame[frame["distinguishable"]]["distinguishable"].all()
    tea = frame[(frame["feature"] == "tea") & (frame["statistic"] == CONDITIONAL)].pivot(
        index="value", columns="class", values="estimate"
    )
    np.testing.assert_allclose(tea.sum(), 1)


def test_unknown_estimates_have_the_same_types():
    rows = build_table(estimate_snapshot(Snapshot(simulate(0).plan, {}, {})))
    frame = build_frame(rows)
    assert frame.dtypes.equals(build_frame(build_table(estimate_snapshot(simulate(500)))).dtypes)
    assert frame["estimate"].isna().all()


def test_a_model_of_fit_has_a_table_and_an_unfitted_one_has_none():
    model = NaiveBayes(epsilon=8, random_state=0)
    with pytest.raises(NotFittedError):
        model.to_frame()
    model.fit([{"tea": "a"}, {"tea": "b"}] * 50, ["yes", "no"] * 50)
    assert list(model.to_frame()["value"].dropna().unique()) == ["a", "b"]


def test_without_pandas_the_error_names_the_extra_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError) as caught:
        build_frame([])
    assert str(caught.value) == "to_frame needs the extra [pandas]: pip install 'ldp-bayes[pandas]'"


@pytest.mark.slow
def test_the_table_is_built_and_written_without_pandas_and_scikit_learn():
    # scikit-learn itself imports pandas where it is installed
    modules = ("views.estimate_rows", "render.csv_file", "views.data_frame")
    code = f"import sys, {', '.join(f'ldp_aggregator.{name}' for name in modules)}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "sklearn"} & set(run.stdout.split())

"""Other spellings of true and false are read where a survey has booleans, and nowhere else."""

import numpy as np
import pandas as pd
import pytest

from encoders.survey import BinnedFeature, CategoricalFeature
from encoders.survey.row_cells import read_boolean
from ldp_aggregator.rows.encode_table import read_boolean_columns

BOOLEANS = ("true", "false")


@pytest.mark.parametrize("value", [True, np.True_, 1, 1.0, np.int8(1), "True", "TRUE", " true ", "1", "1.0"])
def test_spellings_of_true(value):
    assert read_boolean(value, BOOLEANS) == "true"


@pytest.mark.parametrize("value", [False, np.False_, 0, 0.0, np.float32(0), "False", "FALSE", "0", "0.0"])
def test_spellings_of_false(value):
    assert read_boolean(value, BOOLEANS) == "false"


@pytest.mark.parametrize("value", [None, "", "yes", 2, 0.5, "maybe", [1]])
def test_other_values_stay_as_they_are(value):
    assert read_boolean(value, BOOLEANS) is value


@pytest.mark.parametrize("values", [("yes", "no"), ("true", "maybe"), ("True", "False"), ("0", "1")])
@pytest.mark.parametrize("value", [True, 1, "TRUE", "0"])
def test_without_booleans_nothing_changes(value, values):
    assert read_boolean(value, values) is value


def test_a_cell_that_is_a_value_of_the_survey_stays_as_it_is():
    assert read_boolean("1", (*BOOLEANS, "1")) == "1"
    assert read_boolean("TRUE", (*BOOLEANS, "1")) == "true"


def test_columns_of_boolean_features_are_replaced():
    features = [
        CategoricalFeature("smokes", BOOLEANS),
        CategoricalFeature("tea", ("0", "1")),
        BinnedFeature("hours", ("0", "1", "2")),
        CategoricalFeature("absent", BOOLEANS),
    ]
    frame = pd.DataFrame({"smokes": [1, 0], "tea": [1, 0], "hours": [1, 0], "id": ["1", "0"]})
    for columns in (frame.to_dict("list"), {name: frame[name].to_numpy() for name in frame}):
        found = read_boolean_columns(features, columns)
        assert found.pop("smokes") == ["true", "false"]
        assert found == {name: column for name, column in columns.items() if name != "smokes"}

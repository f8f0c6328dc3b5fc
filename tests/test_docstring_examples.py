"""The examples in docstrings of public functions."""

import doctest
from importlib import import_module

import pytest

MODULES = (
    "encoders.survey.toml_reader",
    "ldp_aggregator.models.model_file",
    "ldp_aggregator.models.naive_bayes",
    "ldp_client.report_maker",
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_give_what_they_state(name):
    result = doctest.testmod(import_module(name), optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.attempted > 0
    assert result.failed == 0

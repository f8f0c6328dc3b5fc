"""The examples in docstrings of public functions."""

import doctest
from importlib import import_module

import pytest

from encoders.survey.any_survey import read_any_survey
from ldp_client.testing import recording
from ldp_client.transport import HttpTransport

MODULES = (
    "encoders.survey.toml_reader",
    "ldp_aggregator.classifiers.stored_model",
    "ldp_aggregator.classifiers.naive_bayes",
    "ldp_client",
    "ldp_client.report_maker",
    "ldp_design.simulation.accuracies",
    "ldp_silo",
    "ldp_silo.silo",
)
SURVEYS = (
    """\
survey = {id = "sleep-2026", epsilon = 1}
label = {name = "rested", values = ["yes", "no"]}
features = {age = {values = ["young", "old"]}, income = {range = [0, 100_000]}}
""",
    """\
survey = {id = "wards-2026", kind = "silo", epsilon = 1, rows = 10_000}
label = {name = "infection", values = ["yes", "no"]}
features.device.values = ["central line", "none"]
""",
)
ROWS = "device,infection\ncentral line,yes\nnone,no\n"


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_give_what_they_state(name, tmp_path, monkeypatch):
    found = [each for each in doctest.DocTestFinder().find(import_module(name), name) if each.examples]
    assert found
    for place, each in enumerate(found):
        folder = tmp_path / str(place)
        folder.mkdir()
        with monkeypatch.context() as patch, recording(folder, patch) as collector:
            for text in SURVEYS:
                collector.serve(read_any_survey(text).compile())
            patch.setattr(HttpTransport, "request", lambda _self, *request: collector.request(*request))
            patch.chdir(folder)
            (folder / "ward-7.csv").write_text(ROWS)
            assert doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(each).failed == 0
        assert not [example for example in each.examples if doctest.SKIP in example.options]

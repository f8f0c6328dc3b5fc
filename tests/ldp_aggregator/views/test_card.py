"""How a model describes itself; the words are in golden files."""

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator import NaiveBayes, load_model
from ldp_aggregator.results_file import save_results
from ldp_aggregator.simulated_population import simulate_reports
from tests.ldp_aggregator.views.samples import AUDIT, HOSTILE, collect, simulate


@pytest.fixture
def load(tmp_path):
    """Return a function that saves and loads the model of a snapshot."""

    def load(snapshot, audit=None):
        save_results(tmp_path / "model.json", collect(snapshot, audit))
        return load_model(tmp_path / "model.json")

    return load


@pytest.mark.slow
def test_repr_is_one_line_and_str_a_few(load):
    model = load(simulate(200), AUDIT)
    digest = model.plan_.digest
    assert repr(model) == (
        f"NaiveBayes(survey='table', digest='{digest[:8]}', epsilon=1, reports=200, "
        "classes=['no', 'rarely', 'yes'], features=4/4, validated=False)"
    )
    lines = str(model).splitlines()
    assert [lines[0], lines[1].split()] == ["NaiveBayes of table", ["plan", "digest", digest]]
    [useless] = [line for line in lines if line.startswith("  useless ")]
    assert useless.endswith("  predicts nothing but the most frequent class; see the card")
    assert "Useless model: no feature" in model.card()
    assert "An audit of the plan (`ldp-audit`) passed" in model.card()
    assert "- unasked: the survey does not ask about it." in model.card()


def test_a_model_of_fit_states_that_its_reports_were_simulated():
    model = NaiveBayes(epsilon=8, random_state=0)
    with pytest.raises(NotFittedError):
        model.card()
    model.fit([{"tea": "a"}, {"tea": "b"}] * 50, ["yes", "no"] * 50)
    assert "The reports (100) were simulated" in model.card()
    assert "100 (simulated)" in str(model)
    assert "survey='inferred'" in repr(model)


def test_before_fit_scikit_learn_describes_the_parameters():
    model = NaiveBayes(epsilon=2.0)
    assert repr(model) == str(model) == "NaiveBayes(epsilon=2.0)"
    assert "NaiveBayes" in model._repr_html_()
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    assert "NaiveBayes(epsilon=2.0)" in repr(make_pipeline(model))


class Tags(HTMLParser):
    """Collects the tags of a text."""

    def __init__(self, text):
        super().__init__()
        self.found = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)


def test_names_are_escaped_in_html_and_markdown(load):
    plan = read_survey(HOSTILE).compile()
    labels = np.arange(200) % 2
    model = load(simulate_reports(plan, np.column_stack([labels, labels]), labels, FastStream(1)))
    html = model._repr_html_()
    assert Tags(html).found == {"table", "caption", "tr", "th", "td"}
    assert model._repr_mimebundle_() == {"text/plain": repr(model), "text/html": html}
    card = model.card()
    assert not Tags(card).found
    assert r"&lt;script&gt;alert\(1\)&lt;/script&gt;" in card
    assert r"a&amp;b\|\*no\* \[x\]\(y\)" in card

"""How a model describes itself: one line, a few lines, HTML, and a card in Markdown."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator import NaiveBayes, load_model
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.models.model_file import save_model
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from tests.ldp_aggregator.estimation.test_validation_result import trained, validated
from tests.ldp_aggregator.results.test_table import simulate


def load(folder: Path, snapshot: Snapshot, **options: object) -> NaiveBayes:
    estimates = estimate_snapshot(snapshot, validation=options.pop("validation", None))
    save_model(folder / "model.json", snapshot, estimates, **options)
    return load_model(folder / "model.json")


def test_repr_is_one_line_with_survey_digest_epsilon_and_reports(tmp_path: Path) -> None:
    model = load(tmp_path, simulate(500))
    digest = model.plan_.digest[:8]
    assert repr(model) == (
        f"NaiveBayes(survey='table', digest='{digest}', epsilon=1, reports=500, "
        "classes=['no', 'rarely', 'yes'], features=4/4, validated=False)"
    )


def test_str_is_a_few_lines(tmp_path: Path) -> None:
    model = load(tmp_path, simulate(5000))
    lines = str(model).splitlines()
    assert lines[0] == "NaiveBayes of table"
    assert [line.split()[0] for line in lines[1:]] == [
        "plan",
        "epsilon",
        "reports",
        "classes",
        "features",
        "validation",
    ]
    assert model.plan_.digest in lines[1]
    assert "factor of at most 2.72" in lines[2]
    assert "5,000" in lines[3]
    assert lines[6].endswith("none")


def test_a_validated_model_names_its_accuracy_and_the_features_that_it_keeps(tmp_path: Path) -> None:
    validation = validated(40_000, 4, seed=1)
    model = load(tmp_path, trained(2_000, 4), validation=validation)
    assert "features=1/4, validated=True" in repr(model)
    accuracy = model.estimates_["validation"]["validation_result"]["accuracy"]["value"]
    assert f"accuracy {accuracy:.3f} [" in str(model)
    assert "1 of 4: informative" in str(model)
    card = model.card()
    assert f"accuracy {accuracy:.3f} [" in card
    assert "The kept features (informative) gain +" in card
    assert "| informative | categorical |" in card
    assert card.count("| yes |") == 1
    assert card.count("| no |") == 3


def test_the_card_has_all_sections_and_states_epsilon_as_odds(tmp_path: Path) -> None:
    card = load(tmp_path, simulate(2000)).card()
    headings = [line for line in card.splitlines() if line.startswith("#")]
    assert headings == [
        "# Model card: table",
        "## Data",
        "## Privacy",
        "## How well it predicts",
        "## What it is not for",
        "## How to cite",
    ]
    assert "Each report is 1-locally differentially private" in card
    assert "The person's device randomised it" in card
    assert "by a factor of at most 2.72 (e^epsilon)" in card
    assert "of 50% becomes at most 73.2%" in card  # e / (1 + e)
    assert "The model was not validated, so its accuracy is unknown" in card
    assert "Always predicting " in card
    assert "arXiv:1905.01039" in card
    assert "audit" not in card


@pytest.mark.parametrize(("passed", "word"), [(True, "passed"), (False, "FAILED")])
def test_the_card_contains_the_result_of_the_audit(tmp_path: Path, passed: bool, word: str) -> None:
    audit = {"passed": passed, "faults": 0, "trials": 5000, "bound": 0.9}
    assert f"An audit of the plan (`ldp-audit`) {word}." in load(tmp_path, simulate(200), audit=audit).card()


def test_the_card_contains_the_warnings(tmp_path: Path) -> None:
    model = load(tmp_path, simulate(200))
    assert model.estimates_["warnings"]
    assert "- unasked: the survey does not ask about it" in model.card()


def test_a_model_of_fit_states_that_its_reports_were_simulated() -> None:
    model = NaiveBayes(epsilon=8, random_state=0)
    with pytest.raises(NotFittedError):
        model.card()
    model.fit([{"tea": "a"}, {"tea": "b"}] * 50, ["yes", "no"] * 50)
    assert "**The reports were simulated**" in model.card()
    assert "No device made it: a program read the rows of a table" in model.card()
    assert "The person's device" not in model.card()
    assert "100 (simulated)" in str(model)
    assert "survey='inferred'" in repr(model)


def test_before_fit_scikit_learn_describes_the_parameters() -> None:
    model = NaiveBayes(epsilon=2.0)
    assert repr(model) == str(model) == "NaiveBayes(epsilon=2.0)"
    assert "NaiveBayes" in model._repr_html_()
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    assert "NaiveBayes(epsilon=2.0)" in repr(make_pipeline(model))


HOSTILE = """
[survey]
id = "names"
epsilon = 1.0
[label]
name = "<script>alert(1)</script>"
values = ["<b>yes</b>", "a|b *no* [x](y)"]
[features."<img src=x>"]
values = ["a", "b"]
"""


class Tags(HTMLParser):
    """Collects the tags of a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.add(tag)


def test_names_are_escaped_in_html_and_markdown(tmp_path: Path) -> None:
    plan = read_survey(HOSTILE).compile()
    labels = np.arange(200) % 2
    model = load(tmp_path, simulate_reports(plan, labels[:, None], labels, FastStream(1)))
    html = model._repr_html_()
    assert Tags(html).found == {"table", "caption", "tr", "th", "td"}
    assert model._repr_mimebundle_() == {"text/plain": repr(model), "text/html": html}
    card = model.card()
    assert not Tags(card).found
    assert r"&lt;script&gt;alert\(1\)&lt;/script&gt;" in card
    assert r"a\|b \*no\* \[x\]\(y\)" in card

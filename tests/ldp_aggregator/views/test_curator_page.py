"""The results page of a curator's model."""

import numpy as np
import pytest

from encoders.survey import read_survey
from encoders.survey.features import GRID
from ldp_aggregator.prediction.decision_tree import Split
from ldp_aggregator.results_file import ResultsError, read_results
from ldp_aggregator.views.curator_sections import describe_split
from ldp_aggregator.views.results_page import render_page
from ldp_central.tree import list_splits
from tests.ldp_aggregator.views.samples import LEARNERS, make_curator_model, make_results
from tests.support.central_surveys import survey_text
from tests.support.commands import command
from tests.support.html_page import parse_page


def render(learner):
    return parse_page(render_page(make_results(f"curator-{learner}")))


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_page_lists_the_steps_with_their_budgets(learner):
    rows = render(learner).table("What each step of the training spent").rows()
    steps = make_results(f"curator-{learner}").privacy.curator.steps
    assert [row[0] for row in rows] == [each.step for each in steps]
    assert "randomised on the person's own device" not in render(learner).text


@pytest.mark.slow
def test_the_page_shows_what_each_learner_learnt():
    pages = {each: render(each) for each in LEARNERS}
    table = pages["nb"].table("Shares of the classes")
    assert [each.text for each in table.find("thead")[0].find("th")] == ["Share", "yes", "no"]
    [shares] = table.rows()
    assert abs(float(shares[1].removesuffix("%")) - 40) < 4
    hours = pages["nb"].table("hours, by class").rows()
    assert abs(float(hours[0][1]) - 4) < 0.5
    assert abs(float(hours[0][2]) - 7) < 0.5
    tea = pages["linear"].table("Score of tea").rows()
    assert [row[0] for row in tea] == ["green", "black", "none", "(missing)"]
    assert float(tea[1][1]) > 0 > float(tea[2][1])
    tree = pages["tree"].table("Nodes of the tree").rows()
    assert tree[0][0] == "1"
    assert tree[0][2] == "node 3"


def test_the_page_of_naive_bayes_shows_estimates_with_intervals():
    page = render("nb")
    shares = page.table("Share of each class").rows()
    low, high = (float(part.rstrip("%")) for part in shares[0][3].replace("%", "").split(" to "))
    assert low < 40 < high
    assert high - low < 8
    for caption in ("Mean: hours", "Standard deviation: hours", "Share of each value in each class: tea"):
        assert page.table(caption).rows()
    for learner in ("linear", "tree"):
        assert not [
            each for each in render(learner).find("section") if each.attributes.get("id") == "estimates"
        ]


def test_linear_tables_add_up_to_the_scores():
    results, page = make_results("curator-linear"), render("linear")
    tables = [
        {row[0]: float(row[1]) for row in page.table(caption).rows()}
        for caption in ("Start of each score", "Score of tea", "Score of hours", "Score of cups")
    ]
    start, tea, hours, cups = tables
    codes = results.plan.encode_row({"tea": "black", "hours": 3, "cups": 5})
    expected = results.classifier.scores(np.array([codes]))[0, 0]
    found = start["of every row"] + tea["black"] + hours["3"] + cups["4 to 6"]
    assert abs(found - expected) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_texts_of_the_survey_are_escaped(tmp_path, learner):
    path = make_curator_model(tmp_path / "model.json", learner, "<script>alert(1)</script>")
    assert b"<script" not in render_page(read_results(path))


def test_every_test_of_a_tree_has_words():
    features = read_survey(survey_text()).features
    found = {describe_split(split, features) for split in list_splits(features)}
    assert found == {
        *(f"tea is {each}" for each in ("green", "black", "none", "(missing)")),
        *(f"hours is below {each}" for each in ("1.5", "3", "4.5", "6", "7.5", "9", "10.5")),
        *(f"cups is below {each}" for each in ("2", "4", "6")),
        "cups is not missing",
    }
    gaps = read_survey(survey_text().replace("[0, 12]", '[0, 12]\nmissing = "category"')).features
    assert describe_split(Split(1, 0, 2 * GRID), gaps) == "hours is not missing"


def test_a_model_of_a_curator_cannot_be_compared():
    curator, survey = make_results("curator-nb"), make_results("survey")
    for pair in ((curator, survey), (survey, curator), (curator, curator)):
        with pytest.raises(ResultsError, match="cannot be compared"):
            render_page(*pair)


def test_the_command_writes_the_page(tmp_path):
    path = make_curator_model(tmp_path / "tree.json", "tree")
    command("ldp-results", path, "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == render_page(read_results(path))

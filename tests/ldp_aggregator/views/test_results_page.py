"""The results page has the numbers of the table of estimates, and nothing that runs or loads."""

import copy
import json
import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from encoders.survey import read_survey
from ldp_aggregator.cli.train import format_summary
from ldp_aggregator.results_file import ModelError, ResultsError, read_results, save_results
from ldp_aggregator.statements.model import find_notices
from ldp_aggregator.views.estimate_rows import CLASS_PRIOR, CONDITIONAL, DEVIATION, MEAN, build_table
from ldp_aggregator.views.estimate_tables import build_feature_tables
from ldp_aggregator.views.feature_sections import format_relevance
from ldp_aggregator.views.model_card import describe_model
from ldp_aggregator.views.results_page import render_page
from ldp_aggregator.wording.values import Share
from tests.ldp_aggregator.views.samples import LEARNERS, NAMES, collect, make_results, simulate
from tests.support.damaged_json import signed
from tests.support.html_page import parse_page
from tests.support.json_walk import inner, leaves_of, objects_of
from tests.support.snapshots import make_snapshot
from tests.support.surveys import SLEEP


def render(name):
    return parse_page(render_page(make_results(name)))


def list_rows(name, statistic, feature=None):
    rows = [row for row in build_table(make_results(name).estimates) if row.class_name is not None]
    return [row for row in rows if row.statistic == statistic and feature in (None, row.feature)]


def percent(low, high=None):
    return f"{100 * low:.1f}%" if high is None else f"{percent(low)} to {percent(high)}"


# -- which statement appears when -------------------------------------------------------------------

POINTER = "warnings.pointer"
SHOWN = [
    ("survey", "data.people", "Each answer was randomised on the person's own device"),
    ("survey", "privacy.short", "at most 2.72: a belief of 50% becomes at most 73.2%"),
    ("survey", "features.differ", "in 2 of 4 features: tea, hours"),
    ("survey", "privacy.audit", "passed"),
    ("survey", "warnings.not-asked", "unasked: the survey does not ask about it"),
    ("simulated", "data.people", "were simulated: a program randomised the rows of a table"),
    ("simulated", "privacy.report", "No device made it: a program read the rows of a table"),
    (
        "simulated",
        "model.useless",
        "no feature distinguishes the classes beyond noise. The data do not support",
    ),
    ("useless", "model.useless", "too few people answered to show how frequent each class is"),
    ("useless", "warnings.noise", "tea: noise. With 11 reports,"),
    ("validated", "validation.selection", "keeps 1 of 3 features: informative. A smaller feature set is"),
    ("not-selected", "validation.selection", "keeps all 3 validated features: no smaller feature set"),
    ("round", "data.people", "4,000 people reported whether an earlier model predicts their label"),
    ("empty", "data.empty", "There are no reports yet"),
    ("empty-round", "validation.accuracy", "There are no reports, and the accuracy is unknown"),
    ("empty-silos", "data.empty", "There are no messages yet"),
    ("silos", "data.silos", "Silos sent 3 messages about an estimated 2,9"),
    ("silos", "silos.influence", "invents all of its 3,000 rows could move P(ill)"),
    ("silos", "privacy.message", "is 1-differentially private against everyone"),
    ("several-silos", "data.surveys", "The messages belong to 2 surveys"),
    ("several-silos", "privacy.message", "with the epsilon of its survey: 1 (wards), 0.5 (clinics)"),
    ("silos", "limits.population", "the people in the rows of the silos"),
    ("silos", "reading.interval", "The section on silos states which errors it covers"),
    ("silos", "citation.results", "epsilon 1, 3 messages of silos"),
    ("pooled", "data.pooled", "pooled with 2,000 reports of people"),
    ("pooled", "limits.undetected", "people and silos that lied, nor all fake reports"),
    ("pooled", "citation.results", "2,000 reports and 3 messages of silos"),
    ("alarm", "poisoning.result", "ALARM: some reports are not what devices send"),
    (
        "alarm",
        "warnings.fake-reports",
        "tea: some reports are not what devices send: they support too many or too few",
    ),
    ("curator-nb", "curator.promise", "(5, 0)-differentially private"),
]
HIDDEN = [
    ("survey", ["model.useless", "data.silos", "validation.round"]),
    ("shares", ["warnings.noise"]),
    ("round", ["features.largest-class", "features.differ", "tables.feature", "tables.bars"]),
    ("silos", ["data.people", "data.pooled", "privacy.report", "method.people", "poisoning.result"]),
    *((f"curator-{each}", ["privacy.report", "citation.method", "limits.undetected"]) for each in LEARNERS),
]


def find_shown(page):
    """Return the texts on a page by the identifiers of their statements."""
    shown = defaultdict(str)
    for each in page.statements():
        shown[each.attributes["data-finding"]] += each.text
    return shown


@pytest.mark.slow
@pytest.mark.parametrize(("name", "statement", "words"), SHOWN)
def test_a_statement_appears_in_its_variant(name, statement, words):
    assert words in find_shown(render(name))[statement]


@pytest.mark.parametrize(("name", "statements"), HIDDEN)
def test_other_statements_do_not_appear(name, statements):
    assert not find_shown(render(name)).keys() & set(statements)


def test_a_share_of_a_class_that_is_unknown_is_nowhere_on_the_page():
    results = make_results("useless")
    share = str(Share(results.usefulness.majority_share))
    [of_many] = find_notices(results.plan, results.usefulness)
    assert "no feature distinguishes the classes beyond noise. The model predicts yes" in str(of_many)
    assert share in str(of_many)
    assert share not in render("useless").text


def test_alarms_and_useless_models_are_stated_at_the_top():
    for name, statement in (("alarm", "poisoning.result"), ("useless", "model.useless")):
        assert statement in find_shown(render(name).find("section")[0])


def test_a_validation_round_has_no_classes_and_features():
    ids = {each.attributes.get("id") for each in render("round").find("section")}
    assert "validation" in ids
    assert not ids & {"classes", "features", "relevance"}


# -- numbers and pictures -------------------------------------------------------------------------


def test_the_table_of_a_feature_has_every_estimate_with_both_intervals():
    shown = render("survey").section("feature-1").table("Share of each value").rows()
    rows = list_rows("survey", CONDITIONAL, "tea")
    assert len(shown) == len(rows) == 15
    for (value, *cells), row in zip(shown, rows, strict=True):
        assert (value.split(" ●")[0], "● differ" in value) == (row.value, row.distinguishable)
        numbers = (
            percent(row.estimate),
            percent(row.low, row.high),
            percent(row.simultaneous_low, row.simultaneous_high),
        )
        known = row.class_name != "rarely"
        assert tuple(cells) == (row.class_name, "", *(numbers if known else ["unknown"] * 3))
    assert not render("survey").section("feature-2").find("table")  # it was not asked


def test_the_bars_have_the_lengths_of_the_estimates():
    table, rows = render("survey").section("classes").table("Share"), list_rows("survey", CLASS_PRIOR)
    end = float(table.find("thead")[0].text.split("to ")[1].split("%")[0]) / 100
    for chart, row in zip(table.find("svg"), rows, strict=True):
        [bar] = chart.find("rect")
        assert read_percent(bar, "width") == pytest.approx(100 * row.estimate / end, abs=0.01)
        whiskers = {each.attributes["class"]: each for each in reversed(chart.find("line"))}
        single, wide = (
            [read_percent(whiskers[name], at) for at in ("x1", "x2")] for name in ("single", "wide")
        )
        ends = (row.low, row.high, row.simultaneous_low, row.simultaneous_high)
        assert [*single, *wide] == pytest.approx([100 * each / end for each in ends], abs=0.01)


def read_percent(node, name):
    return float(node.attributes[name].rstrip("%"))


def test_a_mean_is_drawn_on_the_range_of_its_number():
    table = render("survey").section("feature-3").table("Mean")
    means = list_rows("survey", MEAN, "hours")[:2]
    for chart, row in zip(table.find("svg")[:2], means, strict=True):
        [dot] = chart.find("circle")
        assert read_percent(dot, "cx") == pytest.approx(100 * (row.estimate - 2) / 10, abs=0.01)
    assert not table.find("rect")


@pytest.mark.slow
def test_relevance_is_sorted_and_unknown_relevance_comes_last():
    table = render("pooled").section("relevance").find("table")[0]
    features = {each.name: each.relevance for each in make_results("pooled").estimates.features}
    shown = {name.split(" ●")[0]: text for name, _, text in table.rows()}
    assert shown == {name: format_relevance(relevance) for name, relevance in features.items()}
    values = [float(features[name].estimate.value) for name in shown]
    assert values == sorted(values, reverse=True)
    texts = [row[2] for row in render("validated").section("relevance").find("table")[0].rows()]
    assert [text == "unknown" for text in texts] == [False, False, False, True]


def test_the_gains_are_those_of_the_validation_round():
    result = make_results("validated").estimates.validation.validation_result
    rows = render("validated").section("validation").find("table")[0].rows()
    expected = zip(result.top_k, result.gains.value, ("selected", ""), strict=True)
    assert [(*row[:2], row[3]) for row in rows] == [
        (f"top {k}", f"{100 * gain:+.1f}", selected) for k, gain, selected in expected
    ]


def test_the_questions_have_mechanisms_and_exact_epsilons():
    rows = render("survey").section("method").find("table")[0].rows()
    assert [row[0] for row in rows] == [each.name for each in make_results("survey").plan.questions]
    assert sum(int(row[3].replace(",", "")) for row in rows) == 20_000
    assert all(float(row[2]) <= 1 for row in rows)


def test_rejected_reports_and_messages_are_counted():
    assert "Rejected1,207" in render("survey").find("dl")[0].text


def test_without_reports_every_estimate_is_unknown():
    for name in ("empty", "empty-silos"):
        found = render(name)
        assert {row[-3] for row in found.section("classes").find("table")[0].rows()} == {"unknown"}
        assert not [each for each in found.find("rect") if each.attributes.get("width", "").endswith("%")]


def test_a_standard_deviation_is_unknown_if_it_may_be_three_quarters_of_what_is_possible():
    results = make_results("survey")
    row = next(each for each in list_rows("survey", DEVIATION) if each.feature == "age")
    known = []
    for high in (37, 38):  # it is at most 50, half of the range
        rows = [replace(row, estimate=10.0, low=0.0, high=high, stderr=None)]
        [table] = build_feature_tables(rows, results.plan)["age"]
        known.append((table.groups[0].rows[0].is_known, table.groups[0].rows[0].short))
    assert known == [(True, "0 to 37"), (False, "unknown")]


# -- every page -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_page_is_well_formed_and_loads_and_runs_nothing(name):
    data = render_page(make_results(name))
    found = parse_page(data)
    for tag in ("script", "img", "b"):
        assert not found.find(tag)
    assert all(each.attributes["href"] == "data:," for each in found.find("link"))
    assert not re.search(rb"https?://|@import|url\(|src='|src=\"", data)
    [policy] = [each for each in found.find("meta") if each.attributes.get("http-equiv")]
    assert policy.attributes["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")
    ids = {each.attributes.get("id") for each in found.find("section") + found.find("main")}
    assert {each.attributes["href"].removeprefix("#") for each in found.find("a")} <= ids
    assert make_results(name).plan.digest in found.find("footer")[0].text
    for table in found.find("table"):
        assert table.find("caption")[0].text
        assert all(each.attributes.get("scope") in {"col", "row", "rowgroup"} for each in table.find("th"))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(NAMES) - {"hostile"}))
def test_every_probability_is_from_0_to_100_percent_and_reports_are_never_called_anonymous(name):
    found = render(name)
    cells = [text for each in found.find("table") for row in each.rows() for text in row]
    assert all(0 <= float(each) <= 100 for text in cells for each in re.findall(r"(-?[\d.]+)%", text))
    assert "anonym" not in found.text.lower()


def test_names_are_escaped():
    data, found = render_page(make_results("hostile")), render("hostile")
    assert not [each for each in found.find("td") + found.find("th") if "onload" in each.attributes]
    names = {each.text.split(" ●")[0] for each in found.section("feature-1").find("th")}
    assert {"<b>yes</b>", "a&b|*no* [x](y) \" onload='x'", "{{ 7 * 7 }}"} <= names
    assert found.find("h2")[2].text == "Classes of <script>alert(1)</script>"
    assert found.find("h1")[0].text == "Tea & <sleep>"
    assert "Survey names" in found.find("header")[0].text
    assert b"49" not in re.findall(rb"<bdi>(.*?)</bdi>", data)


# -- files ----------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """Return a snapshot and the model that was trained on it."""
    snapshot, results = simulate(500), collect(simulate(500))
    (tmp_path / "snapshot.json").write_bytes(snapshot.to_json())
    save_results(tmp_path / "model.json", results)
    return tmp_path / "snapshot.json", tmp_path / "model.json"


@pytest.mark.slow
def test_a_snapshot_and_the_model_trained_on_it_give_the_same_estimates(files):
    one, other = (parse_page(render_page(read_results(path))) for path in files)
    for name in ("classes", "features", "relevance", "privacy", "fake-reports"):
        assert one.section(name).text == other.section(name).text
    assert render_page(read_results(files[1])) == render_page(read_results(files[1]))


@pytest.mark.parametrize("content", [b"{}", b"\xff", b"[]", b"[" * 100_000])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ResultsError, match="neither"):
        read_results(tmp_path / "other")


@pytest.mark.slow
@pytest.mark.parametrize("damage", [None, [], {}, "text", -7, 1e300])
def test_a_damaged_model_gives_a_page_or_a_clear_error(files, damage):
    document = json.loads(files[1].read_bytes())
    document.pop("checksum")
    entries = (*leaves_of(document["estimates"]), *objects_of(document["estimates"]))
    places, errors = [path for path, _ in entries if path], []
    for place in np.random.default_rng(1).choice(len(places), 30, replace=False):
        changed = copy.deepcopy(document)
        *path, last = places[place]
        inner(changed["estimates"], tuple(path))[last] = damage
        files[1].write_bytes(signed(changed))
        try:
            results = read_results(files[1])
        except ModelError as error:
            errors.append(str(error))
        else:
            render_page(results)
            render_page(make_results("other"), results)
    assert errors
    assert all("the content is inconsistent" in each for each in errors)


GERMAN = (
    SLEEP
    + """
[about]
title = "Schlafstudie"
purpose = "Wer schläft gut?"

[texts.de]
title = "Schlaf"

[texts.de.label]
values = { yes = "Ja" }

[texts.de.features.age]
title = "Wie alt sind Sie?"
values = { young = "unter 40" }
"""
)


def list_languages(node):
    """Yield the texts with a language, and the language."""
    for each in (each for tag in ("bdi", "span") for each in node.find(tag)):
        if "lang" in each.attributes:
            yield each.text, each.attributes["lang"]


def test_texts_of_the_survey_are_shown_with_their_language_in_every_table():
    results = collect(make_snapshot(read_survey(GERMAN).compile()))
    data = render_page(results)
    page = parse_page(data)
    assert "<title>Survey results: Schlaf</title>" in data.decode()
    assert set(list_languages(page)) == {
        ("Schlaf", "de"),
        ("Wer schläft gut?", ""),
        ("Wie alt sind Sie?", "de"),
        ("“Wie alt sind Sie?”", "de"),
        ("Ja", "de"),
        ("unter 40", "de"),
    }
    table = page.section("feature-1").find("table")[0]
    heads = [each for each in table.find("th") if "scope" in each.attributes][6:]
    classes = ["Ja", "no"]
    assert [each.text.removesuffix(" ● differ") for each in heads] == [
        name for value in ("unter 40", "old", "(missing)") for name in (value, *classes)
    ]
    assert re.search(r"\n +Ja +no\n +unter 40 ", format_summary(results))


@pytest.mark.slow
def test_a_page_and_a_card_begin_with_a_link_to_their_warnings():
    for name, text in (("survey", "Read 4 warnings"), ("useless", "Read 4 warnings")):
        [pointer] = [each for each in render(name).statements() if each.attributes["data-finding"] == POINTER]
        assert pointer.text == f"{text} before you use the estimates."
        assert pointer.find("a")[0].attributes["href"] == "#warnings"
        results = make_results(name)
        card = describe_model(results, results.plan.label.values, "NaiveBayes").format_card()
        assert f"## Shares\n\n**[{text} before you use the estimates.](#warnings)**\n" in card
    assert POINTER not in find_shown(render("curator-nb"))


def test_a_page_in_the_language_of_the_texts_has_no_name_but_in_the_notes_that_state_it():
    results = collect(make_snapshot(read_survey(GERMAN).compile()))
    page = parse_page(render_page(results))
    [named] = [each for each in page.statements() if each.text.startswith("Name in files: age")]
    assert named.text == "Name in files: age; its values there: young"
    shown = page.find("main")[0].text.replace(named.text, "")
    assert not re.search(r"\b(age|young)\b", shown)

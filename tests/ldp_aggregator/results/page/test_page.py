"""The results page contains what the model file or the snapshot contains, and nothing that runs or loads."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.models.model_file import save_model
from ldp_aggregator.results.page.page import render_page
from ldp_aggregator.results.page.source import ResultsError, estimate_results, read_results
from ldp_aggregator.results.survey_results import SurveyResults
from ldp_aggregator.results.table import CLASS_PRIOR, CONDITIONAL, build_table
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from tests.ldp_aggregator.estimation.test_validation_result import trained, validated
from tests.ldp_aggregator.results.test_table import simulate
from tests.support.html_page import Node, parse_page
from tests.support.json_walk import inner, leaves_of, objects_of


def load(folder: Path, snapshot: Snapshot, **options: object) -> SurveyResults:
    """Save a model and read its results."""
    validation = options.pop("validation", None)
    estimates = estimate_snapshot(snapshot, validation=validation, poisoning=True)
    save_model(folder / "model.json", snapshot, estimates, **options)
    return read_results(folder / "model.json")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> SurveyResults:
    """Return the results of a survey with values, numbers and a class that is too rare."""
    return load(tmp_path_factory.mktemp("model"), simulate(20_000))


@pytest.fixture(scope="module")
def page(results: SurveyResults) -> Node:
    return parse_page(render_page(results))


def percent(share: float | None) -> str:
    assert share is not None
    return f"{100 * share:.1f}%"


def test_the_sections_are_in_the_order_of_a_report(page: Node) -> None:
    ids = [each.attributes["id"] for each in page.find("section") if "id" in each.attributes]
    assert ids == [
        "classes",
        "features",
        "feature-1",
        "feature-2",
        "feature-3",
        "feature-4",
        "relevance",
        "fabricated",
        "privacy",
        "warnings",
        "method",
        "reading",
        "citation",
    ]


def test_every_link_leads_to_a_part_of_the_page(page: Node) -> None:
    ids = {each.attributes.get("id") for each in page.find("section") + page.find("main")}
    assert {each.attributes["href"].removeprefix("#") for each in page.find("a")} <= ids
    assert len(page.find("a")) > 10


def test_the_table_of_a_feature_contains_every_estimate_with_both_intervals(
    results: SurveyResults, page: Node
) -> None:
    shown = page.section("feature-1").table("Share of each value").rows()
    rows = [row for row in build_table(results.estimates) if row["feature"] == "tea"]
    assert len(shown) == len(rows) == 15
    for cells, row in zip(shown, rows, strict=True):
        value, class_name, chart, estimate, single, simultaneous = cells
        assert (value.split(" ●")[0], class_name, chart) == (row["value"], row["class"], "")
        assert ("● differ" in value) == row["distinguishable"]
        if row["class"] == "rarely":
            assert estimate == "unknown"
            continue
        assert estimate == percent(row["estimate"])
        assert single == f"{percent(row['low'])} to {percent(row['high'])}"
        assert simultaneous == f"{percent(row['simultaneous_low'])} to {percent(row['simultaneous_high'])}"


def test_the_bars_have_the_lengths_of_the_estimates(results: SurveyResults, page: Node) -> None:
    table = page.section("classes").table("Share of each class")
    rows = [row for row in build_table(results.estimates) if row["statistic"] == CLASS_PRIOR]
    end = float(table.find("thead")[0].text.split("to ")[1].split("%")[0]) / 100
    assert end >= max(row["simultaneous_high"] or 0 for row in rows)
    for chart, row in zip(table.find("svg"), rows, strict=True):
        [bar] = chart.find("rect")
        assert float(bar.attributes["width"].rstrip("%")) == pytest.approx(
            100 * (row["estimate"] or 0) / end, abs=0.01
        )
        whiskers = {each.attributes["class"]: each for each in reversed(chart.find("line"))}
        for name, ends in (("single", ("low", "high")), ("wide", ("simultaneous_low", "simultaneous_high"))):
            found = [float(whiskers[name].attributes[at].rstrip("%")) for at in ("x1", "x2")]
            assert found == pytest.approx([100 * (row[each] or 0) / end for each in ends], abs=0.01)


def test_a_mean_is_drawn_on_the_range_of_its_number(results: SurveyResults, page: Node) -> None:
    section = page.section("feature-3")
    assert "number from 2 to 12" in section.text
    table = section.table("Mean")
    means = [row for row in build_table(results.estimates) if row["statistic"] == "mean"][:3]
    for chart, row in list(zip(table.find("svg"), means, strict=True))[:2]:
        assert float(chart.find("circle")[0].attributes["cx"].rstrip("%")) == pytest.approx(
            100 * ((row["estimate"] or 0) - 2) / 10, abs=0.01
        )
    assert not table.find("rect")
    assert "● differ" in table.find("caption")[0].text
    for caption in ("Standard deviation", "Share of missing answers"):
        assert section.table(caption).rows()


def test_the_first_paragraph_states_people_label_odds_and_distinguishable_features(page: Node) -> None:
    [lead] = [each for each in page.find("p") if each.attributes.get("class") == "lead"]
    assert "20,000 people answered one question each" in lead.text
    assert "factor of at most 2.72: a belief of 50% becomes at most 73.2%" in lead.text
    assert "The label is asleep; its most frequent class is yes" in lead.text
    assert "distinguishable in 2 of 4 features: tea, hours." in lead.text


def test_relevance_is_sorted_and_unknown_relevance_comes_last() -> None:
    results = estimate_results(trained(20_000))
    table = parse_page(render_page(results)).section("relevance").find("table")[0]
    rows = table.rows()
    known = [row[2] for row in rows if row[2] != "unknown"]
    assert len(rows) == 4
    assert len(known) >= 2
    assert [row[2] for row in rows] == [*sorted(known, reverse=True), *["unknown"] * (4 - len(known))]
    features = {each["name"]: each["relevance"] for each in results.estimates["features"]}
    for name, _, text in rows[: len(known)]:
        found = features[name.split(" ●")[0]]
        assert text == f"{found['value']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
    assert len(table.find("rect")) == len(known)


def test_the_privacy_section_contains_beliefs_and_limits(page: Node) -> None:
    section = page.section("privacy")
    assert section.find("table")[0].rows() == [["1%", "2.68%"], ["10%", "23.2%"], ["50%", "73.2%"]]
    for text in ("1-locally differentially private", "does not hide who took part", "only if a shuffler"):
        assert text in section.text


def test_the_method_lists_each_question_with_mechanism_epsilon_and_reports(
    results: SurveyResults, page: Node
) -> None:
    rows = page.section("method").find("table")[0].rows()
    assert [row[0] for row in rows] == [each.name for each in results.plan.questions]
    assert sum(int(row[3].replace(",", "")) for row in rows) == 20_000
    assert all(float(row[2]) <= 1 for row in rows)


def test_the_citation_and_the_footer_contain_the_whole_digest(results: SurveyResults, page: Node) -> None:
    assert results.plan.digest in page.section("citation").text
    assert results.plan.digest in page.find("footer")[0].text
    assert "arXiv:1905.01039" in page.section("citation").text


def test_the_page_contains_the_audit_and_the_rejections(tmp_path: Path) -> None:
    audit = {"passed": True, "faults": 0, "trials": 5000, "bound": 0.9}
    snapshot = dataclasses.replace(simulate(500), rejections={"wrong-plan": 7, "malformed": 1200})
    found = parse_page(render_page(load(tmp_path, snapshot, audit=audit)))
    assert "An audit of the plan (ldp-audit) passed." in found.section("privacy").text
    assert "Rejected reports: 1,200 malformed, 7 wrong-plan." in found.find("section")[0].text
    assert "Rejected1,207" in found.find("dl")[0].text


def test_a_snapshot_and_the_model_trained_on_it_give_the_same_estimates(
    results: SurveyResults, page: Node, tmp_path: Path
) -> None:
    (tmp_path / "snapshot.json").write_bytes(simulate(20_000).to_json())
    found = parse_page(render_page(read_results(tmp_path / "snapshot.json")))
    for name in ("classes", "features", "relevance", "privacy", "fabricated"):
        assert found.section(name).text == page.section(name).text


def test_a_validated_model_shows_accuracy_gains_and_selection(tmp_path: Path) -> None:
    results = load(tmp_path, trained(2_000, 4), validation=validated(40_000, 4))
    section = parse_page(render_page(results)).section("validation")
    result = results.estimates["validation"]["validation_result"]
    assert f"an estimated {percent(result['accuracy']['value'])} of labels" in section.text
    rows = section.find("table")[0].rows()
    assert [row[0] for row in rows] == ["top 1", "top 2"]
    assert rows[0][1] == f"{100 * result['gains']['value'][0]:+.1f}"
    assert [row[3] for row in rows] == ["selected", ""]
    assert "The model keeps 1 of 3 features: informative. A smaller feature set" in section.text


def test_the_page_of_a_validation_round_has_no_classes_and_features() -> None:
    found = parse_page(render_page(estimate_results(validated(4_000, 4))))
    ids = {each.attributes.get("id") for each in found.find("section")}
    assert "validation" in ids
    assert not ids & {"classes", "features", "relevance"}
    assert "4,000 people reported whether an earlier model" in found.find("p")[1].text + found.text


def test_without_reports_every_estimate_is_unknown() -> None:
    found = parse_page(render_page(estimate_results(simulate(0))))
    assert "There are no reports yet" in found.text
    estimates = [row[-3] for row in found.section("classes").find("table")[0].rows()]
    assert estimates == ["unknown"] * 3
    assert not [each for each in found.find("rect") if each.attributes.get("width", "").endswith("%")]


HOSTILE = """
[survey]
id = "names"
epsilon = 1.0
[label]
name = "<script>alert(1)</script>"
values = ["<b>yes</b>", "a&b \\" onload='x'"]
[features."<img src=x onerror=alert(1)>"]
values = ["{{ 7 * 7 }}", "</table></style>"]
[features."</title>"]
range = [0, 1]
"""


def hostile() -> SurveyResults:
    """Return the results of a survey whose names are HTML and template code."""
    plan = read_survey(HOSTILE).compile()
    labels = np.arange(4000) % 2
    codes = np.column_stack([labels, plan.features[1].code_array(labels.astype(float))])
    return estimate_results(simulate_reports(plan, codes, labels, FastStream(1)))


def test_names_are_escaped() -> None:
    data = render_page(hostile())
    found = parse_page(data)
    assert not found.find("script")
    assert not found.find("img")
    assert not found.find("b")
    cells = found.find("td") + found.find("th") + found.find("div")
    assert not [each for each in cells if "onload" in each.attributes]
    names = found.section("feature-1").find("th")
    assert {"<b>yes</b>", "a&b \" onload='x'", "{{ 7 * 7 }}"} <= {each.text.split(" ●")[0] for each in names}
    assert found.find("h2")[1].text == "Classes of <script>alert(1)</script>"
    assert b"49" not in re.findall(rb"<bdi>(.*?)</bdi>", data)


def test_the_title_of_the_survey_is_the_heading_if_its_texts_are_at_hand() -> None:
    plan = read_survey(HOSTILE + '[about]\ntitle = "Tea & <sleep>"\n').compile()
    results = dataclasses.replace(hostile(), plan=plan)
    found = parse_page(render_page(results))
    assert found.find("h1")[0].text == "Tea & <sleep>"
    assert "Survey names" in found.find("header")[0].text


def test_the_page_loads_nothing_and_runs_nothing(results: SurveyResults) -> None:
    data = render_page(results)
    found = parse_page(data)
    assert not found.find("script")
    assert all(each.attributes["href"] == "data:," for each in found.find("link"))
    assert not re.search(rb"https?://|@import|url\(|src=", data)
    [policy] = [each for each in found.find("meta") if each.attributes.get("http-equiv")]
    assert policy.attributes["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_the_page_never_calls_reports_anonymous(results: SurveyResults) -> None:
    assert b"anonym" not in render_page(results).lower()


def test_every_probability_is_from_0_to_100_percent() -> None:
    for seed in range(3):
        found = parse_page(render_page(estimate_results(simulate(3000, seed=seed))))
        cells = [text for each in found.find("table") for row in each.rows() for text in row]
        shares = [float(each) for text in cells for each in re.findall(r"(-?[\d.]+)%", text)]
        assert len(shares) > 50
        assert all(0 <= share <= 100 for share in shares)


def test_the_same_results_give_the_same_bytes(results: SurveyResults, tmp_path: Path) -> None:
    assert render_page(results) == render_page(load(tmp_path, simulate(20_000)))


def test_tables_have_captions_and_scopes(page: Node) -> None:
    for table in page.find("table"):
        assert table.find("caption")[0].text
        assert all(each.attributes.get("scope") in {"col", "row", "rowgroup"} for each in table.find("th"))


def test_an_alarm_is_at_the_top_and_names_the_question(results: SurveyResults) -> None:
    document = json.loads(json.dumps(results.estimates))
    check = document["poisoning"]["questions"][1]
    check["support"] = {"findings": ["they support too many or too few values at once (p < 1e-24)"]}
    found = parse_page(render_page(dataclasses.replace(results, estimates=document)))
    assert "some reports are not what devices send" in found.find("section")[0].text
    assert "tea: they support too many" in found.section("fabricated").text


@pytest.mark.parametrize("damage", [[], {}, "text", 7])
def test_inconsistent_content_is_an_error_with_a_reason(results: SurveyResults, damage: object) -> None:
    document = json.loads(json.dumps(results.estimates))
    document["features"][0]["conditionals"] = damage
    with pytest.raises(ResultsError, match="the content is inconsistent"):
        render_page(dataclasses.replace(results, estimates=document))


@pytest.mark.slow
@pytest.mark.parametrize("damage", [None, [], {}, "text", -7, 1e300])
def test_any_damage_gives_a_page_or_an_error_of_its_own(results: SurveyResults, damage: object) -> None:
    places = [path for path, _ in (*leaves_of(results.estimates), *objects_of(results.estimates)) if path]
    other = estimate_results(trained(500))
    for place in np.random.default_rng(1).choice(len(places), 150, replace=False):
        document = json.loads(json.dumps(results.estimates))
        *path, last = places[place]
        inner(document, tuple(path))[last] = damage
        damaged = dataclasses.replace(results, estimates=document)
        with contextlib.suppress(ResultsError):
            render_page(damaged)
        with contextlib.suppress(ResultsError):
            render_page(other, damaged)


@pytest.mark.parametrize("content", [b"{}", b"\xff", b"[]", b"[" * 100_000])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ResultsError, match="neither"):
        read_results(tmp_path / "other")


def test_discrete_features_only_have_one_table_each(results: SurveyResults, page: Node) -> None:
    assert len(page.section("feature-1").find("table")) == 1
    conditional = [row for row in build_table(results.estimates) if row["statistic"] == CONDITIONAL]
    assert any(row["feature"] == "unasked" for row in conditional)
    assert not page.section("feature-2").find("table")
    assert "the survey does not ask about it" in page.section("feature-2").text


def test_the_page_states_that_reports_were_simulated(tmp_path: Path) -> None:
    text = render_page(load(tmp_path, dataclasses.replace(simulate(500), simulated=True))).decode()
    assert "The reports were simulated: a program randomised the rows of a table. Nobody was asked." in text
    assert "No device made it: a program read the rows of a table" in text
    assert "the person's own device" not in text

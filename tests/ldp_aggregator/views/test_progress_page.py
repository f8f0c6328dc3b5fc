"""What the dashboard shows of a survey in progress; collector/browser/ tests it in a real browser."""

import re
from dataclasses import replace

import numpy as np
import pytest

from encoders.errors import Reason
from ldp_aggregator.estimation.sequential_intervals import hold_at_all_looks
from ldp_aggregator.privacy_statement import RelayPrivacy
from ldp_aggregator.statements.warnings import find_warnings
from ldp_aggregator.views.progress_page import render_progress
from ldp_aggregator.views.results_page import render_page
from tests.ldp_aggregator.views.samples import make_results
from tests.support.html_page import parse_page

NEVER_COUNTED = {
    Reason.UNKNOWN_SURVEY,
    Reason.NO_SIGNATURE,
    Reason.NO_TEXTS,
    Reason.NO_SUCH_PAGE,
    Reason.INTERNAL,
}
"""Reasons that are not counted as rejections."""


def render_once(results):
    return render_progress(results, all_looks=False)


def render(results, page=render_once):
    return parse_page(page(results))


def list_sections(page):
    return {each.attributes.get("id"): each for each in page.find("section")}


def find_counts(page):
    """Return the counts whose changes the script shows, by name."""
    marked = [each.attributes for each in page.find("span") if "data-count" in each.attributes]
    return {each["data-name"]: int(each["data-count"]) for each in marked}


def reject(results, rejected):
    """Return the results with other numbers of rejections."""
    people = replace(results.privacy.people, rejected=rejected)
    return replace(results, privacy=replace(results.privacy, people=people))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["survey", "tables", "class-tables", "shares", "silos", "alarm"])
def test_the_sections_are_those_of_the_results_page_without_relevance(name):
    """The intervals of relevance are for one look."""
    shown, known = (list_sections(render(make_results(name), page)) for page in (render_once, render_page))
    added = {"reports", "margins"} - ({"margins"} if name == "silos" else set())
    assert set(shown) - set(known) == added
    assert "relevance" not in shown
    assert set(known) - set(shown) <= {None, "relevance", "privacy", "method", "limits", "citation"}
    for each in set(shown) & set(known):
        assert shown[each] == known[each]


@pytest.mark.slow
def test_an_open_survey_shows_no_test_of_tables():
    results = make_results("tables")
    wide = replace(results, estimates=hold_at_all_looks(results.estimates, results.plan))
    once, often = (
        [each.attributes["data-finding"] for each in page.statements()]
        for page in (render(results), parse_page(render_progress(wide, all_looks=True)))
    )
    assert "progress.all-looks" in set(often) - set(once)
    assert (once.count("tables.independence"), often.count("tables.independence")) == (2, 0)


def test_counts_are_shown_with_the_place_of_their_change():
    results = make_results("survey")
    page, people = render(results), results.privacy.people
    counts = find_counts(page)
    assert (counts["reports"], counts["rejected"]) == (20_000, 1207)
    assert [row[2] for row in page.table("Reports by question").rows()] == [
        f"{each.reports:,}" for each in people.questions
    ]
    assert page.table("Rejections by reason").rows() == [
        ["Not a report: bytes that cannot be read", "1,200", "\u2013"],
        ["Made for another plan, or for another version of this plan", "7", "\u2013"],
    ]
    assert sum(each for name, each in counts.items() if name.startswith("Rejections")) == counts["rejected"]


def test_every_reason_has_a_text_and_one_of_another_version_is_shown_as_its_code():
    results = make_results("survey")
    rejected = dict.fromkeys((*Reason, "from-the-future"), 1)
    rows = render(reject(results, rejected)).table("Rejections by reason").rows()
    codes = {each.replace("-", " ") for each in (*NEVER_COUNTED, "from-the-future")}
    assert {row[0] for row in rows} >= codes
    assert not {row[0] for row in rows} & {each.replace("-", " ") for each in set(Reason) - NEVER_COUNTED}


def test_batches_that_broke_the_promise_of_a_relay_are_rejections():
    results = reject(make_results("survey"), {})
    assert "No report was rejected." in render(results).section("reports").text
    relay = RelayPrivacy(epsilon=0.1, delta=1e-6, batch=100, honest_reports=90, broken_batches=2)
    page = render(replace(results, privacy=replace(results.privacy, relay=relay)))
    assert find_counts(page)["rejected"] == 2


def test_margins_are_those_now_and_with_more_reports():
    rows = {row[0]: row[1:] for row in render(make_results("survey")).table("Margins").rows()}
    assert list(rows) == ["asleep (shares)", "tea", "unasked", "hours (mean)", "age (mean)"]
    for name in ("asleep (shares)", "tea", "hours (mean)"):
        now, twice, tenfold = (float(re.findall(r"[\d.]+", cell)[0]) for cell in rows[name])
        assert now / twice == pytest.approx(2**0.5, rel=0.1)
        assert now / tenfold == pytest.approx(10**0.5, rel=0.1)
    assert rows["tea"][0].endswith(" points")
    assert rows["unasked"] == ["unknown"] * 3


def test_margins_are_unknown_by_the_rule_of_estimates():
    results = make_results("survey")
    prior = results.estimates.raw_prior
    for stderr, expected in (
        (0.19, ["\u00b137 points", "\u00b126 points"]),
        (0.2, ["unknown", "\u00b128 points"]),
    ):
        wide = replace(prior, stderr=np.full(3, stderr))
        found = render(replace(results, estimates=replace(results.estimates, raw_prior=wide)))
        assert found.table("Margins").rows()[0][1:3] == expected


def test_silos_show_their_messages_and_no_margins():
    page = render(make_results("silos"))
    assert "28 noisy counts of at most 3,000 rows" in page.section("reports").text
    assert "margins" not in list_sections(page)
    assert "There are no messages yet." in render(make_results("empty-silos")).section("reports").text


@pytest.mark.parametrize("name", ["empty", "empty-tables", "empty-silos", "round", "empty-round"])
def test_without_reports_or_features_the_page_is_complete(name):
    page = render(make_results(name))
    assert find_counts(page)["reports"] == make_results(name).estimates.reports
    assert bool(find_warnings(make_results(name).estimates)) == ("warnings" in list_sections(page))


def test_names_are_escaped():
    page = render(make_results("hostile"))
    assert page.section("classes").find("h2")[0].text == "Classes of <script>alert(1)</script>"
    names = {each.text.split(" \u25cf")[0] for each in page.section("feature-1").find("th")}
    assert {"<b>yes</b>", "a&b|*no* [x](y) \" onload='x'", "{{ 7 * 7 }}"} <= names
    assert not page.find("script") + page.find("img") + page.find("b")
    counts = find_counts(page)
    assert "Reports by question: <img src=x onerror=alert(1)>" in counts


def test_marks_of_an_open_survey_are_explained_as_intervals_that_do_not_overlap():
    results = make_results("survey")
    opened = replace(results, estimates=hold_at_all_looks(results.estimates, results.plan))
    for all_looks, words in ((True, "do not overlap"), (False, "A test at level 5%")):
        text = render_progress(opened, all_looks=all_looks).decode()
        assert words in text
        assert ("a test distinguishes" in text) == ("at level 5%" in text) == (not all_looks)

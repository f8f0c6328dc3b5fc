"""The page of a comparison: its statements, its table and its picture, in one file without requests."""

import re

import pytest

from ldp_design.comparison.comparison_page import Scale, draw_picture, render_comparison
from tests.support.comparisons import CURVES, EPSILONS, make_comparison
from tests.support.html_page import list_lines, named_statements, parse_page

COMPARISON = make_comparison(CURVES, deviation=0.01)
DATA = render_comparison(COMPARISON, None, 0.9)


def test_the_picture_is_first_and_the_words_are_before_the_tables():
    ids = [each.attributes["id"] for each in parse_page(DATA).find("section") if "id" in each.attributes]
    assert ids == ["picture", "wanted", "cost", "targets", "accuracies", "reading"]
    page = parse_page(render_comparison(COMPARISON, None, None))
    ids = [each.attributes["id"] for each in page.find("section") if "id" in each.attributes]
    assert ids == ["picture", "targets", "cost", "accuracies", "reading"]


def test_the_words_of_the_page(compare_with_golden):
    with named_statements():
        page = render_comparison(COMPARISON, None, 0.9)
    compare_with_golden("page", "\n".join(list_lines(parse_page(page))) + "\n")


def test_the_picture_has_a_line_with_intervals_for_each_trust():
    picture = draw_picture(COMPARISON, 0.9)
    assert picture.count('class="line"') == len(CURVES)
    assert picture.count('class="interval"') == len(CURVES) * len(EPSILONS)
    assert re.findall(r'class="level (\w+)"', picture) == ["ceiling", "majority", "target"]
    assert "target" not in draw_picture(COMPARISON)


def test_the_axes_of_the_picture_hold_every_number():
    scale = Scale(EPSILONS, 0.4, 1.0)
    assert sorted(map(scale.x, EPSILONS)) == [scale.x(each) for each in EPSILONS]
    assert scale.x(0.5) - scale.x(0.1) == pytest.approx(scale.x(5.0) - scale.x(1.0))
    assert scale.y(1.0) < scale.y(0.7) < scale.y(0.4) == scale.y(0.1)
    assert Scale((1.0,), 0.0, 1.0).x(1.0) == pytest.approx((64 + 466) / 2)


@pytest.mark.parametrize("curves", [{"local": [0.5] * 5}, {"labels": [0.99] * 5}, {}])
def test_a_page_of_few_trusts_is_complete(curves):
    page = parse_page(render_comparison(make_comparison(curves), None, None))
    assert "picture" in [each.attributes.get("id") for each in page.find("section")]


def test_the_page_loads_and_runs_nothing():
    text = DATA.decode()
    assert "default-src 'none'" in text
    assert not re.search(r"<script|<img|<iframe|https?://|@import|url\(", text)
    assert [each.attributes["href"] for each in parse_page(DATA).find("link")] == ["data:,"]
    assert render_comparison(COMPARISON, None, 0.9) == DATA

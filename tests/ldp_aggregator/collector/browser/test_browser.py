"""The dashboard in a real browser: content, secrecy and accessibility.

SCREENSHOTS=DIR saves screenshots there.
"""

import json
import os
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect

from ldp_aggregator.codec import from_json
from ldp_aggregator.collector.dashboard.dashboard_data import progress_document, silo_progress_document
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.render.interval import (
    Axis,
    Mark,
    choose_positive_axis,
    choose_share_axis,
    draw_mark,
)
from ldp_aggregator.snapshot import SiloSnapshot
from ldp_aggregator.stores import Total
from ldp_aggregator.views.estimate_rows import build_table, dump_table
from tests.ldp_aggregator.collector.browser.conftest import CACHE_SECONDS, Site, Visit
from tests.ldp_aggregator.collector.conftest import ask
from tests.support.browser import assert_accessible, assert_no_sideways_scroll, assert_prints_everything
from tests.support.servers import TOKEN
from tests.support.silo_surveys import count_rows, make_rows, read_silo_survey
from tests.support.snapshots import make_snapshot
from tests.support.surveys import make_plan

pytestmark = pytest.mark.slow

Visits = Callable[..., Visit]


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        page.wait_for_timeout(300)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def api(site: Site, path: str) -> Any:
    return json.loads(ask(f"{site.url}/v1/{path}", token=TOKEN)[1])


def responding(status: int, reason: str, detail: str = "") -> Callable[[Route], None]:
    body = json.dumps({"reason": reason, "detail": detail})
    return lambda route: route.fulfill(status=status, content_type="application/problem+json", body=body)


def in_words(estimate: Any, *indices: int) -> list[str]:
    """Return the texts of an estimate, its interval and its simultaneous interval."""

    def write(nested: Any) -> str:
        for index in indices:
            nested = nested[index]
        return f"{100 * nested:.1f}%".replace("-0.0%", "0.0%").replace("-", "\u2212")

    ends = ("low", "high"), ("simultaneous_low", "simultaneous_high")
    return [
        write(estimate["value"]),
        *(f"{write(estimate[low])} to {write(estimate[high])}" for low, high in ends),
    ]


def responding_with(body: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(content_type="application/json", body=body)


def test_without_a_token_only_public_facts_are_shown(visit, site):
    seen = visit()
    expect(seen.page.locator("#unlock")).to_be_visible()
    expect(seen.page.locator("#plan-facts")).to_contain_text(site.clinic.digest)
    expect(seen.page.locator("#figures")).to_be_hidden()
    assert not [url for url in seen.asked if "progress" in url or not url.startswith(site.url)]
    assert_accessible(seen.page)
    picture(seen.page, "locked")


def test_the_token_is_kept_in_its_tab_until_it_is_forgotten(visit, site):
    seen = visit().open()
    page = seen.page
    assert page.evaluate("document.activeElement.id") == "main"
    page.reload()
    expect(page.locator("#cards article").first).to_be_visible()  # the tab keeps the token
    assert TOKEN not in page.url
    assert not any(TOKEN in url for url in seen.asked)
    assert {url.split("/")[2] for url in seen.asked} == {site.url.split("/")[2]}
    assert page.context.cookies() == []
    assert page.evaluate("localStorage.length") == 0
    page.get_by_role("button", name="Forget token").click()
    expect(page.locator("#figures")).to_be_hidden()
    assert page.evaluate("sessionStorage.length") == 0
    page.reload()
    expect(page.locator("#unlock")).to_be_visible()


def test_a_wrong_token_is_reported_and_not_kept(visit):
    seen = visit(fails=True)  # browsers log every 401
    seen.unlock("nonsense")
    expect(seen.page.locator("#token-problem")).to_contain_text("not this collector's operator token")
    assert seen.page.evaluate("document.activeElement.id") == "token"
    assert seen.page.evaluate("sessionStorage.length") == 0
    assert_accessible(seen.page)
    picture(seen.page, "wrong-token")
    seen.open()
    expect(seen.page.locator("#token-problem")).to_be_hidden()


def test_a_token_that_is_not_allowed_in_a_header_is_wrong(visit):
    seen = visit()
    seen.unlock("t\u00f6ken\u2713")
    expect(seen.page.locator("#token-problem")).to_contain_text("not this collector's operator token")
    assert not [url for url in seen.asked if "progress" in url]


TOO_MANY = "too many wrong tokens from this address; try again later"


@pytest.mark.parametrize(
    ("status", "reason", "detail", "place", "shown"),
    [
        (429, "too-many-requests", TOO_MANY, "#problem", TOO_MANY),
        (403, "not-authorised", "", "#token-problem", "without LDP_OPERATOR_TOKEN"),
    ],
)
def test_a_refusal_is_reported_instead_of_estimates(visit, status, reason, detail, place, shown):
    seen = visit(fails=True)
    seen.page.route("**/progress", responding(status, reason, detail))
    seen.unlock("whatever")
    expect(seen.page.locator(place)).to_contain_text(shown)
    expect(seen.page.locator("#figures")).to_be_hidden()
    picture(seen.page, reason)


def test_the_numbers_equal_those_of_the_collector(visit, site):
    seen = visit().open()
    known = api(site, "surveys/clinic/estimates")
    tiles = seen.page.locator("#tiles dd").all_text_contents()
    assert tiles[0] == f"{known['reports']:,}"
    assert tiles[2] == "3"
    reasons = seen.cells("Rejections by reason")
    assert reasons == [["Made for another plan, or for another version of this plan", "3", "\u2013"]]
    counts = {row[0]: row[2] for row in seen.cells("Reports by question")}
    n = f"{known['features'][0]['n']:,}"
    assert counts["smoker, coin"] == n
    note = seen.page.locator('article[aria-label="smoker"] .note')
    expect(note).to_have_text(f"{n} reports, DE, same reports as coin.")

    prior, smoker = known["raw_prior"], known["features"][0]["conditionals"]
    shares = seen.cells("Share of each class: ill")
    assert [cells[-3:] for cells in shares] == [in_words(prior, place) for place in range(2)]
    overall = known["features"][0]["shares"]
    shares = seen.cells("Share of each value: smoker")
    assert [cells[-3:] for cells in shares] == [in_words(overall, place) for place in range(3)]
    shares = seen.cells("Share of each value in each class: smoker")
    places = product(range(3), range(2))
    assert [cells[-3:] for cells in shares] == [in_words(smoker, *place) for place in places]
    assert seen.cells("Share of missing answers: weight")[0][0] == "all people"


def test_distinguishable_features_are_marked_and_can_be_filtered(visit):
    page = visit().open().page
    marks = {
        card.get_attribute("aria-label"): card.locator(".mark").all_text_contents()
        for card in page.locator("#cards article").all()
    }
    found, differ = "\u25cf classes are distinguishable", "\u25cf differ"
    assert marks["smoker"] == [found, *[differ] * 3]
    assert marks["coin"] == []
    assert marks["weight"][:2] == [found, differ]
    expect(page.get_by_role("article", name="coin")).to_contain_text("Not distinguishable from noise")
    page.get_by_label("Only what is distinguishable").check()
    expect(page.get_by_role("article", name="smoker")).to_be_visible()
    expect(page.get_by_role("article", name="coin")).to_be_hidden()
    picture(page, "only-distinguishable")


def test_all_estimates_are_downloaded_as_a_table_without_the_token_in_an_address(visit, site, tmp_path):
    seen = visit().open()
    with seen.page.expect_download() as started:
        seen.page.get_by_role("button", name="Download table (CSV)").click()
    assert started.value.suggested_filename == "clinic-estimates.csv"
    started.value.save_as(tmp_path / "table.csv")
    rows = build_table(from_json(Estimates, api(site, "surveys/clinic/estimates")))
    assert (tmp_path / "table.csv").read_text("utf-8") == dump_table(rows)
    assert [url for url in seen.asked if url.endswith("/v1/surveys/clinic/estimates.csv")]
    assert not any(TOKEN in url for url in seen.asked)
    expect(seen.page.locator("#status")).to_have_text("The table of estimates was downloaded.")


def test_a_download_that_fails_is_reported(visit):
    seen = visit().open()
    seen.page.route("**/estimates.csv", responding(503, "store-unavailable", "the store cannot be used now"))
    seen.page.get_by_role("button", name="Download table (CSV)").click()
    expect(seen.page.locator("#problem")).to_contain_text("the store cannot be used now")
    seen.errors.clear()  # the browser logs the status


def test_margins_with_more_reports_are_smaller(visit):
    rows = visit().open().cells("Margins of a typical estimate")
    assert [row[0] for row in rows] == ["ill (shares)", "smoker", "coin", "weight (mean)"]
    now, twice, tenfold = (float(re.findall(r"[\d.]+", cell)[0]) for cell in rows[0][1:])
    assert now / twice == pytest.approx(2**0.5, rel=0.1)
    assert now / tenfold == pytest.approx(10**0.5, rel=0.1)


def test_a_refresh_shows_and_announces_new_reports(visit, site):
    seen = visit().open()
    page = seen.page
    before = int(page.locator("#tiles dd").first.text_content().replace(",", ""))
    page.wait_for_timeout(1500 * CACHE_SECONDS)
    site.send(7)
    page.get_by_role("button", name="Refresh now").click()
    expect(page.locator("#tiles dd").nth(1)).to_have_text("+7")
    expect(page.locator("#tiles dd").first).to_have_text(f"{before + 7:,}")
    expect(page.locator("[role=status]")).to_contain_text("+7 since the last refresh")
    assert page.evaluate("document.activeElement.id") == "refresh"


def test_it_refreshes_automatically_unless_hidden_or_switched_off(chromium, site):
    page = chromium.new_context().new_page()
    page.clock.install()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "progress" in request.url else None)

    finished: list[str] = []
    page.on(
        "requestfinished", lambda request: finished.append(request.url) if "progress" in request.url else None
    )

    def refreshes(seconds: int, act: str = "") -> int:
        count = len(asked)
        page.evaluate(act)
        page.clock.run_for(1000 * seconds)
        for _ in range(100):
            page.wait_for_timeout(50)
            if len(finished) == len(asked):
                break
        page.wait_for_timeout(50)  # for the page to process the response
        return len(asked) - count

    page.goto(site.url)
    Visit(page, [], []).open()
    assert refreshes(8) == 0
    assert refreshes(3) == 1
    turn = "Object.defineProperty(document, 'hidden', {{value: {}, configurable: true}});"
    turn += "document.dispatchEvent(new Event('visibilitychange'))"
    assert refreshes(60, turn.format("true")) == 0
    assert refreshes(0, turn.format("false")) == 1  # visible again: a refresh is due at once
    page.get_by_label("Refresh every 10 seconds").uncheck()
    assert refreshes(60) == 0
    page.context.close()


def test_an_unreachable_collector_is_reported_and_the_last_estimates_stay(visit):
    seen = visit(fails=True).open()
    page = seen.page
    page.route("**/progress", responding(503, "store-unavailable", "the store cannot be used now"))
    page.get_by_role("button", name="Refresh now").click()
    expect(page.get_by_role("alert").first).to_contain_text("the store cannot be used now.")
    page.unroute("**/progress")
    page.route("**/progress", lambda route: route.abort())
    page.get_by_role("button", name="Refresh now").click()
    expect(page.get_by_role("alert").first).to_contain_text("The collector does not respond.")
    expect(page.locator("#cards")).to_be_visible()
    picture(page, "out-of-reach")
    page.unroute("**/progress")
    page.get_by_role("button", name="Refresh now").click()
    expect(page.locator("#problem")).to_be_hidden()


def test_an_incomplete_import_is_reported(visit):
    seen = visit(fails=True).open()
    seen.page.route("**/progress", responding(403, "survey-not-open", "clinic has not arrived in this store"))
    seen.page.get_by_role("button", name="Refresh now").click()
    expect(seen.page.get_by_role("alert").first).to_contain_text("clinic has not arrived in this store.")


@pytest.mark.parametrize(
    ("survey", "scheme"), [("clinic", "light"), ("clinic", "dark"), ("empty", "light"), ("many", "dark")]
)
def test_every_survey_is_accessible_in_light_and_dark(visit, survey, scheme):
    page = visit(f"/#{survey}", color_scheme=scheme, reduced_motion="reduce").open().page
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", ground)[0]) < 60) == (scheme == "dark")
    assert page.locator("#survey").input_value() == survey
    assert page.title().startswith(survey)
    assert_accessible(page)
    picture(page, f"{survey}-{scheme}")


@pytest.mark.parametrize("survey", ["clinic", "many"])
def test_nothing_is_wider_than_the_window(visit, survey):
    page = visit(f"/#{survey}", viewport={"width": 360, "height": 800}).open().page
    assert_no_sideways_scroll(page)
    boxes = page.locator(".scroll:has(.estimates)")
    assert not any(boxes.evaluate_all("all => all.map(each => each.scrollWidth > each.clientWidth)"))
    picture(page, f"{survey}-narrow")
    page.set_viewport_size({"width": 1600, "height": 800})
    assert_no_sideways_scroll(page)
    picture(page, f"{survey}-wide")


def test_another_survey_is_selected_by_keyboard_and_named_in_the_address(visit):
    page = visit().open().page
    page.locator("#survey").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#no-reports")).to_be_visible()
    assert page.url.endswith("/#empty")
    page.go_back()
    expect(page.locator("#cards article").nth(1)).to_have_attribute("aria-label", "smoker")


def test_estimates_are_never_shown_under_the_name_of_another_survey(visit):
    page = visit(fails=True).open().page
    page.route("**/progress", lambda route: route.abort())
    page.locator("#survey").select_option("empty")
    expect(page.get_by_role("alert").first).to_contain_text("The collector does not respond. Trying again.")
    expect(page.locator("#figures")).to_be_hidden()


def test_all_controls_are_reached_by_keyboard_in_order(visit):
    page = visit().open().page
    page.evaluate("document.activeElement.blur(); document.body.focus()")
    page.locator(".skip").focus()
    stops = []
    for _ in range(7):
        stops.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
        page.keyboard.press("Tab")
    assert stops == ["Skip to the estimates", "survey", "auto", "refresh", "forget", "only", "download"]


def test_every_picture_is_beside_its_numbers(visit):
    page = visit().open().page
    rows = page.locator("#cards tbody tr")
    assert rows.count() == 2 + 3 * 3 + 2 * 3 + 3 * 3
    for row in rows.all():
        assert row.locator("svg").get_attribute("aria-hidden") == "true"
        assert re.search(r"\d%? to \d", row.locator("td").nth(2).text_content())


def test_pictures_are_those_of_the_results_page(visit):
    words = {"value": 1.25, "single": (-0.3, 1.7), "simultaneous": (-3.0, 9.0), "colour": 12}
    marks = [(words | {"fromZero": each}, Mark(**words, from_zero=each)) for each in (True, False)]
    drawn = """([axis, mark]) => import(document.querySelector("[href$='interval.js']").href).then(
        ({drawInterval}) => drawInterval(axis, mark).outerHTML)"""
    axis, page = Axis(-1, 3), visit().page
    for other, known in (*marks, (None, None)):
        expected = re.sub(r"<(\w+)([^>]*)/>", r"<\1\2></\1>", str(draw_mark(axis, known)))
        assert page.evaluate(drawn, [{"low": -1, "high": 3}, other]) == expected


def test_axes_are_those_of_the_results_page(visit):
    chosen = """highest => import(document.querySelector("[href$='interval.js']").href).then(
        each => [each.chooseShareAxis(highest).high, each.choosePositiveAxis(highest, 30).high])"""
    page = visit().page
    for highest in (-1, 0, 0.034, 0.1, 0.31, 4.5, 19, 30, 99):
        expected = [choose_share_axis(highest).high, choose_positive_axis(highest, 30).high]
        assert page.evaluate(chosen, highest) == pytest.approx(expected), highest


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_prints_everything_but_its_controls_in_light_colours(visit, scheme):
    page = visit(color_scheme=scheme).open().page
    assert_prints_everything(page)
    expect(page.get_by_role("button", name="Refresh now")).to_be_hidden()
    assert page.locator("#cards svg").first.is_visible()


def test_a_survey_of_silos_shows_its_messages_and_estimates_without_margins(visit, site):
    plan = read_silo_survey().compile()
    cells = np.array(count_rows(plan, make_rows(plan, 5000)), np.int64)
    totals = {plan.question.key: Total(9, cells)}
    progress = json.dumps(silo_progress_document(SiloSnapshot(plan, totals)))
    seen = visit()
    page = seen.page
    listed = json.dumps(
        {"surveys": [{"id": "wards", "digest": plan.digest, "phase": "open", "kind": "silo"}]}
    )
    for path, body in (("", listed), ("/wards", plan.json.decode()), ("/wards/progress", progress)):
        page.route(f"**/v1/surveys{path}", responding_with(body))
    page.reload()
    seen.unlock()
    expect(page.locator("#silo-text")).to_contain_text("28 noisy counts of at most 100,000 rows")
    expect(page.locator("#silo-text")).to_contain_text("count an estimated 5,000 rows.")
    expect(page.locator("#silo-text")).to_contain_text("standard error of at most 17 rows")
    expect(page.get_by_role("article")).to_have_count(5)
    expect(page.get_by_role("article", name="ill")).to_contain_text("From all 9 messages of silos")
    expect(page.get_by_role("article", name="weight")).to_contain_text("Number: an estimated")
    assert page.locator("#tiles dd").all_text_contents()[0] == "9"
    expect(page.locator("#plan-facts")).to_contain_text("at most 100,000, and 1 of one person")
    expect(page.locator("#margins")).to_be_hidden()
    assert_accessible(page)
    picture(page, "silos")


def test_a_survey_without_a_label_shows_shares_and_no_classes(visit, site):
    features = {
        "tea": {"values": ["black", "green"]},
        "hours": {"range": [0, 12], "missing": "category"},
        "cups": {"choices": ["small", "large"], "missing": "category"},
    }
    plan = make_plan(label=None, features=features, users=2000)
    snapshot = make_snapshot(plan)
    progress = json.dumps(progress_document(snapshot, plan, is_closed=False))
    seen = visit()
    page = seen.page
    listed = json.dumps({"surveys": [{"id": "tea", "digest": plan.digest, "phase": "open"}]})
    for path, body in (("", listed), ("/tea", plan.json.decode()), ("/tea/progress", progress)):
        page.route(f"**/v1/surveys{path}", responding_with(body))
    page.reload()
    seen.unlock()
    expect(page.get_by_role("article")).to_have_count(3)
    ticked = seen.cells("Share of people who ticked each choice: cups")
    assert [row[0] for row in ticked] == ["small", "large", "(missing)"]
    expect(page.locator('article[aria-label="cups"] .note')).to_contain_text("at least ")
    assert [row[0] for row in seen.cells("Mean: hours")] == ["all people"]
    expect(page.locator("#all-looks")).to_contain_text("in 19 of 20 surveys")
    shown = page.locator("main").inner_text().lower()
    assert not [word for word in ("label", "class", "distinguishable") if word in shown]
    assert_accessible(page)
    picture(page, "without-a-label")

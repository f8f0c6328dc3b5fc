"""The dashboard in a real browser: content, secrecy and accessibility.

SCREENSHOTS=DIR saves screenshots there.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from encoders.survey import read_survey
from ldp_aggregator.codec import from_json
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.views.estimate_rows import EstimateRow, build_table, dump_table
from ldp_aggregator.wording.values import format_interval, format_percent
from ldp_client import make_report
from tests.ldp_aggregator.collector.browser.conftest import CACHE_SECONDS, Site, Visit
from tests.ldp_aggregator.collector.conftest import ask
from tests.ldp_aggregator.views.samples import HOSTILE
from tests.support.browser import assert_accessible, assert_no_sideways_scroll, assert_prints_everything
from tests.support.commands import post_reports
from tests.support.servers import TOKEN

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


def in_words(row: EstimateRow) -> list[str]:
    """Return the texts of an estimate, its interval and its simultaneous interval."""
    ends = ((row.low, row.high), (row.simultaneous_low, row.simultaneous_high))
    return [format_percent(row.estimate), *(format_interval(each, format_percent) for each in ends)]


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
    expect(page.locator("#sections section").first).to_be_visible()  # the tab keeps the token
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
        (403, "not-authorised", "", "#token-problem", "Access denied"),
    ],
)
def test_a_refusal_is_reported_instead_of_estimates(visit, status, reason, detail, place, shown):
    seen = visit(fails=True)
    seen.page.route("**/progress.html", responding(status, reason, detail))
    seen.unlock("whatever")
    expect(seen.page.locator(place)).to_contain_text(shown)
    expect(seen.page.locator("#figures")).to_be_hidden()
    picture(seen.page, reason)


def test_the_numbers_equal_those_of_the_collector(visit, site):
    seen = visit().open()
    known = api(site, "surveys/clinic/estimates")
    tiles = seen.page.locator(".tiles dd").all_text_contents()
    assert tiles[0] == f"{known['reports']:,}"
    assert tiles[2] == "3"
    reasons = seen.cells("Rejections by reason")
    assert reasons == [["Made for another plan, or for another version of this plan", "3", "\u2013"]]
    counts = {row[0]: row[2] for row in seen.cells("Reports by question")}
    n = f"{known['features'][0]['n']:,}"
    assert counts["smoker, coin"] == n
    note = seen.page.locator("#shares-1 .note")
    expect(note).to_have_text(f"3 values; {n} reports by DE; the same reports as coin.")
    rows = build_table(from_json(Estimates, known))
    for caption, feature, statistic in (
        ("Share of each class", "ill", "P(class)"),
        ("Share of each value: smoker", "smoker", "P(value)"),
        ("Share of each value in each class: smoker", "smoker", "P(value | class)"),
    ):
        expected = [row for row in rows if (row.feature, row.statistic) == (feature, statistic)]
        assert [cells[-3:] for cells in seen.cells(caption)] == list(map(in_words, expected))


def test_distinguishable_features_are_marked_and_can_be_filtered(visit):
    page = visit().open().page
    smoker, coin, weight = (page.locator(f"#feature-{number}") for number in (1, 2, 3))
    found, differ = "\u25cf classes are distinguishable", "\u25cf differ"
    assert smoker.locator(".mark").all_text_contents() == [found, *[differ] * 3]
    assert coin.locator(".mark").count() == 0
    assert weight.locator(".mark").all_text_contents()[:2] == [found, differ]
    page.get_by_label("Only what is distinguishable").check()
    expect(smoker).to_be_visible()
    expect(coin).to_be_hidden()
    expect(page.locator("#shares")).to_be_hidden()
    expect(page.locator("#none-shown")).to_be_hidden()
    picture(page, "only-distinguishable")
    page.locator("#survey").select_option("empty")
    expect(page.locator("#warnings")).to_contain_text("There are no reports yet")
    expect(page.locator("#none-shown")).to_be_visible()
    expect(page.locator("#feature-1")).to_be_hidden()
    page.get_by_label("Only what is distinguishable").uncheck()
    expect(page.locator("#none-shown")).to_be_hidden()
    expect(page.locator("#feature-1")).to_be_visible()


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


def test_a_refresh_shows_and_announces_new_reports(visit, site):
    seen = visit().open()
    page = seen.page
    before = int(page.locator(".tiles dd").first.text_content().replace(",", ""))
    page.wait_for_timeout(1500 * CACHE_SECONDS)
    site.send(7)
    page.get_by_role("button", name="Refresh now").click()
    expect(page.locator(".tiles dd").nth(1)).to_have_text("+7")
    expect(page.locator(".tiles dd").first).to_have_text(f"{before + 7:,}")
    changes = [row[-1] for row in seen.cells("Reports by question")]
    assert sum(int(each) for each in changes if each != "no change") == 7
    assert seen.cells("Rejections by reason")[0][-1] == "no change"
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
    page.route("**/progress.html", responding(503, "store-unavailable", "the store cannot be used now"))
    page.get_by_role("button", name="Refresh now").click()
    expect(page.get_by_role("alert").first).to_contain_text("the store cannot be used now.")
    page.unroute("**/progress.html")
    page.route("**/progress.html", lambda route: route.abort())
    page.get_by_role("button", name="Refresh now").click()
    expect(page.get_by_role("alert").first).to_contain_text("The collector does not respond.")
    expect(page.locator("#sections")).to_be_visible()
    picture(page, "out-of-reach")
    page.unroute("**/progress.html")
    page.get_by_role("button", name="Refresh now").click()
    expect(page.locator("#problem")).to_be_hidden()


def test_an_incomplete_import_is_reported(visit):
    seen = visit(fails=True).open()
    seen.page.route(
        "**/progress.html", responding(403, "survey-not-open", "clinic has not arrived in this store")
    )
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
    expect(page.locator("#warnings")).to_contain_text("There are no reports yet")
    assert page.url.endswith("/#empty")
    page.go_back()
    expect(page.locator("#feature-1 h3")).to_contain_text("smoker")


def test_estimates_are_never_shown_under_the_name_of_another_survey(visit):
    page = visit(fails=True).open().page
    page.route("**/progress.html", lambda route: route.abort())
    page.locator("#survey").select_option("empty")
    expect(page.get_by_role("alert").first).to_contain_text("The collector does not respond. Trying again.")
    expect(page.locator("#figures")).to_be_hidden()


def test_the_plan_of_another_survey_is_not_shown_for_a_closed_one(visit):
    page = visit(fails=True).open().page
    expect(page.locator("#plan")).to_be_visible()
    page.route("**/v1/surveys/empty", responding(410, "survey-closed", "the survey is closed"))
    page.locator("#survey").select_option("empty")
    expect(page.locator("#warnings")).to_contain_text("There are no reports yet")
    expect(page.locator("#plan")).to_be_hidden()


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
    rows = page.locator("#sections .estimates tbody tr")
    of_all, classes, by_class, of_table = 3 + 2 + 3, 2, 3 * 2 + 2 * 2 + 3 * 2, 3 * 4
    assert rows.count() == of_all + classes + by_class + of_table
    for row in rows.all():
        assert row.locator("svg").get_attribute("aria-hidden") == "true"
        assert re.search(r"\d%? to \d", row.locator("td").nth(2).text_content())


def test_a_refresh_leaves_focus_scrolling_and_selection_where_they_are(visit, site):
    page = visit().open().page
    assert page.locator("#counts .scroll[tabindex]").count() == 0  # they fit: no stops of the keyboard
    page.set_viewport_size({"width": 200, "height": 700})
    table = page.locator(".scroll").first
    expect(table).to_have_attribute("tabindex", "0")
    table.evaluate("""box => {
        box.scrollLeft = 30
        getSelection().selectAllChildren(document.querySelector("#feature-1 h3"))
        document.querySelector("#feature-3").scrollIntoView()
        box.focus({ preventScroll: true })
    }""")
    page.wait_for_timeout(1500 * CACHE_SECONDS)
    place = page.locator("#feature-3").bounding_box()["y"]
    site.send(5)
    page.evaluate("document.querySelector('#refresh').click()")
    expect(page.locator(".tiles dd").nth(1)).to_have_text("+5")
    assert table.evaluate("box => [box.scrollLeft, box === document.activeElement]") == [30, True]
    assert page.evaluate("getSelection().toString()").startswith("smoker")
    assert page.locator("#feature-3").bounding_box()["y"] == pytest.approx(place, abs=1)


def test_a_section_that_ends_and_a_table_that_begins_leave_focus_and_selection(visit):
    page = visit("/#empty").open().page
    page.evaluate("""() => {
        const box = document.querySelector("#reports .scroll")
        box.tabIndex = 0
        box.focus()
        getSelection().selectAllChildren(document.querySelector("#feature-1 h3"))
    }""")

    def change(route: Route) -> None:
        body = re.sub(r'<section id="warnings".*?</section>', "", route.fetch().text(), flags=re.DOTALL)
        body = re.sub(r"<p [^>]*>No report was rejected.</p>", '<div class="scroll" id="more"></div>', body)
        route.fulfill(content_type="text/html", body=body)

    page.route("**/progress.html", change)
    page.evaluate("document.querySelector('#refresh').click()")
    expect(page.locator("#warnings")).to_have_count(0)
    expect(page.locator("#more")).to_have_count(1)
    assert page.evaluate("document.activeElement.ariaLabel") == "Reports by question"
    assert page.evaluate("getSelection().toString()").startswith("age")


def test_a_link_to_a_part_of_the_page_does_not_change_the_survey(visit):
    page = visit("/#many").open().page
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.wait_for_timeout(100)
    assert page.locator("#survey").input_value() == "many"
    assert page.url.endswith("/#many")


def test_names_that_are_html_are_shown_as_text(visit, site):
    plan = read_survey(HOSTILE).compile()
    feature, number = plan.features
    row, label = {feature.name: feature.values[0], number.name: 0.5}, plan.label.values[0]
    post_reports(f"{site.url}/v1/surveys/names", b"".join(make_report(plan, row, label) for _ in range(9)))
    seen = visit("/#names").open()
    page = seen.page
    expect(page.locator("#plan-facts")).to_contain_text(plan.label.name)
    expect(page.locator("#classes h2")).to_have_text(f"Classes of {plan.label.name}")
    expect(page.locator("#shares-1 h3")).to_have_text(feature.name)
    assert [row[0] for row in seen.cells(f"Share of each value: {feature.name}")] == list(feature.values)
    assert page.locator("main :is(script, img, b, i, style, title)").count() == 0
    names = "all => all.flatMap(each => each.getAttributeNames()).filter(name => /^on|^style$/.test(name))"
    assert page.locator("main *").evaluate_all(names) == []
    assert_accessible(page)


def test_the_policy_refuses_html_that_no_module_of_the_page_has_parsed(visit):
    seen = visit(fails=True).open()
    for attack in ("document.body.innerHTML = '<b>'", "trustedTypes.createPolicy('other', {})"):
        assert (
            seen.page.evaluate(f"() => {{ try {{ {attack} }} catch (error) {{ return error.name }} }}")
            == "TypeError"
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_prints_everything_but_its_controls_in_light_colours(visit, scheme):
    page = visit(color_scheme=scheme).open().page
    assert_prints_everything(page)
    expect(page.get_by_role("button", name="Refresh now")).to_be_hidden()
    assert page.locator("#sections table svg").first.is_visible()


def test_a_survey_of_silos_shows_its_messages_and_estimates_without_margins(visit):
    page = visit("/#wards").open().page
    expect(page.locator("#reports")).to_contain_text("28 noisy counts of at most 100,000 rows")
    expect(page.locator("#reports")).to_contain_text(re.compile(r"count an estimated 4,[45]\d\d rows\."))
    expect(page.locator("#reports")).to_contain_text("standard error of at most 17 rows")
    expect(page.locator("#features > section")).to_have_count(4)
    expect(page.locator("#shares-3 .note")).to_contain_text("rows by count_table")
    assert page.locator(".tiles dd").all_text_contents()[0] == "9"
    expect(page.locator("#plan-facts")).to_contain_text("at most 100,000, and 1 of one person")
    expect(page.locator("#margins")).to_have_count(0)
    assert_accessible(page)
    picture(page, "silos")


def test_a_survey_without_a_label_shows_shares_and_no_classes(visit):
    seen = visit("/#tea").open()
    page = seen.page
    expect(page.locator("#shares > section")).to_have_count(3)
    ticked = seen.cells("Share of people who ticked each choice: cups")
    assert [row[0] for row in ticked] == ["small", "large", "(missing)"]
    expect(page.locator("#shares-3 .note")).to_contain_text("at least ")
    statistics = [row[0] for row in seen.cells("All people: hours")]
    assert statistics == ["mean", "standard deviation", "missing answers"]
    expect(page.locator("#sections > .notice")).to_contain_text("in 19 of 20 surveys")
    shown = page.locator("main").inner_text().lower()
    assert not [word for word in ("label", "class", "distinguishable") if word in shown]
    assert_accessible(page)
    picture(page, "without-a-label")

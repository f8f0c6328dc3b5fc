"""The page where its script does not run, in a frame, without storage, and without its collector."""

import json
import re
import shutil

import pytest
from playwright.sync_api import expect

from tests.clients.form.conftest import answer_all, expect_status, question
from tests.support.browser import OPTIONS, assert_accessible, find_chromium, press
from tests.support.http_servers import serve_folder

pytestmark = pytest.mark.slow

AGREE = "Yes, send"
BLANK = "If no questions appear here"
NO_CONSTRUCTOR = 'globalThis.CSSStyleSheet = function () { throw new TypeError("Illegal constructor"); };'
NO_SHEETS = f"""{NO_CONSTRUCTOR}
    delete Document.prototype.adoptedStyleSheets;
    delete ShadowRoot.prototype.adoptedStyleSheets;
"""
"""What Safari before 16.4 lacks."""


SCRIPTS = {
    "missing": None,
    "changed by a byte": lambda script: script + b" ",
    "with other line ends": lambda script: script.replace(b"\n", b"\r\n"),
    "cut in half": lambda script: script[: len(script) // 2],
}


@pytest.mark.parametrize("change", SCRIPTS.values(), ids=SCRIPTS)
def test_a_page_whose_script_does_not_run_says_what_to_do(chromium, site, tmp_path, change):
    shutil.copytree(site.folder / "page", tmp_path / "page")
    script = tmp_path / "page" / "ldp-survey.js"
    if change:
        script.write_bytes(change(script.read_bytes()))
    else:
        script.unlink()
    with serve_folder(tmp_path / "page") as address, chromium.new_context(locale="de") as context:
        page = context.new_page()
        page.goto(address, wait_until="load")
        expect(page.get_by_text(BLANK)).to_be_visible()
        expect(page.get_by_text("Wenn hier keine Fragen erscheinen")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_have_text("Health & habits")
        assert_accessible(page)


def test_a_page_that_is_opened_as_a_file_says_what_to_do(chromium, site):
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto((site.folder / "page" / "index.html").as_uri())
        expect(page.get_by_text(BLANK)).to_be_visible()


@pytest.mark.parametrize(
    "options",
    [
        {"java_script_enabled": False},
        {"script": "Object.defineProperty(globalThis, 'customElements', { value: undefined });"},
    ],
    ids=["no scripts", "no custom elements"],
)
def test_a_browser_that_cannot_show_the_form_says_what_to_do(visit, options):
    page = visit(**options)
    expect(page.get_by_text(BLANK)).to_be_visible()


def test_a_form_that_cannot_start_leaves_what_the_page_says(chromium, site, tmp_path):
    shutil.copytree(site.folder / "page", tmp_path / "page")
    index = tmp_path / "page" / "index.html"
    index.write_text(
        re.sub("(<ldp-survey [^>]*>)", r'\1<script type="application/json">{</script>', index.read_text())
    )
    with serve_folder(tmp_path / "page") as address, chromium.new_context() as context:
        page = context.new_page()
        page.goto(address)
        expect(page.get_by_text(BLANK)).to_be_visible()


def test_the_form_replaces_what_the_page_says(visit):
    page = visit()
    expect_status(page, "Nothing was sent. Please decide")
    expect(page.get_by_text(BLANK)).to_be_hidden()
    assert page.get_by_role("heading", level=1).count() == 1


@pytest.mark.parametrize("lack", [NO_CONSTRUCTOR, NO_SHEETS], ids=["no constructor", "no sheets"])
def test_a_browser_without_constructed_style_sheets_shows_the_form_with_its_style(visit, site, lack):
    before = site.count()
    page = visit(lack)
    expect_status(page, "Nothing was sent. Please decide")
    direction = "each => getComputedStyle(each).display"
    assert page.locator(".buttons").evaluate(direction) == "flex"
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "has arrived")
    assert site.count() == before + 1


def test_a_host_with_a_strict_policy_shows_the_form_without_style_in_such_a_browser(chromium, site, tmp_path):
    shutil.copytree(site.folder / "page", tmp_path / "page")
    index = tmp_path / "page" / "index.html"
    index.write_text(re.sub("style-src [^;]*;", "style-src 'self';", index.read_text()))
    with serve_folder(tmp_path / "page") as address, chromium.new_context(locale="en") as context:
        page = context.new_page()
        page.add_init_script(NO_SHEETS)
        page.goto(address)
        expect_status(page, "Nothing was sent. Please decide")


FRAMED = "open this survey in its own window"


@pytest.mark.parametrize("attribute", ["", 'sandbox="allow-scripts allow-popups"'])
def test_a_form_in_a_frame_of_another_site_asks_nothing_and_opens_in_a_window_of_its_own(
    chromium, site, tmp_path, attribute
):
    (tmp_path / "index.html").write_text(
        '<!doctype html><html lang="en"><title>Host</title><main><h1>Host</h1>'
        f'<iframe {attribute} title="Survey" src="{site.page}#token=a%20b"></iframe></main>'
    )
    requests = []
    with serve_folder(tmp_path) as address, chromium.new_context(locale="en") as context:
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address)
        frame = page.frame_locator("iframe")
        link = frame.get_by_role("link", name=FRAMED)
        expect(link).to_be_visible()
        assert frame.locator("form").count() == 0
        assert not [url for url in requests if url.startswith(site.collector)]
        assert link.get_attribute("href") == f"{site.page}#token=a%20b"
        assert "noopener" in link.get_attribute("rel")
        assert_accessible(page)
        if attribute:
            return
        with context.expect_page() as opened:
            link.click()
        expect_status(opened.value, "Nothing was sent. Please decide")


def test_a_person_in_frames_of_two_sites_answers_once(chromium, site, tmp_path):
    before = site.count()
    with (
        serve_folder(tmp_path) as one,
        serve_folder(tmp_path) as other,
        chromium.new_context(locale="en") as context,
    ):
        (tmp_path / "index.html").write_text(f'<iframe src="{site.page}"></iframe>')
        for address in (one, other):
            page = context.new_page()
            page.goto(address)
            with context.expect_page() as opened:
                page.frame_locator("iframe").get_by_role("link", name=FRAMED).click()
            page = opened.value
            if address == one:
                answer_all(page)
                press(page, AGREE)
            expect_status(page, "has arrived")
    assert site.count() == before + 1


def test_a_frame_of_the_same_origin_and_a_rehearsal_ask(chromium, site, tmp_path):
    frame_page = site.folder / "page" / "frame.html"
    frame_page.write_text('<iframe src="index.html"></iframe>')
    rehearsing = tmp_path / "rehearsal"
    shutil.copytree(site.folder / "page", rehearsing)
    text = (rehearsing / "index.html").read_text()
    (rehearsing / "index.html").write_text(text.replace("<ldp-survey ", "<ldp-survey rehearsal "))
    with (
        serve_folder(rehearsing) as inner,
        serve_folder(tmp_path) as outer,
        chromium.new_context(locale="en") as context,
    ):
        (tmp_path / "index.html").write_text(f'<iframe src="{inner}"></iframe>')
        page = context.new_page()
        for address in (f"{site.page}frame.html", outer):
            page.goto(address)
            expect(page.frame_locator("iframe").locator("form")).to_be_visible()


def test_the_page_tries_again_by_itself_when_the_collector_is_back(visit, site):
    page = visit(
        expected_error="503",
        script="setTimeout = ((original) => (call, ms) => original(call, ms / 30))(setTimeout)",
    )
    expect_status(page, "Nothing was sent. Please decide")
    context = page.context
    context.route(f"{site.collector}/**", lambda route: route.fulfill(status=503))
    page.reload()
    expect_status(page, "The collector cannot be reached")
    assert_accessible(page)
    context.unroute(f"{site.collector}/**")
    expect_status(page, "Nothing was sent. Please decide")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


@pytest.mark.parametrize("event", ["button", "online"])
def test_the_page_tries_again_at_a_press_and_when_the_network_is_back(visit, site, event):
    before = site.count()
    page = visit(expected_error="503")
    expect_status(page, "Nothing was sent. Please decide")
    page.context.route(f"{site.collector}/**", lambda route: route.fulfill(status=503))
    page.reload()
    expect_status(page, "The collector cannot be reached")
    button = page.get_by_role("button", name="Try again")
    button.press("Enter")
    expect(button).to_have_attribute("aria-busy", "false")
    expect(button).to_be_focused()
    page.context.unroute(f"{site.collector}/**")
    if event == "button":
        button.press("Enter")
    else:
        page.evaluate("dispatchEvent(new Event('online'))")
    expect_status(page, "Nothing was sent. Please decide")
    focused = "document.querySelector('ldp-survey').shadowRoot.activeElement.getAttribute('part')"
    assert page.evaluate(focused) == "status"
    answer_all(page)
    page.evaluate("dispatchEvent(new Event('online'))")
    press(page, AGREE)
    expect_status(page, "has arrived")
    assert site.count() == before + 1


def test_blocked_cookies_and_site_data_are_explained(chromium, site, tmp_path):
    (tmp_path / "Default").mkdir()
    settings = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    (tmp_path / "Default" / "Preferences").write_text(json.dumps(settings))
    # one program drives both browsers
    launcher = chromium.browser_type
    with launcher.launch_persistent_context(
        tmp_path, executable_path=find_chromium(), args=OPTIONS, locale="en"
    ) as context:
        page = context.new_page()
        page.goto(site.page)
        expect_status(page, "Allow cookies and site data")
        expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_a_full_disk_is_explained_and_keeps_the_answers(visit, site):
    before = site.count()
    page = visit()
    answer_all(page)
    session = page.context.new_cdp_session(page)
    origin = {"origin": site.page.rstrip("/")}
    session.send("Storage.overrideQuotaForOrigin", {**origin, "quotaSize": 1})
    press(page, AGREE)
    expect_status(page, "The storage of this browser is full")
    hours = question(page, "How long did you sleep?").get_by_role("textbox")
    expect(hours).to_have_value("7.5")
    session.send("Storage.overrideQuotaForOrigin", origin)
    press(page, AGREE)
    expect_status(page, "has arrived")
    assert site.count() == before + 1


LOSE_STORAGE = """() => {
    globalThis.open_storage = IDBFactory.prototype.open;
    IDBFactory.prototype.open = () => { throw new DOMException("Connection lost", "UnknownError"); };
}"""
FIND_STORAGE = "() => { IDBFactory.prototype.open = globalThis.open_storage; }"


def test_storage_that_is_lost_before_consent_is_explained_and_keeps_the_answers(visit, site):
    before = site.count()
    page = visit()
    answer_all(page)
    page.evaluate(LOSE_STORAGE)
    press(page, AGREE)
    expect_status(page, "The storage of this browser is lost")
    page.evaluate(FIND_STORAGE)
    press(page, AGREE)
    expect_status(page, "has arrived")
    assert site.count() == before + 1


def test_storage_that_is_lost_between_consent_and_report_is_explained_and_one_report_is_sent(visit, site):
    before = site.count()
    page = visit()
    answer_all(page)
    # the consent is stored: two reads and a change; then the storage is lost
    page.evaluate(
        f"""() => {{
            const put = IDBObjectStore.prototype.put;
            IDBObjectStore.prototype.put = function (...parameters) {{
                IDBObjectStore.prototype.put = put;
                this.transaction.addEventListener("complete", {LOSE_STORAGE});
                return put.apply(this, parameters);
            }};
        }}"""
    )
    press(page, AGREE)
    expect_status(page, "The storage of this browser is lost")
    page.evaluate(FIND_STORAGE)
    press(page, AGREE)
    expect_status(page, "has arrived")
    assert site.count() == before + 1


def test_storage_that_is_lost_while_a_report_waits_is_explained_and_the_report_arrives(visit, site):
    before = site.count()
    page = visit(expected_error="net::ERR_FAILED")
    page.route("**/reports", lambda route: route.abort())
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "stored in this browser")
    page.evaluate(LOSE_STORAGE)
    expect_status(page, "The storage of this browser is lost")
    expect_status(page, "stored in this browser")
    expect(page.locator("form")).to_be_hidden()
    page.evaluate(FIND_STORAGE)
    expect(page.get_by_role("status")).not_to_contain_text("is lost")
    page.unroute("**/reports")
    page.reload()
    expect_status(page, "has arrived")
    assert site.count() == before + 1


def test_an_answer_that_the_browser_deleted_while_it_waited_is_explained(visit, site):
    page = visit(expected_error="net::ERR_FAILED")
    page.route("**/reports", lambda route: route.abort())
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "stored in this browser")
    session = page.context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", {"origin": site.page.rstrip("/"), "storageTypes": "indexeddb"})
    expect_status(page, "This browser has deleted your random answer. It may have arrived.")
    expect(page.locator("form")).to_be_visible()

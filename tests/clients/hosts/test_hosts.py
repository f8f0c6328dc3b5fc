"""The examples of hosts with the real packages: one report is counted, and nothing else leaves the page."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pyxform.xls2xform import convert

from encoders.report import unpack
from ldp_aggregator.form_page.page import read_script
from ldp_design.authoring.xlsform.survey_file import convert_xlsform
from tests.ldp_design.authoring.xlsform.workbooks import write_workbook
from tests.support.browser import press
from tests.support.http_servers import serve_folder
from tests.support.javascript import FOLDER, find_node
from tests.support.recording_proxy import ENTRIES, recording
from tests.support.servers import TOKEN, collector

pytestmark = [pytest.mark.slow, pytest.mark.clients]

HOSTS = FOLDER.parents[1] / "examples" / "hosts"
PLACEHOLDER = "https://collector.example/v1/surveys/habits"
SECRETS = (b"7.25", b"smokes", b"daily", b"hours")
"""What a person enters, and the questions' names. They may be in the plan, but in no request."""
XLSFORM = """
| survey | | | | | | |
| | type | name | label::English (en) | required | constraint | relevant |
| | select_one yes_no | smokes | Do you smoke? | | | |
| | integer | daily | How many cigarettes? | | . >= 0 and . <= 60 | ${smokes} = 'yes' |
| | decimal | hours | How long did you sleep? | yes | . >= 0 and . <= 24 | |
| choices | | | | | | |
| | list_name | name | label::English (en) | | | |
| | yes_no | yes | Yes | | | |
| | yes_no | no | No | | | |
| settings | | | | | | |
| | form_title | form_id | default_language | | | |
| | Habits | habits | English (en) | | | |
"""
OTHER_CHOICE = XLSFORM.replace("| | yes_no | no |", "| | yes_no | rarely | Rarely | | | |\n| | yes_no | no |")
"""A form that the survey does not fit: it has one more choice."""
FROM_PACKAGES = ("%cDownload the React DevTools", "Feature flags __VUE", "Failed to load resource")
"""What React, Vue and Chromium write to the console: advice, and that the page has no icon."""
BLOCK_STORAGE = """() => {
    globalThis.former = Object.getOwnPropertyDescriptor(globalThis, "indexedDB");
    const get = () => { throw new DOMException("no", "SecurityError"); };
    Object.defineProperty(globalThis, "indexedDB", { configurable: true, get });
}"""
ALLOW_STORAGE = "() => Object.defineProperty(globalThis, 'indexedDB', former)"

Visit = Callable[..., AbstractContextManager[Page]]


@dataclass
class Survey:
    """A survey at its collector, and an XForm that was made from the same XLSForm."""

    url: str
    folder: Path

    def count(self) -> int:
        """Return the number of reports that the collector has counted."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with urllib.request.urlopen(
            urllib.request.Request(f"{self.url}/progress", headers=headers)
        ) as response:
            reports: int = json.load(response)["reports"]
        return reports


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Iterator[Survey]:
    folder = tmp_path_factory.mktemp("survey")
    for name, table in (("form", XLSFORM), ("other", OTHER_CHOICE)):
        workbook = write_workbook(table, folder / f"{name}.xlsx")
        (folder / f"{name}.xml").write_text(convert(workbook).xform, "utf-8")
    text, notes = convert_xlsform(folder / "form.xlsx", None)
    assert notes == []
    (folder / "habits.toml").write_text(text, "utf-8")
    store = f"sqlite:///{folder}/store.db"
    with collector([folder / "habits.toml"], store, workers=1) as (base, _):
        yield Survey(f"{base}/v1/surveys/habits", folder)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The examples, bundled by their own command; skips if their packages are not installed."""
    find_node()
    if not (HOSTS / "node_modules").exists():
        pytest.skip("needs the packages of the examples: run npm ci in examples/hosts")
    folder: Path = tmp_path_factory.mktemp("hosts")
    command = ["npm", "run", "build", "--", f"--outdir={folder}"]
    subprocess.run(command, check=True, capture_output=True, cwd=HOSTS)
    return folder


@pytest.fixture
def visit(chromium: Browser, survey: Survey) -> Visit:
    """Return a function that opens a folder's page in a new profile, and checks what it sends and stores."""

    @contextmanager
    def go(folder: Path, *, reports: int) -> Iterator[Page]:
        before = survey.count()
        errors: list[str] = []
        with serve_folder(folder) as url, recording() as proxy:
            with chromium.new_context(locale="en", proxy=proxy.through) as context:
                page = context.new_page()
                page.on("pageerror", lambda error: errors.append(str(error)))
                page.on("console", lambda message: errors.append(message.text))
                page.goto(url)
                yield page
                stored = page.evaluate(ENTRIES).encode()
            check_requests(proxy.requests, f"{url}/", survey.url, reports)
        assert not [secret for secret in (b"7.25", b"smokes") if secret in stored]
        assert [each for each in errors if not each.startswith(FROM_PACKAGES)] == []
        assert survey.count() == before + reports

    return go


def check_requests(requests: list[tuple[bytes, bytes, bytes]], page: str, survey: str, reports: int) -> None:
    """Check that only the page's own files, the plan, the texts and so many reports are in the requests."""
    for line, headers, body in requests:
        method, address, _ = line.decode().split(" ")
        path = address.removeprefix(page)
        assert (method, address) in {
            ("GET", survey),
            ("GET", f"{survey}/texts"),
            ("POST", f"{survey}/reports"),
        } or (method == "GET" and path in {"", "main.js", "form.xml", "ldp-survey.js", "favicon.ico"})
        assert not [secret for secret in SECRETS if secret in line + headers + body]
        assert b"\nCookie:" not in headers
    bodies = [body for _, _, body in requests if body]
    assert len(bodies) == reports
    assert all(unpack(each) for each in bodies)


def expect_status(page: Page, start: str, selector: str = "[role=status]") -> None:
    expect(page.locator(selector).first).to_have_text(re.compile(f"^{re.escape(start)}"))


@pytest.mark.parametrize("name", ["script-tag", "react", "odk"])
def test_an_example_has_at_most_60_lines(name):
    assert sum(len(each.read_text("utf-8").splitlines()) for each in (HOSTS / name).iterdir()) <= 60


# React


@pytest.fixture
def react(built: Path, survey: Survey) -> Path:
    page = f'<!doctype html><meta charset=utf-8><div id=root data-survey="{survey.url}"></div>'
    (built / "react" / "index.html").write_text(f"{page}<script type=module src=main.js></script>")
    return built / "react"


def answer_react(page: Page, hours: str = "7.25") -> None:
    page.get_by_role("group", name="Do you smoke?").get_by_label("Yes").check()
    page.get_by_label("How many cigarettes?").fill("13")
    page.get_by_label("How long did you sleep?").fill(hours)


def test_react_in_strict_mode_sends_one_report(visit, react):
    with visit(react, reports=1) as page:
        answer_react(page, hours="seven")
        press(page, "Yes, send")
        expect_status(page, "hours must be a decimal number")
        page.get_by_label("How long did you sleep?").fill("7.25")
        press(page, "Show what")
        expect_status(page, "One question is asked")
        page.get_by_role("button", name="Yes, send").dblclick()
        expect_status(page, "sent")
        expect(page.get_by_role("button")).to_have_count(0)
        page.reload()
        expect_status(page, "sent")
        expect(page.get_by_role("button")).to_have_count(0)


def test_react_mounts_the_component_twice_in_strict_mode(chromium, react, survey):
    with serve_folder(react) as url, chromium.new_context() as context:
        page, fetched = context.new_page(), []
        page.on("request", lambda request: request.url == survey.url and fetched.append(request))
        page.goto(url)
        expect_status(page, "no_consent")
        expect(page.get_by_role("button", name="Yes, send")).to_be_visible()
        assert len(fetched) == 2


def test_react_sends_nothing_if_the_person_declines(visit, react):
    with visit(react, reports=0) as page:
        answer_react(page)
        press(page, "Show what")
        expect_status(page, "One question is asked")
        press(page, "No, send nothing")
        expect_status(page, "no_consent")
        expect(page.get_by_label("How long did you sleep?")).to_have_value("")
        assert page.evaluate("indexedDB.databases()") == []


def test_react_withdraws_a_report_that_waits(visit, react):
    with visit(react, reports=0) as page:
        answer_react(page)
        page.context.set_offline(True)
        press(page, "Yes, send")
        expect_status(page, "queued")
        press(page, "Withdraw")
        expect_status(page, "withdrawn")
        page.context.set_offline(False)


def test_react_does_not_ask_under_global_privacy_control(visit, react):
    with visit(react, reports=0) as page:
        page.add_init_script("Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })")
        page.reload(wait_until="networkidle")
        expect_status(page, "LdpError: Global Privacy Control is on")
        expect(page.get_by_role("button")).to_have_count(0)


# ODK Web Forms


@pytest.fixture
def odk(built: Path, survey: Survey) -> Path:
    shutil.copy(survey.folder / "form.xml", built / "odk")
    page = (HOSTS / "odk" / "index.html").read_text("utf-8")
    assert PLACEHOLDER in page
    (built / "odk" / "index.html").write_text(page.replace(PLACEHOLDER, survey.url))
    return built / "odk"


def answer_odk(page: Page, smokes: str = "No") -> None:
    """Answer the form, and press its button; the number of cigarettes is asked for "Yes" only."""
    form = page.locator("#form")
    form.get_by_text(smokes, exact=True).click()
    numbers = form.get_by_role("spinbutton")
    expect(numbers).to_have_count(2 if smokes == "Yes" else 1)
    if smokes == "Yes":
        numbers.first.press_sequentially("13")
    numbers.last.press_sequentially("7.25")
    numbers.last.press("Tab")
    send_odk(page)


def send_odk(page: Page) -> None:
    page.locator("#form").get_by_role("button", name="Send").click()


def expect_empty_odk(page: Page) -> None:
    numbers = page.locator("#form").get_by_role("spinbutton")
    expect(numbers).to_have_count(1)  # the number of cigarettes is not asked
    expect(numbers).to_have_value("")


@pytest.mark.parametrize("smokes", ["Yes", "No"])
def test_odk_web_forms_asks_and_the_client_reports_once(visit, odk, smokes):
    with visit(odk, reports=1) as page:
        for _ in range(2):  # the form can be sent again
            answer_odk(page, smokes)
            expect(page.locator("dialog pre")).to_contain_text("What would be sent")
            expect(page.locator("dialog pre")).to_be_focused()
            press(page, "Yes, send")
            expect(page.locator("dialog")).to_be_hidden()
            expect_status(page, "sent")
            expect_empty_odk(page)
            assert page.locator("dialog pre").text_content() == ""
        page.reload()
        expect_status(page, "sent")


@pytest.mark.parametrize("refuse", ["button", "Escape"])
def test_odk_web_forms_sends_nothing_if_the_person_declines(visit, odk, refuse):
    with visit(odk, reports=0) as page:
        answer_odk(page)
        expect(page.locator("dialog")).to_be_visible()
        page.evaluate(BLOCK_STORAGE)
        press(page, "Yes, send")  # an earlier attempt, which does not count as consent
        expect_status(page, "unavailable (journal-unavailable")
        expect(page.locator("#form").get_by_role("spinbutton")).to_have_value("7.25")
        page.evaluate(ALLOW_STORAGE)
        send_odk(page)
        expect(page.locator("dialog pre")).to_contain_text("What would be sent")
        press(page, "No, send nothing") if refuse == "button" else page.keyboard.press(refuse)
        expect_status(page, "no_consent")
        expect_empty_odk(page)
        assert page.evaluate("indexedDB.databases()") == []


def test_odk_web_forms_names_an_answer_that_the_survey_does_not_have(visit, odk, survey):
    shutil.copy(survey.folder / "other.xml", odk / "form.xml")
    with visit(odk, reports=0) as page:
        answer_odk(page, "Rarely")
        expect_status(page, "smokes ")
        expect(page.locator("dialog")).to_be_hidden()
        assert page.evaluate("indexedDB.databases()") == []


# A script tag


@pytest.fixture
def script_tag(tmp_path: Path, survey: Survey) -> Path:
    (tmp_path / "ldp-survey.js").write_bytes(read_script())
    digest = base64.b64encode(hashlib.sha384(read_script()).digest()).decode()
    page = (HOSTS / "script-tag" / "index.html").read_text("utf-8")
    assert PLACEHOLDER in page
    page = page.replace(PLACEHOLDER, survey.url).replace("INTEGRITY", f"sha384-{digest}")
    (tmp_path / "index.html").write_text(page)
    return tmp_path


def test_a_form_of_a_page_with_a_script_tag_sends_one_report(visit, script_tag):
    with visit(script_tag, reports=1) as page:
        page.locator("#own").get_by_label("Do you smoke?").select_option("yes")
        page.locator("#own [name=hours]").fill("seven")
        page.locator("#own").get_by_role("button", name="Yes, send").click()
        expect_status(page, "hours must be a decimal number", "#state")
        page.locator("#own [name=hours]").fill("7.25")
        page.locator("#own [name=hours]").press("Enter")  # shows the preview, and does not agree
        expect_status(page, "One question is asked", "#state")
        page.locator("#own").get_by_role("button", name="Yes, send").click()
        expect_status(page, "sent", "#state")
        expect(page.locator("#own [name=hours]")).to_have_value("")
        page.reload()
        expect(page.locator("ldp-survey").get_by_role("status")).to_contain_text(
            "has arrived"
        )  # the same person


def test_a_form_of_a_page_with_a_script_tag_sends_nothing_if_the_person_declines(visit, script_tag):
    with visit(script_tag, reports=0) as page:
        page.locator("#own [name=hours]").fill("7.25")
        page.locator("#own").get_by_role("button", name="No, send nothing").click()
        expect_status(page, "no_consent", "#state")
        expect(page.locator("#own [name=hours]")).to_have_value("")
        assert page.evaluate("indexedDB.databases()") == []


def test_the_element_of_a_page_with_a_script_tag_sends_one_report(visit, script_tag):
    with visit(script_tag, reports=1) as page:
        form = page.locator("ldp-survey")
        expect(form.get_by_role("heading", name="Habits", level=2)).to_be_visible()
        form.get_by_role("group", name="Do you smoke?").get_by_label("Yes").check()
        form.get_by_role("group", name="How many cigarettes?").get_by_role("textbox").fill("13")
        form.get_by_role("group", name="How long did you sleep?").get_by_role("textbox").fill("7.25")
        form.get_by_role("button", name="Yes, send").click()
        expect(form.get_by_role("status")).to_contain_text("has arrived")
        page.reload()
        expect_status(page, "sent", "#state")  # the same person


def test_a_browser_refuses_a_script_that_a_plugin_has_changed(chromium, script_tag):
    (script_tag / "ldp-survey.js").write_bytes(read_script() + b"\n")
    with serve_folder(script_tag) as url, chromium.new_context() as context:
        page, messages = context.new_page(), []
        page.on("console", lambda message: messages.append(message.text))
        page.goto(url)
        assert page.evaluate("[typeof LdpBayes, customElements.get('ldp-survey')]") == ["undefined", None]
        assert any("integrity" in each for each in messages)

"""The examples of hosts with the real packages: one report is counted, and nothing else leaves."""

import base64
import hashlib
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer

import pytest
from playwright.sync_api import expect
from pyxform.xls2xform import convert

from ldp_aggregator.form_page.page import read_script
from ldp_design.authoring.xlsform.survey_file import convert_xlsform
from tests.ldp_design.authoring.xlsform.workbooks import write_workbook
from tests.support.browser import open_chromium
from tests.support.javascript import FOLDER
from tests.support.servers import collector
from tests.support.web_client import QuietHandler

pytestmark = [pytest.mark.slow, pytest.mark.clients]

HOSTS = FOLDER.parents[1] / "examples" / "hosts"
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


@pytest.fixture(scope="module")
def browser():
    with open_chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def form(tmp_path_factory):
    """A survey and an XForm that were made from one XLSForm."""
    folder = tmp_path_factory.mktemp("form")
    workbook = write_workbook(XLSFORM, folder / "habits.xlsx")
    text, notes = convert_xlsform(workbook, None)
    assert notes == []
    (folder / "habits.toml").write_text(text, "utf-8")
    (folder / "form.xml").write_text(convert(workbook).xform, "utf-8")
    return folder


@pytest.fixture
def survey(form, tmp_path):
    with collector([form / "habits.toml"], f"sqlite:///{tmp_path}/store.db", workers=1) as (base, _):
        yield f"{base}/v1/surveys/habits"


@contextmanager
def serve(folder) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The examples, bundled by their own command; skips if their packages are not installed."""
    if not (HOSTS / "node_modules").exists():
        pytest.skip("needs the packages of examples/hosts (npm ci)")
    folder = tmp_path_factory.mktemp("hosts")
    command = ["npm", "run", "build", "--", f"--outdir={folder}"]
    subprocess.run(command, check=True, capture_output=True, cwd=HOSTS)
    return folder


@contextmanager
def visited(browser, url, survey):
    """Open a page; besides its own files it may request plan and texts, and must post one report."""
    requests, errors = [], []
    with browser.new_context(locale="en") as context:
        page = context.new_page()
        page.on("request", lambda request: requests.append((request.method, request.url)))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        yield page
    own = [
        (method, address) for method, address in requests if not address.startswith((url, "data:", "blob:"))
    ]
    posts = [address for method, address in own if method == "POST"]
    assert set(own) <= {("GET", survey), ("GET", f"{survey}/texts"), ("POST", f"{survey}/reports")}
    assert len(posts) == 1
    assert errors == []


def test_react_in_strict_mode_sends_one_report(browser, survey, built):
    folder = built / "react"
    page = f'<!doctype html><meta charset=utf-8><div id=root data-survey="{survey}"></div>'
    (folder / "index.html").write_text(f"{page}<script type=module src=main.js></script>")
    with serve(folder) as url, visited(browser, url, survey) as opened:
        opened.get_by_role("group", name="Do you smoke?").get_by_label("Yes").check()
        opened.get_by_label("How many cigarettes?").fill("12")
        opened.get_by_label("How long did you sleep?").fill("seven")
        opened.get_by_role("button", name="Yes, send").click()
        expect(opened.get_by_role("status")).to_contain_text("hours must be a decimal number")
        opened.get_by_label("How long did you sleep?").fill("7.5")
        opened.get_by_role("button", name="Show what").click()
        expect(opened.get_by_role("status")).to_contain_text("What would be sent")
        opened.get_by_role("button", name="Yes, send").click()
        expect(opened.get_by_role("status")).to_have_text("sent", timeout=10_000)
        opened.reload()
        expect(opened.get_by_role("status")).to_have_text("sent")


def test_odk_web_forms_asks_and_the_client_reports(browser, survey, form, built):
    folder = built / "odk"
    shutil.copy(form / "form.xml", folder)
    page = (HOSTS / "odk" / "index.html").read_text("utf-8")
    (folder / "index.html").write_text(page.replace("https://collector.example/v1/surveys/habits", survey))
    with serve(folder) as url, visited(browser, url, survey) as opened:
        opened.locator("#form").get_by_text("No", exact=True).click()
        opened.locator("input").last.click()
        opened.keyboard.type("7.5")
        opened.keyboard.press("Tab")
        opened.get_by_role("button", name="Send").click()
        expect(opened.locator("dialog")).to_contain_text("What would be sent")
        opened.get_by_role("button", name="Yes, send").click()
        expect(opened.get_by_role("status").first).to_have_text("sent", timeout=10_000)


def test_a_script_tag_defines_the_form_and_the_functions_for_an_own_one(browser, survey, tmp_path):
    (tmp_path / "ldp-survey.js").write_bytes(read_script())
    digest = base64.b64encode(hashlib.sha384(read_script()).digest()).decode()
    page = (HOSTS / "script-tag" / "index.html").read_text("utf-8")
    page = page.replace("INTEGRITY", f"sha384-{digest}").replace(
        "https://collector.example/v1/surveys/habits", survey
    )
    (tmp_path / "index.html").write_text(page)
    with serve(tmp_path) as url, visited(browser, url, survey) as opened:
        expect(opened.get_by_role("heading", name="Habits")).to_be_visible()
        opened.get_by_label("Do you smoke?").select_option("yes")
        opened.locator("#own [name=hours]").fill("seven")
        opened.locator("#own button").click()
        expect(opened.locator("#state")).to_contain_text("hours must be a decimal number")
        opened.locator("#own [name=hours]").fill("7.5")
        opened.locator("#own button").click()
        expect(opened.locator("#state")).to_have_text("sent", timeout=10_000)

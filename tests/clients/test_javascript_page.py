"""The core of the JavaScript client in a page of a real browser."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page

from tools.vectors.check_port import cases_of, outcome_of, vector_files

pytestmark = pytest.mark.slow


@contextmanager
def open_page(chromium: Browser, origin: str) -> Iterator[Page]:
    """Open the page with the core; it must not write anything to the console."""
    opened = chromium.new_page()
    written: list[str] = []
    opened.on("console", lambda message: written.append(message.text))
    opened.on("pageerror", lambda error: written.append(str(error)))
    opened.goto(f"{origin}/tests/page.html")
    opened.wait_for_function("() => 'answer' in globalThis")
    yield opened
    opened.close()
    assert [each for each in written if "favicon" not in each] == []


@pytest.fixture(scope="module")
def page(chromium: Browser, origin: str) -> Iterator[Page]:
    with open_page(chromium, origin) as opened:
        yield opened


@pytest.mark.parametrize("file", vector_files(), ids=lambda file: file.stem)
def test_the_core_in_a_page_agrees_with_every_vector(page, file):
    cases = list(cases_of(json.loads(file.read_text("utf-8"))))
    answers = page.evaluate(
        "texts => JSON.stringify(texts.map((text) => answer(JSON.parse(text))))",
        [json.dumps(case.posted) for case in cases],
    )
    outcomes = [outcome_of(case, each) for case, each in zip(cases, json.loads(answers), strict=True)]
    assert outcomes
    assert [each for each in outcomes if each] == []


def test_a_page_makes_reports_with_the_random_bytes_of_the_browser(page):
    document = json.loads(vector_files()[0].read_text("utf-8"))
    case = document["cases"][0]
    make = """([text, row, label]) => {
        const plan = core.readPlan(new TextEncoder().encode(text));
        const reports = Array.from({ length: 100 }, () => core.makeReport(plan, row, label));
        return [new Set(reports.map((report) => report.slice(39, 55).join())).size, plan.digest];
    }"""
    ids, digest = page.evaluate(make, [document["plan"], case["row"], case["label"]])
    assert ids == 100
    assert case["report"][8:72] == digest


def test_a_page_without_random_bytes_makes_no_report(chromium, origin):
    document = json.loads(vector_files()[0].read_text("utf-8"))
    case = document["cases"][0]
    make = """([text, row, label]) => {
        const plan = core.readPlan(new TextEncoder().encode(text));
        Object.defineProperty(globalThis, "crypto", { value: undefined });
        try {
            core.makeReport(plan, row, label);
        } catch (error) {
            return error.reason;
        }
    }"""
    with open_page(chromium, origin) as opened:
        assert opened.evaluate(make, [document["plan"], case["row"], case["label"]]) == "no-randomness"

"""The HTML that notebooks show of receipts, plans and previews: escaped, and with no more than their text."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from encoders.survey import Plan, read_survey
from ldp_client import Client, Receipt, State
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport
from tests.support.surveys import SLEEP

SCRIPT = "<script>alert('x')</script>&"
TAGS = {"table", "caption", "tr", "th", "td", "p", "strong", "pre"}


class Page(HTMLParser):
    """Collects the tags and the text of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.opened, self.closed, self.text = Counter[str](), Counter[str](), ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened[tag] += 1
        assert attrs in ([], [("style", "text-align: left")])

    def handle_endtag(self, tag: str) -> None:
        self.closed[tag] += 1

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def read(shown: object) -> Page:
    page = Page(shown._repr_html_())
    assert page.opened == page.closed
    assert set(page.opened) <= TAGS
    return page


@pytest.fixture
def marked() -> Plan:
    """Return a plan whose names and values are markup."""
    survey = SLEEP.replace('"rested"', f'"{SCRIPT}"').replace('"young"', f'"{SCRIPT}"')
    return read_survey(survey).compile()


def test_receipt_shows_its_fields_that_are_not_empty():
    receipt = Receipt(
        State.INVALID,
        "sleep",
        reason="invalid-row",
        field=SCRIPT,
        why="is unknown",
        problems=((SCRIPT, "is unknown"), ("hours", "is no number")),
        clipped=("a", "b"),
    )
    text = read(receipt).text
    for part in ("receipt", "invalid", "sleep", SCRIPT, f"{SCRIPT}: is unknown; hours: is no number", "a; b"):
        assert part in text
    assert "epsilon" not in text
    assert "rehearsal" in read(replace(receipt, rehearsal=True)).text


def test_receipt_of_a_wrong_row_holds_no_value(plan):
    one = Client(plan, URL, journal=":memory:", transport=FakeTransport(RECORDED))
    one.grant()
    receipt = one.report({"age": "secret-0f3b", "hours": "7.012345"}, "secret-0f3b")
    text = read(receipt).text
    assert receipt.state is State.INVALID
    assert "hours" in text
    assert "secret" not in text
    assert "7.012345" not in text


def test_plan_shows_digest_label_and_questions(marked):
    text = read(marked).text
    for part in (marked.digest, SCRIPT, "epsilon", "survey sleep", *(each.name for each in marked.questions)):
        assert part in text


def test_plan_of_many_questions_shows_the_first_ones(plan, monkeypatch):
    monkeypatch.setattr("encoders.notebook_html.MAX_QUESTIONS", 1)
    text = read(replace(plan, family="other")).text
    assert f"{len(plan.questions) - 1} more" in text
    assert plan.questions[0].name in text
    assert plan.questions[-1].name not in text
    assert "family" in text


def test_preview_shows_its_text_and_warns_of_the_true_answer(marked):
    one = Client(marked, URL, journal=":memory:", transport=FakeTransport(RECORDED), rehearsal=True)
    shown = one.preview(ROW, "no")
    page = read(shown)
    assert page.text.startswith("This preview contains the person's true answer")
    assert str(shown) in page.text
    assert "This is a rehearsal" in page.text


@pytest.mark.slow
def test_html_module_is_loaded_on_use_only(plan):
    code = f"""
import sys
from encoders.survey import Plan
import encoders.explain.preview
from ldp_client import Receipt
plan = Plan.from_json({plan.json!r})
before = "html" in sys.modules or "encoders.notebook_html" in sys.modules
plan._repr_html_()
print(before, "encoders.notebook_html" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]

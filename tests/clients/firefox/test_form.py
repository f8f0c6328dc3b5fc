"""The page of a survey in Firefox: answered with a keyboard alone, and accessible."""

from importlib.resources import files

import pytest

from tests.support.form_site import serve_form
from tests.support.servers import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.clients]

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
IS_IN = """(title) => {
    const focused = document.querySelector("ldp-survey").shadowRoot.activeElement;
    return focused?.closest("fieldset:not(:focus)")?.querySelector("legend").textContent === title;
}"""
STATUS = "() => document.querySelector('ldp-survey').shadowRoot.querySelector('#status')?.textContent ?? ''"
TABLES = "() => document.querySelector('ldp-survey').shadowRoot.querySelectorAll('table').length"
VIOLATIONS = (
    "() => axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"
)


@pytest.fixture(scope="module")
def form(tmp_path_factory):
    with serve_form(tmp_path_factory.mktemp("form")) as served:
        yield served


def tab_to(tab, title="", value=""):
    """Press Tab until a field of a question, or a button, has the focus."""
    for _ in range(40):
        tab.press("Tab")
        if tab.evaluate(IS_IN, title) if title else tab.active_element().get("value") == value:
            return
    raise AssertionError(f"no Tab leads to {title or value}")


def assert_accessible(tab):
    # the page's policy forbids a script of another origin, but not one that the browser's driver evaluates
    tab.evaluate(f"() => {{ {AXE}; return null; }}")
    assert tab.evaluate(VIOLATIONS) == []


def test_a_keyboard_alone_answers_in_german_and_every_state_is_accessible(firefox, container, form):
    before = form.count()
    tab = firefox.open_tab(container)
    tab.goto(form.page)
    tab.wait_for_function(f"{STATUS.removeprefix('() => ')} !== ''")
    tab.evaluate(
        """() => {
            const element = document.querySelector("ldp-survey");
            const other = element.cloneNode();
            other.setAttribute("lang", "de");
            element.replaceWith(other);
        }"""
    )
    wait_for(lambda: "Bitte entscheiden Sie am Ende" in tab.evaluate(STATUS))
    assert_accessible(tab)
    tab_to(tab, "Rauchen Sie?")
    tab.press("Space")
    tab_to(tab, "How many cigarettes a day?")
    tab.type("12,5")
    tab_to(tab, "Where do you live?")
    tab.press("c")
    tab_to(tab, "What did you drink today?")
    tab.press("Space")
    tab_to(tab, "How long did you sleep?")
    tab.type("7.5")
    tab_to(tab, "Waren Sie krank?")
    tab.press("Space")
    tab_to(tab, value="preview")
    tab.press("Enter")
    wait_for(lambda: tab.evaluate(TABLES) == 1)
    assert_accessible(tab)
    assert form.count() == before
    tab_to(tab, value="agree")
    tab.press("Enter")
    wait_for(lambda: "ist angekommen" in tab.evaluate(STATUS))
    assert_accessible(tab)
    assert form.count() == before + 1
    assert tab.errors == []

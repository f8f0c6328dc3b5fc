"""The studio in Firefox: its parts are accessible, and a trial runs with the clients of that browser."""

from importlib.resources import files

import pytest

from ldp_design.studio import imports
from tests.support.servers import wait_for
from tests.support.studio import run_studio

pytestmark = [pytest.mark.slow, pytest.mark.clients]

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
VIOLATIONS = (
    "() => axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"
)
TEXT = "() => document.getElementById('app').innerText"


def test_an_author_sizes_tries_and_saves_a_survey(firefox, container, tmp_path):
    with run_studio(tmp_path, imports.read_example()) as studio:
        tab = firefox.open_tab(container)
        tab.goto(studio.address)
        wait_for(lambda: "Add a question" in tab.evaluate(TEXT))
        tab.evaluate(f"() => {{ {AXE}; return null; }}")

        def press(name: str) -> None:
            tab.evaluate("id => { document.getElementById(id).click(); return null; }", name)

        press("add-yesno")
        wait_for(lambda: "question-5" in tab.evaluate(TEXT))
        for view, words in (
            ("sizes", "Computed for"),
            ("page", "The page as people see it"),
            ("trial", "Start"),
        ):
            press(f"view-{view}")
            wait_for(lambda words=words: words in tab.evaluate(TEXT))
            assert tab.evaluate(VIOLATIONS) == []
        press("trial-start")
        wait_for(lambda: "Made-up people" in tab.evaluate(TEXT))
        press("trial-answer")
        wait_for(lambda: "Reports counted so far: 100" in tab.evaluate(TEXT))
        tab.evaluate("() => { globalThis.confirm = () => true; return null; }")
        press("trial-end")
        wait_for(lambda: not studio.trials())
        press("save")
        wait_for(lambda: "[features.question-5]" in studio.path.read_text("utf-8"))

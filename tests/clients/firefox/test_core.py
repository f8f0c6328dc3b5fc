"""The core of the JavaScript client in a page of Firefox."""

import json

import pytest

from tools.vectors.check_port import cases_of, outcome_of, vector_files

pytestmark = [pytest.mark.slow, pytest.mark.clients]


def test_the_core_agrees_with_every_vector(firefox, container, origin):
    tab = firefox.open_tab(container)
    tab.goto(f"{origin}/tests/page.html")
    tab.wait_for_function("() => 'answer' in globalThis")
    for file in vector_files():
        cases = list(cases_of(json.loads(file.read_text("utf-8"))))
        answers = tab.evaluate(
            "texts => texts.map((text) => answer(JSON.parse(text)))",
            [json.dumps(case.posted) for case in cases],
        )
        outcomes = [outcome_of(case, each) for case, each in zip(cases, answers, strict=True)]
        assert outcomes
        assert [each for each in outcomes if each] == [], file.name
    assert [each for each in tab.errors if "favicon" not in each] == []

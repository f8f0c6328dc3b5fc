"""The times at which the JavaScript client sends do not link the reports of a browser: simulated browsers.

The draws follow from a fixed seed. Over seeds, a scene fails with a probability of about 1e-7.
"""

import json

import pytest

from tests.support.javascript import run_node
from tests.support.sending_schedules import Sent, is_linked, linked, survey_of

pytestmark = pytest.mark.slow

BROWSERS = 100
SCENES = (
    "a long outage",
    "a short outage",
    "one 503 for each browser",
    "a later visit",
    "a network that returns",
)


def simulate(scene: str) -> list[Sent]:
    """Return all attempts of the browsers of one scene."""
    attempts = json.loads(run_node("tests/sending_times.js", scene))
    sent = [Sent(when, browser, survey_of(survey), taken) for when, browser, survey, taken in attempts]
    counted = [(each.device, each.survey) for each in sent if each.is_taken]
    assert len(counted) == len(set(counted)) == 2 * BROWSERS
    return sent


@pytest.mark.parametrize("scene", SCENES)
def test_times_do_not_link_the_two_reports_of_a_browser(scene):
    found = linked(simulate(scene))
    assert not is_linked(found), found


def test_reports_that_the_page_flushes_at_one_time_are_linked():
    assert is_linked(linked(simulate("flush after an outage")))

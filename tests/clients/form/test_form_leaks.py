"""What leaves the page while known answers are entered: plan, texts, signature, and one report."""

import pytest

from encoders.report import unpack
from tests.clients.form.conftest import answer_all, expect_status
from tests.support.browser import press
from tests.support.recording_proxy import ENTRIES, recording

pytestmark = pytest.mark.slow

SECRETS = (b"12.25", b"I am not sure", b"not sure", b"smokes", b"cigarettes", b"coffee", b"tea")
"""What a person enters or chooses; none of it may be in a request."""
SEEDED = """(() => {
    let state = SEED;
    globalThis.draws = [];
    const random = crypto.getRandomValues.bind(crypto);
    crypto.getRandomValues = (array) => {
        draws.push(array.byteLength);
        if (array.byteLength === 16) return random(array); // ids of reports, which must differ
        const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
        for (let index = 0; index < bytes.length; index++) {
            state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
            bytes[index] = state;
        }
        return array;
    };
})()"""


def answer(visit, script="", **answers):
    """Answer the survey through a proxy; return the recorded requests, and the page."""
    with recording() as proxy:
        page = visit(script, proxy=proxy.through)
        answer_all(page, **answers)
        press(page, "Show what would be sent")
        press(page, "Yes, send")
        expect_status(page, "has arrived")
    return proxy.requests, page


def test_only_plan_texts_signature_and_one_report_leave_the_page(visit, site):
    requests, page = answer(visit, cigarettes="12.25", ill="I am not sure")
    survey = f"{site.collector}/v1/surveys/habits"
    expected = [f"GET {site.page}", f"GET {site.page}ldp-survey.js", f"GET {survey}"]
    expected += [f"GET {survey}/signature", f"GET {survey}/texts", f"POST {survey}/reports"]
    assert sorted(line.decode().rsplit(" ", 1)[0] for line, _, _ in requests) == sorted(expected)
    for line, headers, body in requests:
        assert not [secret for secret in SECRETS if secret in line + headers + body]
        assert b"\nCookie:" not in headers
        assert body == b"" or line.startswith(b"POST")
    [report] = [body for _, _, body in requests if body]
    assert unpack(report)
    stored = page.evaluate(ENTRIES).encode()
    assert b'"habits"' in stored
    assert not [secret for secret in SECRETS if secret in stored]


@pytest.mark.parametrize("seed", range(1, 4))
def test_the_size_of_the_report_and_the_time_of_its_sending_do_not_depend_on_the_answers(visit, seed):
    """If the random bytes are equal, the question and the sizes of all draws are, and so the time is."""
    observed = []
    for answers in ({"smokes": "Yes", "ill": "Yes"}, {"smokes": "No", "ill": "I am not sure"}):
        requests, page = answer(visit, SEEDED.replace("SEED", str(seed * 2_654_435)), **answers)
        [report] = [body for _, _, body in requests if body]
        observed.append((unpack(report).question, len(report), page.evaluate("draws")))
    assert observed[0] == observed[1]
    assert len(observed[0][2]) > 3

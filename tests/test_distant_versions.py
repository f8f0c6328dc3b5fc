"""A client or a collector that is two releases older than a plan says what to update, and draws nothing."""

import pytest

from encoders.canonical import dump_canonical_json, load_canonical_json
from ldp_client import Client, Journal, Response, State
from tests.support.commands import command
from tests.support.surveys import make_plan

PLAN = make_plan()
LATER = {
    "another format": ({"format": 3}, "a later version made this plan (format 3): update ldp-bayes"),
    "a new entry": (
        {"weather": 1},
        "update ldp-bayes if a later version made it, or compile the survey again",
    ),
}


class LaterCollector:
    """Serves one plan, and notes other requests."""

    def __init__(self, plan: bytes) -> None:
        self.plan, self.posted = plan, 0

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        self.posted += method == "POST"
        return Response(200, self.plan)


@pytest.fixture(params=LATER)
def later(request: pytest.FixtureRequest) -> tuple[bytes, str]:
    """Return a plan that a later version could make, and the sentence about it."""
    change, why = LATER[request.param]
    return dump_canonical_json(load_canonical_json(PLAN.json) | change), why


def test_an_old_client_names_the_update_and_draws_nothing(later, tmp_path):
    plan, why = later
    collector = LaterCollector(plan)
    url = f"https://collector.example/v1/surveys/{PLAN.id}"
    with Client(url, journal=tmp_path / "journal", transport=collector) as client:
        receipt = client.grant()
        assert receipt.state is State.REJECTED
        assert why in str(receipt.problems or receipt)
        assert client.report({"age": "young"}, "yes").state is not State.QUEUED
    assert collector.posted == 0
    assert Journal(tmp_path / "journal").entries() == []


@pytest.mark.slow
def test_an_old_collector_names_the_update_and_serves_nothing(later, tmp_path):
    plan, why = later
    (tmp_path / "later.json").write_bytes(plan)
    store = f"sqlite:///{tmp_path}/ldp.db"
    refused = command("ldp-collector", "serve", tmp_path / "later.json", "--store", store, check=False)
    assert (refused.exit_code, why in " ".join(refused.stderr.split())) == (1, True), refused.stderr
    assert not (tmp_path / "ldp.db").exists()

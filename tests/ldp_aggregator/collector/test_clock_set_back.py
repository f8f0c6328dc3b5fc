"""A running collector whose machine's clock is set back by an hour: nothing is lost, or counted twice."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from encoders.survey import Plan
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, ask
from tests.support.access import access, write_tokens
from tests.support.commands import command
from tests.support.servers import TOKEN, LocalRedis, collector, wait_for

pytestmark = pytest.mark.slow

PRELUDE = """
import os, time
true_time = time.time
time.time = lambda: true_time() - 3600 * os.path.exists({file!r})
from ldp_aggregator.collector import service
service.SCHEDULE_TTL_SECONDS = service.RESULT_TTL_SECONDS = 0.1
"""


@contextmanager
def running(survey: Path, url: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Run a collector; yield its URL, and the file that sets its clock back while it exists."""
    tomorrow = datetime.now(UTC).date() + timedelta(1)
    file, tokens = folder / "an-hour-ago", folder / "tokens.toml"
    write_tokens(
        tokens, access("analyst", "secret", "anna", tomorrow), access("analyst", "old", "ben", tomorrow)
    )
    options = ["--tokens", tokens, "--rate", 100]
    with collector([survey], url, options=options, prelude=PRELUDE.format(file=str(file))) as (base, _):
        yield base, file


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "redis":
        server: LocalRedis = request.getfixturevalue("server")
        return server.url
    return f"sqlite:///{tmp_path}/store.db"


def test_reports_tokens_and_deletions_do_not_depend_on_the_time_that_has_passed(
    survey: Path, plan: Plan, url: str, tmp_path: Path
):
    def post(body: bytes) -> tuple[int, str]:
        status, content = ask(f"{base}{REPORTS}", body)
        return status, json.loads(content).get("reason", json.loads(content).get("status"))

    reports = [make_report(plan, ROW, "yes") for _ in range(6)]
    with running(survey, url, tmp_path) as (base, file):
        assert [post(each)[0] for each in reports[:3]] == [200] * 3
        file.touch()
        assert [post(each)[1] for each in reports[:3]] == ["duplicate"] * 3
        assert [post(each)[1] for each in reports[3:5]] == ["recorded"] * 2
        assert ask(f"{base}/v1/surveys/{plan.id}/progress", token="secret")[0] == 200
        assert ask(f"{base}/readyz")[0] == 200
        # its clock says that the survey, which closes now, is open for another hour
        command("ldp-collector", "close", plan.id, "--store", url)
        assert post(reports[5])[1] == "recorded"
        file.unlink()
        wait_for(lambda: post(reports[5]) == (410, "survey-closed"))
        file.touch()
        wait_for(lambda: post(reports[5])[1] == "duplicate")
        command("ldp-collector", "delete", plan.id, "--store", url)
        wait_for(lambda: post(reports[5]) == (410, "survey-closed"))  # at any time
        file.unlink()
        assert post(reports[5]) == (410, "survey-closed")
        metrics = ask(f"{base}/metrics", token=TOKEN)[1].decode()
        assert "ldp_ready 1.0" in metrics
    entries = json.loads(command("ldp-collector", "log", "--json", "--store", url).stdout)
    assert {each["what"] for each in entries} == {"published", "read tokens", "closed", "deleted"}

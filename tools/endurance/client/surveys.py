"""A small survey, a collector of it, and how many of its reports are counted."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from encoders.survey import Plan, read_survey
from ldp_client import State
from tests.support.servers import TOKEN, collector

SURVEY = """
[survey]
id = "{}"
epsilon = 1.0
[label]
name = "rested"
values = ["yes", "no"]
[features.age]
values = ["young", "old"]
[features.place]
values = {}
"""
ROWS: tuple[dict[str, object], ...] = ({"age": "young", "place": "p1"}, {"age": "old", "place": "p2"})
COUNTED = (State.SENT, State.DUPLICATE)


def survey(name: str) -> str:
    return SURVEY.format(name, [f"p{number}" for number in range(40)])


def compiled(name: str) -> Plan:
    return read_survey(survey(name)).compile()


@contextmanager
def running(folder: Path, *names: str) -> Iterator[str]:
    """Run a real collector of small surveys; yield its base URL."""
    for name in names:
        (folder / f"{name}.toml").write_text(survey(name))
    with collector([folder / f"{name}.toml" for name in names], f"sqlite:///{folder}/ldp.db") as (base, _):
        yield base


def url_of(port: int, name: str = "sleep") -> str:
    return f"http://127.0.0.1:{port}/v1/surveys/{name}"


def counted(base: str, name: str = "sleep") -> int:
    """Return how many reports of a survey the collector has counted."""
    request = urllib.request.Request(
        f"{base}/v1/surveys/{name}/snapshot", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    with urllib.request.urlopen(request) as response:
        totals = json.load(response)["totals"]
    return sum(total["n"] for total in totals.values())


def require_forgotten(journal: Path, reports: set[bytes]) -> None:
    """Require that no byte of a report is left in any file of a journal."""
    for file in journal.parent.glob(f"{journal.name}*"):
        assert not any(report in file.read_bytes() for report in reports), f"{file.name} still has a report"


def require_one_report(bodies: Sequence[tuple[bytes, bool]], known: set[bytes]) -> set[bytes]:
    """Require that all bodies on the wire are one report, or its beginning; return it."""
    reports = known | {body for body, whole in bodies if whole}
    assert len(reports) <= 1, "a survey was randomised twice"
    for report in reports:
        assert all(report.startswith(body) for body, _ in bodies), "other bytes than the report's were sent"
    return reports

"""Fixtures of the tests of silos: a survey of wards, and files of rows."""

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from encoders.survey.silo_plan import SiloPlan
from ldp_client import Response, TransportError
from ldp_silo import Silo
from tests.ldp_client.conftest import FakeTransport
from tests.support.silo_surveys import read_silo_survey

URL = "http://collector.test/v1/surveys/wards"
RECORDED = Response(200, b'{"status":"recorded"}')
DOWN = TransportError("no network")
HEADER = ("ill", "smoker", "age", "weight", "pulse")
WriteRows = Callable[..., Path]
"""The type of the fixture `write_rows`."""
Build = Callable[..., Silo]
"""The type of the fixture `silo`."""


@pytest.fixture
def plan() -> SiloPlan:
    return read_silo_survey().compile()


def draw_rows(count: int, seed: int = 1) -> list[list[str]]:
    """Return rows that fit the survey; many numbers are distinct, and some are missing or clipped."""
    draw = random.Random(seed)
    return [
        [
            draw.choice(("yes", "no")),
            draw.choice(("yes", "no")),
            draw.choice(("", str(draw.randrange(110)))),
            repr(draw.uniform(20, 140)),
            draw.choice(("", " ", f"{draw.gauss(80, 30):.3f}")),
        ]
        for _ in range(count)
    ]


@pytest.fixture
def write_rows(tmp_path: Path) -> WriteRows:
    def write(
        rows: Iterable[Sequence[str]] | int = 20, header: Sequence[str] = HEADER, name: str = "ward.csv"
    ) -> Path:
        cells = draw_rows(rows) if isinstance(rows, int) else rows
        path = tmp_path / name
        path.write_text("".join(",".join(row) + "\n" for row in [header, *cells]), encoding="utf-8")
        return path

    return write


@pytest.fixture
def silo(plan: SiloPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Build silos of one journal that have agreed and retry almost at once."""
    monkeypatch.setattr("ldp_silo.epoch_reports.MAX_BACKOFF_SECONDS", 0.001)

    def build(
        transport: FakeTransport | None = None, survey: object = plan, granted: bool = True, **options: object
    ) -> Silo:
        options = {"journal": tmp_path / "ward.journal", **options}
        made = Silo(survey, URL, transport=transport or FakeTransport(RECORDED), **options)
        if granted:
            made.grant()
        return made

    return build


@pytest.fixture
def transport() -> FakeTransport:
    """Return a transport whose collector counts every message."""
    return FakeTransport(RECORDED)


@pytest.fixture
def ward(silo: Build, transport: FakeTransport) -> Silo:
    """Return a silo that sends by `transport`."""
    return silo(transport)

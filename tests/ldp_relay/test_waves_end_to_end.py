"""A relay and a collector that run through three short waves, with a restart, of which one is too small."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.survey.sealing import seal_envelope
from encoders.survey.waves import NOW, Wave, Waves
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import open_store
from ldp_client import Client, State
from ldp_relay.held_messages import TOO_FEW, HeldMessages
from ldp_relay.relay_settings import read_settings
from tests.support.commands import run_program
from tests.support.relays import ALL, ROW, RelayedSite, relay, relayed_reports, send
from tests.support.servers import wait_for

pytestmark = pytest.mark.slow

HOUR = 0.5
BATCH, COLUMNS = 20, 2
CLOCK = """
import time
from pathlib import Path
now = time.time
time.time = lambda: now() + float(Path("{}").read_text())
"""
"""A clock that is ahead by the seconds in a file."""


class WavedSite(RelayedSite):
    """A survey in which each person answers both questions, in the wave that is open."""

    def __init__(self, folder: Path, waves: tuple[Wave, ...]) -> None:
        super().__init__(folder, survey=ALL)
        assert self.plan.relay
        changed = replace(self.plan.relay, opens=waves[0].opens, closes=waves[-1].closes)
        self.plan = self.survey = replace(self.plan, relay=changed, waves=Waves(NOW, waves))
        self.url = f"{changed.url}/{self.plan.digest}"

    def message(self, wave: int) -> bytes:
        return seal_envelope(self.plan, relayed_reports(self.plan, wave), wave=wave)

    def post(self, message: bytes, name: str) -> tuple[int, str]:
        status, body = send(f"{self.url}/{name}", message)
        return status, "" if status == 202 else body.decode()

    def fill(self, wave: int, count: int) -> None:
        name = self.plan.waves.list[wave].name
        for _ in range(count):
            assert self.post(self.message(wave), name) == (202, "")

    def of_wave(self, name: str) -> dict[str, int]:
        held = HeldMessages(read_settings(self.folder / "relay.toml").database)
        try:
            return held.counts(f"{self.plan.digest}/{name}")
        finally:
            held.close()

    def counted_by_wave(self) -> list[int]:
        store = open_store(self.store)
        try:
            snapshot = take_snapshot(store, self.plan.id)
            return [snapshot.select(each.name).total() for each in self.plan.waves.list]
        finally:
            store.close()


def test_three_waves_of_which_one_is_too_small(tmp_path):
    start, ahead = int(time.time()), tmp_path / "ahead"
    names = ("one", "two", "three")
    closes = [start + each * 3600 for each in (1, 2, 3)]
    clock = CLOCK.format(ahead)

    def go_to(moment: int) -> None:
        """Set the clocks of relay and collector forward."""
        ahead.with_suffix(".new").write_text(str(moment + 1 - time.time()))
        ahead.with_suffix(".new").rename(ahead)

    go_to(start)
    limits = ((start - 1, closes[0]), (closes[0] + 1, closes[1]), (closes[1], closes[2]))
    site = WavedSite(tmp_path, tuple(Wave(name, *each) for name, each in zip(names, limits, strict=True)))
    site.settings("http://127.0.0.1:9")
    origin = f"http://127.0.0.1:{site.port}"
    options = {"relay": origin, "max_local_epsilon": 5, "journal": tmp_path / "journal.db", "spread": 0}
    with site.collector(prelude=clock) as (base, _):
        settings = site.settings(base)
        with relay(settings, HOUR, prelude=clock):
            site.fill(0, 27)
            with Client(site.plan, site.plan.relay.url, **options) as client:
                client.grant()
                assert client.report(ROW).state is State.QUEUED
                assert client.flush(60).state is State.SENT
                assert site.of_wave("one")["waiting"] == 28
                assert client.withdraw().reason == ""
            assert site.of_wave("one")["waiting"] == 27
            refused = [site.post(site.message(*each), "two") for each in ((0,), (1,))]
            assert [(status, "bad-seal" in body) for status, body in refused] == [(400, True), (403, False)]
            assert "survey-not-open" in refused[1][1]
            go_to(limits[0][1])
            wait_for(lambda: site.of_wave("one").get("passed on, recorded") == 27 * COLUMNS)
            assert "survey-closed" in site.post(site.message(0), "one")[1]
        with relay(settings, HOUR, prelude=clock):  # restarted between the waves
            go_to(limits[1][0])
            site.fill(1, BATCH - 1)
            assert "bad-seal" in site.post(site.message(0), "two")[1]
            go_to(limits[2][0])
            site.fill(2, BATCH)
            go_to(limits[2][1])
            wait_for(lambda: site.of_wave("two").get(TOO_FEW) == BATCH - 1)
            wait_for(lambda: site.of_wave("three").get("passed on, recorded") == BATCH * COLUMNS)
            shown = run_program("ldp-relay", "status", settings).stdout
    assert site.counts()["sizes"] == [27, BATCH]
    assert site.counts()["waiting"] == 0
    assert site.counted_by_wave() == [27 * COLUMNS, 0, BATCH * COLUMNS]
    rows = {line.split()[0]: line.split()[-3:] for line in shown.splitlines() if line.strip()}
    assert [rows[name] for name in names] == [["28", "0", "0"], ["19", "0", "19"], ["20", "0", "0"]]
    log = settings.with_suffix(".log").read_text()
    assert "127.0.0.1" not in log
    assert site.plan.digest not in log

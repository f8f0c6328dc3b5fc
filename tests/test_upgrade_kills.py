"""A process that takes over files of an earlier build is killed: nothing is lost, or counted twice."""

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import open_store
from ldp_client import load_plan, make_report
from ldp_relay.held_messages import HeldMessages
from tests.support.upgrading import Upgrades

pytestmark = pytest.mark.slow

SETS = sorted((Path(__file__).parent / "earlier_builds").glob("*.zip"))
KILLS = 100
"""Of all sets together."""
_KILLS_OF_ONE = 4
"""Of processes one after the other, before one takes over to the end."""
_NEW = 5


@pytest.fixture(params=SETS, ids=lambda path: path.stem)
def earlier(request, tmp_path):
    """A folder with what an earlier build has left, and new reports."""
    folder = tmp_path / "earlier"
    shutil.unpack_archive(request.param, folder)
    for key in (*folder.glob("*.key"), *folder.glob("*.db")):
        key.chmod(0o600)
    plan = load_plan(folder / "commute.json")
    reports = [make_report(plan, {"mode": "foot", "minutes": 5}, "no") for _ in range(_NEW)]
    (folder / "commute.new").write_bytes(b"".join(reports))
    return folder


def count(folder: Path) -> dict[str, int]:
    """Return how many reports the store has of each survey that was published in it."""
    store = open_store(f"sqlite:///{folder}/sqlite/ldp.db", create=False)
    try:
        return {
            survey: sum(each.n for each in take_snapshot(store, survey).totals.values())
            for survey in store.plans()
        }
    finally:
        store.close()


def check(folder: Path, *, is_complete: bool) -> None:
    expected, counted = json.loads((folder / "expected.json").read_text()), count(folder)
    path = folder / "acknowledged"
    acknowledged = set(path.read_text().split()) if path.exists() else set()
    least = expected["reports"] + len(acknowledged)
    most = expected["reports"] + _NEW + 1
    assert (most if is_complete else least) <= counted["commute"] <= most
    assert counted["clinic"] == expected["used_tokens"]
    held = HeldMessages(folder / "relay.db")
    counts = held.counts(load_plan(folder / "night-work.json").digest)
    held.close()
    passed_on = expected["messages"] - counts["waiting"] - counts["leaving"]
    assert passed_on <= counted.get("night-work", 0) <= passed_on + counts["leaving"]
    assert passed_on or not is_complete
    assert counts["leaving"] == 0 or not is_complete


def test_a_process_that_takes_over_earlier_files_is_killed(earlier, tmp_path):
    upgrades, kills = Upgrades(seed=len(earlier.name)), -(-KILLS // len(SETS))
    shutil.copytree(earlier, tmp_path / "whole")
    upgrades.measure(tmp_path / "whole")
    check(tmp_path / "whole", is_complete=True)
    number = 0
    while upgrades.killed < kills:
        folder = tmp_path / str(number := number + 1)
        shutil.copytree(earlier, folder)
        for _ in range(_KILLS_OF_ONE):
            upgrades.kill(folder)
            check(folder, is_complete=False)
        upgrades.run(folder)
        check(folder, is_complete=True)
        shutil.rmtree(folder)

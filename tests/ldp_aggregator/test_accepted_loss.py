"""Going on with a store that lost reports: what is left counts once, and every result says what is lost."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from encoders.explain.text import Counted
from encoders.randomness import SystemEntropy
from ldp_aggregator import migrate
from ldp_aggregator.codec import from_json, to_json
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.invitations import count_tokens, create_tokens
from ldp_aggregator.privacy_statement import PrivacyStatement
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import dump_results, parse_results
from ldp_aggregator.snapshot import Snapshot, SnapshotError, read_snapshot, sum_snapshots, take_snapshot
from ldp_aggregator.statements.data import find_data
from ldp_aggregator.stores import open_store
from ldp_aggregator.stores.failure import Loss, LostReportsError
from ldp_aggregator.stores.schedule import Schedule, read_schedule
from ldp_aggregator.stores.store import SCHEDULES
from tests.ldp_aggregator.test_migrate import INVITED, PLAN, fill, make_client, open_sqlite, sent  # noqa: F401
from tests.support.commands import command
from tests.support.servers import redis_server
from tools.endurance.collector.reports import Sent, make_reports, plan_of


@pytest.fixture(autouse=True)
def no_wait_for_collectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "LOCK_VISIBLE_SECONDS", 0.0)


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def damaged(tmp_path: Path, sent: Sent) -> tuple[Path, dict[str, int]]:  # noqa: F811
    """Return a file in which one question lacks 100 reports, and how many each question counts."""
    path = tmp_path / "damaged.db"
    store = fill(open_sqlite(path), sent)
    store.set_note(SCHEDULES, PLAN.id, Schedule(opens=5).to_json())
    store.close()
    counts = {counter: total.n for counter, total in sent.totals.items()}
    counter = max(counts, key=lambda each: counts[each])
    edit(path, f"UPDATE counters SET n = n - 100 WHERE name = '{counter}'")
    counts[counter] -= 100
    return path, counts


@pytest.mark.slow
def test_an_operator_goes_on_with_what_is_left(tmp_path, damaged, sent):  # noqa: F811
    path, counts = damaged
    left = sum(counts.values())
    source, new = f"sqlite:///{path}", f"sqlite:///{tmp_path}/new.db"
    refusals = [
        ("export", PLAN.id, "-o", tmp_path / "s.json", "--store", source),
        ("import", PLAN.id, "--from", source, "--store", new),
        ("backup", "-o", tmp_path / "backup.db", "--store", source),
    ]
    for words in refusals:
        result = command("ldp-collector", *words, check=False)
        assert result.exit_code == 1
        assert "has lost data of trial: 100 acknowledged reports that no count contains" in result.output
        assert "ldp-collector import trial --from OLD --store NEW --accept-loss" in result.output
    trained = command("ldp-train", source, "-o", tmp_path / "m.json", check=False)
    assert (trained.exit_code, "100 acknowledged reports" in trained.output) == (1, True)
    assert (
        "THE STORE HAS LOST data of trial: 100 acknowledged reports"
        in command("ldp-collector", "status", "--store", source).output
    )
    assert not (tmp_path / "s.json").exists()
    assert not (tmp_path / "new.db").exists() or not open_store(new).plans()

    result = command("ldp-collector", *refusals[1], "--accept-loss")
    assert f"the new store has {left:,} reports of trial" in result.output
    assert "lost before it was imported: 100 acknowledged reports" in result.output
    store = open_store(new)
    assert store.find_losses(PLAN.id) == {}
    store.require_survey(PLAN.id, PLAN.json)
    store.check_ready()
    intake = Intake(PLAN, store)
    assert {each.status for each in intake.record_body(b"".join(sent.reports))} == {"duplicate"}
    more = make_reports(PLAN, 50, seed=8)
    assert {each.status for each in intake.record_body(b"".join(more.reports))} == {"recorded"}
    snapshot = take_snapshot(store, PLAN.id)
    assert snapshot.losses == Loss(reports=100)
    assert snapshot.total() == left + 50
    for counter, count in counts.items():
        extra = more.totals[counter].n if counter in more.totals else 0
        assert snapshot.totals[counter].n == count + extra
    store.close()
    command("ldp-collector", "close", PLAN.id, "--store", new)
    status = command("ldp-collector", "status", "--store", new).output
    assert f"{left + 50:,}" in status
    assert "trial: lost before it was imported: 100 acknowledged reports" in status
    assert (
        "that no count contains"
        in json.loads(command("ldp-collector", "status", "--json", "--store", new).output)[0]["notes"][0]
    )

    words = "Acknowledged reports or messages that were lost: 100."
    model, snapshot_file = tmp_path / "model.json", tmp_path / "snapshot.json"
    command("ldp-collector", "export", PLAN.id, "-o", snapshot_file, "--store", new)
    assert words in _plain(command("ldp-train", snapshot_file, "-o", model).output)
    for suffix in ("html", "md"):
        page = tmp_path / f"page.{suffix}"
        command("ldp-results", model, "-o", page)
        assert words in _plain(page.read_text())


def _plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
def test_a_loss_that_follows_an_accepted_one_is_added(tmp_path, damaged):
    path, counts = damaged
    first, second = open_sqlite(tmp_path / "first.db"), open_sqlite(tmp_path / "second.db")
    migrate.migrate_survey(open_sqlite(path), first, PLAN.id, accept_loss=True)
    counter = min(counts, key=lambda each: counts[each])
    edit(tmp_path / "first.db", f"UPDATE counters SET n = n - 3 WHERE name = '{counter}'")
    left = migrate.migrate_survey(open_sqlite(tmp_path / "first.db"), second, PLAN.id, accept_loss=True)
    assert left == sum(counts.values()) - 3 == take_snapshot(second, PLAN.id).total()
    assert read_schedule(second, PLAN.id).loss == Loss(103, 0)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [("sums",), ("ids",), ("sums", "ids")])
def test_questions_that_redis_evicted_are_imported_without_what_is_lost(tmp_path, sent, lost):  # noqa: F811
    counter, total = max(sent.totals.items(), key=lambda each: each[1].n)
    with redis_server(tmp_path) as url:
        source = fill(open_store(url), sent)
        for name in lost:
            source._redis.delete(f"ldp:{{{PLAN.id}:{counter}}}:{name}")  # type: ignore[attr-defined]
        target = open_sqlite(tmp_path / "new.db")
        with pytest.raises(LostReportsError):
            migrate.migrate_survey(source, target, PLAN.id)
        counted = migrate.migrate_survey(source, target, PLAN.id, accept_loss=True)
        source.close()
    expected = Loss(reports=total.n * ("sums" in lost), ids=total.n * ("ids" in lost))
    snapshot = take_snapshot(target, PLAN.id)
    assert snapshot.losses == expected
    assert snapshot.total() == counted == 3000 - expected.reports
    intake = Intake(PLAN, target)
    again = [each.status for each in intake.record_body(b"".join(sent.reports))]
    assert again.count("recorded") == expected.ids  # which the message of the loss says
    assert take_snapshot(target, PLAN.id).total() == counted + expected.ids
    target.close()


@pytest.mark.slow
def test_a_store_that_lost_nothing_is_imported_with_a_sentence(tmp_path, sent):  # noqa: F811
    fill(open_sqlite(tmp_path / "whole.db"), sent).close()
    source, target = f"sqlite:///{tmp_path}/whole.db", f"sqlite:///{tmp_path}/new.db"
    result = command("ldp-collector", "import", PLAN.id, "--from", source, "--store", target, "--accept-loss")
    assert "has lost nothing, so --accept-loss had no effect" in result.output
    assert take_snapshot(open_store(target), PLAN.id).losses == Loss()
    assert json.loads(open_store(target).notes(SCHEDULES)[PLAN.id]).keys() == {
        "opens",
        "closes",
        "grace",
        "arriving",
    }


@pytest.mark.slow
def test_lost_tokens_are_named(tmp_path):
    plan = plan_of(INVITED)
    with redis_server(tmp_path) as url:
        source = open_store(url)
        source.publish(plan.id, plan.json)
        list(create_tokens(source, plan, 40, SystemEntropy()))
        tokens = source.totals(f"{plan.id}.tokens")
        counter = next(iter(tokens))
        assert make_client(source).get("/readyz").json["status"] == "ready"
        source._redis.delete(f"ldp:{{{plan.id}.tokens:{counter}}}:ids")  # type: ignore[attr-defined]
        answer = make_client(source).get("/readyz")
        detail = "the store cannot be used now: reports-lost, trial"
        assert (answer.status_code, answer.json["detail"]) == (503, detail)
        words = (
            "import",
            plan.id,
            "--from",
            url,
            "--store",
            f"sqlite:///{tmp_path}/other.db",
            "--accept-loss",
        )
        result = command("ldp-collector", *words)
        assert (
            f"had lost data of trial: {Counted(tokens[counter].n, 'token')}, whose holders" in result.output
        )
        assert "has lost nothing" not in result.output
        with pytest.raises(
            LostReportsError, match=rf"data of trial: {tokens[counter].n} tokens?, whose holders"
        ):
            migrate.migrate_survey(source, open_sqlite(tmp_path / "new.db"), plan.id)
        target = open_sqlite(tmp_path / "new.db")
        migrate.migrate_survey(source, target, plan.id, accept_loss=True)
        assert count_tokens(target, plan.id) == 40 - tokens[counter].n
        source.close()
        target.close()


# -- numbers that are carried through -----------------------------------------------------------


def lossy(sent: Sent, losses: Loss) -> Snapshot:  # noqa: F811
    return Snapshot(PLAN, sent.totals, {}, losses=losses)


def test_losses_are_read_written_and_added(sent):  # noqa: F811
    one, other = Loss(reports=5, ids=1, backups=(1000,)), Loss(reports=2, backups=(500, 1000))
    first = lossy(sent, one)
    assert read_snapshot(first.to_json()).losses == one
    assert "losses" not in json.loads(lossy(sent, Loss()).to_json())
    assert sum_snapshots([first, lossy(sent, other)]).losses == Loss(reports=7, ids=1, backups=(500, 1000))
    for wrong in (-1, 1.5, "1", None):
        document = json.loads(first.to_json())
        document["losses"]["reports"] = wrong
        with pytest.raises(SnapshotError, match=r"losses\."):
            read_snapshot(json.dumps(document).encode())


@pytest.mark.slow
def test_results_state_losses_and_backups(sent):  # noqa: F811
    results = make_results(lossy(sent, Loss(reports=5, ids=1, backups=(0, 86_400))), poisoning=False)
    written = dump_results(results)
    assert parse_results(written).privacy.losses == results.privacy.losses
    whole = dump_results(make_results(lossy(sent, Loss()), poisoning=False))
    assert b'"losses"' not in whole
    assert parse_results(whole).privacy.losses == Loss()
    words = " ".join(map(str, find_data(results.estimates, results.privacy, validation=False)))
    assert "were lost: 5." in words
    assert "whose ids were lost: 1." in words
    unknown = make_results(lossy(sent, Loss(counters=2)), poisoning=False)
    assert parse_results(dump_results(unknown)).privacy.losses == Loss(counters=2)
    words_of = find_data(unknown.estimates, unknown.privacy, validation=False)
    assert "whose number of reports was lost: 2." in " ".join(map(str, words_of))
    assert Schedule.from_json(Schedule(lost={"c": Loss(1, 2, (), 1)}).to_json()).loss == Loss(1, 2, (), 1)
    assert "restored from a backup (1970-01-01 00:00 UTC, 1970-01-02 00:00 UTC)" in words
    document = to_json(results.privacy)
    document["losses"]["backups"] = [10**15]
    with pytest.raises(ValueError, match="losses: needs numbers"):
        from_json(PrivacyStatement, document)

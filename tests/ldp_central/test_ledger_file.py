"""The ledger: what it refuses, what it returns again, and the order of its writes."""

import json
import os
import stat
from fractions import Fraction
from pathlib import Path

import pytest

from encoders.canonical import dump_canonical_json
from ldp_central import ledger_file
from ldp_central.curator_ledger import Ledger, LedgerError, TrainingRequest, _compute_checksum
from ldp_central.ledger_file import LedgerTerms, find_ledger, train_once

TERMS = LedgerTerms("rows.csv", "add-remove", 1)
REQUEST = TrainingRequest(("rows", "sorted rows"), "command", Fraction(1), Fraction(0))


def request_of(
    command: str, epsilon: str = "1", rows: str = "rows", content: str = "", delta: str = "0"
) -> TrainingRequest:
    return TrainingRequest((rows, content or f"sorted {rows}"), command, Fraction(epsilon), Fraction(delta))


def terms(cap: str | None = None, delta_cap: str | None = None, **changes: object) -> LedgerTerms:
    values = {"name": "rows.csv", "adjacency": "add-remove", "rows_per_person": 1, **changes}
    caps = [None if each is None else Fraction(each) for each in (cap, delta_cap)]
    return LedgerTerms(**values, cap=caps[0], delta_cap=caps[1])


def fail() -> bytes:
    raise AssertionError("nothing may be trained")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv.ledger"


@pytest.fixture
def ledger(path: Path) -> Path:
    train_once(path, TERMS, REQUEST, lambda: b"model\n")
    return path


def read(path: Path) -> Ledger:
    return Ledger.parse(path.read_bytes())


def test_an_equal_request_gets_the_same_bytes_and_spends_nothing(ledger):
    before = ledger.read_bytes()
    model, found, is_repetition = train_once(ledger, TERMS, REQUEST, fail)
    assert is_repetition
    assert (model, found.spent, ledger.read_bytes()) == (b"model\n", 1, before)


def test_noise_that_is_drawn_again_on_a_retry_is_detected(path, monkeypatch):
    drawn = iter(range(9))

    def retry(name: str) -> list[bytes]:
        ledger_path = path.with_name(name)
        request = request_of("command", rows=name)
        stated = terms("9", name=name)
        return [train_once(ledger_path, stated, request, lambda: b"%d" % next(drawn))[0] for _ in range(2)]

    first, second = retry("correct")
    assert first == second
    monkeypatch.setattr(Ledger, "find_model", lambda *_: None)
    first, second = retry("mutant")
    assert first != second
    assert read(path.with_name("mutant")).spent == 2  # and even then the amount is never understated


def test_the_amount_is_in_the_ledger_while_the_model_is_trained(path):
    def make() -> bytes:
        assert read(path).spent == 1
        assert read(path).find_model(REQUEST) is None
        return b"model"

    train_once(path, TERMS, REQUEST, make)
    assert read(path).find_model(REQUEST) == b"model"


def test_a_failed_training_stays_spent(path):
    def make() -> bytes:
        raise LedgerError("did not converge")

    with pytest.raises(LedgerError, match="converge"):
        train_once(path, TERMS, REQUEST, make)
    assert read(path).spent == 1
    with pytest.raises(LedgerError, match="epsilon 1 of 1 is spent, and this training would spend 1 more"):
        train_once(path, TERMS, REQUEST, fail)
    assert train_once(path, terms("2"), REQUEST, lambda: b"model")[1].spent == 2


def test_without_a_cap_only_the_first_training_is_allowed(ledger):
    with pytest.raises(LedgerError, match="would spend 1/1000 more"):
        train_once(ledger, TERMS, request_of("another", "0.001"), fail)
    assert read(ledger).spent == 1


def test_amounts_add_up_exactly_to_the_cap(path):
    for place in range(10):
        train_once(path, terms("1"), request_of(str(place), "0.1"), lambda: b"model")
    assert read(path).spent == 1
    with pytest.raises(LedgerError, match="epsilon 1 of 1"):
        train_once(path, terms("1"), request_of("last", "1e-6"), fail)


def test_the_cap_stays_until_another_is_stated(path):
    train_once(path, terms("2"), REQUEST, lambda: b"model")
    train_once(path, TERMS, request_of("second"), lambda: b"model")
    assert read(path).cap == 2
    with pytest.raises(LedgerError, match="epsilon 2 of 1"):
        train_once(path, terms("1"), request_of("third"), fail)


def test_deltas_add_up_exactly_to_their_own_cap(path):
    train_once(path, terms("9"), request_of("first", delta="1e-7"), lambda: b"model")
    assert read(path).delta_cap == Fraction(1, 10**7)
    with pytest.raises(LedgerError, match=r"delta 1e-7 of 1e-7 is spent, and .* would spend 1e-30 more"):
        train_once(path, TERMS, request_of("second", delta="1e-30"), fail)
    train_once(path, TERMS, request_of("third", delta="0"), lambda: b"model")
    train_once(path, terms(delta_cap="2e-7"), request_of("fourth", delta="1e-7"), lambda: b"model")
    assert read(path).spent_delta == read(path).delta_cap == Fraction(2, 10**7)
    with pytest.raises(LedgerError, match="--cap-delta"):
        train_once(path, terms(delta_cap="0"), request_of("fifth", delta="0"), fail)


def test_a_first_training_without_delta_allows_the_tails_of_linear_models(ledger):
    assert read(ledger).delta_cap == Fraction(1, 10**9)
    train_once(ledger, terms("2"), request_of("linear", delta="1e-100"), lambda: b"model")
    with pytest.raises(LedgerError, match="would spend 1e-9 more"):
        train_once(ledger, terms("9"), request_of("nb", delta="1e-9"), fail)


def test_a_refused_training_leaves_the_cap_unchanged(ledger):
    with pytest.raises(LedgerError):
        train_once(ledger, terms("1.5"), request_of("second"), fail)
    assert read(ledger).cap == 1


@pytest.mark.parametrize(
    ("stated", "request_", "match"),
    [
        (terms("9"), request_of("command", rows="others"), "is the ledger of other rows"),
        (terms("9", name="else"), REQUEST, "other rows, called 'rows.csv'"),
        (terms("9", adjacency="replace"), REQUEST, "for adjacency add-remove"),
        (terms("9", rows_per_person=2), REQUEST, "1 rows per person"),
    ],
)
def test_a_ledger_of_something_else_is_refused(ledger, stated, request_, match):
    before = ledger.read_bytes()
    with pytest.raises(LedgerError, match=match):
        train_once(ledger, stated, request_, fail)
    assert ledger.read_bytes() == before


def test_edited_rows_continue_with_what_was_spent(ledger):
    changed = request_of("command", rows="edited")
    with pytest.raises(LedgerError, match="epsilon 1 of 1"):
        train_once(ledger, terms(rows_changed=True), changed, fail)
    model, found, _ = train_once(ledger, terms("2", rows_changed=True), changed, lambda: b"second")
    assert (model, found.spent) == (b"second", 2)


REORDERED = request_of("command", rows="reordered", content="sorted rows")


def test_rows_in_another_order_are_the_same_training(ledger):
    before = ledger.read_bytes()
    model, found, _ = train_once(ledger, TERMS, REORDERED, fail)
    assert (model, found.spent, ledger.read_bytes()) == (b"model\n", 1, before)


def test_another_training_on_rows_in_another_order_adds_up(ledger):
    other = request_of("second", rows="reordered", content="sorted rows")
    with pytest.raises(LedgerError, match="epsilon 1 of 1 is spent"):
        train_once(ledger, TERMS, other, fail)
    assert train_once(ledger, terms("2"), other, lambda: b"second")[1].spent == 2
    model, found, _ = train_once(ledger, TERMS, request_of("second"), fail)
    assert (model, found.spent) == (b"second", 2)


def test_rows_in_another_order_under_another_name_are_refused(tmp_path, ledger):
    with pytest.raises(LedgerError, match=r"the same rows have the ledger rows\.csv\.ledger"):
        train_once(tmp_path / "else.ledger", terms("9", name="else"), REORDERED, fail)


def test_a_lost_ledger_is_refused(ledger):
    ledger.unlink()
    with pytest.raises(LedgerError, match="the ledger is lost"):
        train_once(ledger, TERMS, REQUEST, fail)


def test_a_refused_first_training_leaves_no_sign_of_a_ledger(path):
    with pytest.raises(LedgerError, match="epsilon 0 of 1/2"):
        train_once(path, terms("0.5"), REQUEST, fail)
    assert train_once(path, TERMS, REQUEST, lambda: b"model")[0] == b"model"


def test_the_same_rows_under_another_name_are_refused(tmp_path, ledger):
    (tmp_path / "damaged.ledger").write_bytes(b"{")
    other = tmp_path / "else.ledger"
    with pytest.raises(LedgerError, match="the same rows have the ledger"):
        train_once(other, terms("9", name="else"), request_of("second"), fail)
    train_once(other, terms("9", name="else"), request_of("second", rows="others"), lambda: b"model")
    with pytest.raises(LedgerError, match="the same rows"):
        train_once(other, terms("9", name="else", rows_changed=True), REQUEST, fail)


def commit_between(monkeypatch: pytest.MonkeyPatch, other: Path, request: TrainingRequest) -> None:
    """Commit to another ledger after the first look at the folder, and before the second one."""
    write, started = ledger_file._write, []

    def write_both(target: Path, content: Ledger) -> None:
        if not started:
            started.append(other)
            train_once(other, terms("9", name="else"), request, lambda: b"other")
        write(target, content)

    monkeypatch.setattr(ledger_file, "_write", write_both)


def test_of_two_first_trainings_of_the_same_rows_at_once_the_later_is_undone(tmp_path, path, monkeypatch):
    other = tmp_path / "else.ledger"
    commit_between(monkeypatch, other, REQUEST)
    with pytest.raises(LedgerError, match=r"the same rows have the ledger else\.ledger"):
        train_once(path, TERMS, REQUEST, fail)
    assert not path.exists()
    assert read(other).spent == 1
    with pytest.raises(LedgerError, match=r"the same rows have the ledger else\.ledger"):
        train_once(path, TERMS, REQUEST, fail)


def test_an_undone_commit_leaves_earlier_amounts(tmp_path, ledger, monkeypatch):
    before, edited = ledger.read_bytes(), request_of("second", rows="edited")
    commit_between(monkeypatch, tmp_path / "else.ledger", edited)
    with pytest.raises(LedgerError, match=r"the same rows have the ledger else\.ledger"):
        train_once(ledger, terms("9", rows_changed=True), edited, fail)
    assert ledger.read_bytes() == before


def rewrite(data: bytes, **changes: object) -> bytes:
    content = json.loads(data) | changes
    del content["checksum"]
    return dump_canonical_json({**content, "checksum": _compute_checksum(content)})


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-20],
        lambda data: data.replace(b'"epsilon":"1"', b'"epsilon":"0"'),
        lambda data: rewrite(data, cap="1e99999999"),
        *(lambda _, data=data: data for data in (b"", b"[]", b"\xff", b"{}")),
    ],
)
def test_a_damaged_ledger_is_refused(ledger, damage):
    damaged = damage(ledger.read_bytes())
    ledger.write_bytes(damaged)
    with pytest.raises(LedgerError, match="the ledger is damaged"):
        train_once(ledger, terms("9"), REQUEST, fail)
    assert ledger.read_bytes() == damaged


def test_a_ledger_of_another_release_is_refused_and_stays(tmp_path, ledger):
    old = rewrite(ledger.read_bytes(), version=1)
    ledger.write_bytes(old)
    why = r"rows\.csv\.ledger: .* version 1, and only 3 is supported: use the release that wrote it"
    with pytest.raises(LedgerError, match=why):
        train_once(ledger, terms("9"), REQUEST, fail)
    with pytest.raises(LedgerError, match=why):  # the old ledger may be of the same rows
        train_once(tmp_path / "else.ledger", terms("9", name="else"), REQUEST, fail)
    assert ledger.read_bytes() == old
    assert not (tmp_path / "else.ledger").exists()


def test_every_changed_byte_is_detected(ledger):
    data = ledger.read_bytes()
    for place in range(len(data) - 1):  # the last is the line feed
        ledger.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(LedgerError):
            train_once(ledger, terms("9"), REQUEST, fail)


@pytest.mark.parametrize(("mode", "match"), [(0o400, "read-only"), (0o640, "0600"), (0o604, "0600")])
def test_a_ledger_with_other_permissions_is_refused(ledger, mode, match):
    ledger.chmod(mode)
    with pytest.raises(LedgerError, match=match):
        train_once(ledger, TERMS, REQUEST, fail)


def test_a_ledger_that_is_a_link_is_refused(tmp_path, ledger):
    link = tmp_path / "link.ledger"
    link.symlink_to(ledger)
    with pytest.raises(LedgerError, match="not a regular file"):
        train_once(link, TERMS, REQUEST, fail)


@pytest.mark.parametrize("function", ["open", "fsync", "replace"])
def test_nothing_is_trained_if_the_ledger_cannot_be_written(path, monkeypatch, function):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, function, refuse)
    with pytest.raises(LedgerError, match="cannot be written: Read-only file system"):
        train_once(path, TERMS, REQUEST, fail)


def test_two_trainings_at_once_are_refused(path):
    def make() -> bytes:
        with pytest.raises(LedgerError, match="another training uses this ledger"):
            train_once(path, terms("9"), request_of("second"), fail)
        return b"model"

    train_once(path, TERMS, REQUEST, make)


def test_amounts_and_models_are_synced_with_their_folder(path, monkeypatch):
    events: list[str] = []
    fsync, rename = os.fsync, os.replace

    def log_sync(descriptor: int) -> None:
        events.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def log_replace(source: str, target: str) -> None:
        events.append("replace")
        rename(source, target)

    def make() -> bytes:
        events.append("train")
        return b"model"

    monkeypatch.setattr(os, "fsync", log_sync)
    monkeypatch.setattr(os, "replace", log_replace)
    train_once(path, TERMS, REQUEST, make)
    write = ["file", "replace", "folder"]
    assert events == [*write, "train", *write]


def test_the_ledger_is_beside_the_file_that_a_link_points_to(tmp_path):
    (tmp_path / "data").mkdir()
    rows = tmp_path / "data" / "rows.csv"
    rows.touch()
    (tmp_path / "link.csv").symlink_to(rows)
    assert find_ledger(tmp_path / "link.csv", None) == (tmp_path / "data" / "rows.csv.ledger", "rows.csv")
    assert find_ledger(rows, "people") == (tmp_path / "data" / "people.ledger", "people")


def test_a_file_with_several_hard_links_is_refused(tmp_path):
    rows, other = tmp_path / "rows.csv", tmp_path / "elsewhere"
    rows.touch()
    other.mkdir()
    (other / "rows.csv").hardlink_to(rows)
    (tmp_path / "link.csv").symlink_to(rows)
    for name in ("rows.csv", "link.csv", "elsewhere/rows.csv"):
        with pytest.raises(LedgerError, match=r"several hard links.* delete all but the one beside the"):
            find_ledger(tmp_path / name, None)
    (other / "rows.csv").unlink()
    assert find_ledger(rows, None)[1] == "rows.csv"


@pytest.mark.parametrize("name", ["", "a/b", "/a", ".", "a\nb"])
def test_a_name_is_a_valid_file_name(tmp_path, name):
    with pytest.raises(LedgerError, match="valid as a file name"):
        find_ledger(tmp_path / "rows.csv", name)

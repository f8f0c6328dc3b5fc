"""Result files are written atomically, are private, and are never written through a symbolic link."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from encoders.survey import read_survey
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.stores import open_store
from tests.ldp_aggregator.collector.conftest import some_reports
from tests.support.commands import command
from tests.support.surveys import SLEEP


@pytest.fixture(autouse=True)
def _usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_and_a_replaced_one_keeps_its_mode(tmp_path):
    path = tmp_path / "model.json"
    write_atomically(path, b"first")
    assert mode_of(path) == 0o600
    path.chmod(0o644)
    write_atomically(path, b"second")
    assert (path.read_bytes(), mode_of(path)) == (b"second", 0o644)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("target", ["precious", "nothing"])
def test_a_symbolic_link_is_refused_wherever_it_points(tmp_path, target):
    (tmp_path / "precious").write_bytes(b"precious")
    link = tmp_path / "model.json"
    link.symlink_to(tmp_path / target)
    with pytest.raises(OSError, match="symbolic link"):
        write_atomically(link, b"results")
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert {path.name for path in tmp_path.iterdir()} == {"precious", "model.json"}


def test_a_file_to_publish_follows_the_umask(tmp_path):
    former = os.umask(0o027)
    try:
        write_atomically(tmp_path / "page.html", b"", public=True)
    finally:
        os.umask(former)
    assert mode_of(tmp_path / "page.html") == 0o640


def test_an_output_that_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(OSError, match="not a regular file"):
            write_atomically(path, b"results")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["model.json"]
    assert path.read_bytes() == b"old"


def run(*words: object) -> tuple[int, str]:
    result = command(*words, check=False)
    return result.exit_code, result.output


@pytest.fixture
def url(tmp_path: Path) -> str:
    plan, url = read_survey(SLEEP).compile(), f"sqlite:///{tmp_path}/store.db"
    store = open_store(url)
    store.publish(plan.id, plan.json)
    Intake(plan, store).record_body(some_reports(plan, 200))
    store.close()
    return url


@pytest.mark.slow
def test_every_command_writes_private_files_and_refuses_links(tmp_path, url):
    made = {name: tmp_path / name for name in ("one.json", "all.json", "model.json", "model.onnx", "out.csv")}
    rows, precious = tmp_path / "rows.csv", tmp_path / "precious"
    rows.write_text("age,hours\nold,7\n")
    precious.write_text("precious")
    commands = {
        "one.json": ("ldp-collector", "export", "sleep", "--store", url, "-o"),
        "all.json": ("ldp-collector", "merge", made["one.json"], "-o"),
        "model.json": ("ldp-train", url, "-o"),
        "model.onnx": ("ldp-train", url, "-o", tmp_path / "other.json", "--onnx"),
        "out.csv": ("ldp-predict", made["model.json"], rows, "-o"),
    }
    for name, words in commands.items():
        if name == "model.onnx":
            pytest.importorskip("onnx")
        assert run(*words, made[name])[0] == 0
        assert mode_of(made[name]) == 0o600
        made[name].rename(tmp_path / "kept")
        made[name].symlink_to(precious)
        for planted in (f"{name}.part", f"{name}.partial"):
            (tmp_path / planted).unlink(missing_ok=True)
            (tmp_path / planted).symlink_to(precious)
        code, output = run(*words, made[name])
        assert (code, "symbolic link" in output) == (2, True)
        made[name].unlink()
        (tmp_path / "kept").rename(made[name])
        assert run(*words, made[name])[0] == 0  # through none of the links beside it
        assert precious.read_text() == "precious"
    assert mode_of(tmp_path / "store.db") == 0o600


def test_an_output_that_is_an_input_or_a_database_is_refused(tmp_path, url):
    store, snapshot, model = (tmp_path / name for name in ("store.db", "snap.json", "model.json"))
    rows, linked = tmp_path / "rows.csv", tmp_path / "linked.json"
    rows.write_text("age,hours\nold,7\n")
    assert run("ldp-collector", "export", "sleep", "--store", url, "-o", snapshot)[0] == 0
    assert run("ldp-train", url, "-o", model)[0] == 0
    linked.hardlink_to(snapshot)
    refused = {
        "is a SQLite database": [
            ("ldp-collector", "export", "sleep", "--store", url, "-o", store),
            ("ldp-train", url, "-o", store),
            ("ldp-train", url, "-o", f"{store}-wal"),
            ("ldp-train", snapshot, "-o", model, "--onnx", f"{store}-shm"),
        ],
        "is an input of this command": [
            ("ldp-collector", "merge", snapshot, "-o", linked),
            ("ldp-train", snapshot, "-o", snapshot),
            ("ldp-train", snapshot, "-o", tmp_path / "new.json", "--onnx", linked),
            ("ldp-predict", model, rows, "-o", model),
            ("ldp-predict", model, rows, "-o", rows),
        ],
    }
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for why, commands in refused.items():
        for words in commands:
            code, output = run(*words)
            assert (code, why in output) == (2, True), output
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_store_is_not_created_through_a_broken_link(tmp_path):
    (tmp_path / "store.db").symlink_to(tmp_path / "elsewhere")
    assert run("ldp-collector", "status", "--store", f"sqlite:///{tmp_path}/store.db")[0] == 1
    with pytest.raises(Exception, match="does not exist"):
        open_store(f"sqlite:///{tmp_path}/store.db")
    assert not (tmp_path / "elsewhere").exists()

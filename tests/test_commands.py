"""A letter that a terminal lacks, a full disk and a closed pipe cost no result of a command."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from encoders import extras
from encoders.survey import read_survey
from encoders.survey.unsealing import write_private_key
from ldp_aggregator import atomic_file, load_model
from ldp_aggregator.snapshot import Snapshot
from tests.support.commands import command
from tests.support.snapshots import make_snapshot

pytestmark = pytest.mark.slow

SURVEY = """
[survey]
id = "tea"
epsilon = 1.0

[label]
name = "усталый"
values = ["да", "нет"]

[features."茶"]
values = ["чёрный", "绿茶", "한국차"]
"""
ROWS = "茶,усталый\n" + "чёрный,да\n绿茶,нет\n한국차,нет\n" * 10
COMMANDS = {
    "check": "ldp-survey check survey.toml",
    "size": "ldp-survey size survey.toml --users 2000",
    "preview": "ldp-survey preview survey.toml",
    "compile": "ldp-survey compile survey.toml",
    "simulate": "ldp-simulate survey.toml rows.csv --repeats 1 --reports reports.bin",
    "compare": "ldp-compare survey.toml rows.csv --splits 2 --trust none,local -o comparison.html",
    "train": "ldp-train snapshot.json -o new.json --csv new.csv",
    "predict": "ldp-predict model.json rows.csv",
    "results": "ldp-results model.json -o results.html",
    "collector": "ldp-collector status --store sqlite:///store.db",
    "central": "ldp-central status rows.csv",
    "audit": "ldp-audit -h",
    "client": "ldp-client status --journal journal.db",
    "silo": "ldp-silo -h",
    "relay": "ldp-relay -h",
}
WRITTEN = {
    "simulate": ["reports.bin"],
    "compare": ["comparison.html"],
    "train": ["new.json", "new.csv"],
    "results": ["results.html"],
}
"""The files that a command writes, with or without its standard output."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the input of all commands."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "survey.toml").write_text(SURVEY, "utf-8")
    (folder / "rows.csv").write_text(ROWS, "utf-8")
    plan = read_survey(SURVEY).compile()
    snapshot: Snapshot = make_snapshot(plan)
    (folder / "snapshot.json").write_bytes(snapshot.to_json())
    command("ldp-train", folder / "snapshot.json", "-o", folder / "model.json")
    command(
        "ldp-central",
        "train",
        folder / "survey.toml",
        folder / "rows.csv",
        "--epsilon",
        "1",
        "-o",
        folder / "central.json",
    )
    from ldp_aggregator.stores import open_store

    store = open_store(f"sqlite:///{folder}/store.db")
    store.publish(plan.id, plan.json)
    store.close()
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(files, tmp_path / "folder"))


class Ended(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: bytes
    stderr: bytes


def run(folder: Path, line: str, encoding: str = "utf-8", broken: int | None = None) -> Ended:
    """Run a command in this process, with files as its standard streams, or a broken standard output."""
    name, *arguments = line.split()
    code: object = 0
    with open(folder / "out", "w+b") as out, open(folder / "err", "w+b") as err:
        descriptors = out.fileno() if broken is None else broken, err.fileno()
        streams = [open(each, "w", encoding=encoding, closefd=False) for each in descriptors]  # noqa: SIM115
        with (
            chdir(folder),
            patch.object(sys, "stdout", streams[0]),
            patch.object(sys, "stderr", streams[1]),
            patch.object(sys, "argv", [name, *arguments]),
        ):
            try:
                getattr(extras, name.replace("-", "_"))()
            except SystemExit as end:
                code = end.code
        if isinstance(code, str):
            err.write(f"{code}\n".encode())
        out.seek(0)
        err.seek(0)
        return Ended(1 if isinstance(code, str) else code or 0, out.read(), err.read())


@pytest.mark.parametrize(
    ("name", "encoding"), [*((name, "latin-1") for name in COMMANDS), ("check", "ascii"), ("train", "ascii")]
)
def test_letters_that_the_terminal_lacks_change_nothing_else(folder, name, encoding):
    found = run(folder, COMMANDS[name], encoding)
    assert (found.returncode, b"Traceback" in found.stderr) == (0, False), found.stderr
    assert found.stdout
    assert all((folder / each).stat().st_size for each in WRITTEN.get(name, []))


def test_a_latin_terminal_shows_other_letters_as_escapes_and_data_stay_utf_8(folder):
    shown = run(folder, COMMANDS["check"], "latin-1").stdout.decode("latin-1")
    assert r"\u8336" in shown
    shown = run(folder, COMMANDS["predict"], "latin-1").stdout
    assert shown.decode().startswith("усталый,P(да),P(нет)\n")


@contextmanager
def broken_output(kind: str) -> Iterator[int]:
    """Yield a standard output on a full disk, or a pipe that nobody reads."""
    if kind == "full disk":
        output = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, output = os.pipe()
        os.close(reader)
    yield output
    os.close(output)


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, "full disk") for name in COMMANDS), ("check", "pipe"), ("train", "pipe"), ("client", "pipe")],
)
def test_output_that_is_lost_costs_no_file_and_the_exit_code_says_so(folder, name, kind):
    with broken_output(kind) as output:
        found = run(folder, COMMANDS[name], broken=output)
    assert found.returncode == 1
    assert b"Traceback" not in found.stderr
    lost = b"Error: standard output could not be written completely: No space left on device\n"
    assert found.stderr.endswith(lost) == (kind == "full disk")
    assert all((folder / each).stat().st_size for each in WRITTEN.get(name, []))
    if name == "train":
        assert load_model(folder / "new.json").plan_.id == "tea"


@pytest.mark.parametrize("redirection", [">/dev/full", "2>/dev/full", ">&-"])
def test_a_real_process_ends_without_a_traceback(folder, redirection):
    program = Path(sys.executable).parent / "ldp-survey"
    line = f"'{program}' check survey.toml {redirection}"
    found = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, check=False)
    if redirection == "2>/dev/full":  # there are warnings
        assert (found.returncode, bool(found.stdout)) == (0, True)
    else:
        assert found.returncode == 1
        assert b"standard output could not be written completely" in found.stderr.splitlines()[-1]
    assert not any(word in found.stderr for word in (b"Traceback", b"Exception ignored"))


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("ldp-train snapshot.json -o old.json", "old.json"),
        ("ldp-train snapshot.json -o new.json --csv old.csv", "old.csv"),
        ("ldp-predict model.json rows.csv -o old.csv", "old.csv"),
        ("ldp-results model.json -o old.html", "old.html"),
        ("ldp-survey compile survey.toml -o old.json", "old.json"),
        ("ldp-survey dossier survey.toml --users 100 -o old.html", "old.html"),
        ("ldp-simulate survey.toml rows.csv --repeats 1 --reports old.bin", "old.bin"),
        ("ldp-compare survey.toml rows.csv --splits 2 --trust none,local -o old.html", "old.html"),
        ("ldp-collector export tea --store sqlite:///store.db -o old.json", "old.json"),
    ],
)
def test_a_disk_that_fills_leaves_the_former_file_and_names_it(folder, monkeypatch, line, file):
    monkeypatch.chdir(folder)
    Path(file).write_text("former")
    before = sorted(os.listdir())

    def replace(source: Path, target: Path, real: Callable[..., None] = os.replace) -> None:
        if Path(target).name == file:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(atomic_file.os, "replace", replace)
    found = command(*line.split(), check=False)
    assert found.exit_code == 1
    assert found.stderr.endswith(f"Error: {file}: cannot be written: No space left on device\n")
    assert Path(file).read_text() == "former"
    assert {*os.listdir()} - {*before} <= {"new.json"}


def test_a_key_that_cannot_be_written_leaves_no_file(tmp_path, monkeypatch):
    pytest.importorskip("cryptography")
    real = os.fdopen

    def fail(descriptor: int, mode: str):
        file = real(descriptor, mode)
        file.write = None
        file.close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("encoders.key_file.os.fdopen", fail)
    with pytest.raises(Exception, match="cannot be written: No space left on device"):
        write_private_key(tmp_path / "plan.json.key")
    assert not list(tmp_path.iterdir())


def test_json_of_training_preview_and_status(folder, monkeypatch):
    monkeypatch.chdir(folder)
    trained = command("ldp-train", "snapshot.json", "-o", "new.json", "--json")
    summary = json.loads(trained.stdout)
    assert list(summary) == ["survey", "plan_digest", "privacy", "estimates", "warnings"]
    assert trained.stderr == "wrote new.json\n"
    assert summary["estimates"] == json.loads(Path("new.json").read_bytes())["estimates"]
    shown = command("ldp-survey", "preview", "survey.toml", "--question", "茶", "--json")
    (preview,) = json.loads(shown.stdout)
    assert preview["mechanism"]
    assert bytes.fromhex(preview["report"])
    assert preview["true_answer"].keys() == {"茶", "усталый"}
    assert len(preview["chances"]) == 6
    (status,) = json.loads(
        command("ldp-collector", "status", "--store", "sqlite:///store.db", "--json").stdout
    )
    assert status == {
        "survey": "tea",
        "phase": "open",
        "opens": None,
        "closes": None,
        "grace": 0,
        "reports": 0,
        "rejected": 0,
        "tokens": 0,
        "delete_by": None,
        "notes": [],
    }

"""Two builds of one commit give the same wheel and sdist; those of two commits differ."""

import io
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import pytest

from encoders.build import COMMIT_FILE
from tests.support.servers import inherited_environment

pytestmark = [pytest.mark.slow, pytest.mark.clients]

ROOT = Path(__file__).resolve().parents[2]
COPIED = shutil.ignore_patterns(
    ".git", ".venv*", "node_modules", "types", "dist", "build", "*_cache", ".hypothesis", "__pycache__"
)
JAVASCRIPT = "clients/javascript"
COMMIT, OTHER = "c0ffee" * 6 + "c0de", "decade" * 6 + "1234"


@pytest.fixture
def copies(tmp_path: Path) -> list[Path]:
    """Return two copies of the sources, whose files have other times."""
    copies = [tmp_path / "one", tmp_path / "two" / "deeper"]
    for copy in copies:
        shutil.copytree(ROOT, copy, ignore=COPIED)
    for path in copies[1].rglob("*"):
        os.utime(path, (time.time() - 1e6,) * 2)
    return copies


def run(folder: Path, *command: str, code: int = 0, **variables: str) -> str:
    environment = inherited_environment() | {"SOURCE_DATE_EPOCH": "1700000000"} | variables
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr


def check_out(folder: Path, commit: str) -> None:
    """Write what git writes when it checks out a commit, as far as a build reads it."""
    (folder / ".git").mkdir(exist_ok=True)
    (folder / ".git" / "HEAD").write_text(f"{commit}\n")


def build(folder: Path, *options: str, **variables: str) -> dict[str, bytes]:
    shutil.rmtree(folder / "dist", ignore_errors=True)
    run(folder, sys.executable, "-m", "hatchling", "build", "-d", "dist", *options, **variables)
    return built(folder / "dist")


def built(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read_wheel(files: dict[str, bytes]) -> dict[str, bytes]:
    [data] = files.values()
    with ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_two_builds_of_wheel_and_sdist_are_equal(copies):
    pytest.importorskip("hatchling")
    for path in copies[1].rglob("*.py"):  # as with another umask
        path.chmod(path.stat().st_mode & 0o700)
    for copy in copies:
        check_out(copy, COMMIT)
    one, two = map(build, copies)
    assert sorted(name.rpartition(".")[2] for name in one) == ["gz", "whl"]
    assert one == two


def test_builds_of_two_commits_differ_in_the_commit_alone(copies, tmp_path):
    pytest.importorskip("hatchling")
    wheels = []
    for copy, commit in zip(copies, (COMMIT, OTHER), strict=True):
        check_out(copy, commit)
        wheels.append(read_wheel(build(copy, "-t", "wheel")))
    assert [each.pop(COMMIT_FILE) for each in wheels] == [f"{COMMIT}\n".encode(), f"{OTHER}\n".encode()]
    records = [wheel.pop(next(name for name in wheel if name.endswith("/RECORD"))) for wheel in wheels]
    assert records[0] != records[1]
    assert wheels[0] == wheels[1]


def test_a_wheel_of_the_sdist_is_that_of_the_commit(copies, tmp_path):
    pytest.importorskip("hatchling")
    check_out(copies[0], COMMIT)
    of_commit = build(copies[0])
    [sdist] = (copies[0] / "dist").glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path / "unpacked", filter="data")
    [sources] = (tmp_path / "unpacked").iterdir()
    assert build(sources, "-t", "wheel").items() <= of_commit.items()


def test_a_variable_gives_the_commit_of_sources_without_git(copies):
    pytest.importorskip("hatchling")
    assert read_wheel(build(copies[0], "-t", "wheel"))[COMMIT_FILE] == b"unknown\n"
    given = build(copies[0], "-t", "wheel", LDP_COMMIT=COMMIT)
    assert read_wheel(given)[COMMIT_FILE] == f"{COMMIT}\n".encode()
    check_out(copies[0], COMMIT)
    assert build(copies[0], "-t", "wheel") == given
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    refused = run(copies[0], *command, code=1, LDP_COMMIT=OTHER)
    assert f"LDP_COMMIT is {OTHER}, but the sources are of commit {COMMIT}" in refused
    refused = run(copies[0], *command, code=1, LDP_COMMIT=COMMIT[:12])
    assert "LDP_COMMIT: needs the whole name of a commit" in refused

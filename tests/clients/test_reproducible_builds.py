"""Two builds of one commit give the same bytes: wheel, sdist and npm package."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.servers import inherited_environment

pytestmark = [pytest.mark.slow, pytest.mark.clients]

ROOT = Path(__file__).resolve().parents[2]
COPIED = shutil.ignore_patterns(
    ".git", ".venv*", "node_modules", "types", "dist", "build", "*_cache", "__pycache__"
)
JAVASCRIPT = "clients/javascript"


@pytest.fixture
def copies(tmp_path: Path) -> list[Path]:
    """Return two copies of the sources, whose files have other times."""
    copies = [tmp_path / "one", tmp_path / "two" / "deeper"]
    for copy in copies:
        shutil.copytree(ROOT, copy, ignore=COPIED)
    for path in copies[1].rglob("*"):
        os.utime(path, (time.time() - 1e6,) * 2)
    return copies


def run(folder: Path, *command: str) -> None:
    environment = inherited_environment() | {"SOURCE_DATE_EPOCH": "1700000000"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def built(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_two_builds_of_wheel_and_sdist_are_equal(copies):
    pytest.importorskip("hatchling")
    for path in copies[1].rglob("*.py"):  # as with another umask
        path.chmod(path.stat().st_mode & 0o700)
    for copy in copies:
        run(copy, sys.executable, "-m", "hatchling", "build", "-d", "dist")
    one, two = (built(copy / "dist") for copy in copies)
    assert sorted(name.rpartition(".")[2] for name in one) == ["gz", "whl"]
    assert one == two


def test_two_builds_of_the_npm_package_are_equal(copies):
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    modules = ROOT / JAVASCRIPT / "node_modules"
    if not modules.is_dir():
        pytest.skip("TypeScript is not installed: make javascript")
    for copy in copies:
        (copy / JAVASCRIPT / "node_modules").symlink_to(modules)
        (copy / "dist").mkdir()
        run(copy / JAVASCRIPT, "npm", "pack", "--offline", "--pack-destination", str(copy / "dist"))
    one, two = (built(copy / "dist") for copy in copies)
    assert len(one) == 1
    assert one == two

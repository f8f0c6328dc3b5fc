"""The JavaScript client of clients/javascript: its programs, or a skipped test if one is missing."""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "clients" / "javascript"
LEAST_NODE = 20


@cache
def find_node() -> str:
    """Return the path of Node; skip the test if there is none, or only an older one."""
    node = shutil.which("node")
    if node is None:
        pytest.skip(f"needs Node {LEAST_NODE} or later")
    version = subprocess.check_output([node, "--version"], text=True).strip()
    found = re.match(r"v(\d+)\.", version)
    if not found or int(found[1]) < LEAST_NODE:
        pytest.skip(f"needs Node {LEAST_NODE} or later, not {version}")
    return node


def require_packages() -> None:
    """Skip the test if the packages for development are not installed."""
    find_node()
    if not (FOLDER / "node_modules").is_dir():
        pytest.skip("needs the packages for development: run npm ci in clients/javascript")


def run_node(*arguments: str, folder: Path = FOLDER, timeout: float = 400) -> str:
    """Run a program of Node, and return its output; fail, with the tests of it that failed, if it fails."""
    run = subprocess.run(
        [find_node(), *arguments], cwd=folder, capture_output=True, text=True, timeout=timeout
    )
    failed = re.findall(r"^not ok .*?^  \.\.\.$", run.stdout, re.MULTILINE | re.DOTALL)
    assert run.returncode == 0, "\n".join(failed) or run.stdout + run.stderr
    return run.stdout

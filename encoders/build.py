"""Which build runs: its version and commit, which `hatch_build.py` or git's files in a checkout state."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from encoders import __version__

COMMIT_FILE = "encoders/commit.txt"
"""Contains the commit in wheels and sdists, and is missing in a git checkout."""
UNKNOWN = "unknown"
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True)
class Build:
    """The build that a command is, or that made a file; `commit` has hexadecimal digits, or is "unknown"."""

    version: str
    commit: str

    def __str__(self) -> str:
        return f"{self.version} (commit {self.commit})"


@cache
def find_build() -> Build:
    return Build(__version__, find_commit(Path(__file__).parents[1]))


def find_commit(root: Path) -> str:
    """Return the commit of the code in a folder, or "unknown". Changes after the commit are not noticed."""
    file = root / COMMIT_FILE
    try:
        commit = file.read_text("utf-8") if file.exists() else _read_head(root / ".git")
    except (OSError, UnicodeDecodeError):
        return UNKNOWN
    return commit.strip() if COMMIT.fullmatch(commit.strip()) else UNKNOWN


def _read_head(git: Path) -> str:
    """Return the commit that HEAD of a git checkout points to; see gitrepository-layout(5)."""
    if git.is_file():  # of a further worktree, or of a submodule
        git = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
    head = (git / "HEAD").read_text("utf-8")
    if not head.startswith("ref:"):
        return head
    name, shared = head.removeprefix("ref:").strip(), git / "commondir"
    main = git / shared.read_text("utf-8").strip() if shared.exists() else git
    if (main / name).exists():
        return (main / name).read_text("utf-8")
    found = re.search(rf"^(\w+) {re.escape(name)}$", (main / "packed-refs").read_text("utf-8"), re.MULTILINE)
    return found[1] if found else UNKNOWN

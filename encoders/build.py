"""Which build runs: its version, and the commit of the code.

`hatch_build.py` writes the commit into wheels and sdists. In a git checkout, the commit is read from git's
files; git does not have to be installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from encoders import __version__

COMMIT_FILE = "encoders/commit.txt"
"""Contains the commit in wheels and sdists, and is missing in a git checkout."""
UNKNOWN = "unknown"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True)
class Build:
    """The build that a command is, or that made a file."""

    version: str
    commit: str
    """The name of the commit in hexadecimal digits, or "unknown"."""

    def __str__(self) -> str:
        return f"{self.version} (commit {self.commit})"


@cache
def find_build() -> Build:
    """Return the build of this process."""
    return Build(__version__, find_commit(Path(__file__).parents[1]))


def find_commit(root: Path) -> str:
    """Return the commit of the code in a folder, or "unknown". Changes after the commit are not noticed."""
    for read in (_read_file, _read_checkout):
        try:
            commit = read(root)
        except (OSError, UnicodeDecodeError):
            continue
        if _COMMIT.fullmatch(commit):
            return commit
    return UNKNOWN


def _read_file(root: Path) -> str:
    return (root / COMMIT_FILE).read_text("ascii").strip()


def _read_checkout(root: Path) -> str:
    """Return what HEAD of a git checkout points to; see gitrepository-layout(5)."""
    git = root / ".git"
    if git.is_file():  # of a further worktree, or of a submodule
        git = root / git.read_text("utf-8").removeprefix("gitdir:").strip()
    head = (git / "HEAD").read_text("utf-8").strip()
    if not head.startswith("ref:"):
        return head
    name = head.removeprefix("ref:").strip()
    shared = git / "commondir"
    main = git / shared.read_text("utf-8").strip() if shared.exists() else git
    if (main / name).is_file():
        return (main / name).read_text("utf-8").strip()
    packed = (line.split() for line in (main / "packed-refs").read_text("utf-8").splitlines())
    return next((words[0] for words in packed if words[1:] == [name]), UNKNOWN)

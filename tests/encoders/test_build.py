"""The commit of a build: from the file that a build writes, or from the files of git."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from encoders.build import COMMIT_FILE, Build, find_build, find_commit

COMMIT, OTHER = "c0ffee" * 6 + "c0de", "decade" * 6 + "1234"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def on_branch(git: Path) -> None:
    write(git / "HEAD", "ref: refs/heads/main\n")


def detached(root: Path) -> None:
    write(root / ".git/HEAD", f"{COMMIT}\n")


def loose(root: Path) -> None:
    on_branch(root / ".git")
    write(root / ".git/refs/heads/main", f"{COMMIT}\n")
    write(root / ".git/packed-refs", f"{OTHER} refs/heads/main\n")  # the branch had this commit earlier


def packed(root: Path) -> None:
    on_branch(root / ".git")
    head = f"# pack-refs with: peeled\n{OTHER} refs/heads/main-2\n{OTHER} refs/tags/v1\n^{OTHER}\n"
    write(root / ".git/packed-refs", f"{head}{COMMIT} refs/heads/main\n")


def worktree(root: Path) -> None:
    main = root.parent / f"{root.name}-main"
    write(root / ".git", f"gitdir: {main}/.git/worktrees/one\n")
    on_branch(main / ".git/worktrees/one")
    write(main / ".git/worktrees/one/commondir", "../..\n")
    write(main / ".git/refs/heads/main", f"{COMMIT}\n")


def submodule(root: Path) -> None:
    write(root / ".git", f"gitdir: ../{root.name}-modules\n")
    write(root.parent / f"{root.name}-modules/HEAD", COMMIT)


def built(root: Path) -> None:
    write(root / COMMIT_FILE, f"{COMMIT}\n")
    write(root / ".git/HEAD", f"{OTHER}\n")  # somebody keeps the sdist in a repository


@pytest.mark.parametrize("make", [detached, loose, packed, worktree, submodule, built])
def test_the_commit_is_found_without_git(make, tmp_path):
    make(tmp_path / "clone")
    assert find_commit(tmp_path / "clone") == COMMIT


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README", ""),
        (".git/HEAD", ""),
        (".git/HEAD", "ref: refs/heads/.invalid\n"),  # reftable
        (".git/HEAD", "ref: refs/heads/main\n"),  # without a commit
        (".git", "gitdir: /nowhere\n"),
        (".git/HEAD", "é\n"),
        (COMMIT_FILE, "unknown\n"),
        (COMMIT_FILE, f"{COMMIT[:12]}\n"),
    ],
)
def test_without_a_commit_it_is_unknown(name, text, tmp_path):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text, "latin-1")
    assert find_commit(tmp_path) == "unknown"


def test_a_build_is_written_as_version_and_commit():
    assert str(Build("1.2.3", COMMIT)) == f"1.2.3 (commit {COMMIT})"
    assert find_build() is find_build()


@pytest.mark.slow
def test_a_device_does_not_load_it():
    program = "import sys, json, ldp_client; ldp_client.Client; print(json.dumps(list(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert "ldp_client.client" in json.loads(found.stdout)
    assert "encoders.build" not in json.loads(found.stdout)

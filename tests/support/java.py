"""The Java client of clients/java: its programs, or a skipped test if one is missing."""

import fcntl
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "clients" / "java"
CLASSES = FOLDER / "build" / "classes"
JUNIT = Path(os.environ.get("JUNIT", "/usr/share/java/junit-platform-console-standalone.jar"))
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""As in the client's Makefile; a program that runs for a second gains nothing from the slower compiler."""


def require_java_client() -> None:
    """Build the client and its tests; skip the test if the JDK or JUnit is missing."""
    if reason := _missing():
        pytest.skip(reason)
    _build()


@cache
def _missing() -> str:
    javac = shutil.which("javac")  # macOS has a javac that only says that there is no JDK
    if not javac or subprocess.run([javac, "-version"], capture_output=True, check=False).returncode:
        return "needs a JDK: run make java, or install one"
    return "" if JUNIT.exists() else f"needs JUnit 5 in {JUNIT.parent} (Debian: apt-get install junit5)"


@cache
def _build() -> None:
    with (FOLDER / "Makefile").open() as locked:  # by the first of the processes that run tests
        fcntl.flock(locked, fcntl.LOCK_EX)
        run_make("all", "tests")


def run_make(*targets: str) -> str:
    """Run targets of clients/java/Makefile, and return the output; fail if they fail."""
    run = subprocess.run(
        ["make", "--silent", *targets],
        cwd=FOLDER, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def run_java(program: str, *arguments: str, timeout: float = 120) -> str:
    """Run a program of the client's tests, and return its output; fail if it fails."""
    require_java_client()
    run = subprocess.run(
        [*java_command(program), *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def java_command(program: str) -> list[str]:
    """Return the command that runs a program of the client's tests."""
    return ["java", *QUICK, "-classpath", f"{CLASSES}:{FOLDER / 'build' / 'tests'}", program]

"""Benchmark startup: what `import ldp_client` and its cheap questions add to a bare Python."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row, Timer, compare, each, extra, price
from ldp_client.journal import Journal
from ldp_client.survey_identity import SurveyIdentity

URL = "http://127.0.0.1:9/v1/surveys/sleep"
QUESTIONS = f"""
import os, ldp_client
assert not ldp_client.has_consent({URL!r}, journal={{journal!r}})
os.environ["DO_NOT_TRACK"] = "1"
assert not ldp_client.has_consent({URL!r}, journal={{journal!r}})
"""


def rows() -> Iterator[Row]:
    """Yield one row for the import, in whole processes, and two for the questions, in fresh processes."""
    yield compare(
        "import ldp_client", python("import ldp_client"), {"bare Python": python("")}, extra(0.025), 31
    )
    peers = {"import msgpack": inner("import msgpack")}
    with tempfile.TemporaryDirectory() as folder:
        used = Path(folder, "used.db")
        Journal(used).withdraw(SurveyIdentity("sleep", URL))  # makes the file
        for what, journal in (("no journal", Path(folder, "none.db")), ("a journal", used)):
            ask = inner(QUESTIONS.format(journal=str(journal)))
            yield compare(f"has_consent, opt-out: {what}", ask, peers, price(4), 31)


def python(code: str) -> Timer:
    return each(lambda: subprocess.run([sys.executable, "-c", code], check=True), 1)


def inner(code: str) -> Timer:
    """Return a timer of code in a fresh process, without the start of Python."""
    timed = f"from time import perf_counter; start = perf_counter()\n{code}\nprint(perf_counter() - start)"
    command = [sys.executable, "-c", timed]
    return lambda: float(subprocess.run(command, check=True, capture_output=True).stdout)

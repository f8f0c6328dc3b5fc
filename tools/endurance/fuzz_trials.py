"""Coverage-guided fuzzing of every reader, ten minutes in all; SCALE=0.1 takes a tenth of the time."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from zipfile import ZipFile

import pytest

from tools.endurance.client_trials import Trial
from tools.endurance.collector_trials import scaled
from tools.fuzz.corpus import CORPUS, ROOT
from tools.fuzz.targets import TARGETS

SECONDS = 600
ONE_INPUT_SECONDS = 5
_DONE = re.compile(r"^#(\d+)\s+DONE\s+cov: (\d+) .*corp: (\d+)/", re.MULTILINE)


def fuzzed(name: str, folder: Path) -> str:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed: the extra [fuzz] has it for Linux on x86_64")
    new, found = folder / "corpus", ROOT / "build" / f"fuzz-{name}-"
    new.mkdir()
    with ZipFile(CORPUS) as archive:
        archive.extractall(folder / "known")
    found.parent.mkdir(exist_ok=True)
    seconds = scaled(SECONDS // len(TARGETS))
    options = [f"-max_total_time={seconds}", f"-timeout={ONE_INPUT_SECONDS}", "-max_len=16384"]
    command = [sys.executable, "-m", "tools.fuzz", name, str(new), str(folder / "known" / name), *options]
    run = subprocess.run(
        [*command, f"-artifact_prefix={found}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    done = _DONE.search(run.stderr)
    defect = (run.stdout + run.stderr).partition("=== Uncaught")[2] or run.stderr
    assert run.returncode == 0, f"add its input {found}* with tools.fuzz.corpus: {defect[-2000:]}"
    assert done is not None, run.stderr[-2000:]
    return f"{int(done[1]):,} inputs, {done[2]} edges covered, no defect; {done[3]} inputs reach them"


def every() -> Iterator[tuple[str, Trial]]:
    for name in TARGETS:
        yield f"fuzzing of {name}", partial(fuzzed, name)

"""A running studio, in a process of its own, for tests with browsers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers import inherited_environment, stop

PROGRAM = "import sys; from encoders.extras import ldp_survey; sys.argv[0] = 'ldp-survey'; ldp_survey()"
HASTY = f"from ldp_design.studio import server; server.IDLE_SECONDS = 8.0; {PROGRAM}"
"""The program of a studio that ends soon after its page; a page loads in this time on a busy machine."""


@dataclass
class RunningStudio:
    """The process, the address that opens it once, and the survey file."""

    process: subprocess.Popen[str]
    address: str
    path: Path

    def trials(self) -> list[Path]:
        """Return the temporary folders of trials."""
        return list(self.path.parent.glob("ldp-survey-trial-*"))


@contextmanager
def run_studio(
    folder: Path, text: str | None = None, program: str = PROGRAM, **variables: str
) -> Iterator[RunningStudio]:
    """Run the studio on a survey file in a folder, which also has its drafts and temporary files."""
    path = folder / "survey.toml"
    if text is not None:
        path.write_text(text, "utf-8")
    environment = inherited_environment() | {"XDG_STATE_HOME": str(folder / "state"), "TMPDIR": str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-c", program, "studio", str(path), "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment | variables,
    )
    try:
        assert process.stdout
        process.stdout.readline()
        yield RunningStudio(process, process.stdout.readline().strip(), path)
    finally:
        stop(process)


def processes_of(word: str) -> list[int]:
    """Return the processes whose command line contains a word."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if word in (entry / "cmdline").read_bytes().decode(errors="replace"):
                    found.append(int(entry.name))
            except OSError:
                continue  # it has ended
    return found

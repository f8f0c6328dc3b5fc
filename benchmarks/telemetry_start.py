"""What telemetry costs a tool that has nothing to report: ``python -m benchmarks.telemetry_start``.

Prints the medians over many process starts, in milliseconds, of what is added to the start of Python by
importing msgpack, importing telemetry, and a run of a tool that has reported already. The starts
alternate, so that other work on the machine delays all alike.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
URL = "https://collector.example/v1/surveys/tool"
LIMIT = 4.0
"""The goal: a run with nothing to do, as a multiple of importing msgpack."""


def lines(journal: Path) -> dict[str, str]:
    """Return the code of each kind of start."""
    options = f"public_key='', lifetime_epsilon=4, asks='', journal={str(journal)!r}"
    make = f"Telemetry('tool', 'plan.json', {URL!r}, {options})"
    telemetry = "from ldp_client.telemetry import Telemetry"
    return {
        "nothing": "pass",
        "import msgpack": "import msgpack",
        "import telemetry": telemetry,
        "nothing to report": f"{telemetry}\n{make}.report({{}})",
    }


def measure(starts: int) -> dict[str, float]:
    """Return how many milliseconds each kind of start adds to a start of Python alone."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.db"
        Path(f"{journal}.tool").write_text(f"yes {2**33} {URL}\n")
        code, times = lines(journal), dict[str, list[float]]()
        for _ in range(starts):
            for name, line in code.items():
                begin = time.perf_counter()
                subprocess.run([sys.executable, "-c", line], cwd=ROOT, check=True)
                times.setdefault(name, []).append(1000 * (time.perf_counter() - begin))
    alone = median(times["nothing"])
    return {name: median(each) - alone for name, each in times.items() if name != "nothing"}


def main() -> None:
    """Print the table, and whether the goal is met."""
    parser = argparse.ArgumentParser(
        description="Measure what telemetry costs a tool with nothing to report."
    )
    parser.add_argument("--starts", type=int, default=60, help="process starts of each kind [60]")
    found = measure(parser.parse_args().starts)
    for name, value in found.items():
        print(f"{name:20}{value:8.2f} ms")
    ratio = found["nothing to report"] / found["import msgpack"]
    print(f"{ratio:.2f} times import msgpack (goal: at most {LIMIT:g})")
    sys.exit(ratio > LIMIT)


if __name__ == "__main__":
    main()

"""The time and memory that a silo needs to count its rows: `python -m benchmarks.silos [ROWS]`.

Rows of 40 features are written to a temporary file, and counted in a process of its own without numpy. The
second file has as many numbers as categories; all its numbers are distinct.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from encoders.survey.any_survey import read_any_survey
from encoders.survey.silo_plan import SiloPlan

ROWS = 1_000_000
FEATURES = 40
VALUES = ("red", "green", "blue", "yellow", "other")
MOST_SECONDS, MOST_MEGABYTES = 10, 500

_COUNT = """
import json, resource, secrets, sys, time
sys.modules["numpy"] = None
from pathlib import Path
from encoders.survey.silo_plan import SiloPlan
from ldp_silo.count_rows import count_rows
from ldp_silo.rows_file import open_rows
plan = SiloPlan.from_json(Path(sys.argv[1]).read_bytes())
start, start_processor = time.perf_counter(), time.process_time()
with open_rows(sys.argv[2], secrets.token_bytes(32)) as file:
    counted = count_rows(plan, file)
seconds, processor = time.perf_counter() - start, time.process_time() - start_processor
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
print(json.dumps([counted.rows, seconds, processor, peak]))
"""


def make_plan(kinds: str, rows: int) -> SiloPlan:
    """Return the plan of a survey with one feature for each letter: c category, b bins, n number."""
    bodies = {
        "c": f"values = {json.dumps(VALUES)}",
        "b": "range = [0, 1000]\nbins = 10",
        "n": "range = [0, 1000]",
    }
    features = "".join(f"[features.f{place}]\n{bodies[kind]}\n" for place, kind in enumerate(kinds))
    survey = read_any_survey(
        f'[survey]\nid = "silo"\nkind = "silo"\nepsilon = 1.0\nrows = {rows}\n'
        f'[label]\nname = "label"\nvalues = ["yes", "no"]\n{features}'
    )
    plan = survey.compile()
    assert isinstance(plan, SiloPlan)
    return plan


def draw_lines(kinds: str, rows: int, seed: int = 1) -> Iterator[str]:
    """Yield the lines of a CSV file with random rows."""
    yield ",".join(["label", *(f"f{place}" for place in range(len(kinds)))]) + "\n"
    draw = random.Random(seed)
    categories = kinds.count("c")
    pool = [draw.choices(VALUES, k=categories) for _ in range(5000)]
    for _ in range(rows):
        texts = iter(draw.choice(pool))
        cells = [next(texts) if kind == "c" else f"{draw.random() * 1000:.4f}" for kind in kinds]
        yield ",".join([draw.choice(("yes", "no")), *cells]) + "\n"


def measure(kinds: str, rows: int, folder: Path) -> tuple[float, float, float]:
    """Return the seconds, the processor's seconds and the megabytes that counting a file takes."""
    plan, path = folder / "plan.json", folder / "rows.csv"
    plan.write_bytes(make_plan(kinds, rows).json)
    with path.open("w") as file:
        file.writelines(draw_lines(kinds, rows))
    command = [sys.executable, "-c", _COUNT, str(plan), str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    counted, seconds, processor, megabytes = json.loads(run.stdout)
    assert counted == rows
    return seconds, processor, megabytes


def measure_counting(rows: int) -> None:
    """Print the time and the memory of counting two files."""
    half, quarter = FEATURES // 2, FEATURES // 4
    print(f"{rows:,} rows of {FEATURES} features; at most {MOST_SECONDS} s and {MOST_MEGABYTES} MB")
    for name, kinds in (
        ("categories", "c" * FEATURES),
        ("categories, bins, numbers", "c" * half + "b" * quarter + "n" * quarter),
    ):
        with tempfile.TemporaryDirectory() as folder:
            seconds, processor, megabytes = measure(kinds, rows, Path(folder))
        print(f"{name:<26} {seconds:5.1f} s ({processor:.1f} s of processor), {megabytes:.0f} MB")


if __name__ == "__main__":
    measure_counting(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)

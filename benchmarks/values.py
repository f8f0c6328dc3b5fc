"""Benchmark a training by the number of values of its question: `python -m benchmarks.values`.

`ldp-train` reads the plan and counters from a snapshot, estimates, writes the model file and prints the
summary. `ldp-survey check`, loading the model (with a label, it predicts 1,000 rows) and its results page are
measured in the same way: the processor time of a new process after its imports, the least of several runs.
The fixed cost is the time for a question with two values. The slope is that of the whole time on logarithmic
axes, since the last size; the time per value is what exceeds the fixed cost.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.parts import make_table
from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.simulated_population import simulate_reports

SIZES = (100, 1_000, 10_000, 65_000)
"""With a label of two classes, a question has at most half of the last number of values."""
SMALLEST = 2
"""The number of values whose time is the fixed cost."""
REPORTS, RUNS = 20_000, 3
LABEL = '[label]\nname = "ill"\nvalues = ["yes", "no"]\n'
_COMMAND = "from ldp_{}.cli.{} import main"
STEPS = {
    "check": (_COMMAND.format("design", "survey"), "main(['check', survey], standalone_mode=False)"),
    "train": (_COMMAND.format("aggregator", "train"), "main([counters, '-o', model], standalone_mode=False)"),
    "load": (
        "from ldp_aggregator import load_model; from ldp_aggregator.classifiers import naive_bayes",
        "loaded = load_model(model); has_label and loaded.predict([{'item': 'v1'}] * 1000)",
    ),
    "page": (_COMMAND.format("aggregator", "results"), "main([model, '-o', page], standalone_mode=False)"),
}
"""What is imported, then what is measured."""
_SCRIPT = """
import sys, time
*paths, has_label = sys.argv[1:]
survey, counters, model, page = paths
{}
start = time.process_time()
{}
print(time.process_time() - start, file=sys.stderr)
"""


def make_survey(values: int, label: str = "") -> str:
    """Return a survey with one question of this many values, DE, whose counters fit into any report."""
    names = json.dumps([f"v{place}" for place in range(values)])
    question = f"[features.item]\nvalues = {names}\n"
    return f'[survey]\nid = "values"\nepsilon = 4.0\n[mechanism]\nfrequency = "DE"\n{label}{question}'


def measure(values: int, label: str = "", runs: int = RUNS) -> dict[str, float]:
    """Return the seconds of processor time of each step."""
    text = make_survey(values, label)
    plan, rng = read_survey(text).compile(), np.random.default_rng(1)
    codes = np.minimum(rng.geometric(0.05, (REPORTS, 1)) - 1, values - 1)
    labels = rng.integers(0, len(plan.label.values), REPORTS)
    snapshot = simulate_reports(plan, codes, labels, FastStream(1))
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, name)) for name in ("s.toml", "s.json", "m.json", "p.html")]
        Path(paths[0]).write_text(text)
        Path(paths[1]).write_bytes(snapshot.to_json())
        return {name: min(_time(name, [*paths, label]) for _ in range(runs)) for name in STEPS}


def _time(step: str, arguments: list[str]) -> float:
    """Return the processor time of one step in a new process with one thread."""
    command = [sys.executable, "-c", _SCRIPT.format(*STEPS[step]), *arguments]
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | one,
    )
    return float(run.stderr.split()[-1])


def make_rows(label: str) -> Iterator[tuple[object, ...]]:
    """Yield a row for each size: seconds of each step; of the training, time per value and slope too."""
    kind, sizes = ("two classes", (*SIZES[:-1], SIZES[-1] // 2)) if label else ("no label", SIZES)
    fixed = last = measure(SMALLEST, label)["train"]
    size = SMALLEST
    yield kind, f"{SMALLEST} (fixed cost)", "", f"{fixed:.3f}", *[""] * 4
    for values in sizes:
        found = measure(values, label)
        slope = math.log(found["train"] / last) / math.log(values / size)
        each = 1000 * (found["train"] - fixed) / values
        yield kind, f"{values:,}", *(f"{found[step]:.3f}" for step in STEPS), f"{each:.2f}", f"{slope:.2f}"
        size, last = values, found["train"]


def main() -> None:
    head = ("survey", "values", *STEPS, "train, ms per value", "slope of train")
    for line in make_table(head, chain(make_rows(""), make_rows(LABEL))):
        print(line, flush=True)


if __name__ == "__main__":
    main()

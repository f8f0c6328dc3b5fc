"""Three hospitals report rows that do not leave them, and an analyst trains a model of all rows.

    python examples/silos/run.py

Starts a collector on a free port of this machine, makes up rows for three hospitals, and runs the commands of
everybody: the operator, the hospitals and the analyst. Each hospital would run its commands on its own
machine. At the end it prints the estimates beside the true values, which only this program knows.
"""

from __future__ import annotations

import csv
import os
import random
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SURVEY = Path(__file__).resolve().parent / "survey.toml"
HOSPITALS = {"north": 3_000, "south": 2_000, "west": 1_000}
NEW_ROWS = 1_500
"""Rows of the north hospital that come later."""
COLUMNS = ("readmitted", "smoker", "age", "days")
Row = tuple[str, str, int, float]


def main() -> None:
    """Run the commands of the operator, of three hospitals and of the analyst."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run("ldp-survey", "check", SURVEY)
        with collector(folder) as url:
            # the operator: a token for each message
            count = len(HOSPITALS) + 1
            made = run("ldp-collector", "tokens", "create", "wards-2026", "--count", count, *store(folder))
            tokens = made.split()[-count:]
            # each hospital: agree, then report
            rows: list[Row] = []
            for seed, (hospital, size) in enumerate(HOSPITALS.items()):
                own = make_rows(size, seed)
                rows += own
                home = folder / hospital
                home.mkdir()
                write_rows(home / "rows.csv", own)
                report(url, home, tokens[seed], "rows.csv")
            # one hospital reports again: first the same rows, which is no new message, then new ones
            report(url, folder / "north", tokens[0], "rows.csv")
            later = make_rows(NEW_ROWS, len(HOSPITALS))
            write_rows(folder / "north" / "later.csv", later)
            report(url, folder / "north", tokens[-1], "later.csv", "--epoch", "later", "--new-rows")
            run("ldp-silo", "status", "--journal", folder / "north" / "silo.journal")
            # the analyst
            run("ldp-train", url, "-o", folder / "model.json", "--csv", folder / "estimates.csv")
        compare(folder / "estimates.csv", rows + later)


def report(url: str, home: Path, token: str, file: str, *options: str) -> None:
    """Agree to the survey and report a file, as a hospital."""
    (home / "token.txt").write_text(token)
    binding = ["--journal", home / "silo.journal", "--token-file", home / "token.txt"]
    if not (home / "silo.journal").exists():
        run("ldp-silo", "grant", url, *binding)
    run("ldp-silo", "report", url, home / file, *binding, *options)


def make_rows(count: int, seed: int) -> list[Row]:
    """Make up rows; smokers and old people are readmitted more often, and stay longer."""
    draw = random.Random(seed)
    rows: list[Row] = []
    for _ in range(count):
        smoker, age = draw.choice(("yes", "no", "no", "")), draw.randint(18, 99)
        risk = 0.1 + 0.3 * (smoker == "yes") + 0.004 * (age - 18)
        readmitted = draw.random() < risk
        days = min(max(draw.gauss(12 if readmitted else 6, 3), 0), 30)
        rows.append(("yes" if readmitted else "no", smoker, age, round(days, 1)))
    return rows


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *rows])


def compare(table: Path, rows: Sequence[Row]) -> None:
    """Print estimates of the analyst's table beside the true values of all rows."""
    print("estimates, and the true values of all rows, which only this program knows:\n")
    smokers = {"yes": "yes", "no": "no", "(missing)": ""}
    with table.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if line["class"] not in ("yes", "no"):  # of all rows, or a comparison of both classes
                continue
            own = [row for row in rows if row[0] == line["class"]]
            if line["feature"] == "readmitted":
                what, truth = f"P(readmitted = {line['class']})", len(own) / len(rows)
            elif line["feature"] == "smoker":
                what = f"P(smoker = {line['value']} | readmitted = {line['class']})"
                truth = sum(row[1] == smokers[line["value"]] for row in own) / len(own)
            elif line["statistic"] == "mean":
                what = f"mean of days, readmitted = {line['class']}"
                truth = sum(row[3] for row in own) / len(own)
            else:
                continue
            estimate, low, high = (float(line[name]) for name in ("estimate", "low", "high"))
            print(f"  {what:42} {estimate:6.3f} [{low:.3f}, {high:.3f}]   true {truth:.3f}")


@contextmanager
def collector(folder: Path) -> Iterator[str]:
    """Run a collector on SQLite and a free port; yield the survey's URL."""
    os.environ["LDP_OPERATOR_TOKEN"] = secrets.token_urlsafe()
    command = ["ldp-collector", "serve", SURVEY, *store(folder), "--bind", "127.0.0.1:0"]
    show(command)
    process = subprocess.Popen([tool("ldp-collector"), *command[1:]], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline() if process.stdout else ""
        print(line)
        match = re.search(r"http://\S+", line)
        if match is None:
            sys.exit("the collector did not start")
        yield match[0]
    finally:
        process.terminate()
        process.wait()


def store(folder: Path) -> list[str]:
    """Return the option that names the collector's store."""
    return ["--store", f"sqlite:///{folder}/ldp.db"]


def run(name: str, *arguments: object) -> str:
    """Print a command, run it, and print and return its output."""
    show([name, *arguments])
    words = [tool(name), *map(str, arguments)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    print(done.stdout, flush=True)
    return done.stdout


def show(words: Sequence[object]) -> None:
    """Print a command."""
    print("$ " + " ".join(map(str, words)), flush=True)


def tool(name: str) -> str:
    """Return a command that is installed beside this interpreter, or on the path."""
    here = str(Path(sys.executable).parent)
    found = shutil.which(name, path=os.pathsep.join([here, os.environ.get("PATH", "")]))
    if found is None:
        sys.exit(f"{name} is not installed")
    return found


if __name__ == "__main__":
    main()

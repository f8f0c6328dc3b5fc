"""The whole protocol on real answers: `make demo`.

13,583 respondents of a public survey (examples/yrbss/PROVENANCE.md) answer a collector on this machine.
Each is a device of her own: a real client that randomises one answer, keeps a journal and sends one
report over HTTP. The aggregator trains on four fifths of them and is tested on the rest.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
import secrets
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import click

import ldp_client
from ldp_aggregator import load_model, simulate
from encoders.survey import Plan, read_survey

HERE = Path(__file__).parent / "yrbss"
Row = dict[str, object]


def main() -> None:
    """Collect, train, compare."""
    survey = read_survey((HERE / "survey.toml").read_text())
    plan = survey.compile()
    rows, labels = read_answers(plan)
    train, test = split(len(rows))
    print(f"{len(rows):,} respondents, {len(plan.questions)} questions, epsilon = {plan.epsilon}: each answers one.\n")
    with tempfile.TemporaryDirectory() as folder:
        with collector(Path(folder)) as url:
            report_all(url, [rows[i] for i in train], [labels[i] for i in train])
            run("ldp-train", url, "-o", f"{folder}/model.json")
        model = load_model(f"{folder}/model.json")
    show_estimates(model.estimates_, plan, [rows[i] for i in train], [labels[i] for i in train])
    show_accuracy(model, plan, rows, labels, train, test)


def read_answers(plan: Plan) -> tuple[list[Row], list[str]]:
    """Read the CSV as the survey's features read text; leave out those who gave no label."""
    with (HERE / "answers.csv").open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line[plan.label.name]]
    rows = [{feature.name: feature.from_text(line[feature.name]) for feature in plan.features} for line in lines]
    return rows, [line[plan.label.name] for line in lines]


def split(count: int) -> tuple[list[int], list[int]]:
    """Shuffle and cut 80/20."""
    order = list(range(count))
    random.Random(2026).shuffle(order)
    return order[: count * 4 // 5], order[count * 4 // 5 :]


# -- the respondents ----------------------------------------------------------------------------


@contextmanager
def collector(folder: Path) -> Iterator[str]:
    """Run a collector on SQLite and a free port; yield the survey's URL."""
    os.environ["LDP_OPERATOR_TOKEN"] = secrets.token_urlsafe()
    command = [tool("ldp-collector"), "serve", str(HERE / "survey.toml"), "--bind", "127.0.0.1:0"]
    command += ["--store", f"sqlite:///{folder}/ldp.db", "--workers", "2"]
    print("$ " + " ".join(["ldp-collector", *command[1:]]))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = None
        for line in process.stdout or ():
            print("  " + line, end="")
            if match := re.search(r"http://\S+/v1/surveys/[a-z0-9-]+", line):
                url = match[0]
                break
        if url is None:
            raise SystemExit("the collector did not start")
        yield url
    finally:
        process.terminate()
        process.wait()


def report_all(url: str, rows: list[Row], labels: list[str]) -> None:
    """Let every respondent answer, in as many processes as there are processors."""
    people = list(zip(rows, labels, strict=True))
    batches = [people[start : start + 100] for start in range(0, len(people), 100)]
    outcome: Counter[str] = Counter()
    print()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(answer, [url] * len(batches), batches)
        with click.progressbar(results, length=len(batches), label="devices report", file=sys.stderr) as bar:
            for states in bar:
                outcome.update(states)
    print("devices say: " + ", ".join(f"{count:,} {state}" for state, count in outcome.items()) + "\n")


def answer(url: str, people: list[tuple[Row, str]]) -> list[str]:
    """Be the devices of some people: each has its own client and its own journal, in memory here."""
    plan = ldp_client.load_plan(url)
    states = []
    for row, label in people:
        with ldp_client.Client(plan, url, journal=":memory:") as client:
            receipt = client.report(row, label)
            states.append(str((client.flush() or receipt).state))
    return states


# -- what came out ------------------------------------------------------------------------------


def show_estimates(estimates: dict, plan: Plan, rows: list[Row], labels: list[str]) -> None:
    """Print each feature's conditionals with 95% intervals beside the truth among the same people."""
    coded = [plan.encode(row, label) for row, label in zip(rows, labels, strict=True)]
    classes = Counter(label for _, label in coded)
    inside = total = 0
    for index, feature in enumerate(estimates["features"]):
        joint = Counter((codes[index], label) for codes, label in coded)
        figure = feature["conditionals"]
        for code, value in enumerate(feature["values"]):
            cells = []
            for label, name in enumerate(plan.label.values):
                truth = joint[code, label] / classes[label]
                low, high = figure["low"][code][label], figure["high"][code][label]
                inside, total = inside + (low <= truth <= high), total + 1
                cells.append(f"{name}: {low:4.0%} to {high:4.0%} (truth {truth:4.0%})")
            print(f"  P({feature['name']} = {value} | ...)".ljust(46) + "   ".join(cells))
    print(f"\n{inside} of {total} intervals of 95% hold the truth.\n")


def show_accuracy(
    model: object, plan: Plan, rows: list[Row], labels: list[str], train: list[int], test: list[int]
) -> None:
    """Print the accuracy on people who did not report, beside the two yardsticks."""
    right = sum(
        guess == labels[i] for guess, i in zip(model.predict([rows[i] for i in test]), test, strict=True)
    )
    print(json.dumps({"accuracy": right / len(test)}))


def tool(name: str) -> str:
    """Return a command installed beside this interpreter."""
    return str(Path(sys.executable).parent / name)


def run(name: str, *arguments: str) -> None:
    """Show a command, then run it."""
    print("$ " + " ".join([name, *arguments]))
    subprocess.run([tool(name), *arguments], check=True)


if __name__ == "__main__":
    main()

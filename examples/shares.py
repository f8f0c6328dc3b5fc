"""A survey without a label, from its file to its results page, with made-up people.

    python examples/shares.py

Starts a collector on a free port of this machine. Every made-up person has a separate device: a real client
that randomises one answer and sends one report over HTTP. The analyst estimates shares and means, and writes
the results page. At the end the program prints the estimates beside the true values, which only it knows.
"""

from __future__ import annotations

import csv
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import click
from demo import Person, collector, report_all, run

SURVEY = Path(__file__).with_suffix(".toml")
OUTPUT = Path("build", "shares")


@click.command()
@click.option("--people", type=int, default=3_000, show_default=True, help="Number of people who answer.")
def main(people: int) -> None:
    """Collect reports, and compare the estimates with the truth."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    answers = [(make_up_person(random.Random(seed)), None) for seed in range(people)]
    run("ldp-survey", "check", str(SURVEY))
    with collector(SURVEY, ["--store", f"sqlite:///{OUTPUT}/ldp.db"]) as url:
        report_all(url, answers)
        run("ldp-train", url, "-o", f"{OUTPUT}/shares.json", "--csv", f"{OUTPUT}/shares.csv")
        run("ldp-results", f"{OUTPUT}/shares.json", "-o", f"{OUTPUT}/results.html")
    compare(OUTPUT / "shares.csv", answers)
    print(f"\nOpen the results in a browser:\n  {(OUTPUT / 'results.html').resolve().as_uri()}")


def make_up_person(draw: random.Random) -> dict[str, object]:
    """Return the answers of one person; one in twenty leaves a question out."""
    smokes = draw.choices(["daily", "sometimes", "never"], [15, 20, 65])[0]
    chances = {"cannabis": 0.6 if smokes == "daily" else 0.25, "stimulants": 0.15, "sleeping pills": 0.08}
    answers: dict[str, object] = {
        "smokes": smokes,
        "tried": [name for name, chance in chances.items() if draw.random() < chance],
        "drinks": float(min(draw.expovariate(0.25), 20)),
    }
    return {name: None if draw.random() < 0.05 else answer for name, answer in answers.items()}


def compare(table: Path, people: Sequence[Person]) -> None:
    """Print the estimates of the analyst's table beside the true values."""
    print("Estimates with their 95% intervals, and the true values:\n")
    with table.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            truth = compute_truth([row for row, _ in people], line)
            if truth is not None:
                feature, value = line["feature"], line["value"]
                name = f"{feature} = {value}" if value else f"mean of {feature}"
                estimate, low, high = (float(line[column]) for column in ("estimate", "low", "high"))
                print(f"  {name:30} {estimate:7.3f} [{low:.3f}, {high:.3f}]   true {truth:.3f}")


def compute_truth(rows: Sequence[dict[str, object]], line: dict[str, str]) -> float | None:
    """Return the true value of one row of the table; None for a statistic that is not compared."""
    if line["statistic"] == "mean":
        numbers = [number for row in rows if isinstance(number := row[line["feature"]], float)]
        return sum(numbers) / len(numbers)
    if line["statistic"] != "P(value)" or line["value"] == "(missing)":
        return None
    answers = [row[line["feature"]] for row in rows]
    given = [answer if isinstance(answer, list) else [answer] for answer in answers]
    return sum(line["value"] in each for each in given) / len(rows)


if __name__ == "__main__":
    main()

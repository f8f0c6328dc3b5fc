"""The whole protocol on real answers: `make demo`.

13,310 respondents of a public survey (examples/yrbss/PROVENANCE.md) and a collector on this machine. Four
fifths of them report, each from their own device: a real client that randomises one answer, keeps a journal
and sends one report over HTTP. The aggregator trains on the reports; the other people test the model.
"""

from __future__ import annotations

import csv
import os
import random
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import click
import numpy as np
from sklearn.naive_bayes import CategoricalNB

import ldp_client
from encoders.progress import hide_progress, show_progress
from encoders.survey import Plan
from encoders.survey.parse_value import MISSING_TEXT
from ldp_aggregator import NaiveBayes, load_model
from ldp_aggregator.estimation import Estimates, FeatureResult

HERE = Path(__file__).parent / "yrbss"
SURVEY = HERE / "demo.toml"
OUTPUT = Path("build", "demo")
MODEL, PAGE = OUTPUT / "model.json", OUTPUT / "results.html"
COMPARISON, LOG = OUTPUT / "comparison.txt", OUTPUT / "log.txt"
"""Receives the commands and all that they print."""
BAR = 24
"""The width of a bar that stands for 100%."""
Person = tuple[dict[str, object], str | None]
"""The answers of a person, and their label; None in a survey without a label."""


@click.command()
@click.option("--people", type=int, help="Number of people who take part; all by default.")
@click.option(
    "--picture",
    type=click.Path(),
    help="Save a screenshot of the dashboard to this file (needs Chromium).",
)
@click.option("--keep", is_flag=True, help="Leave the collector running until Ctrl-C.")
@click.option(
    "--store",
    type=click.Choice(["sqlite", "redis"]),
    default="sqlite",
    show_default=True,
    help="Where reports are counted; redis starts a redis-server for two workers, and stops it at the end.",
)
def main(people: int | None, picture: str | None, keep: bool, store: str) -> None:
    """Collect reports, train a model, and compare the results with the truth."""
    plan = ldp_client.load_plan(SURVEY)
    everyone = read_people(plan)
    random.Random(2026).shuffle(everyone)
    everyone = everyone[:people]
    reporting, others = everyone[: len(everyone) * 4 // 5], everyone[len(everyone) * 4 // 5 :]
    print(
        f"Replaying a public survey, of which the truth is known: {len(reporting):,} students answer 1 of "
        f"{len(plan.questions)} questions each ...",
        flush=True,
    )
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    with (
        LOG.open("w") as log,
        open_store(store, OUTPUT, log) as store_options,
        collector(SURVEY, store_options, log) as url,
    ):
        report_all(url, reporting, log)
        if picture:
            save_picture(url, picture)
        run("ldp-train", url, "-o", str(MODEL), log=log)
        model = load_model(MODEL)
        accuracy = compare_accuracy(model, plan, reporting, others)
        run("ldp-results", str(MODEL), "--note", accuracy.replace("\n", " "), "-o", str(PAGE), log=log)
        write_comparison(model.estimates_, plan, reporting)
        show_results(model, plan, reporting, accuracy)
        if keep:
            wait_for_interrupt(url)


def read_people(plan: Plan) -> list[Person]:
    """Read the answers of the people who gave a label; the survey's features parse the cells."""
    with (HERE / "answers.csv").open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line[plan.row_label.name]]
    return [
        ({each.name: each.from_text(line[each.name]) for each in plan.entries}, line[plan.row_label.name])
        for line in lines
    ]


# -- the protocol -------------------------------------------------------------------------------


def wait_for_interrupt(url: str) -> None:
    """Print how to open the dashboard, and wait for Ctrl-C."""
    print(f"\nThe collector goes on until Ctrl-C. The dashboard:\n  {url.partition('/v1/')[0]}")
    print(f"Its token:\n  {os.environ['LDP_OPERATOR_TOKEN']}", flush=True)
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


@contextmanager
def open_store(store: str, folder: Path, log: TextIO) -> Iterator[list[str]]:
    """Start a redis-server if it is the store; yield the collector's options for the store."""
    if store == "sqlite":
        yield ["--store", f"sqlite:///{folder}/ldp.db"]
        return
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("no redis-server: install it (apt-get install redis-server, brew install redis)")
    # A socket in a folder that only this user can enter needs no password. Its path must be short.
    with tempfile.TemporaryDirectory(prefix="ldp-demo-") as private:
        socket = f"{private}/redis.sock"
        command = ["redis-server", "--port", "0", "--unixsocket", socket, "--dir", private]
        command += ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"]
        log_command(command, log)
        process = subprocess.Popen([program, *command[1:]], stdout=subprocess.DEVNULL)
        try:
            for _ in range(100):
                if Path(socket).exists() or process.poll() is not None:
                    break
                time.sleep(0.1)
            yield ["--store", f"unix://{socket}", "--workers", "2"]
        finally:
            process.terminate()
            process.wait()


@contextmanager
def collector(survey: Path, store_options: Sequence[str], log: TextIO = sys.stderr) -> Iterator[str]:
    """Run a collector on a free port, whose messages the log receives; yield the survey's URL."""
    os.environ["LDP_OPERATOR_TOKEN"] = secrets.token_urlsafe()
    command = ["ldp-collector", "serve", str(survey), *store_options, "--bind", "127.0.0.1:0"]
    log_command(command, log)
    process = subprocess.Popen(
        [tool(command[0]), *command[1:]], stdout=subprocess.PIPE, stderr=log, text=True
    )
    try:
        match = re.search(r"http://\S+", process.stdout.readline() if process.stdout else "")
        if match is None:
            raise SystemExit(f"the collector did not start: {log.name} says why")
        yield match[0]
    finally:
        process.terminate()
        process.wait()


def report_all(url: str, people: Sequence[Person], log: TextIO = sys.stdout) -> None:
    """Let every person answer, with one process per processor."""
    batches = [people[start : start + 100] for start in range(0, len(people), 100)]
    outcome: Counter[str] = Counter()
    show = show_progress if sys.stderr.isatty() else hide_progress
    with (
        ProcessPoolExecutor(os.cpu_count()) as pool,
        show("devices report", len(people), "people") as progress,
    ):
        for states in pool.map(answer, [url] * len(batches), batches):
            outcome.update(states)
            progress.advance(len(states))
    print(
        "receipts: " + ", ".join(f"{count:,} {state}" for state, count in outcome.items()),
        file=log,
        flush=True,
    )


def save_picture(url: str, path: str) -> None:
    """Save a screenshot of the dashboard."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        page = browser.new_page(viewport={"width": 1100, "height": 1900})
        page.goto(url.partition("/v1/")[0])
        page.locator("#token").fill(os.environ["LDP_OPERATOR_TOKEN"])
        page.keyboard.press("Enter")
        page.locator("#sections section").first.wait_for()
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=path)
        browser.close()


def answer(url: str, people: Sequence[Person]) -> list[str]:
    """Run the devices of some people; each has its own client and journal (in memory, here)."""
    plan = ldp_client.load_plan(url)
    states = []
    for row, label in people:
        with ldp_client.Client(plan, url, journal=":memory:") as client:
            client.grant()
            receipt = client.report(row, label)
            answered = client.flush() if receipt.state is ldp_client.State.QUEUED else receipt
            states.append(str(answered.state))
    return states


def tool(name: str) -> str:
    """Return a command installed beside this interpreter."""
    return str(Path(sys.executable).parent / name)


def run(name: str, *arguments: str, log: TextIO = sys.stdout) -> None:
    """Run a command; the log receives it and what it prints."""
    log_command([name, *arguments], log)
    subprocess.run([tool(name), *arguments], stdout=log, stderr=log, check=True)


def log_command(command: Sequence[str], log: TextIO) -> None:
    """Write a command to the log."""
    print(f"\n$ {shlex.join(command)}", file=log, flush=True)


# -- the comparison with the truth ----------------------------------------------------------------


def show_results(model: NaiveBayes, plan: Plan, people: Sequence[Person], accuracy: str) -> None:
    """Print the estimated shares as bars beside the true shares, then the classifier."""
    codes, labels = encode(plan, people)
    estimates = model.estimates_
    prior = estimates.raw_prior
    rows = [(f"{plan.label.name} = {plan.label.values[0]}", prior.value, prior, 0, labels)]
    for index, feature in enumerate(estimates.features):
        assert isinstance(feature, FeatureResult)  # the survey has categories and bins only
        shown = feature.make_consistent(feature.shares)
        rows += [
            (f"{feature.name} = {value}", shown, feature.shares, code, codes[:, index])
            for code, value in enumerate(feature.values)
            if value != MISSING_TEXT  # a small share, which the results page shows
        ]
    margin = max((shares.high[code] - shares.low[code]) / 2 for _, _, shares, code, _ in rows)
    print(
        f"Each device randomised its answer (epsilon {plan.epsilon.normalize()}) and sent nothing else, yet "
        f"every share is known to within {100 * margin:.1f} points:\n"
    )
    width, held = max(len(name) for name, *_ in rows), 0
    print(" " * (width + BAR + 5) + "estimate   95% interval    truth")
    for name, values, shares, code, answers in rows:
        low, high, truth = float(shares.low[code]), float(shares.high[code]), np.mean(answers == code)
        held += low <= truth <= high
        numbers = f"{values[code]:6.1%}   {low:5.1%} to {high:5.1%}  {truth:6.1%}"
        print(f"  {name:{width}}  {draw_bar(low, high)}  {numbers}")
    print(f"\n{held} of {len(rows)} intervals contain the truth; on average 19 of 20 do.\n{accuracy}")
    print(f"Open the results in a browser: {PAGE.resolve().as_uri()}")
    print(f"The model, comparison.txt with all numbers, and log.txt with all commands are in {OUTPUT}.")


def draw_bar(low: float, high: float) -> str:
    """Return a bar up to the low end of an interval, and a lighter one up to its high end."""
    solid, light = ("\u2588", "\u2592") if can_print("\u2588\u2592") else ("#", ".")
    start, end = round(low * BAR), round(high * BAR)
    return (solid * start + light * max(end - start, 1)).ljust(BAR)


def can_print(text: str) -> bool:
    """Return whether standard output can encode a text."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def write_comparison(estimates: Estimates, plan: Plan, people: Sequence[Person]) -> None:
    """Write the 95% interval of each share within a class, and its true value, to a file."""
    codes, labels = encode(plan, people)
    lines = [" " * 44 + "".join(f"{plan.label.name} = {value}".ljust(26) for value in plan.label.values)]
    for index, feature in enumerate(estimates.features):
        assert isinstance(feature, FeatureResult)
        shares = feature.conditionals
        for code, value in enumerate(feature.values):
            cells = []
            for label in range(len(plan.label.values)):
                truth = np.mean(codes[labels == label, index] == code)
                low, high = (float(end[code, label]) for end in (shares.low, shares.high))
                cells.append(f"{low:4.0%} to {high:4.0%}, true {truth:4.0%}")
            lines.append(f"  {feature.name} = {value}".ljust(44) + "".join(cell.ljust(26) for cell in cells))
    COMPARISON.write_text("\n".join(map(str.rstrip, lines)) + "\n", encoding="utf-8")


def compare_accuracy(
    model: NaiveBayes, plan: Plan, reporting: Sequence[Person], others: Sequence[Person]
) -> str:
    """Return a sentence with the accuracy on people who did not report, and two baselines."""
    codes, labels = encode(plan, reporting)
    tests, truth = encode(plan, others)
    sizes = [feature.size for feature in plan.features]
    open_answers = CategoricalNB(min_categories=sizes).fit(codes, labels)
    guessed = model.predict([row for row, _ in others]) == [label for _, label in others]
    return (
        f"Of {len(others):,} others, the model predicts {np.mean(guessed):.1%} correctly. "
        f"Trained on the true answers, it would be {open_answers.score(tests, truth):.1%};\n"
        f"always predicting the most frequent class: {np.mean(truth == np.bincount(labels).argmax()):.1%}."
    )


def encode(plan: Plan, people: Sequence[Person]) -> tuple[np.ndarray, np.ndarray]:
    """Return the true codes (m, n) and label codes (m,), which are not available outside a demonstration."""
    coded = [plan.encode(row, label) for row, label in people]
    return np.array([codes for codes, _ in coded]), np.array([label for _, label in coded])


if __name__ == "__main__":
    main()

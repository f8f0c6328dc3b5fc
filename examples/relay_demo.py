"""A survey through a relay, from keys to shares, with made-up people: `make relay-demo`.

Runs a collector and a relay on this machine, which would belong to two organisations. Every made-up person
has a separate device: a real client that randomises the answers to all questions, seals each by itself and
sends them in one envelope to the relay. The relay mixes the answers of all people, question by question. An
hour of the relay lasts some seconds here.
"""

from __future__ import annotations

import csv
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import fmean

import click
from demo import collector, run, tool

import ldp_client
from encoders.progress import show_progress
from encoders.survey import read_survey
from encoders.survey.relay_promise import largest_epsilon

OUTPUT = Path("build", "relay-demo")
HOUR_SECONDS = 10
SURVEY = """\
[survey]
id = "night-work"
epsilon = {together}        # of all answers of a person, even if relay and collector work together
users = {people}

[relay]
url = "http://127.0.0.1:{port}/night-work"
ask = "all"           # each person answers all questions
batch = {batch}           # the relay passes on no smaller batch
honest = 0.73         # of each batch, at least this share comes from people who do not help the collector
epsilon = 1           # promised towards everybody but the relay
delta = 1e-6
opens = 2026-01-01T00:00:00Z
closes = {closes}
collector_key = "{collector_key}"
relay_key = "{relay_key}"
"""
SHARES = {
    "works_nights": 0.42,
    "sleeps_badly": 0.35,
    "takes_pills": 0.16,
    "drinks_alone": 0.11,
    "feels_safe": 0.78,
    "was_threatened": 0.07,
    "made_a_mistake": 0.52,
    "told_nobody": 0.24,
    "wants_to_leave": 0.31,
    "would_recommend": 0.61,
}
"""The yes/no questions, and about how many of the made-up people answer yes."""
Row = dict[str, object]


@click.command()
@click.option("--people", type=int, default=1_060, show_default=True, help="Number of people who answer.")
@click.option("--seconds", type=int, default=60, show_default=True, help="How long the survey is open.")
def main(people: int, seconds: int) -> None:
    """Send reports through a relay, and compare the estimates with the truth."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    draw = random.Random(1)
    rows: list[Row] = [{name: draw.random() < share for name, share in SHARES.items()} for _ in range(people)]
    step("1. Collector and relay make a key each, and the author writes the public keys into the survey.")
    port, closes = free_port(), int(time.time()) + seconds
    survey = write_survey(people, port, closes)
    step("2. The author checks the promise, and compiles the plan. All three publish its digest.")
    run("ldp-survey", "check", str(survey))
    run("ldp-survey", "compile", str(survey), "-o", f"{OUTPUT}/plan.json")
    plan = ldp_client.load_plan(OUTPUT / "plan.json")
    access = [tool("ldp-collector"), "access", "add", "relay", "--role", "relay"]
    with (OUTPUT / "collector.token").open("w") as token:
        subprocess.run([*access, "--file", f"{OUTPUT}/tokens.toml"], check=True, stdout=token)
    store = ["--store", f"sqlite:///{OUTPUT}/ldp.db", "--tokens", f"{OUTPUT}/tokens.toml"]
    step("3. The collector starts, with its private key beside the plan. Then the relay starts.")
    with (
        collector(OUTPUT / "plan.json", store) as url,
        relay(plan.id, port, url),
    ):
        relayed = f"http://127.0.0.1:{port}/{plan.id}"
        step(f"4. {people:,} devices seal all answers and send them to the relay, and to nobody else.")
        send_all(relayed, plan.digest, float(plan.epsilon), rows)
        step("5. The relay passes batches on at full hours, and the rest when the survey closes.")
        wait_until(closes + 3 * HOUR_SECONDS)
        run("ldp-relay", "status", f"{OUTPUT}/relay.toml")
        step("6. The analyst estimates the shares from what the collector has counted.")
        run("ldp-train", url, "-o", f"{OUTPUT}/model.json", "--csv", f"{OUTPUT}/shares.csv")
    compare(OUTPUT / "shares.csv", rows)


def step(text: str) -> None:
    """Print the beginning of a step."""
    print(f"\n{text}\n", flush=True)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def write_survey(people: int, port: int, closes: int) -> Path:
    """Make both keys, and write the survey file with the public ones."""
    keys = {}
    for owner, file in (("collector", "plan.json.key"), ("relay", "relay.key")):
        command = [f"ldp-{owner}", "key", f"{OUTPUT}/{file}"]
        print("$ " + " ".join(command))
        output = subprocess.run([tool(command[0]), *command[1:]], check=True, capture_output=True, text=True)
        print(output.stdout)
        keys[f"{owner}_key"] = output.stdout.strip()
    entries = {
        "people": people,
        "port": port,
        "batch": people * 6 // 10,
        "closes": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(closes)),
    }
    text = SURVEY + "".join(f"\n[features.{name}]\nvalues = [true, false]\n" for name in SHARES)
    plan = read_survey(text.format(together=1, **entries, **keys)).compile()
    assert plan.relay
    together = largest_epsilon(plan.relay, [each.mechanism for each in plan.questions])
    path = OUTPUT / "survey.toml"
    path.write_text(text.format(together=together, **entries, **keys))
    return path


@contextmanager
def relay(survey: str, port: int, collector_url: str) -> Iterator[None]:
    """Run a relay whose hour is short."""
    settings = OUTPUT / "relay.toml"
    settings.write_text(
        f'bind = "127.0.0.1:{port}"\nmessages_per_network = 0   # all devices are on this machine\n\n'
        f'[surveys.{survey}]\nplan = "plan.json"\nkey = "relay.key"\ncollector = "{collector_url}"\n'
        'collector_token_file = "collector.token"\n'
    )
    print(f"$ ldp-relay serve {settings}      (an hour lasts {HOUR_SECONDS} seconds here)")
    program = (
        f"from ldp_relay import release; release.HOUR_SECONDS = {HOUR_SECONDS}\n"
        "from encoders.extras import ldp_relay; ldp_relay()"
    )
    command = [sys.executable, "-c", program, "serve", str(settings)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline() if process.stdout else ""
        if not line:
            raise SystemExit("the relay did not start")
        print(line, flush=True)
        yield
    finally:
        process.terminate()
        process.wait()


def send_all(url: str, digest: str, together: float, rows: Sequence[Row]) -> None:
    """Let every person answer, with one process per processor."""
    batches = [rows[start : start + 50] for start in range(0, len(rows), 50)]
    states: Counter[str] = Counter()
    with (
        ProcessPoolExecutor(os.cpu_count()) as pool,
        show_progress("devices send", len(rows), "people") as progress,
    ):
        for answered in pool.map(partial(answer, url, digest, together), batches):
            states.update(answered)
            progress.advance(len(answered))
    print("receipts: " + ", ".join(f"{count:,} {state}" for state, count in states.items()), flush=True)


def answer(url: str, digest: str, together: float, rows: Sequence[Row]) -> list[str]:
    """Run the devices of some people; each has its own client and journal (in memory, here)."""
    origin, states = url.rpartition("/")[0], []
    for row in rows:
        options = {"relay": origin, "digest": digest, "max_local_epsilon": together, "journal": ":memory:"}
        with ldp_client.Client(url, **options) as client:
            client.grant()
            receipt = client.report(row)
            answered = client.flush() if receipt.state is ldp_client.State.QUEUED else receipt
            states.append(str(answered.state))
    return states


def wait_until(end: float) -> None:
    """Wait until a time, with a bar."""
    seconds = max(0, int(end - time.time()))
    with show_progress("the relay waits for the end of the survey", seconds, "seconds") as progress:
        for _ in range(seconds):
            time.sleep(1)
            progress.advance(1)


def compare(table: Path, rows: Sequence[Row]) -> None:
    """Print the estimates of the analyst's table beside the true shares."""
    print("\nShares of yes with their 95% intervals, and the true shares:\n")
    inside, widths = 0, []
    with table.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if line["statistic"] == "P(value)" and line["value"] == "true":
                true = sum(bool(row[line["feature"]]) for row in rows) / len(rows)
                low, high = float(line["low"]), float(line["high"])
                inside += low <= true <= high
                widths.append((high - low) / 2)
                print(f"  {line['feature']:<18}{low:6.1%} to {high:6.1%}   true {true:6.1%}")
    found = f"{inside} of {len(widths)} intervals contain the true share"
    print(f"\n{found}; on average, half of an interval is {fmean(widths):.1%}.")


if __name__ == "__main__":
    main()

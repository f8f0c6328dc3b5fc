"""A survey through a relay, from keys to shares, with made-up people: `make relay-demo`.

Runs a collector and a relay on this machine, which would belong to two organisations. Every made-up person
has a separate device: a real client that randomises one answer, seals it and sends it to the relay. The relay
passes the reports on in batches. An hour of the relay lasts some seconds here.
"""

from __future__ import annotations

import csv
import os
import random
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import click
from demo import collector, run, tool

import ldp_client
from encoders.progress import show_progress

OUTPUT = Path("build", "relay-demo")
HOUR_SECONDS = 10
SURVEY = """\
[survey]
id = "night-work"
epsilon = {local}         # holds even if relay and collector work together
users = {people}

[relay]
url = "http://127.0.0.1:{port}/night-work"
batch = {batch}           # the relay passes on no smaller batch
honest = 0.73         # of each batch, at least this share comes from people who do not help the collector
epsilon = 1           # promised towards everybody but the relay
delta = 1e-6
opens = 2026-01-01T00:00:00Z
closes = {closes}
collector_key = "{collector_key}"
relay_key = "{relay_key}"

[features.nights]
values = ["none", "some", "most"]
missing = "category"

[features.pills]
values = [true, false]
missing = "category"
"""
Row = dict[str, object]


@click.command()
@click.option("--people", type=int, default=1_500, show_default=True, help="Number of people who answer.")
@click.option("--seconds", type=int, default=60, show_default=True, help="How long the survey is open.")
def main(people: int, seconds: int) -> None:
    """Send reports through a relay, and compare the estimates with the truth."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    rows = [make_up_person(random.Random(seed)) for seed in range(people)]
    step("1. Collector and relay make a key each, and the author writes the public keys into the survey.")
    port, closes = free_port(), int(time.time()) + seconds
    survey = write_survey(people, port, closes)
    step("2. The author checks the promise, and compiles the plan. All three publish its digest.")
    run("ldp-survey", "check", str(survey))
    run("ldp-survey", "compile", str(survey), "-o", f"{OUTPUT}/plan.json")
    plan = ldp_client.load_plan(OUTPUT / "plan.json")
    os.environ["LDP_RELAY_TOKEN"] = secrets.token_urlsafe()
    step("3. The collector starts, with its private key beside the plan. Then the relay starts.")
    with (
        collector(OUTPUT / "plan.json", ["--store", f"sqlite:///{OUTPUT}/ldp.db"]) as url,
        relay(plan.id, port, url),
    ):
        relayed = f"http://127.0.0.1:{port}/{plan.id}"
        step(f"4. {people:,} devices seal their report and send it to the relay, and to nobody else.")
        send_all(relayed, plan.digest, rows)
        step("5. The relay passes batches on at full hours, and the rest when the survey closes.")
        wait_until(closes + 3 * HOUR_SECONDS)
        run("ldp-relay", "status", f"{OUTPUT}/relay.toml")
        step("6. The analyst estimates the shares from what the collector has counted.")
        run("ldp-train", url, "-o", f"{OUTPUT}/model.json", "--csv", f"{OUTPUT}/shares.csv")
    compare(OUTPUT / "shares.csv", rows)


def step(text: str) -> None:
    """Print the beginning of a step."""
    print(f"\n{text}\n", flush=True)


def make_up_person(draw: random.Random) -> Row:
    """Return the answers of one person."""
    nights = draw.choices(["none", "some", "most"], [60, 25, 15])[0]
    return {"nights": nights, "pills": draw.random() < (0.1 if nights == "none" else 0.3)}


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
    batch = people // 3
    text = SURVEY.format(
        people=people,
        port=port,
        batch=batch,
        local="2.2" if batch >= 500 else "1.0",  # small batches hide nobody: then the report itself must
        closes=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(closes)),
        **keys,
    )
    path = OUTPUT / "survey.toml"
    path.write_text(text)
    return path


@contextmanager
def relay(survey: str, port: int, collector_url: str) -> Iterator[None]:
    """Run a relay whose hour is short."""
    (OUTPUT / "collector.token").write_text(os.environ["LDP_RELAY_TOKEN"])
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


def send_all(url: str, digest: str, rows: Sequence[Row]) -> None:
    """Let every person answer, with one process per processor."""
    batches = [rows[start : start + 50] for start in range(0, len(rows), 50)]
    states: Counter[str] = Counter()
    with (
        ProcessPoolExecutor(os.cpu_count()) as pool,
        show_progress("devices send", len(rows), "people") as progress,
    ):
        for answered in pool.map(answer, [url] * len(batches), [digest] * len(batches), batches):
            states.update(answered)
            progress.advance(len(answered))
    print("receipts: " + ", ".join(f"{count:,} {state}" for state, count in states.items()), flush=True)


def answer(url: str, digest: str, rows: Sequence[Row]) -> list[str]:
    """Run the devices of some people; each has its own client and journal (in memory, here)."""
    origin, states = url.rpartition("/")[0], []
    for row in rows:
        with ldp_client.Client(url, relay=origin, digest=digest, journal=":memory:") as client:
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
    print("\nShares with their 95% intervals, and the true shares:\n")
    with table.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if line["statistic"] == "P(value)" and line["feature"] in rows[0]:
                true = sum(str(row[line["feature"]]).lower() == line["value"].lower() for row in rows)
                name = f"{line['feature']} = {line['value']}"
                low, high = float(line["low"]), float(line["high"])
                print(f"  {name:<22}{low:6.1%} to {high:6.1%}   true {true / len(rows):6.1%}")


if __name__ == "__main__":
    main()

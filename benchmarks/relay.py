"""Measures sealed reports: `python -m benchmarks.relay`.

Sealing and opening on one processor; messages per second at a relay over HTTP; reports per second at a
collector, sealed and open; and the memory and disk of a relay that holds a million messages. Then the same
for people who answer ten questions at once, and how long a relay and a collector take for 10,000 of them. The
relay, the collector and the devices share this machine.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from secrets import token_hex

from benchmarks.servers import free_port
from encoders.composition import composed_delta
from encoders.randomness import SystemEntropy
from encoders.report import MEDIA_TYPE
from encoders.survey import Plan, read_survey
from encoders.survey.randomise import randomise, randomise_all
from encoders.survey.sealing import seal_envelope
from encoders.survey.unsealing import PrivateKey, make_private_key, open_inner, open_outer
from ldp_aggregator.collector.access_tokens import add_token, hash_secret
from ldp_relay.delivery import pass_on
from ldp_relay.held_messages import HeldMessages, _Ticket
from ldp_relay.relay_settings import RelayedSurvey

MESSAGES, ARRAY, PEOPLE = 6_000, 1_000, 10_000
HELD = 1_000_000
SURVEY = """
[survey]
id = "nights"
epsilon = 2
{relay}
[features.nights]
values = ["none", "some", "many", "most"]
missing = "category"
[features.rested]
values = [true, false]
missing = "category"
"""
RELAY = """
[relay]
url = "http://127.0.0.1:{port}/nights"
batch = 600
honest = 0.73
epsilon = 1
delta = 1e-6
opens = 2001-01-01T00:00:00Z
closes = 2200-01-01T00:00:00Z
collector_key = "{collector}"
relay_key = "{relay}"
"""


def main() -> None:
    """Print all figures, one per line."""
    collector_key, relay_key, port = make_private_key(), make_private_key(), free_port()
    keys = {"collector": collector_key.public_key, "relay": relay_key.public_key}
    sealed_survey = SURVEY.format(relay=RELAY.format(port=port, **keys))
    plan = read_survey(sealed_survey).compile()
    reports = [_report(plan) for _ in range(MESSAGES)]
    messages = _time_seals(plan, reports, collector_key, relay_key)
    inner = [open_outer(plan, each, relay_key) for each in messages]
    with tempfile.TemporaryDirectory() as folder:
        _time_relay(Path(folder), plan, port, relay_key, messages)
        _time_collector(Path(folder), plan, collector_key, inner)
        _measure_held(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        _measure_envelopes(Path(folder), collector_key, relay_key)


def _measure_envelopes(folder: Path, collector: PrivateKey, relay: PrivateKey) -> None:
    """Print the times of people who answer all of ten questions with four values."""
    port, collector_port = free_port(), free_port()
    keys = {"collector": collector.public_key, "relay": relay.public_key}
    entry = RELAY.format(port=port, **keys).replace("batch = 600", f'ask = "all"\nbatch = {PEOPLE}')
    features = "".join(f'[features.f{number}]\nvalues = ["a", "b", "c", "d"]\n' for number in range(10))
    plan = read_survey(f'[survey]\nid = "nights"\nepsilon = 13.6\n{entry}{features}').compile()
    assert plan.relay
    start, people = time.process_time(), plan.relay.honest_reports
    composed_delta(plan.messages, people, 1.0)
    seconds = time.process_time() - start
    print(f"ten questions: verify the promise: {1000 * seconds:.0f} ms of processor")
    row = plan.encode({f"f{number}": "b" for number in range(10)}, None)
    answers = [[each.report for each in randomise_all(plan, row, SystemEntropy())] for _ in range(PEOPLE)]
    seconds, envelopes = _processor_seconds(lambda: [seal_envelope(plan, each) for each in answers])
    print(f"seal an envelope of ten: {1000 * seconds / PEOPLE:.2f} ms of processor")
    _time_node(plan)
    _time_relay(folder, plan, port, relay, envelopes[:2000])
    token = _make_token(folder)
    (folder / "plan.json.key").write_bytes(collector.pem)
    store = f"sqlite:///{folder}/ldp.db"
    serve = ["serve", str(folder / "plan.json"), "--store", store, "--bind", f"127.0.0.1:{collector_port}"]
    with _command("ldp-collector", *serve):
        held = HeldMessages(folder / "released.db")
        inner = [open_outer(plan, each, relay) for each in envelopes]
        held._write([_Ticket(plan.digest, each, 1 << 40, b"", None) for each in inner])
        url = f"http://127.0.0.1:{collector_port}/v1/surveys/nights"
        survey = RelayedSurvey(plan, relay, url, token, 0, codes=False)
        start = time.perf_counter()
        held.release(plan.digest, PEOPLE, is_closed=True, hour=0)
        while pass_on(survey, held) == 0:
            pass
        seconds = time.perf_counter() - start
    [(_, size, rejected)] = held.batches(plan.digest)
    assert (size, rejected, held.counts(plan.digest)["leaving"]) == (PEOPLE, 0, 0)
    print(f"release {PEOPLE:,} envelopes, pass them on and count them: {seconds:.0f} s")


_IN_NODE = """
import { composedDelta } from "./src/relay/composition.js";
import { sealEnvelope } from "./src/relay/sealing.js";
const { plan, messages, people } = JSON.parse(process.argv[1]);
plan.digestBytes = new Uint8Array(32);
const reports = plan.questions.map(() => new Uint8Array(50));
const measure = async (run) => {
  for (let i = 0; i < 20; i += 1) await run();
  const start = process.cpuUsage();
  for (let i = 0; i < 50; i += 1) await run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 50_000;
};
const runs = [() => composedDelta(messages, people, 1), () => sealEnvelope(plan, reports)];
for (const run of runs) console.log((await measure(run)).toFixed(1));
"""


def _time_node(plan: Plan) -> None:
    """Print the times of the JavaScript client, after some calls to warm up; nothing without Node."""
    assert plan.relay
    if not shutil.which("node"):
        return
    questions = [{"mechanism": {"payloadBytes": each.mechanism.payload_bytes}} for each in plan.questions]
    messages = [{"ratio": p, "move": h, "isYesNo": is_yes_no} for p, h, is_yes_no in plan.messages]
    facts = {
        "plan": {"questions": questions, "relay": plan.relay.as_dict()},
        "messages": messages,
        "people": plan.relay.honest_reports,
    }
    command = ["node", "--input-type=module", "--eval", _IN_NODE, json.dumps(facts)]
    folder = Path(__file__).parents[1] / "clients" / "javascript"
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    verified, sealed = run.stdout.split()
    print(f"in Node: verify the promise {verified} ms, seal an envelope of ten {sealed} ms of processor")


def _report(plan: Plan) -> bytes:
    return randomise(plan, {"nights": "some", "rested": True}, None, SystemEntropy()).report


def _time_seals(
    plan: Plan, reports: Sequence[bytes], collector: PrivateKey, relay: PrivateKey
) -> list[bytes]:
    """Print the processor time of each step; return the messages."""
    seconds, messages = _processor_seconds(lambda: [seal_envelope(plan, [each]) for each in reports])
    print(f"seal a report twice: {1000 * seconds / len(reports):.2f} ms of processor")
    seconds, inner = _processor_seconds(lambda: [open_outer(plan, each, relay) for each in messages])
    print(f"open the outer seal: {1000 * seconds / len(reports):.3f} ms")
    seconds, _ = _processor_seconds(lambda: [open_inner(plan, each, collector) for each in inner])
    print(f"open the inner seal: {1000 * seconds / len(reports):.3f} ms")
    return messages


def _processor_seconds(run: Callable[[], list[bytes]]) -> tuple[float, list[bytes]]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def _time_relay(folder: Path, plan: Plan, port: int, key: PrivateKey, messages: Sequence[bytes]) -> None:
    """Print how many messages a relay takes per second, with one connection per thread of two processes."""
    (folder / "plan.json").write_bytes(plan.json)
    (folder / "relay.key").write_bytes(key.pem)
    (folder / "token").write_text("x" * 16)
    (folder / "relay.toml").write_text(
        f'bind = "127.0.0.1:{port}"\nmessages_per_network = 0\n[surveys.nights]\nplan = "plan.json"\n'
        'key = "relay.key"\ncollector = "http://127.0.0.1:9/v1/surveys/nights"\n'
        'collector_token_file = "token"\n'
    )
    with _command("ldp-relay", "serve", str(folder / "relay.toml")):
        start = time.perf_counter()
        path = f"/nights/{plan.digest}"
        halves = [messages[::2], messages[1::2]]
        with get_context("fork").Pool(2) as pool:
            pool.starmap(_post_all, [(port, path, half, 202) for half in halves])
        rate = len(messages) / (time.perf_counter() - start)
    print(f"messages at a relay over HTTP, on disk before the response: {rate:,.0f} per second")


def _post_all(port: int, path: str, bodies: Sequence[bytes], status: int) -> None:
    """Post bodies from eight threads, each over one connection."""

    def post(mine: Sequence[bytes]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for each in mine:
            connection.request("POST", path, each, {"Content-Type": "text/plain"})
            response = connection.getresponse()
            response.read()
            assert response.status == status, response.status

    threads = [threading.Thread(target=post, args=(bodies[number::8],)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def _make_token(folder: Path) -> str:
    """Give relays access to the collectors that are started from now on; return the secret."""
    secret = token_hex(16)
    (folder / "tokens.toml").write_text(
        add_token("", "tokens.toml", "relay", "relay", hash_secret(secret), None)
    )
    os.environ["LDP_COLLECTOR_SERVE_TOKENS"] = str(folder / "tokens.toml")
    return secret


def _time_collector(folder: Path, plan: Plan, key: PrivateKey, inner: Sequence[bytes]) -> None:
    """Print how many reports a collector counts per second in arrays of 1,000, sealed and open."""
    token = _make_token(folder)
    (folder / "plan.json.key").write_bytes(key.pem)
    direct = read_survey(SURVEY.format(relay="").replace('"nights"', '"open-nights"', 1)).compile()
    (folder / "direct.json").write_bytes(direct.json)
    surveys = [str(folder / name) for name in ("plan.json", "direct.json")]
    rates = {}
    with _command(
        "ldp-collector", "serve", *surveys, "--store", f"sqlite:///{folder}/ldp.db", "--bind", "127.0.0.1:0"
    ) as line:
        port = int(re.findall(r":(\d+)/", line)[0])
        arrays = [b"".join(inner[start : start + ARRAY]) for start in range(0, len(inner), ARRAY)]
        headers = {"Content-Type": "application/octet-stream", "Authorization": f"Bearer {token}"}
        rates["sealed"] = _time_arrays(port, f"/v1/surveys/{plan.id}/sealed", arrays, headers)
        bodies = [b"".join(_report(direct) for _ in range(ARRAY)) for _ in arrays]
        rates["open"] = _time_arrays(
            port, f"/v1/surveys/{direct.id}/reports", bodies, {"Content-Type": MEDIA_TYPE}
        )
    for name, rate in rates.items():
        print(f"{name} reports at a collector, {ARRAY:,} in a request, SQLite: {rate:,.0f} per second")
    print(f"sealed to open: {rates['sealed'] / rates['open']:.2f}")


def _time_arrays(port: int, path: str, bodies: Sequence[bytes], headers: Mapping[str, str]) -> float:
    """Return the reports per second, with two connections for the two workers."""

    def post(mine: Sequence[bytes]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for each in mine:
            connection.request("POST", path, each, dict(headers))
            response = connection.getresponse()
            assert response.status == 200, response.read()
            response.read()

    start = time.perf_counter()
    threads = [threading.Thread(target=post, args=(bodies[number::2],)) for number in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return ARRAY * len(bodies) / (time.perf_counter() - start)


def _measure_held(folder: Path) -> None:
    """Print the disk, the memory and the time of a release of a relay that holds a million messages."""
    process = get_context("spawn").Process(target=_hold_many, args=(folder,))
    process.start()
    process.join()


def _hold_many(folder: Path) -> None:
    path = folder / "held.db"
    held = HeldMessages(path)
    before = _peak_megabytes()
    for _ in range(HELD // 10_000):
        held._write([_Ticket("survey", os.urandom(113), 1 << 40, b"", None) for _ in range(10_000)])
    disk = sum(each.stat().st_size for each in folder.glob("held.db*")) / 1e6
    start = time.perf_counter()
    held.release("survey", 600, is_closed=True, hour=0)
    held.next_passage("survey", ARRAY, [113])
    seconds = time.perf_counter() - start
    memory = _peak_megabytes() - before
    print(f"{HELD:,} held messages: {disk:.0f} MB of disk, {memory:.0f} MB of memory when they are mixed")
    print(f"their release in one batch, in a random order: {seconds:.1f} s")


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


@contextmanager
def _command(name: str, *arguments: str) -> Iterator[str]:
    """Run a command of the project; yield the first line that it prints."""
    program = str(Path(sys.executable).parent / name)
    with subprocess.Popen(
        [program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.terminate()


if __name__ == "__main__":
    main()

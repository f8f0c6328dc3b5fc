"""Benchmark the steps of one report on a device, from the row to the start of the sender.

`python -m benchmarks.client` prints medians in microseconds. A whole report is a device's first: journal and
client are new, and the sender's thread is started. Nothing is sent.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from unittest import mock

from encoders.randomness import SystemEntropy
from encoders.report import ID_BYTES, Report, pack
from encoders.survey import Plan, read_survey
from ldp_client import Client, Journal, Response, State, TransportError
from ldp_client.sending.process_exit import get_sender
from ldp_client.survey_identity import SurveyIdentity, origin_of_url

REPEATS, REPORTS = 2_000, 200
URL = "http://collector.test/v1/surveys/bench"
HEAD = '[survey]\nid = "bench"\nepsilon = 1.0\n[label]\nname = "label"\nvalues = ["yes", "no"]\n'
VALUES = [str(value) for value in range(32)]  # with the label, 64
CHOICE = f"[features.asked]\nvalues = {VALUES}\n[mechanism]\nfrequency = "
Case = tuple[Plan, dict[str, object]]
CASES: dict[str, Case] = {
    "DE, d=64": (read_survey(f'{HEAD}{CHOICE}"DE"').compile(), {"asked": "7"}),
    "OUE, d=64": (read_survey(f'{HEAD}{CHOICE}"OUE"').compile(), {"asked": "7"}),
    "a number": (read_survey(f"{HEAD}[features.asked]\nrange = [0, 100]").compile(), {"asked": 42.5}),
}
Times = dict[str, float]


class UnreachableTransport:
    """A transport whose requests all fail: there is no collector."""

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        raise TransportError("no answer from the collector: it does not exist")


def median(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median time of `work` over its repeats, in seconds."""
    seconds = []
    gc.disable()
    for _ in range(repeats):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    gc.enable()
    return statistics.median(seconds)


def steps(plan: Plan, row: dict[str, object]) -> Times:
    """Time the steps of `encoders.survey.randomise` for the first question, in seconds."""
    rng, question = SystemEntropy(), plan.questions[0]
    truth = question.value(*plan.encode(row, "yes"))
    payload = question.mechanism.perturb(truth, rng)
    report = Report(plan.digest_bytes, question.index, rng.take(ID_BYTES), payload)
    return {
        "load the pinned plan": median(lambda: Plan.from_json(plan.json), REPORTS),
        "validate": median(lambda: plan.encode(row, "yes")),
        "draw": median(lambda: (plan.draw(rng), rng.take(ID_BYTES))),
        "perturb": median(lambda: question.mechanism.perturb(truth, rng)),
        "pack": median(lambda: pack(report)),
    }


@contextmanager
def journals(plan: Plan, synchronous: str) -> Iterator[Iterator[Journal]]:
    """Make new journals that hold the person's consent."""

    def granted(folder: str) -> Iterator[Journal]:
        for number in range(2 * REPORTS):
            journal = Journal(Path(folder, f"{number}.db"))
            journal.grant(plan, URL)
            yield journal

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("ldp_client.journal.file._SYNCHRONOUS", synchronous),
    ):
        yield granted(folder)


def commit(plan: Plan, synchronous: str) -> float:
    seconds, identity = [], SurveyIdentity(plan.id, origin_of_url(URL))
    with journals(plan, synchronous) as fresh:
        for journal, _ in zip(fresh, range(REPORTS), strict=False):
            start = perf_counter()
            journal.commit(identity, plan, lambda _: b"x" * 64)
            seconds.append(perf_counter() - start)
    return statistics.median(seconds)


def enqueue(plan: Plan) -> float:
    """Time the start of the sender, which starts its thread, in seconds."""
    seconds = []
    with journals(plan, "OFF") as fresh:
        for journal, _ in zip(fresh, range(REPORTS), strict=False):
            with Client(plan, URL, journal=journal, transport=UnreachableTransport()) as client:
                sender = get_sender(journal)
                start = perf_counter()
                sender.send_queued(client)
                seconds.append(perf_counter() - start)
                sender.remove_client(client, 10.0)
    return statistics.median(seconds)


def whole(plan: Plan, row: dict[str, object], synchronous: str) -> float:
    seconds = []
    with journals(plan, synchronous) as fresh:
        for journal, _ in zip(fresh, range(REPORTS), strict=False):
            with Client(plan, URL, journal=journal, transport=UnreachableTransport(), spread=60.0) as client:
                start = perf_counter()
                state = client.report(row, "yes").state
                seconds.append(perf_counter() - start)
                assert state is State.QUEUED, state
    return statistics.median(seconds)


def times(plan: Plan, row: dict[str, object]) -> Times:
    """Time one case, in seconds."""
    return steps(plan, row) | {
        "journal commit, fsync": commit(plan, "EXTRA"),
        "journal commit, no fsync": commit(plan, "OFF"),
        "enqueue": enqueue(plan),
        "report(), fsync": whole(plan, row, "EXTRA"),
        "report(), no fsync": whole(plan, row, "OFF"),
    }


def main() -> None:
    columns = {name: times(*case) for name, case in CASES.items()}
    print(f"{'microseconds':<26}" + "".join(f"{name:>12}" for name in columns))
    for part in next(iter(columns.values())):
        print(f"{part:<26}" + "".join(f"{each[part] * 1e6:>12.1f}" for each in columns.values()))


if __name__ == "__main__":
    main()

"""The trials of collector and stores at full size; SCALE=0.1 runs a tenth of the size."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.support.servers import redis_nodes
from tools.endurance.client_trials import Trial
from tools.endurance.collector import crashes, fuzzing, repeats, several_collectors, slow_headers
from tools.endurance.collector.secrecy import secrecy
from tools.endurance.collector.soak import soak

SCALE = float(os.environ.get("SCALE", "1"))


def scaled(number: int) -> int:
    return max(2, int(number * SCALE))


def kills(kind: str, reports: int, wanted: int) -> Trial:
    def trial(folder: Path) -> str:
        seen = crashes.kills(folder, kind, scaled(reports), scaled(wanted))
        return (
            f"{seen.seen.total():,} reports in {seen.posts:,} posts, {seen.attempts:,} attempts; "
            f"{_list(seen.kills)} killed; every counter is correct; first responses: {_list(seen.seen)}"
        )

    return trial


def cuts(folder: Path) -> str:
    seen = crashes.cut_files(folder, scaled(50))
    return f"{seen.cuts} cuts, {seen.lost:,} bytes gone; {seen.reports:,} reports, none lost or halved"


def repeated(folder: Path) -> str:
    seen = repeats.repeats(folder, scaled(1_000_000), scaled(10_000))
    return f"{seen.duplicates:,} repeated reports and {seen.reused:,} reused ids reported; none counted"


def fuzz(folder: Path) -> str:
    half = scaled(430_000)
    with ProcessPoolExecutor(2) as pool:
        seen = list(pool.map(fuzzing.fuzz_intake, [half, half], [11, 12]))
        seen += pool.map(fuzzing.fuzz_pages, [scaled(60_000)] * 2, [13, 14])
    seen.append(fuzzing.fuzz_wire(folder, scaled(20_000)))
    outcomes: Counter[str] = sum((each.outcomes for each in seen), Counter())
    bodies = sum(each.bodies for each in seen)
    return f"{bodies:,} bodies, no 5xx, worker grew by {seen[-1].grown:.1f} MB; {_list(outcomes)}"


def several(kind: str) -> Callable[[Path], str]:
    def trial(folder: Path) -> str:
        with several_collectors.shared_store(folder, kind) as url:
            seen = several_collectors.several(folder, url, scaled(60_000), 1000)
        return f"same counts as a single collector: {_list(seen)}"

    return trial


def shard_loss(folder: Path) -> str:
    with redis_nodes(folder) as nodes:
        seen = several_collectors.shard_loss(folder, nodes, scaled(400), turns=5)
    return (
        f"{seen.refused} posts got a 503 and were counted once later; the other questions continued; "
        f"a response took {seen.slowest * 1e3:.0f} ms at most"
    )


def slow_connections(folder: Path) -> str:
    seen = slow_headers.slow_headers(folder, scaled(1000), 60 * SCALE)
    assert seen.share(0.99) < 1, f"one honest post in a hundred took {seen.share(0.99):.1f} s or more"
    return (
        f"{seen.opened:,} slow connections, each cut after {max(seen.lives, default=0.0):.1f} s at most; "
        f"{len(seen.posts):,} honest posts took {seen.share(0.5) * 1e3:.0f} ms (median), "
        f"{seen.share(0.99) * 1e3:.0f} ms (99%), {max(seen.posts) * 1e3:.0f} ms at most"
    )


def searched(kind: str) -> Trial:
    def trial(folder: Path) -> str:
        seen = secrecy(folder, kind, scaled(100_000))
        return (
            f"{seen.reports:,} reports in {seen.requests:,} requests; {seen.bytes / 1e6:,.0f} MB contain no "
            f"address, header, body, row or time; responses: {_list(seen.responses)}"
        )

    return trial


def soaked(folder: Path) -> str:
    seen = soak(folder, scaled(600))
    reports, posts = seen.seen["recorded"] / seen.seconds, seen.posts / seen.seconds
    return (
        f"{seen.seen['recorded']:,} reports and {seen.seen['duplicate']:,} repeated, {seen.posts:,} posts: "
        f"{reports:,.0f} reports and {posts:,.0f} posts a second, at the end {seen.slowed:.2f} of the early "
        f"speed; a response took {seen.median * 1e3:.0f} ms (median), {seen.slowest:.1f} s at most; a worker "
        f"grew by {seen.grown:.1f} MB to {seen.resident:.0f} MB, and by {seen.files} open files"
    )


def every() -> Iterator[tuple[str, Trial]]:
    yield "kill -9 of collector and Redis", kills("redis", 1_000_000, 100)
    yield "kill -9 of collector, SQLite", kills("sqlite", 200_000, 30)
    yield "Redis's file cut at an acknowledgement", cuts
    yield "repeated reports, reused ids", repeated
    yield "malformed bodies", fuzz
    yield "two collectors, one Redis", several("redis")
    yield "two collectors, a cluster of three", several("cluster")
    yield "a cluster loses a shard, five times", shard_loss
    yield "1,000 slow headers, behind nginx", slow_connections
    yield "data of Redis and collector, searched", searched("redis")
    yield "data of SQLite and collector, searched", searched("sqlite")
    yield "ten minutes at full speed", soaked


def _list(counts: Counter[str] | Counter[int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))

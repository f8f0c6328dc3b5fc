"""Benchmark three shards of a Redis Cluster and two collectors against one Redis and one collector.

There is no goal, because either may be faster on few processors: `python -m benchmarks shards` runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from benchmarks.collector import BODIES, BODY, CONNECTIONS, SINGLES, reports
from benchmarks.load import send, spell
from benchmarks.measure import Row, Timer, compare, each, gain
from benchmarks.servers import collector, redis_cluster, redis_server

REPEATS = 31


def rows() -> Iterator[Row]:
    """Yield a row for single posts and one for bodies of many reports."""
    with ExitStack() as stack:
        one = [stack.enter_context(collector(stack.enter_context(redis_server())))]
        cluster = stack.enter_context(redis_cluster(3))
        two = [stack.enter_context(collector(cluster)) for _ in range(2)]
        for what, count, size in (("one report a post", SINGLES, 1), ("1,000 reports a body", BODIES, BODY)):
            peer = {"one Redis, one collector": _posts(one, count, size)}
            yield compare(f"{what}, three shards", _posts(two, count, size), peer, gain(0), REPEATS)


def _posts(urls: Sequence[str], count: int, size: int) -> Timer:
    """Return a timer of sending `count` bodies; the collectors share the bodies and the connections."""
    share, connections = count // len(urls), CONNECTIONS // len(urls)

    def bodies() -> list[bytes]:
        return [b"".join(reports(size)) for _ in range(share)]

    def timed() -> float:
        requests = [spell(url, bodies()) for url in urls]  # made before the timing, new ones in every round

        def post() -> None:
            with ThreadPoolExecutor(len(urls)) as pool:
                list(pool.map(send, urls, requests, [connections] * len(urls)))

        return each(post, share * len(urls) * size)()

    return timed

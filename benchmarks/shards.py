"""Compare three shards of a Redis Cluster and two collectors with one Redis and one collector, in turns.

There is no goal: on few processors either may be faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from benchmarks.collector import BODIES, BODY, CONNECTIONS, REPEATS, SINGLES, reports
from benchmarks.load import send, spell
from benchmarks.measure import Row, Timer, compare, each, gain
from benchmarks.servers import collector
from tests.servers import redis_cluster, redis_server


def ratios(folder: Path, repeats: int = REPEATS) -> list[Row]:
    """Time single posts, then bodies of many reports, on both."""
    with ExitStack() as stack:
        one = [stack.enter_context(collector(stack.enter_context(redis_server(folder))))]
        cluster = stack.enter_context(redis_cluster(folder))
        two = [stack.enter_context(collector(cluster)) for _ in range(2)]
        return [
            compare(what, _posts(two, count, size), {"one": _posts(one, count, size)}, gain(0), repeats)
            for what, count, size in (("one report a post", SINGLES, 1), ("1,000 a body", BODIES, BODY))
        ]


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

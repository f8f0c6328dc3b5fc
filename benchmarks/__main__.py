"""Run all benchmarks, or the named topics, and print one table."""

from __future__ import annotations

import importlib
import sys

from benchmarks.measure import Row

TOPICS = ("mechanisms", "aggregation", "startup", "prediction", "collector")
ON_REQUEST = ("shards",)
"""Topics without a goal, which run only if they are named."""
LINE = "{:<42} {:>10} {:>10} {:>9} {:>10}  {:<7}  {}"


def main(topics: list[str]) -> None:
    """Run the topics in turn; print each row when it is measured."""
    unknown = [topic for topic in topics if topic not in TOPICS + ON_REQUEST]
    if unknown:
        sys.exit(f"no topic {unknown[0]!r}: choose from {', '.join(TOPICS + ON_REQUEST)}")
    print(LINE.format("what", "ours", "peer", "ratio", "goal", "reached", "peer is"))
    reached = []
    for topic in topics or TOPICS:
        for row in importlib.import_module(f"benchmarks.{topic}").rows():
            print(line(row), flush=True)
            reached.append(row.goal.reached(row.ratio))
    print(f"{sum(reached)} of {len(reached)} goals reached")


def line(row: Row) -> str:
    done = "yes" if row.goal.reached(row.ratio) else "NO"
    goal = row.goal
    return LINE.format(
        row.what, time(row.ours), time(row.peer), goal.show(row.ratio), str(goal), done, row.against
    )


def time(seconds: float) -> str:
    """Format seconds with three digits and a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


if __name__ == "__main__":
    main(sys.argv[1:])

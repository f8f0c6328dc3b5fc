"""Send counted reports again, and other reports under ids that were used."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers import KillableCollector, redis_server
from tools.endurance.collector.posting import deliver
from tools.endurance.collector.reports import (
    SURVEY,
    make_reports,
    other_report,
    plan_of,
    require_equal,
    require_whole,
    totals_of,
)


@dataclass
class Repeats:
    """Numbers of repeated reports and reused ids that were recognised."""

    duplicates: int
    reused: int


def repeats(folder: Path, duplicates: int, reused: int, reports: int = 1000) -> Repeats:
    """Send counted reports again, and others under their ids: alone, in bodies, and within one body."""
    plan, rng = plan_of(), random.Random(duplicates)
    sent = make_reports(plan, reports, seed=3)
    survey = folder / "survey.toml"
    survey.write_text(SURVEY)
    others = [other_report(plan, report, rng) for report in sent.reports]
    with redis_server(folder) as url:
        collector = KillableCollector(survey, url, folder / "collector.log")
        try:
            collector.start()
            assert deliver(collector.base, [(reports, b"".join(sent.reports))]) == {"recorded": reports}
            singles = duplicates // 100
            bodies = [(1, rng.choice(sent.reports)) for _ in range(singles)]
            while singles < duplicates:
                chosen = rng.choices(sent.reports, k=min(1000, duplicates - singles))
                bodies.append((len(chosen), b"".join(chosen)))
                singles += len(chosen)
            seen = deliver(collector.base, bodies)
            assert seen == {"duplicate": duplicates}, seen
            half = reused // 2
            bodies = [(1, rng.choice(others)) for _ in range(half)]
            while half < reused:
                chosen = rng.choices(others, k=min(100, reused - half))
                bodies.append((len(chosen), b"".join(chosen)))
                half += len(chosen)
            seen = deliver(collector.base, bodies)
            assert seen == {"id-reused": reused}, seen
        finally:
            collector.stop()
        require_whole(url, plan)
        require_equal(totals_of(url), sent.totals)
    return Repeats(duplicates, reused)

"""Archives: files of raw reports, of any size; their reports are counted as a collector counts them.

Each archive is divided into sections, and all ids into parts. First each section is read, and its reports are
written to a temporary file, sorted by part. Then each part is counted, in the order of the archives.
Processes of this machine or of a Dask cluster share both steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from tempfile import TemporaryDirectory

from encoders.progress import ShowProgress, hide_progress
from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.reports.archives.parts import (
    ALL_PROCESSORS,
    Partition,
    Run,
    SpilledSection,
    count_part,
    open_workers,
    spill_errors,
    spill_section,
)
from ldp_aggregator.reports.archives.reader import (
    ArchiveError,
    Section,
    describe_damage,
    divide_archive,
    require_reports,
)
from ldp_aggregator.snapshot import AnySnapshot, make_snapshot, sum_snapshots

__all__ = ["ALL_PROCESSORS", "ArchiveError", "Warn", "count_archives"]

Warn = Callable[[str], object]
"""Takes a warning for the operator, one sentence."""


def count_archives(
    plan: Plan | SiloPlan,
    paths: Sequence[str],
    warn: Warn,
    workers: int | str = 1,
    show: ShowProgress = hide_progress,
) -> AnySnapshot:
    """Count the reports of archives, each once across all of them.

    Archives are files of concatenated reports, like request bodies; gzip is recognised by content. Of two
    reports with the same id the first counts, in the order of `paths`; the second is skipped if it has the
    same bytes, else rejected as ``id-reused``. `warn` is called for each damage that the totals do not show.
    `workers` is the number of processes, ALL_PROCESSORS, or the address of a Dask cluster, which must see the
    archives, and the folder for temporary files, under the same paths.

    Raises ArchiveError if a file cannot be read or contains no reports, the cluster cannot be reached, Dask
    is not installed, a worker dies, or the temporary files cannot be written.
    """
    sections = [section for path in paths for section in divide_archive(path)]
    partition = Partition(sum(section.unpacked_bytes for section in sections))
    if isinstance(workers, int) and partition.parts == 1:
        workers = 1
    with spill_errors():
        folder = TemporaryDirectory(prefix="ldp-train-")
    with folder, open_workers(workers) as run:
        spilled = _spill_sections(
            partial(spill_section, plan.json, partition, folder.name), run, sections, show
        )
        counted = _count_parts(plan, partition, spilled, run, show)
    for path, group in groupby(spilled, attrgetter("path")):
        summaries = [each.summary for each in group]
        require_reports(path, any(each.has_reports for each in summaries))
        for summary in summaries:
            rejections = {str(reason): count for reason, count in summary.rejections.items()}
            counted = sum_snapshots([counted, make_snapshot(plan, {}, rejections, summary.simulated)])
        for warning in describe_damage(path, summaries):
            warn(warning)
    return counted


def _spill_sections(
    read: Callable[..., SpilledSection], run: Run, sections: Sequence[Section], show: ShowProgress
) -> list[SpilledSection]:
    """Read all sections; a worker guesses where the first report of its section starts.

    A section is read again if the one before it ends elsewhere: because of damage, or since the payload of a
    report looks like a report.
    """
    spilled: list[SpilledSection] = []
    with show("reading archives", sum(section.size for section in sections)) as progress:
        step = partial(read, progress=progress.advance) if run is map else read
        for section, result in zip(sections, run(step, sections), strict=True):
            if section.start and result.start != (before := spilled[-1].summary).end:
                result = read(section, before)
            spilled.append(result)
            if run is not map:
                progress.advance(section.size)
    return spilled


def _count_parts(
    plan: Plan | SiloPlan,
    partition: Partition,
    spilled: Sequence[SpilledSection],
    run: Run,
    show: ShowProgress,
) -> AnySnapshot:
    parts = [
        [(each.file, each.blocks[each.blocks[:, 0] == part]) for each in spilled]
        for part in range(partition.parts)
    ]
    counted = make_snapshot(plan, {})
    with show("counting reports", partition.parts, "parts") as progress:
        for totals, rejections in run(partial(count_part, plan.json), parts):
            counted = sum_snapshots([counted, make_snapshot(plan, totals, rejections)])
            progress.advance()
    return counted

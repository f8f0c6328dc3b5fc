"""Archives: files of raw reports, of any size; their reports are counted as a collector counts them.

Reports are checked here as arrays, whereas :func:`encoders.survey.randomise.read_report` checks one report;
the tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from encoders.late_imports import LateImport
from encoders.progress import ShowProgress, hide_progress
from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.reports.archives.dedup import Spill
from ldp_aggregator.reports.archives.reader import READING, ArchiveError, read_archive, total_bytes
from ldp_aggregator.snapshot import AnySnapshot, make_snapshot, sum_snapshots

__all__ = ["ArchiveError", "Warn", "count_archives"]

COUNT_ON_CLUSTER = LateImport("ldp_aggregator.reports.archives.dask:count_on_cluster")
Warn = Callable[[str], object]
"""Takes a warning for the operator, one sentence."""


def count_archives(
    plan: Plan | SiloPlan,
    paths: Sequence[str],
    warn: Warn,
    scheduler: str | None = None,
    show: ShowProgress = hide_progress,
) -> AnySnapshot:
    """Count the reports of archives, each once across all of them.

    Of two reports with the same id the first counts, in the order of `paths`. If the second has the same
    bytes, it is skipped as a duplicate, otherwise it is rejected as ``id-reused``.

    Parameters
    ----------
    plan : Plan or SiloPlan
        The plan that the reports must answer.
    paths : sequence of str
    warn : callable
        Called with a warning for each damage that the totals do not show.
    scheduler : str, optional
        Address of a Dask cluster to spread the files over, or "local" for this machine's processors.
    show : callable
        Shows the progress, see :data:`~encoders.progress.ShowProgress`.

    Raises
    ------
    ArchiveError
        If a file cannot be read or contains no reports, the cluster cannot be reached, Dask is not
        installed, or the temporary files cannot be written.
    """
    if scheduler is None:
        with Spill(plan) as spill:
            with show(READING, total_bytes(paths)) as progress:
                results = [read_archive(plan, path, spill.add, progress.advance) for path in paths]
            counted = spill.count(show)
    else:
        counted, results = COUNT_ON_CLUSTER.load()(plan, paths, scheduler, show)
    for result in results:
        rejected = make_snapshot(plan, {}, result.rejections, result.simulated)
        counted = sum_snapshots([counted, rejected])
        for warning in result.warnings:
            warn(warning)
    return counted

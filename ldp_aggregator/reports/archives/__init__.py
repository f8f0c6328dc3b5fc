"""Archives: files of raw reports, of any size, counted as a collector would have counted them.

What is told here in columns is told report by report in :mod:`encoders.survey.randomise`; the
tests hold one against the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from encoders.survey import Plan
from ldp_aggregator.reports.archives.reader import ArchiveError, Outcome, read_archive
from ldp_aggregator.reports.archives.spill import Spill
from ldp_aggregator.snapshot import Snapshot

__all__ = ["ArchiveError", "Warn", "read_archives"]

Warn = Callable[[str], object]
"""Takes a sentence for the operator."""


def read_archives(plan: Plan, paths: Sequence[str], warn: Warn, scheduler: str | None = None) -> Snapshot:
    """Count the reports of archives, each once across all of them.

    Of two reports under one id the first counts, in the order of `paths`. If the second has the very
    bytes of the first it is passed over in silence, else it is rejected as ``id-reused``.

    Parameters
    ----------
    plan : Plan
        What the reports should answer.
    paths : sequence of str
    warn : callable
        Hears of damage that the totals do not show.
    scheduler : str, optional
        Address of a Dask cluster to spread the files over, or "local" for this machine's processors.

    Raises
    ------
    ArchiveError
        If a file cannot be read or holds no reports, the cluster is out of reach or Dask is not installed,
        or the temporary files cannot be written.
    """
    if scheduler is None:
        counted, outcomes = _read_here(plan, paths)
    else:
        from ldp_aggregator.reports.archives.dask import read_on_cluster  # only with Dask

        counted, outcomes = read_on_cluster(plan, paths, scheduler)
    for outcome in outcomes:
        counted += Snapshot(plan, {}, outcome.rejections)
        for notice in outcome.notices:
            warn(notice)
    return counted


def _read_here(plan: Plan, paths: Sequence[str]) -> tuple[Snapshot, list[Outcome]]:
    with Spill(plan) as spill:
        outcomes = [read_archive(plan, path, spill.add) for path in paths]
        return spill.snapshot(), outcomes

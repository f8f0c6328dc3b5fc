"""Moving a survey to another store, where no report that was counted before counts again.

For that the reports' ids move too; a snapshot has none. Only what the target lacks is written to it, so that
a move that was cut off is completed by another. Until then the target takes no reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from encoders.errors import LdpError
from ldp_aggregator.collector.enrolment import tokens_of
from ldp_aggregator.collector.windows import Window
from ldp_aggregator.stores import Batch, Store, Total
from ldp_aggregator.stores.base import Remembered, no_survey, rows_of

ARRIVING = Window(opens=253_402_300_799)
"""Lets nothing in, and devices keep their reports; no operator sets the last second of the year 9999."""

Totals = Mapping[tuple[str, str], Total]
"""By the name under which a store keeps them, and counter."""


class MovingError(LdpError):
    """A survey that cannot be moved; the source is as it was, and the target takes no reports of it."""


def move(source: Store, target: Store, survey: str, progress: Callable[[int], object] = int) -> int:
    """Bring a survey with all its counters, report ids and tokens into another store.

    Parameters
    ----------
    source : Store
        Only read. Nothing may be counted in it meanwhile.
    target : Store
        Holds nothing of the survey, or what an earlier move from this source has left.
    survey : str
    progress : callable
        Hears how many reports were moved since it was last called.

    Returns
    -------
    int
        Number of reports.

    Raises
    ------
    MovingError
        If the target collects the survey itself, or the source goes on counting.
    StoreError
        If a store cannot be used or lacks the survey. To move again is safe.
    """
    plans, window = source.plans(), source.windows().get(survey, Window().to_json())
    if survey not in plans:
        raise no_survey(survey, plans)
    if window == ARRIVING.to_json():
        raise MovingError(f"{survey} has not arrived in the source itself: complete that import first")
    before = _totals(source, survey)
    _hold(target, survey, plans[survey])
    _add_cells(target, before, _totals(target, survey))
    for (name, counter), total in before.items():
        for piece in source.reports(name, counter) if total.n else ():
            _remember(target, name, counter, piece, len(total.cells))
            progress(len(piece[0]) if name == survey else 0)
    _require_equal(before, _totals(source, survey), _totals(target, survey), survey)
    for reason, count in (Counter(source.rejections(survey)) - Counter(target.rejections(survey))).items():
        target.reject(survey, reason, count)
    target.set_window(survey, window)
    return sum(total.n for (name, _), total in before.items() if name == survey)


def _totals(store: Store, survey: str) -> Totals:
    """Return all counters of a survey, those of its tokens too, by name and counter."""
    names = survey, tokens_of(survey)
    return {(name, counter): total for name in names for counter, total in store.totals(name).items()}


def _hold(target: Store, survey: str, plan: bytes) -> None:
    """Make the target one that knows the survey, and takes nothing of it yet."""
    if survey in target.plans():
        window = target.windows().get(survey)
        if window != ARRIVING.to_json() and (window or _totals(target, survey)):
            raise MovingError(
                f"the target collects {survey} itself, or has times for it: move it into a store without it"
            )
    target.publish(survey, plan)
    target.set_window(survey, ARRIVING.to_json())


def _add_cells(target: Store, wanted: Totals, there: Totals) -> None:
    """Bring the target's cells to the source's; its numbers of reports grow when their ids arrive."""
    missing = {
        key: total.cells - there[key].cells if key in there else total.cells
        for key, total in wanted.items()
        if key not in there or not np.array_equal(total.cells, there[key].cells)
    }
    none = np.empty((0, 16), np.uint8), np.empty((0, 8), np.uint8)
    target.record([Batch(*key, *none, cells) for key, cells in missing.items()])


def _remember(target: Store, survey: str, counter: str, piece: Remembered, width: int) -> None:
    """Let the target know reports whose tallies it has; those that it knows are left out."""
    ids, marks = piece
    nothing = np.zeros(width, np.int64)
    (known,) = target.record([Batch(survey, counter, ids, marks, nothing)])
    if not known:
        return
    if any(known.get(name, mark) != mark for name, mark in zip(rows_of(ids), rows_of(marks), strict=True)):
        raise MovingError(f"the target holds other reports of {survey}: move it into an empty store")
    new = np.array([name not in known for name in rows_of(ids)])
    if new.any():
        _remember(target, survey, counter, (ids[new], marks[new]), width)


def _require_equal(before: Totals, after: Totals, there: Totals, survey: str) -> None:
    if _spelled(before) != _spelled(after):
        raise MovingError("the source changed meanwhile: stop its collectors, and run the same command again")
    if _spelled(there) != _spelled(after):
        raise MovingError(
            f"the target does not hold what the source holds of {survey}: did others write to it, another "
            "import perhaps? Run the same command again; if that does not help, move into a store without it"
        )


def _spelled(totals: Totals) -> dict[tuple[str, str], tuple[int, bytes]]:
    return {key: (total.n, total.cells.tobytes()) for key, total in totals.items()}

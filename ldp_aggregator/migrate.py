"""Moving a survey to another store, where no report that was counted before counts again.

For that the reports' ids move too; a snapshot has none. Only what the target lacks is written to it, so that
a move that was cut off is completed by another. Until then the target takes no reports, and says by which
run it is held: of two at once, the later goes on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from secrets import token_hex

import numpy as np

from encoders.errors import LdpError
from ldp_aggregator.collector.invitations import tokens_of
from ldp_aggregator.collector.windows import FRESH_SECONDS
from ldp_aggregator.stores import Batch, Store, Total
from ldp_aggregator.stores.base import IdsAndMarks, byte_rows, unknown_survey_error
from ldp_aggregator.stores.schedule import Schedule, read_schedule

HEARD_SECONDS = FRESH_SECONDS + 1.0
"""When all collectors know that a survey is held, and what they took before is written."""

Totals = Mapping[tuple[str, str], Total]
"""By the name under which a store keeps them, and counter."""


class MovingError(LdpError):
    """A survey that cannot be moved; the source is as it was."""


def move(source: Store, target: Store, survey: str, progress: Callable[[int], object] = int) -> int:
    """Bring a survey with all its counters, report ids and tokens into another store.

    Parameters
    ----------
    source : Store
        Only read. Nothing may be counted in it meanwhile.
    target : Store
        Holds nothing of the survey but its plan, or what an earlier move from this source has left.
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
        If the target collects the survey itself or has all of it, if another move goes on, or the source
        goes on counting.
    StoreError
        If a store cannot be used or lacks the survey. To move again is safe.
    """
    plans, window, held = source.plans(), read_schedule(source, survey), Schedule(arriving=token_hex(8))
    if survey not in plans:
        raise unknown_survey_error(survey, plans)
    if window.arriving:
        raise MovingError(f"{survey} has not arrived in the source itself: complete that import first")
    before = _totals(source, survey)
    _hold(source, target, survey, held)
    _add_cells(target, survey, before, held)
    for (name, counter), total in before.items():
        for piece in source.report_ids(name, counter) if total.n else ():
            _remember(target, name, counter, piece, len(total.cells))
            progress(len(piece[0]) if name == survey else 0)
    _require_equal(source, target, survey, before, held)
    for reason, count in (Counter(source.rejections(survey)) - Counter(target.rejections(survey))).items():
        target.add_rejections(survey, reason, count)
    _require_held(target, survey, held)
    target.set_schedule(survey, window.to_json())
    return sum(total.n for (name, _), total in before.items() if name == survey)


def _totals(store: Store, survey: str) -> Totals:
    """Return all counters of a survey, those of its tokens too, by name and counter."""
    names = survey, tokens_of(survey)
    return {(name, counter): total for name in names for counter, total in store.totals(name).items()}


def _hold(source: Store, target: Store, survey: str, held: Schedule) -> None:
    """Make the target one that knows the survey, takes nothing of it, and has nothing but the source's."""
    served, before = survey in target.plans(), read_schedule(target, survey)
    if served and not before.arriving:
        _require_none(source, target, survey)
    target.publish(survey, source.plans()[survey])
    target.set_schedule(survey, held.to_json())
    if not served:
        return
    time.sleep(HEARD_SECONDS)
    if _lacks(source, target, survey):
        if not before.arriving:
            target.set_schedule(survey, before.to_json())  # nothing of the source is in it
        raise _others(survey)


def _require_none(source: Store, target: Store, survey: str) -> None:
    """Refuse a target that collects the survey, be it that all of it was moved there before."""
    counted = any(total.n for total in _totals(source, survey).values())
    if counted and not _lacks(target, source, survey):
        raise MovingError(
            f"{survey} has arrived already: run its collectors on the target, and none on the source"
        )
    if _totals(target, survey) or survey in target.schedules():
        raise MovingError(
            f"the target collects {survey} itself, or has times for it: import into a store without it"
        )


def _lacks(store: Store, other: Store, survey: str) -> bool:
    """Tell whether a store lacks reports or tokens that another one has, or has others under their ids."""
    return any(
        store.find_recorded(name, {counter: ids})[counter]
        != dict(zip(byte_rows(ids), byte_rows(marks), strict=True))
        for (name, counter), total in _totals(other, survey).items()
        if total.n
        for ids, marks in other.report_ids(name, counter)
    )


def _others(survey: str) -> MovingError:
    return MovingError(
        f"the target holds reports or tokens of {survey} that the source lacks: import into a store "
        "without it"
    )


def _add_cells(target: Store, survey: str, wanted: Totals, held: Schedule) -> None:
    """Bring the target's cells to the source's; its numbers of reports grow when their ids arrive."""
    there = _totals(target, survey)
    missing = {
        key: total.cells - there[key].cells if key in there else total.cells
        for key, total in wanted.items()
        if key not in there or not np.array_equal(total.cells, there[key].cells)
    }
    none = np.empty((0, 16), np.uint8), np.empty((0, 8), np.uint8)
    _require_held(target, survey, held)
    if not missing:
        return
    target.record([Batch(*key, *none, cells) for key, cells in missing.items()])
    if read_schedule(target, survey) != held:
        target.set_schedule(survey, held.to_json())  # both may have added them, and the other opened it
        raise _another(survey)


def _require_held(target: Store, survey: str, held: Schedule) -> None:
    """Refuse to go on where another move has begun."""
    if read_schedule(target, survey) != held:
        raise _another(survey)


def _another(survey: str) -> MovingError:
    return MovingError(f"another import of {survey} was begun: let one end, then run the same command again")


def _remember(target: Store, survey: str, counter: str, piece: IdsAndMarks, width: int) -> None:
    """Let the target know reports whose tallies it has; those that it knows are left out."""
    ids, marks = piece
    nothing = np.zeros(width, np.int64)
    (known,) = target.record([Batch(survey, counter, ids, marks, nothing)])
    new = np.array([name not in known for name in byte_rows(ids)])
    if known and new.any():
        _remember(target, survey, counter, (ids[new], marks[new]), width)


def _require_equal(source: Store, target: Store, survey: str, before: Totals, held: Schedule) -> None:
    """Compare what has arrived with what was to, and say what helps."""
    if _spelled(before) != _spelled(_totals(source, survey)):
        raise MovingError("the source changed meanwhile: stop its collectors, and run the same command again")
    if _spelled(before) == _spelled(_totals(target, survey)):
        return
    _require_held(target, survey, held)
    if _lacks(source, target, survey):
        raise _others(survey)
    raise MovingError(
        f"the target does not hold what the source holds of {survey}: run the same command again, alone"
    )


def _spelled(totals: Totals) -> dict[tuple[str, str], tuple[int, bytes]]:
    return {key: (total.n, total.cells.tobytes()) for key, total in totals.items()}

"""Reports made with one report id at a stopped clock: their answers must still differ.

Noise that is computed from the public report id, or from the clock, repeats under these conditions. While
reports are made, `os.urandom` and the functions of module `time` are replaced for the calling thread. Other
sources (`datetime.now`, a clock that compiled code reads, another process) are out of reach.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from encoders.errors import ReportError
from encoders.report import unpack
from encoders.survey import Plan
from encoders.survey.report_id import INDEX_BYTES
from ldp_audit.blackbox import at_most
from ldp_audit.check import FRESHNESS, Check
from ldp_audit.device import Reporting
from ldp_audit.freshness import answer_of
from ldp_audit.messages import Messages
from ldp_audit.people import Case

_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_FEW = 8
"""Equal answers in a row after which their chance is worked out."""
_MOST = 500
"""Reports of one person at most; where it takes more to rule chance out, nothing is decided."""
_REFERENCE = 5_000


@dataclass(frozen=True)
class Repeated:
    """Reports of one person, made under the same conditions.

    Attributes
    ----------
    case : Case
    count : int
        So many had the same answer; 0 if an answer differed, or if chance explains it.
    same_id : bool
        Whether all had the same report id.
    decided : bool
        False if chance explains so many equal answers.
    """

    case: Case
    count: int
    same_id: bool
    decided: bool = True


class Conditions:
    """Holds the report id and the clock for the thread that makes it.

    Attributes
    ----------
    call : int
        Calls of `os.urandom` since the latest :meth:`start`.
    """

    def __init__(self) -> None:
        self._owner = threading.get_ident()
        self._urandom = os.urandom
        self._drawn: list[bytes] = []
        self._held: tuple[int, int, bytes] | None = None
        self.call = 0

    def start(self) -> None:
        """Begin a report."""
        self.call = 0

    def release(self) -> None:
        """Let the next report have an id of its own, and note what it draws."""
        self._drawn, self._held = [], None
        self.start()

    def hold(self, part: bytes) -> None:
        """Give all further reports these bytes, where the latest report drew them."""
        for call, data in enumerate(self._drawn):
            if part and part in data:
                self._held = (call, data.index(part), part)

    def urandom(self, size: int) -> bytes:
        """Return fresh random bytes, but for those that are held."""
        data = self._urandom(size)
        if threading.get_ident() != self._owner:
            return data
        if self._held is None:
            self._drawn.append(data)
        elif self._held[0] == self.call:
            _, start, part = self._held
            data = (data[:start] + part + data[start + len(part) :])[:size]
        self.call += 1
        return data

    def stopped(self, clock: Callable[[], Any]) -> Callable[[], Any]:
        """Return a clock that stands still for the owner, and goes on for other threads."""
        now, owner = clock(), self._owner
        return lambda: now if threading.get_ident() == owner else clock()


@contextmanager
def conditions() -> Iterator[Conditions]:
    """Replace this process's random bytes and clocks for the calling thread."""
    held = Conditions()
    clocks = {getattr(time, name): held.stopped(getattr(time, name)) for name in _CLOCKS}
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            own = name.partition(".")[0] not in sys.stdlib_module_names or name == "time"
            replaced = {os.urandom: held.urandom} | (clocks if own else {})
            for entry, value in _found(module, replaced):
                stack.enter_context(patch.object(module, entry, value))
        yield held


def _found(module: object, replaced: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """Return the names in a module that are bound to one of the functions, and what replaces it."""
    known = {id(function): value for function, value in replaced.items()}
    names = list(getattr(module, "__dict__", {}).items())
    return [(name, known[id(value)]) for name, value in names if id(value) in known]


def repeat_all(
    device: Reporting, plan: Plan, people: Sequence[Case], heard: Mapping[str, Messages], alpha: float
) -> list[Repeated]:
    """Let each person report under the same conditions, see :func:`repeat`; alpha is for each person."""
    with conditions() as held:
        return [repeat(held, device, plan, case, heard[case.name], alpha) for case in people]


def repeat(
    held: Conditions, device: Reporting, plan: Plan, case: Case, alike: Messages, alpha: float
) -> Repeated:
    """Let a person report under the same conditions until an answer differs, or chance is ruled out.

    Parameters
    ----------
    held : Conditions
    device : Reporting
    plan : Plan
    case : Case
    alike : Messages
        Independent messages of the same person, to know how often an answer occurs by chance.
    alpha : float
        The chance of finding repeats where there are none.
    """
    held.release()
    first = device.report(plan, case.row, case.label)
    answer, report_id = answer_of(first, plan), _id_of(first)
    held.hold(report_id[INDEX_BYTES:] if plan.by_invitation else report_id)
    same_id, needed = True, float(_MOST)
    for count in range(2, _MOST + 1):
        held.start()
        message = device.report(plan, case.row, case.label)
        same_id = same_id and _id_of(message) == report_id
        if answer_of(message, plan) != answer:
            return Repeated(case, 0, same_id)
        if count == _FEW:
            needed = _needed([answer_of(each, plan) == answer for each in alike.first(_REFERENCE)], alpha)
        if count >= needed:
            return Repeated(case, count, same_id)
        if needed > _MOST:
            break
    return Repeated(case, 0, same_id, decided=False)


def _needed(equal: Sequence[bool], alpha: float) -> float:
    """Return how many equal answers in a row rule chance out, from which independent answers are equal."""
    likely = at_most(sum(equal), len(equal), alpha / 2)
    return 1 + math.log(alpha / 2) / math.log(likely) if likely < 1 else math.inf


def _id_of(message: bytes) -> bytes:
    try:
        return unpack(message).id
    except ReportError:
        return b""


def fresh_noise(found: Mapping[str, list[Repeated]], way: str) -> Check:
    """Check that answers differed under the same conditions.

    Parameters
    ----------
    found : mapping from a question's name to what was repeated
    way : str
        How reports were made.
    """
    name = f"{way}: answers differ with the same report id at a stopped clock"
    for question, repeated in found.items():
        for each in repeated:
            if each.count:
                held = "the same id and a stopped clock" if each.same_id else "a stopped clock"
                words = f"{question}: ({each.case.name}) gives one answer {each.count} times, with {held}"
                return Check(FRESHNESS, name, False, words)
    everyone = [each for repeated in found.values() for each in repeated]
    decided = sum(each.decided for each in everyone)
    words = f"{decided} people and questions"
    if decided < len(everyone):
        words = f"{decided} of {len(everyone)} people and questions; the others have likely answers"
    more = "" if all(each.same_id for each in everyone) else "; the id could not be held, only the clock"
    return Check(FRESHNESS, name, True, words + more)

"""The silos that can be audited: objects that convert a file of rows to the bytes that leave an organisation.

To audit another program for silos, write a class with the methods of :class:`SiloDevice`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from encoders.randomness import RandomSource, SystemEntropy
from encoders.survey.compiled_plan import OPEN
from encoders.survey.silo_plan import SiloPlan
from ldp_audit.device import SimulatedNetwork
from ldp_audit.request_capture import SURVEYS_URL
from ldp_silo import Silo, SiloJournal
from ldp_silo.epoch_reports import count_file
from ldp_silo.message import draw_message_id, make_message


class SiloDevice(Protocol):
    """A program for silos, as an eavesdropper observes it."""

    def messages(self, plan: SiloPlan, rows: Path, person: str | None, count: int) -> Iterator[bytes]:
        """Yield the messages of `count` silos that all have these rows; `person` names a column."""

    def attempts(self, plan: SiloPlan, rows: Path, person: str | None) -> list[bytes]:
        """Return all bodies that one silo posts for these rows while the network fails."""


class PublicSilo:
    """The silo of this project; `source` gives the noise of `messages`."""

    def __init__(self, source: RandomSource | None = None) -> None:
        self._source = source or SystemEntropy()

    def messages(self, plan: SiloPlan, rows: Path, person: str | None, count: int) -> Iterator[bytes]:
        """Count the rows once, and yield messages made by the functions that :meth:`Silo.report` calls."""
        counts = count_file(plan, rows, person).counts
        for _ in range(count):
            message_id = draw_message_id(plan, None, self._source)
            yield make_message(plan, counts, message_id, self._source)

    def attempts(self, plan: SiloPlan, rows: Path, person: str | None) -> list[bytes]:
        """Return the bodies of two calls of :meth:`Silo.report`; the network fails during the first."""
        network, journal = SimulatedNetwork(), SiloJournal(":memory:")
        for network.works in (False, True):
            silo = Silo(plan, SURVEYS_URL + plan.id, journal=journal, transport=network, strict=True)
            silo.grant()
            silo.report(rows, person=person, timeout=0)
        return network.bodies


def without_tokens(plan: SiloPlan) -> SiloPlan:
    """Return the plan as one that needs no invitation."""
    return replace(plan, enrolment=OPEN)

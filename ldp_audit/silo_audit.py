"""The audit of a silo's messages: a lower bound on epsilon from many messages of two neighbours.

Two files of made-up rows differ by the rows of one person. Each message is sorted by how many of its tables
point to the person. A bound below epsilon proves nothing: other rows, or another event, may reveal more.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
from scipy.special import bdtrc

from encoders.errors import LdpError
from encoders.lazy_numpy import IntArray
from encoders.mechanisms.counted_table import CountedTable
from encoders.randomness import RandomSource, SystemEntropy
from encoders.report import Report, pack, unpack
from encoders.survey.compiled_plan import OPEN
from encoders.survey.features import SEPARATOR
from encoders.survey.silo_plan import SiloPlan
from ldp_audit.blackbox import ALPHA
from ldp_audit.device import SimulatedNetwork
from ldp_audit.outcomes import LEAST_TRIALS, MeasuredLeak, measure_leak
from ldp_audit.people import join_names, list_labels, value_at
from ldp_audit.request_capture import SURVEYS_URL
from ldp_silo import Silo, SiloJournal
from ldp_silo.epoch_reports import count_file
from ldp_silo.message_preview import draw_message_id, make_message


class SiloDevice(Protocol):
    """A program for silos, as an eavesdropper observes it; to audit another one, write its methods."""

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
    return replace(plan, enrolment=OPEN)


_POSITIONS_OF_ROWS = ("first", "last")
_OTHER_POSITIONS = ("last", "beyond", "missing")


@dataclass(frozen=True)
class Neighbours:
    """Two files of rows; the second also has the rows of one person. No other row has their label, if any."""

    name: str
    label: int
    """The code of the person's label; 0 in a survey without one."""
    files: tuple[Path, Path]
    """Without and with the rows of the person."""
    counts: tuple[IntArray, IntArray]
    """The exact cells of both files, computed from codes and not from the files."""
    person: str | None
    """The column that names the persons, if the survey needs one."""


Row = tuple[dict[str, object], str | None]


def make_neighbours(plan: SiloPlan, folder: Path) -> list[Neighbours]:
    """Write a pair of files for each label; raise LdpError if the survey allows too few rows."""
    labels = list_labels(plan.label)
    chosen = [(label, "first", _row(plan, "first")) for label in labels]
    known = [_codes(plan, chosen[-1][2])]
    for position in _OTHER_POSITIONS:
        row = _row(plan, position)
        if _codes(plan, row) not in known:
            known.append(_codes(plan, row))
            chosen.append((labels[-1], position, row))
    return [
        _write_pair(plan, folder / str(index), join_names(label, f"{position} values"), (values, label))
        for index, (label, position, values) in enumerate(chosen)
    ]


def _write_pair(plan: SiloPlan, path: Path, name: str, person_row: Row) -> Neighbours:
    others = [
        (_row(plan, position), label)
        for label in list_labels(plan.label)
        if label is None or label != person_row[1]
        for position in _POSITIONS_OF_ROWS
    ]
    more = [*others, *[person_row] * plan.rows_per_person]
    if len(more) > plan.rows:
        raise LdpError(
            f"the audit needs {len(more)} rows, but the survey allows {plan.rows}: give one with more"
        )
    column = _unused_name(plan) if plan.rows_per_person > 1 else None
    files = path.with_suffix(".without.csv"), path.with_suffix(".with.csv")
    for file, rows in zip(files, (others, more), strict=True):
        _write_rows(plan, file, column, rows, len(others))
    label = plan.label.code(person_row[1])
    counts = _count(plan, others), _count(plan, more)
    return Neighbours(name, label, files, counts, column)


def _row(plan: SiloPlan, position: str) -> dict[str, object]:
    return {entry.name: value_at(entry, position) for entry in plan.entries}


def _codes(plan: SiloPlan, row: Mapping[str, object]) -> list[int]:
    return [feature.code(row[feature.row_name]) for feature in plan.features]


def _count(plan: SiloPlan, rows: Sequence[Row]) -> IntArray:
    cells = np.zeros(plan.mechanism.cells, dtype=np.int64)
    for values, label in rows:
        for cell, part in plan.question.row_parts(_codes(plan, values), plan.label.code(label)):
            cells[cell] += part
    return cells


def _unused_name(plan: SiloPlan) -> str:
    names = {*plan.label.names, *(entry.name for entry in plan.entries)}
    return next(
        name for name in ("person", *(f"person {index}" for index in range(len(names)))) if name not in names
    )


def _write_cell(value: object) -> object:
    """Return a cell of a CSV file; several answers end with a separator, which also stands for none."""
    if isinstance(value, list):
        return "".join(f"{each}{SEPARATOR}" for each in value) or SEPARATOR
    return "" if value is None else value


def _write_rows(plan: SiloPlan, file: Path, column: str | None, rows: Sequence[Row], others: int) -> None:
    """Write rows; each of the first `others` rows has a person of its own, and the last rows have one."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        names = [*plan.label.names, *(entry.name for entry in plan.entries)]
        writer.writerow([*names, column] if column else names)
        for index, (values, label) in enumerate(rows):
            cells = [*plan.label.meaning(plan.label.code(label)).values(), *map(_write_cell, values.values())]
            writer.writerow([*cells, f"p{min(index, others)}"] if column else cells)


WHOLE_REPORT_TRIALS = 200
"""Number of whole reports of each of two files, with a network that fails."""
WHOLE_REPORTS = "whole reports, with retries"


@dataclass(frozen=True)
class SiloAudit:
    leaks: list[MeasuredLeak]
    faults: list[str]
    """What is wrong besides a bound above epsilon: each a sentence."""

    @property
    def passed(self) -> bool:
        return not self.faults and all(leak.passed for leak in self.leaks)


def audit_silo(
    plan: SiloPlan,
    trials: int,
    device: SiloDevice | None = None,
    reports: int = WHOLE_REPORT_TRIALS,
    advance: Callable[[], object] = lambda: None,
) -> SiloAudit:
    """Return a lower bound on what the messages of a silo reveal about one person, and other faults.

    For each made-up person, `trials` messages are made of each of two files, and `reports` whole reports
    while the network fails. `advance` is called after each person, and after the whole reports.
    Raises LdpError if there are too few trials for any bound, or the made-up rows do not fit the plan.
    """
    if trials < LEAST_TRIALS:
        raise LdpError(f"an audit of silos needs at least {LEAST_TRIALS} trials")
    plan, device = without_tokens(plan), device or PublicSilo()
    epsilon = Fraction(plan.epsilon)
    leaks: list[MeasuredLeak] = []
    faults: list[str] = []
    with TemporaryDirectory() as folder:
        pairs = make_neighbours(plan, Path(folder))
        share = ALPHA / (2 * len(pairs) + 1)  # each pair has a bound and a test of repeated noise
        for pair in pairs:
            found = [
                _SentMessages.read(plan, pair, device.messages(plan, file, pair.person, trials))
                for file in pair.files
            ]
            leaks.append(measure_leak(pair.name, epsilon, [each.outcomes for each in found], share))
            faults += [fault for each in found for fault in each.find_faults(plan, share / 2)]
            advance()
        attempts = [
            [device.attempts(plan, file, pairs[0].person) for _ in range(reports)] for file in pairs[0].files
        ]
        outcomes = [[read_outcome(plan, bodies, pairs[0]) for bodies in found] for found in attempts]
        leaks.append(measure_leak(WHOLE_REPORTS, epsilon, outcomes, share))
        if any(len(set(bodies)) != 1 for found in attempts for bodies in found):
            faults.append("a retry sends different bytes from the first attempt")
        advance()
    return SiloAudit(leaks, list(dict.fromkeys(faults)))


def count_stages(plan: SiloPlan) -> int:
    with TemporaryDirectory() as folder:
        return len(make_neighbours(without_tokens(plan), Path(folder))) + 1


def read_outcome(plan: SiloPlan, bodies: Sequence[bytes], pair: Neighbours) -> Hashable:
    """Return the audited outcome of one report: the number of tables that point to the person.

    A table points to them if its cells are likelier with their rows, which are in one file only, than
    without. The second number counts tables whose total of the class is exact, without noise.
    """
    revealing = exact = 0
    for body in dict.fromkeys(bodies):
        cells = np.array(plan.mechanism.contribution(unpack(body, plan.max_report_bytes).payload))
        for table in plan.mechanism.tables:
            part = slice(table.start, table.end)
            with_person, without = (np.abs(cells[part] - counts[part]).sum() for counts in pair.counts[::-1])
            revealing += int(with_person < without)
            exact += int(
                _class_total(table, cells, pair.label) == _class_total(table, pair.counts[1], pair.label)
            )
    return revealing, exact


def _class_total(table: CountedTable, cells: np.ndarray, label: int) -> int:
    return int(cells[table.start + label : table.end : table.labels].sum())


@dataclass
class _SentMessages:
    """What the audit keeps of many messages of the same rows."""

    outcomes: list[Hashable] = field(default_factory=list)
    ids: set[bytes] = field(default_factory=set)
    first: bytes = b""
    repeated: int = 0
    """Number of later messages with that payload."""
    malformed: int = 0
    """Number of messages that differ from others in more than their id and payload."""

    @classmethod
    def read(cls, plan: SiloPlan, pair: Neighbours, messages: Iterable[bytes]) -> _SentMessages:
        found = cls()
        for message in messages:
            report = unpack(message, plan.max_report_bytes)
            expected = pack(Report(plan.digest_bytes, plan.question.index, report.id, report.payload))
            found.malformed += message != expected or len(message) != plan.message_bytes
            found.repeated += report.payload == found.first
            found.first = found.first or report.payload
            found.ids.add(report.id)
            found.outcomes.append(read_outcome(plan, [message], pair))
        return found

    def find_faults(self, plan: SiloPlan, alpha: float) -> Iterator[str]:
        """Yield the faults of the messages, except for what their cells reveal."""
        if self.malformed:
            yield "a message differs from other messages in more than its id and its cells"
        if len(self.ids) < len(self.outcomes):
            yield "two messages have the same id"
        if bdtrc(self.repeated - 1, len(self.outcomes) - 1, _most_frequent(plan)) < alpha:
            yield "messages repeat the same noise"


def _most_frequent(plan: SiloPlan) -> float:
    """Return the probability of the likeliest message: no noise in any cell, (1 - a) / (1 + a) for each."""
    return math.prod(
        math.tanh(float(1 / table.scale) / 2) ** (table.end - table.start) for table in plan.mechanism.tables
    )

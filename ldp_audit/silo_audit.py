"""The audit of a silo's messages: a lower bound on epsilon from many messages of two neighbours.

Two files of made-up rows differ by the rows of one person. Each message is sorted by how many of its tables
point to the person. A bound below epsilon proves nothing: other rows, or another event, may reveal more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.special import bdtrc

from encoders.errors import LdpError
from encoders.mechanisms.counted_table import CountedTable
from encoders.report import Report, pack, unpack
from encoders.survey.silo_plan import SiloPlan
from ldp_audit.blackbox import ALPHA
from ldp_audit.outcomes import LEAST_TRIALS, MeasuredLeak, measure_leak
from ldp_audit.silo_device import PublicSilo, SiloDevice, without_tokens
from ldp_audit.silo_rows import Neighbours, make_neighbours

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

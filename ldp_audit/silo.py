"""The audit of a silo's messages: a lower bound on epsilon from many messages of two neighbours.

Two files of made-up rows differ by the rows of one person. The silo reports each many times. Each message is
sorted by how many of its tables point to the person, and how many of them have an exact class count. On half
of the messages the auditor chooses the event whose probabilities differ most, on the other half it measures
both. A bound above epsilon proves that messages reveal more than they promise. A bound below epsilon proves
nothing: other rows, or another event, may reveal more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.stats import binom

from encoders.errors import LdpError
from encoders.mechanisms.counted_table import CountedTable
from encoders.report import Report, pack, unpack
from encoders.survey.silo_plan import SiloPlan
from ldp_audit.outcomes import bound_epsilon
from ldp_audit.silo_device import PublicSilo, SiloDevice, without_tokens
from ldp_audit.silo_rows import Neighbours, make_neighbours

ALPHA = 1e-6
"""The probability that any bound of an audit is too high, or that noise that is fresh is found to repeat."""
LEAST_TRIALS = 200
WHOLE_REPORT_TRIALS = 200
"""Number of whole reports of each of two files, with a network that fails."""
WHOLE_REPORTS = "whole reports, with retries"


@dataclass(frozen=True)
class SiloLeak:
    """What messages of two neighbours reveal.

    Attributes
    ----------
    name : str
        The person whose rows are added.
    epsilon : float
        What a message promises.
    epsilon_lower_bound : float
        What it reveals at least; too high with a probability of at most ALPHA in the whole audit.
    max_detectable_epsilon : float
        The largest bound that this number of messages can show.
    trials : int
        Number of messages of each of the two files.
    """

    name: str
    epsilon: float
    epsilon_lower_bound: float
    max_detectable_epsilon: float
    trials: int

    @property
    def passed(self) -> bool:
        """Whether the bound is at most epsilon."""
        return self.epsilon_lower_bound <= self.epsilon

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "epsilon": self.epsilon,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "max_detectable_epsilon": self.max_detectable_epsilon,
            "trials": self.trials,
            "passed": self.passed,
        }


@dataclass(frozen=True)
class SiloAudit:
    """The result of an audit of silos.

    Attributes
    ----------
    leaks : list of SiloLeak
    faults : list of str
        What is wrong besides a bound above epsilon: each a sentence.
    """

    leaks: list[SiloLeak]
    faults: list[str]

    @property
    def passed(self) -> bool:
        """Whether no bound is above epsilon and there are no faults."""
        return not self.faults and all(leak.passed for leak in self.leaks)


def audit_silo(
    plan: SiloPlan,
    trials: int,
    device: SiloDevice | None = None,
    reports: int = WHOLE_REPORT_TRIALS,
    advance: Callable[[], object] = lambda: None,
) -> SiloAudit:
    """Return what the messages of a silo reveal at least about one person, and other faults.

    Parameters
    ----------
    plan : SiloPlan
    trials : int
        Number of messages of each of two files, for each made-up person.
    device : SiloDevice, optional
        By default the silo of this project.
    reports : int
        Number of whole reports of each of two files, while the network fails.
    advance : callable
        Called after each person, and after the whole reports.

    Raises
    ------
    LdpError
        If there are too few trials for any bound, or the made-up rows do not fit the plan.
    """
    if trials < LEAST_TRIALS:
        raise LdpError(f"an audit of silos needs at least {LEAST_TRIALS} trials")
    plan, device = without_tokens(plan), device or PublicSilo()
    leaks: list[SiloLeak] = []
    faults: list[str] = []
    with TemporaryDirectory() as folder:
        pairs = make_neighbours(plan, Path(folder))
        share = ALPHA / (2 * len(pairs) + 1)  # each pair has a bound and a test of repeated noise
        for pair in pairs:
            both = [list(device.messages(plan, file, pair.person, trials)) for file in pair.files]
            leaks.append(_measure(plan, pair, [[[each] for each in found] for found in both], share))
            for found in both:
                faults += _find_faults(plan, found, share / 2)
            advance()
        whole = [
            [device.attempts(plan, file, pairs[0].person) for _ in range(reports)] for file in pairs[0].files
        ]
        leaks.append(_measure(plan, pairs[0], whole, share, WHOLE_REPORTS))
        if any(len(set(bodies)) != 1 for found in whole for bodies in found):
            faults.append("a retry sends other bytes than the first attempt")
        advance()
    return SiloAudit(leaks, list(dict.fromkeys(faults)))


def count_stages(plan: SiloPlan) -> int:
    """Return how often an audit of a plan calls `advance`."""
    with TemporaryDirectory() as folder:
        return len(make_neighbours(without_tokens(plan), Path(folder))) + 1


def _measure(
    plan: SiloPlan, pair: Neighbours, both: Sequence[Sequence[list[bytes]]], alpha: float, name: str = ""
) -> SiloLeak:
    outcomes = [[read_outcome(plan, bodies, pair) for bodies in found] for found in both]
    bound, largest = bound_epsilon(outcomes[0], outcomes[1], alpha)
    return SiloLeak(name or pair.name, float(plan.epsilon), bound, largest, len(both[0]))


def read_outcome(plan: SiloPlan, bodies: Sequence[bytes], pair: Neighbours) -> Hashable:
    """Return what the messages of one report reveal of the person whose rows only one file has.

    A table points to the person if its cells are likelier with these rows than without.
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


def _find_faults(plan: SiloPlan, messages: Sequence[bytes], alpha: float) -> list[str]:
    """Return what is wrong with messages of the same rows, besides what their cells reveal."""
    reports = [unpack(message, plan.max_report_bytes) for message in messages]
    faults = []
    for message, report in zip(messages, reports, strict=True):
        expected = pack(Report(plan.digest_bytes, plan.question.index, report.id, report.payload))
        if message != expected or len(message) != plan.message_bytes:
            faults.append("a message differs from others in more than its id and its cells")
            break
    if len({report.id for report in reports}) < len(reports):
        faults.append("two messages have the same id")
    repeated = sum(report.payload == reports[0].payload for report in reports[1:])
    if binom.sf(repeated - 1, len(reports) - 1, _most_frequent(plan)) < alpha:
        faults.append("messages repeat the same noise")
    return faults


def _most_frequent(plan: SiloPlan) -> float:
    """Return the probability of the likeliest message: no noise in any cell, (1 - a) / (1 + a) for each."""
    return math.prod(
        math.tanh(float(1 / table.scale) / 2) ** (table.end - table.start) for table in plan.mechanism.tables
    )

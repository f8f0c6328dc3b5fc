"""The timing layer: compares the computing times of different people; reported without a decision.

People take turns in random order, so that other work of the machine affects all of them equally. Python is
not constant-time: coding a row takes longer with a number than without, and a test with many runs detects
even tens of nanoseconds. docs/privacy.md explains the consequences.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from encoders.survey import Plan
from ldp_audit.device import Device
from ldp_audit.people import Person
from ldp_audit.result import TIMING, Check, format_p_value


@dataclass(frozen=True)
class Timing:
    people: tuple[str, str]
    median: float
    """Median over all reports of the microseconds that one report takes."""
    relative_difference: float
    """Largest difference of two people's medians, divided by the smaller one."""
    p: float
    """The least p-value of Kolmogorov and Smirnov's test over all pairs."""
    runs: int


def check_timing(device: Device, plan: Plan, people: Sequence[Person], runs: int) -> Check:
    """Compare the times that `runs` reports of each person take."""
    timing = measure_timing(device, plan, people, runs)
    finding = (
        f"{timing.relative_difference:.1%} of {timing.median:.1f} microseconds, "
        f"{format_p_value(timing.p, 1)} over {runs:,} runs of each"
    )
    return Check(TIMING, "largest difference of two people's median times", None, finding)


def measure_timing(device: Device, plan: Plan, people: Sequence[Person], runs: int) -> Timing:
    """Measure the times of `runs` reports of each person, and compare them."""
    order = list(people) * runs
    random.SystemRandom().shuffle(order)
    times: dict[str, list[int]] = {person.name: [] for person in people}
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for person in order:
            start = perf_counter_ns()
            device.report(plan, person.row, person.label)
            times[person.name].append(perf_counter_ns() - start)
    finally:
        if was_enabled:
            gc.enable()
    return compare_times({name: np.array(found) for name, found in times.items()})


def compare_times(times: Mapping[str, NDArray[np.int64]]) -> Timing:
    """Compare the times of several people, in nanoseconds."""
    from scipy.stats import ks_2samp  # late: it takes half a second

    medians = {name: float(np.median(found)) for name, found in times.items()}
    pairs = list(combinations(times, 2))
    differences = {
        (one, other): abs(medians[one] - medians[other]) / min(medians[one], medians[other])
        for one, other in pairs
    }
    p = min(float(ks_2samp(times[one], times[two], method="asymp").pvalue) for one, two in pairs)
    worst = max(pairs, key=differences.__getitem__)
    everybody = np.concatenate(list(times.values()))
    return Timing(
        people=worst,
        median=float(np.median(everybody)) / 1000,
        relative_difference=differences[worst],
        p=p,
        runs=len(next(iter(times.values()))),
    )

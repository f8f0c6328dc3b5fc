"""The trials of the client at full size: real processes, servers and journals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

from encoders.progress import show_progress
from ldp_client import State
from ldp_client.sending.sender import EXIT_SECONDS
from tests.support.browser import find_chromium
from tools.endurance.client import (
    browser_kills,
    exits,
    java_kills,
    kills,
    many_processes,
    network_faults,
    silo_kills,
)

FAULTS = 104
KILLS = 200
"""Of applications; and of web pages, tabs and browsers."""
SILO_KILLS = 100
"""Of silos and their collector."""
QUEUED = 400
PROCESSES, SURVEYS = 8, 1_000
LOADED = 0.5
"""Tolerance for an exit on a busy machine, in seconds."""

Trial = Callable[[Path], str]


def failing_network(folder: Path) -> str:
    seen = network_faults.faults(folder, FAULTS)
    kinds, per_kind = len(seen.injected), max(seen.injected.values())
    return (
        f"{seen.injected.total()} faults, {per_kind} of each kind ({kinds}); {seen.states.total()} devices "
        f"in {seen.attempts} attempts: {_list(seen.states)}; each counted once, same bytes, none left unsent"
    )


def killed(folder: Path) -> str:
    seen = kills.kills(folder, KILLS)
    return (
        f"{seen.killed} killed, at {seen.lines} lines of the client and at random times ({seen.finished} "
        f"finished before); journal states: {_list(seen.found)}; each survey randomised and counted once"
    )


def killed_silos(folder: Path) -> str:
    seen = silo_kills.kills(folder, SILO_KILLS)
    return (
        f"{seen.killed} silos killed, at {seen.lines} lines of the client and at random times, and the "
        f"collector {seen.collector_killed} times; epochs: {_list(seen.found)}; {seen.silos} messages, each "
        "drawn and counted once"
    )


def ended(server: str, spread: float) -> Trial:
    def trial(folder: Path) -> str:
        end = exits.exits(folder, server, 4, QUEUED, spread)
        assert end.handlers <= EXIT_SECONDS + LOADED, f"the exit took {end.handlers:.2f} s"
        return (
            f"{end.queued} reports in 4 journals: handlers {end.handlers:.2f} s, process {end.process:.2f} s"
        )

    return trial


def crowd(folder: Path) -> str:
    seen = many_processes.crowd(folder, PROCESSES, SURVEYS)
    return (
        f"{seen.entries} surveys, each answered once by {PROCESSES} processes in {seen.elapsed:.0f} s; "
        f"a commit takes {seen.usual * 1e3:.1f} ms (median), {seen.longest * 1e3:.0f} ms at most"
    )


def killed_browser(folder: Path) -> str:
    find_chromium()
    with sync_playwright() as driver, show_progress("ending browsers", KILLS, "kills") as progress:
        seen = browser_kills.kills(driver.chromium, folder, KILLS, progress.advance)
    return (
        f"{seen.kinds.total()} kills at random moments ({_list(seen.kinds)}), {seen.reached} after the "
        f"report had arrived; journal states: {_list(seen.found)}; {seen.people} people, {seen.bodies} "
        f"requests; each survey randomised and counted once"
    )


def killed_java(folder: Path) -> str:
    seen = java_kills.kills(folder, KILLS)
    return (
        f"{seen.killed} killed, at {len(java_kills.HALTS)} places and at random moments ({seen.finished} "
        f"finished before); journals had {_list(seen.found)}; {seen.devices} devices, {seen.requests} "
        "requests; each survey randomised and counted once"
    )


def every() -> Iterator[tuple[str, Trial]]:
    yield "a failing network", failing_network
    yield "kill -9", killed
    yield "silo and its collector killed", killed_silos
    yield from web()
    yield from java()
    for server in exits.SERVERS:
        yield f"exit, server {server}", ended(server, 0.0)
        yield f"exit, none tried yet, server {server}", ended(server, 60.0)
    yield "many processes on one journal", crowd


def web() -> Iterator[tuple[str, Trial]]:
    yield "web page, tab and browser killed", killed_browser


def java() -> Iterator[tuple[str, Trial]]:
    yield "application in Java killed", killed_java


def _list(counts: Counter[State] | Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))

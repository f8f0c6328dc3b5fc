"""The wave in which a person answers: drawn when they agree, and kept in the journal."""

from __future__ import annotations

import time

from encoders.errors import TokenError
from encoders.randomness import SystemEntropy
from encoders.survey.invitation import read_invitation
from encoders.survey.plan import Plan
from encoders.survey.waves import NOW
from ldp_client.journal.table import JournalEntry
from ldp_client.receipt import Receipt, State

OPEN_WAVE = -1
"""The wave of an entry whose device answers in the open wave; the index of the last one."""
NOT_ASKED = "not-asked"
"""The reason in an entry whose wave was over when the person agreed."""


class NotDueError(Exception):
    """The wave of the survey is not open, so that nothing is drawn."""


def choose_wave(plan: Plan, token: str | None, known: JournalEntry | None) -> tuple[int | None, str]:
    """Return the wave and the reason that a journal records when a person agrees.

    An entry keeps its wave through withdrawals and new grants, so nobody can draw another wave.
    """
    invited = read_invitation(plan, token)
    if plan.waves is None:
        return None, ""
    if not invited and known and known.wave is not None:
        return known.wave, known.reason
    if invited:
        wave = invited[0].wave
        assert wave is not None
    else:
        wave = OPEN_WAVE if plan.waves.assign == NOW else plan.waves.draw(SystemEntropy())
    is_over = plan.waves.list[wave].closes <= time.time()
    return wave, NOT_ASKED if is_over else ""


def find_wave(plan: Plan, wave: int | None) -> int | None:
    """Return the index of a person's wave; None without waves.

    For `OPEN_WAVE` it is the wave that is open, or the next one, or after all waves the last one.
    """
    if plan.waves is None or wave != OPEN_WAVE:
        return wave
    waves, now = plan.waves.list, time.time()
    return next((index for index, each in enumerate(waves) if now < each.closes), len(waves) - 1)


def describe_wait(plan: Plan, entry: JournalEntry) -> Receipt | None:
    """Return the receipt of a person whose wave is not open; None if they can answer now."""
    index, now = find_wave(plan, entry.wave), time.time()
    if plan.waves is None or index is None:
        return None
    wave = plan.waves.list[index]
    if wave.opens <= now < wave.closes:
        return None
    state, why = State.MISSED, "is over"
    if now < wave.opens:
        state, why = State.WAITING, "has not opened yet"
    elif entry.reason == NOT_ASKED:
        state, why = State.NOT_ASKED, "was over when the person agreed"
    why = f"the wave {wave.name} {why}"
    return Receipt(state, plan.id, why=why, opens=wave.opens, closes=wave.closes)


def require_due(plan: Plan, token: str | None, entry: JournalEntry, wave: int | None) -> None:
    """Raise NotDueError unless this wave is open, and TokenError if the person agreed to another one."""
    invited = read_invitation(plan, token)
    if invited and invited[0].wave != wave:
        raise TokenError("is an invitation to another wave: call grant() with it when the person agrees")
    if find_wave(plan, entry.wave) != wave or describe_wait(plan, entry):
        raise NotDueError

"""The journal: what this device agreed to and answered, on disk before anything is sent.

One small SQLite file holds a line per survey, and a line's state only ever moves along this way::

    (none) -> ready <-> no_consent       the person agreed to a plan; it is pinned by its digest from then on
              ready -> queued            her one report is made, and its epsilon spent
                       queued -> sent | duplicate | rejected | expired | withdrawn

The raw row is never written. A report is made inside the transaction that records it: two threads or
processes can never both randomise, and what was not recorded was never sent.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from encoders.survey.plan import Plan
from ldp_client.errors import BudgetError, ConsentError, JournalError, PlanError
from ldp_client.journal_file import NEWER, JournalFile
from ldp_client.receipt import State

MOST_QUEUED = 10_000
"""Reports that may wait at once. What is queued is never dropped for room: its epsilon is spent."""

_UNANSWERED = (State.READY, State.NO_CONSENT)


@dataclass(frozen=True, slots=True)
class Entry:
    """One survey's line.

    Attributes
    ----------
    survey, family, url, digest : str
        What was agreed to: the survey, its family, where reports go, which plan.
    signer : str
        The public key by which the plan's signature was checked, if it was.
    epsilon : str
        What was spent: "0" until there is a report.
    state : State
    reason : str
        Why it was rejected or has expired.
    plan, report : bytes or None
        Until the report is delivered, or deleted.
    """

    survey: str
    family: str
    url: str
    digest: str
    signer: str
    epsilon: str
    state: State
    reason: str
    plan: bytes | None
    report: bytes | None

    @property
    def answered(self) -> bool:
        """Whether this device made its one report."""
        return self.state not in _UNANSWERED


class Journal:
    """The lines of all surveys; one file, shared by all clients of a device.

    Every method raises :class:`~ldp_client.errors.JournalError` if the file cannot be used.

    Parameters
    ----------
    path : path, optional
        By default ``$LDP_JOURNAL``, else the platform's place for application data.
        ":memory:" forgets everything with the process: for simulations and tests only.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._file = JournalFile(path)

    @property
    def path(self) -> str:
        """Where it is: a file's absolute path, or ":memory:"."""
        return self._file.path

    @property
    def key(self) -> str:
        """Equal for journals that are one file."""
        return self._file.key

    def exists(self) -> bool:
        """Tell whether there is anything to read; never raises."""
        return self._file.exists()

    # -- what the person agrees to ---------------------------------------------------------

    def grant(self, plan: Plan, url: str, signer: str = "") -> Entry:
        """Note that the person agrees to a plan, which is pinned from now on.

        Returns
        -------
        Entry
            READY; or as it was, if the survey is answered.

        Raises
        ------
        PlanError
            If this device is bound to another plan of the survey.
        """
        with self._file.transaction() as connection:
            known = _find(connection, plan.id)
            require_pinned(known, plan)
            signer = signer or (known.signer if known else "")
            if not (known and known.answered):
                connection.execute(
                    "INSERT OR REPLACE INTO surveys (survey, family, url, digest, plan, signer, state) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (plan.id, plan.family, url, plan.digest, plan.json, signer, State.READY),
                )
            return _known(connection, plan.id)

    def withdraw(self, survey: str) -> Entry | None:
        """Note that the person no longer agrees; a report that waits, of any round, is deleted.

        What a collector has counted cannot be taken back: nobody can tell which report it was.
        """
        with self._file.transaction() as connection:
            connection.execute(
                "UPDATE surveys SET state = ? WHERE survey = ? AND state = ?",
                (State.NO_CONSENT, survey, State.READY),
            )
            known = _find(connection, survey)
            for entry in _of_family(connection, known.family) if known else ():
                _end(connection, entry.survey, State.WITHDRAWN, "")
            return _find(connection, survey)

    # -- the one report --------------------------------------------------------------------

    def commit(
        self, plan: Plan, make: Callable[[], bytes], max_total: Fraction | None = None
    ) -> tuple[Entry, bool]:
        """Make and record this device's one report for a survey, unless its family has one already.

        Parameters
        ----------
        plan : Plan
            As it was agreed to; the report goes where was agreed to, too.
        make : callable
            Randomises; called at most once, while the journal is locked, and only if its result will
            be recorded in the same transaction. It must not touch the row: what a stranger's mapping
            raises here would be taken for the journal's own trouble.
        max_total : Fraction, optional
            What all reports of this journal may spend together.

        Returns
        -------
        entry : Entry
        created : bool
            False if a survey of the family had been answered before; then nothing was drawn, and the
            entry is that survey's.

        Raises
        ------
        ConsentError
            If the person has not agreed, or no longer does; nothing was drawn.
        PlanError
            If she agreed to another plan of the survey; nothing was drawn.
        BudgetError
            If the journal's reports would spend more than `max_total`; nothing was drawn.
        JournalError
            If the journal cannot be written (the report, if made, is forgotten unsent), or
            `MOST_QUEUED` reports wait already.
        """
        with self._file.transaction() as connection:
            agreed = _find(connection, plan.id)
            answer = agreed if agreed and agreed.answered else _find_answer(connection, plan.family)
            if answer:
                return answer, False
            require_pinned(agreed, plan)
            if agreed is None or agreed.state is not State.READY:
                raise ConsentError("the person has not agreed to this survey: grant() notes that she does")
            _require_room(connection)
            _require_budget(connection, plan, max_total)
            connection.execute(
                "UPDATE surveys SET report = ?, epsilon = ?, state = ? WHERE survey = ?",
                (make(), str(plan.epsilon), State.QUEUED, plan.id),
            )
            return _known(connection, plan.id), True

    def settle(self, survey: str, state: State, reason: str = "") -> None:
        """Note how a queued report ended, and forget its bytes; a later verdict changes nothing."""
        with self._file.transaction() as connection:
            _end(connection, survey, state, reason)

    # -- reading ---------------------------------------------------------------------------

    def find(self, survey: str) -> Entry | None:
        """Return a survey's line."""
        with self._file.transaction(writes=False) as connection:
            return _find(connection, survey)

    def answer_of(self, family: str) -> Entry | None:
        """Return the line of the one survey of a family that was answered."""
        with self._file.transaction(writes=False) as connection:
            return _find_answer(connection, family)

    def entries(self) -> list[Entry]:
        """Return all lines."""
        with self._file.transaction(writes=False) as connection:
            return [_entry(row) for row in connection.execute(f"{_SELECT} ORDER BY survey")]

    def forget_damaged(self) -> bool:
        """Delete a damaged journal that was set aside; tell whether there was one.

        With it goes what this device knew of its answers: from then on a survey may be answered, and its
        epsilon be spent, a second time.
        """
        return self._file.forget_damaged()

    def queued(self) -> list[tuple[str, str]]:
        """Return survey and URL of every report that waits."""
        with self._file.transaction(writes=False) as connection:
            return connection.execute(
                "SELECT survey, url FROM surveys WHERE state = ?", (State.QUEUED,)
            ).fetchall()


def require_pinned(known: Entry | None, plan: Plan) -> None:
    """Raise PlanError if this device is bound to another plan of the survey."""
    if known and known.digest != plan.digest:
        raise PlanError(
            f"the plan has digest {plan.digest}, but this device is bound to {known.digest}, which it saw "
            "first: a survey has one plan for good, and nothing is sent for another"
        )


# -- SQL ------------------------------------------------------------------------------------

_SELECT = "SELECT survey, family, url, digest, signer, epsilon, state, reason, plan, report FROM surveys"


def _find(connection: sqlite3.Connection, survey: str) -> Entry | None:
    row = connection.execute(f"{_SELECT} WHERE survey = ?", (survey,)).fetchone()
    return _entry(row) if row else None


def _known(connection: sqlite3.Connection, survey: str) -> Entry:
    entry = _find(connection, survey)
    assert entry is not None
    return entry


def _find_answer(connection: sqlite3.Connection, family: str) -> Entry | None:
    """Return the answered line of any survey of a family."""
    return next((entry for entry in _of_family(connection, family) if entry.answered), None)


def _of_family(connection: sqlite3.Connection, family: str) -> list[Entry]:
    rows = connection.execute(f"{_SELECT} WHERE family = ?", (family,)).fetchall()
    return [_entry(row) for row in rows]


def _require_room(connection: sqlite3.Connection) -> None:
    (count,) = connection.execute("SELECT count(*) FROM surveys WHERE state = ?", (State.QUEUED,)).fetchone()
    if count >= MOST_QUEUED:
        raise JournalError(f"{count} reports wait to be sent already; nothing was drawn", "queue-full")


def _require_budget(connection: sqlite3.Connection, plan: Plan, most: Fraction | None) -> None:
    if most is None:
        return
    spent = sum(
        (Fraction(text) for (text,) in connection.execute("SELECT epsilon FROM surveys")), Fraction(0)
    )
    if spent + Fraction(plan.epsilon) > most:
        raise BudgetError(
            f"the plan asks for epsilon {plan.epsilon}, and {float(spent):g} of {float(most):g} are spent",
            "total-epsilon-spent",
        )


def _end(connection: sqlite3.Connection, survey: str, state: State, reason: str) -> None:
    connection.execute(
        "UPDATE surveys SET state = ?, reason = ?, report = NULL, plan = NULL WHERE survey = ? AND state = ?",
        (state, reason, survey, State.QUEUED),
    )


def _entry(row: Sequence[Any]) -> Entry:
    entry = Entry(*row)
    if entry.state not in list(State):
        raise JournalError(NEWER)
    return replace(entry, state=State(entry.state))

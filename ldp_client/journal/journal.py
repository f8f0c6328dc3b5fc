"""The journal: what this device agreed to and answered, on disk before anything is sent.

One small SQLite file holds a line per survey and origin. A line's state only ever moves along this way::

    (none) -> ready <-> no_consent       the person agreed to a plan; it is pinned by its digest from then on
              ready -> queued            their one report is made, and its epsilon spent
                       queued -> sent | duplicate | rejected | expired | withdrawn

Lines are found by :class:`~ldp_client.survey_identity.SurveyIdentity`: equal ids and families mean the same
survey only at one origin, or under one author's key. The raw row is never written. A report is made inside
the transaction that records it: two threads or processes can never both randomise, and what was not
recorded was never sent.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from fractions import Fraction

from encoders.errors import Reason
from encoders.survey.plan import Plan
from ldp_client.errors import BudgetError, ConsentError, JournalError, PlanError
from ldp_client.journal.entry import (
    JournalEntry,
    find,
    find_answer,
    find_family,
    find_known,
    find_lines,
    read_all,
)
from ldp_client.journal.file import JournalFile
from ldp_client.receipt import State
from ldp_client.survey_identity import SurveyIdentity, origin_of_url

MAX_QUEUED_REPORTS = 10_000
"""Reports that may wait at once. What is queued is never dropped for room: its epsilon is spent."""

CLOSED_ONCE = "closed-once"
CLOSED_SECONDS = 86_400
"""A report is deleted once the collector still says "closed" a day after it first did."""


class Journal:
    """The lines of all surveys of one person; one file, shared by all clients of this person.

    Every method raises :class:`~ldp_client.errors.JournalError` if the file cannot be used.

    Parameters
    ----------
    path : path, optional
        By default ``$LDP_JOURNAL``, else the platform's place for application data.
        ":memory:" forgets everything with the process: for simulations and tests only.
    person : str, optional
        Use this person's own file, in a folder beside the default one; not together with `path`. 1 to 64
        ASCII letters, digits, "-" and "_"; upper and lower case differ.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, person: str | None = None) -> None:
        self._file = JournalFile(path, person)

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

    def grant(
        self, plan: Plan, url: str, signer: str = "", max_total: Fraction | None = None
    ) -> JournalEntry:
        """Note that the person agrees to a plan, which is pinned from now on.

        `max_total` is as in :meth:`commit`: consent to a report that it forbids is not noted.

        Returns
        -------
        JournalEntry
            READY; or as it was, if the survey is answered.

        Raises
        ------
        PlanError
            If this device is bound to another plan of the survey.
        BudgetError
            If the report would exceed `max_total`.
        """
        identity = SurveyIdentity(plan.id, origin_of_url(url), signer)
        with self._file.transaction() as connection:
            known = find(connection, identity)
            require_pinned(known, plan)
            if known and known.answered:
                return known
            if not find_answer(connection, identity, plan.family):
                _require_budget(connection, plan, max_total)
            signer = signer or (known.signer if known else "")
            for entry in find_lines(connection, identity):
                connection.execute("DELETE FROM surveys WHERE survey = ? AND origin = ?", entry.identity[:2])
            connection.execute(
                "INSERT INTO surveys (survey, origin, family, url, digest, plan, signer, state) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (plan.id, identity.origin, plan.family, url, plan.digest, plan.json, signer, State.READY),
            )
            return find_known(connection, identity)

    def withdraw(self, identity: SurveyIdentity) -> JournalEntry | None:
        """Note that the person no longer agrees; a report that waits, of any round, is deleted.

        What a collector has counted cannot be taken back: it does not know which report came from whom.
        """
        with self._file.transaction() as connection:
            for entry in find_lines(connection, identity):
                connection.execute(
                    "UPDATE surveys SET state = ? WHERE survey = ? AND origin = ? AND state = ?",
                    (State.NO_CONSENT, *entry.identity[:2], State.READY),
                )
                for round_ in find_family(connection, identity, entry.family):
                    _end(connection, round_.identity, State.WITHDRAWN, "")
            return find(connection, identity)

    # -- the one report --------------------------------------------------------------------

    def commit(
        self,
        identity: SurveyIdentity,
        plan: Plan,
        make: Callable[[], bytes],
        max_total: Fraction | None = None,
    ) -> tuple[JournalEntry, bool]:
        """Make and record this device's one report for a survey, unless its family has one already.

        Parameters
        ----------
        identity : SurveyIdentity
            Of the survey that the plan belongs to.
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
        entry : JournalEntry
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
            `MAX_QUEUED_REPORTS` reports wait already.
        """
        with self._file.transaction() as connection:
            agreed = find(connection, identity)
            answer = agreed if agreed and agreed.answered else find_answer(connection, identity, plan.family)
            if answer:
                return answer, False
            require_pinned(agreed, plan)
            if agreed is None or agreed.state is not State.READY:
                raise ConsentError("the person has not agreed to this survey: grant() notes their consent")
            _require_room(connection)
            _require_budget(connection, plan, max_total)
            connection.execute(
                "UPDATE surveys SET report = ?, epsilon = ?, state = ? WHERE survey = ? AND origin = ?",
                (make(), str(plan.epsilon), State.QUEUED, agreed.survey, agreed.origin),
            )
            return find_known(connection, agreed.identity), True

    def record_outcome(self, identity: SurveyIdentity, state: State, reason: str = "") -> None:
        """Note how a queued report ended, and forget its bytes; a report that has ended stays as it is."""
        with self._file.transaction() as connection:
            _end(connection, identity, state, reason)

    def record_closed(self, identity: SurveyIdentity, now: float) -> bool:
        """Note that the collector says "closed"; end the report if it first said so a day ago.

        One such answer may come from a wrong clock, or from a survey that was closed by mistake.

        Parameters
        ----------
        identity : SurveyIdentity
        now : float
            Seconds since the epoch. If the device's clock was set back, the day begins anew; if it was set
            forward, the day may end early.

        Returns
        -------
        bool
            Whether the report has ended: its state is EXPIRED, else QUEUED with reason "closed-once".
        """
        with self._file.transaction() as connection:
            row = connection.execute(
                "SELECT closed_at FROM surveys WHERE survey = ? AND origin = ?", identity[:2]
            ).fetchone()
            first = row[0] if row else None
            if first is not None and now - first >= CLOSED_SECONDS:
                _end(connection, identity, State.EXPIRED, Reason.SURVEY_CLOSED)
                return True
            if first is None or now < first:
                connection.execute(
                    "UPDATE surveys SET reason = ?, closed_at = ? "
                    "WHERE survey = ? AND origin = ? AND state = ?",
                    (CLOSED_ONCE, now, *identity[:2], State.QUEUED),
                )
            return False

    # -- reading ---------------------------------------------------------------------------

    def find(self, identity: SurveyIdentity) -> JournalEntry | None:
        """Return a survey's line."""
        with self._file.transaction(writes=False) as connection:
            return find(connection, identity)

    def answer_of(self, identity: SurveyIdentity, family: str) -> JournalEntry | None:
        """Return the line of the one survey of a family, of the same publisher, that was answered."""
        with self._file.transaction(writes=False) as connection:
            return find_answer(connection, identity, family)

    def entries(self) -> list[JournalEntry]:
        """Return all lines."""
        with self._file.transaction(writes=False) as connection:
            return read_all(connection)

    def forget_damaged(self) -> bool:
        """Delete a damaged journal that was set aside; tell whether there was one.

        With it goes what this device knew of its answers: from then on a survey may be answered, and its
        epsilon be spent, a second time.
        """
        return self._file.forget_damaged()

    def queued(self) -> list[SurveyIdentity]:
        """Return the survey of every report that waits."""
        with self._file.transaction(writes=False) as connection:
            found = connection.execute(
                "SELECT survey, origin, signer FROM surveys WHERE state = ?", (State.QUEUED,)
            )
            return [SurveyIdentity(*each) for each in found]


def require_pinned(known: JournalEntry | None, plan: Plan) -> None:
    """Raise PlanError if this device is bound to another plan of the survey."""
    if known and known.digest != plan.digest:
        raise PlanError(
            f"the plan has digest {plan.digest}, but this device is bound to {known.digest}, which it saw "
            "first: a survey has one plan for good, and nothing is sent for another"
        )


# -- SQL ------------------------------------------------------------------------------------


def _require_room(connection: sqlite3.Connection) -> None:
    (count,) = connection.execute("SELECT count(*) FROM surveys WHERE state = ?", (State.QUEUED,)).fetchone()
    if count >= MAX_QUEUED_REPORTS:
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


def _end(connection: sqlite3.Connection, identity: SurveyIdentity, state: State, reason: str) -> None:
    connection.execute(
        "UPDATE surveys SET state = ?, reason = ?, report = NULL, plan = NULL, closed_at = NULL "
        "WHERE survey = ? AND origin = ? AND state = ?",
        (state, reason, *identity[:2], State.QUEUED),
    )

"""The journal: consent, one report per survey, and its outcome, written to disk before anything is sent.

One small SQLite file holds an entry per survey and origin. The state of an entry changes only like this::

    (none) -> ready <-> no_consent       the person agreed to a plan; it is pinned by its digest from then on
              ready -> queued            their one report is made, and its epsilon spent
                       queued -> sent | duplicate | rejected | expired | withdrawn

Entries are found by :class:`~ldp_client.survey_identity.SurveyIdentity`: equal ids and families mean the same
survey only at one origin, or under one author's key. The raw row is never written. A report is made inside
the transaction that records it. So two threads or processes never both randomise, and a report that was not
recorded was never sent.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from fractions import Fraction

from encoders.errors import Reason
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.plan import Plan
from encoders.survey.waves import Wave
from ldp_client.errors import BudgetError, JournalError
from ldp_client.journal.file import JournalFile
from ldp_client.journal.standing import (
    Standing,
    end_standing,
    find_standing,
    record_standing,
    require_left,
    require_shown,
)
from ldp_client.journal.table import (
    JournalEntry,
    find_answered_entry,
    find_entry,
    find_family_entries,
    find_survey_entries,
    get_entry,
    read_entries,
    require_consent,
    require_pinned_plan,
)
from ldp_client.receipt import State
from ldp_client.survey_identity import SurveyIdentity, origin_of_url

MAX_QUEUED_REPORTS = 10_000
"""Reports that may wait at once. A queued report is never deleted to make room: its epsilon is spent."""

CLOSED_ONCE = "closed-once"
CLOSED_SECONDS = 86_400
"""A report is deleted once the collector still says "closed" a day after it first did."""
MESSAGE_SECONDS = 7 * 86_400
"""How long after its end a message for a relay is kept.

The relay has passed it on or deleted it within three hours; the device's clock may be days ahead.
"""


class Journal(JournalFile):
    """The entries of all surveys of one person; one file, shared by all clients of this person.

    Every method raises :class:`~ldp_client.errors.JournalError` if the file cannot be used.

    Parameters
    ----------
    path : path, optional
        By default ``$LDP_JOURNAL``, or without it a file in the platform's folder for application data.
        ":memory:" keeps the journal in memory until the process ends: for simulations and tests only.
    person : str, optional
        Use this person's own file, in a folder beside the default one; not together with `path`. 1 to 64
        ASCII letters, digits, "-" and "_"; upper and lower case differ.
    """

    # -- consent ---------------------------------------------------------------------------

    def grant(
        self,
        plan: AnyPlan,
        url: str,
        signer: str = "",
        max_total: Fraction | None = None,
        choose_wave: Callable[[JournalEntry | None], tuple[int | None, str]] = lambda _: (None, ""),
        lifetime: Fraction | None = None,
        renews: bool = False,
    ) -> JournalEntry:
        """Record that the person agrees to a plan, which is pinned from now on; return the survey's entry.

        If the survey is answered already, the entry stays unchanged. `choose_wave` gets the entry so far, and
        returns the wave and the reason of the new one. With `lifetime`, the person agrees to the plan's
        series, whose plans may spend so much; `renews` if that consent must cover the plan.

        Raises
        ------
        PlanError
            If this device is bound to another plan of the survey.
        BudgetError
            If the report would exceed `max_total`, which is as in :meth:`commit`.
        ConsentError
            If the report would exceed what the series may spend, or the person must be asked again.
        """
        identity = SurveyIdentity(plan.id, origin_of_url(url), signer)
        with self._transaction() as connection:
            known = find_entry(connection, identity)
            require_pinned_plan(known, plan)
            if lifetime is not None:
                record_standing(connection, plan, url, lifetime)
            if known and (known.is_answered or renews):
                return known
            if renews:
                require_shown(connection, plan, url)
            if not find_answered_entry(connection, identity, plan.family):
                _require_budget(connection, plan, max_total)
            signer = signer or (known.signer if known else "")
            wave, reason = choose_wave(known)
            for entry in find_survey_entries(connection, identity):
                connection.execute("DELETE FROM surveys WHERE survey = ? AND origin = ?", entry.identity.key)
            agreed = (plan.id, identity.origin, plan.family, url, plan.digest, plan.json, signer, State.READY)
            connection.execute(
                "INSERT INTO surveys (survey, origin, family, url, digest, plan, signer, state, reason, "
                "wave, series) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*agreed, reason, wave, plan.series_id),
            )
            return get_entry(connection, identity)

    def withdraw(self, identity: SurveyIdentity, family: str = "", series: str = "") -> JournalEntry | None:
        """Record that the person no longer agrees; delete a queued report of any round of the survey.

        It ends the consent to the survey's series too, and deletes what waits of the other plans in it.

        What a collector has counted cannot be taken back: it does not know which report came from whom.
        `family` is as for :meth:`find_answered`.
        """
        with self._transaction() as connection:
            known = find_survey_entries(connection, identity)
            author = "" if known or family else identity.signer  # which series it has is unknown
            ended = end_standing(connection, {series, *(entry.series for entry in known)}, author)
            others = [each.identity for each in read_entries(connection) if each.series in ended]
            for each in (*others, identity):
                self._end_consent(connection, each, family)
            return find_entry(connection, identity)

    def _end_consent(self, connection: sqlite3.Connection, identity: SurveyIdentity, family: str) -> None:
        """Record the withdrawal; everything that it deletes is deleted in this one transaction."""
        entries = find_survey_entries(connection, identity)
        for entry in entries:
            connection.execute(
                "UPDATE surveys SET state = ? WHERE survey = ? AND origin = ? AND state = ?",
                (State.NO_CONSENT, *entry.identity.key, State.READY),
            )
        for each in {entry.family for entry in entries} or {family or identity.survey}:
            for answered in find_family_entries(connection, identity, each):
                _end_report(connection, answered.identity, State.WITHDRAWN, "")
                connection.execute(  # the relay may still delete it
                    "UPDATE surveys SET state = ? WHERE survey = ? AND origin = ? AND state = ? "
                    "AND sealed IS NOT NULL",
                    (State.WITHDRAWN, *answered.identity.key, State.SENT),
                )

    # -- the one report --------------------------------------------------------------------

    def commit(
        self,
        identity: SurveyIdentity,
        plan: Plan,
        make_report: Callable[[JournalEntry], bytes],
        max_total: Fraction | None = None,
        wave: Wave | None = None,
    ) -> tuple[JournalEntry, bool]:
        """Make and record this device's one report for a survey, unless its family has a report already.

        Parameters
        ----------
        plan : Plan
            The plan that the person agreed to; the report is sent to the URL that they agreed to.
        make_report : callable
            Gets the entry, and returns the report's bytes; in a survey with a relay, its only message. Called
            at most once, in the transaction that records them. It must not read the row: an error that a
            row raises here would be taken for an error of the journal.
        max_total : Fraction, optional
            The epsilon that all reports of this journal may spend in total.
        wave : Wave, optional
            The wave of the report, in a survey with waves.

        Returns
        -------
        entry : JournalEntry
        created : bool
            False if a survey of the family had been answered before. Then nothing was drawn, and `entry` is
            the entry of that survey.

        Raises
        ------
        ConsentError, PlanError, BudgetError
            Nothing was drawn.
        JournalError
            If the journal cannot be written (the report, if made, is discarded unsent), or
            `MAX_QUEUED_REPORTS` reports wait already.
        """
        with self._transaction() as connection:
            agreed = find_entry(connection, identity)
            is_answered = agreed is not None and agreed.is_answered
            answered = agreed if is_answered else find_answered_entry(connection, identity, plan.family)
            if answered:
                return answered, False
            require_pinned_plan(agreed, plan)
            agreed = require_consent(agreed)
            (waiting,) = connection.execute(
                "SELECT count(*) FROM surveys WHERE state = ?", (State.QUEUED,)
            ).fetchone()
            if waiting >= MAX_QUEUED_REPORTS:
                raise JournalError(
                    f"{waiting} reports already wait to be sent, so nothing was drawn: send them first",
                    "queue-full",
                )
            _require_budget(connection, plan, max_total)
            body = make_report(agreed)
            made = (None, body, (wave or plan.relay).closes) if plan.relay else (body, None, None)
            connection.execute(
                "UPDATE surveys SET reason = '', report = ?, sealed = ?, closes = ?, wave_name = ?, "
                "epsilon = ?, state = ? WHERE survey = ? AND origin = ?",
                (*made, wave and wave.name, str(plan.epsilon), State.QUEUED, agreed.survey, agreed.origin),
            )
            return get_entry(connection, agreed.identity), True

    def record_outcome(self, identity: SurveyIdentity, state: State, reason: str = "") -> JournalEntry | None:
        """Record the outcome of a queued report, and delete its bytes; an earlier outcome stays unchanged.

        Returns the entry, which has the earlier outcome if there is one, for example a withdrawal.
        """
        with self._transaction() as connection:
            _end_report(connection, identity, state, reason)
            return find_entry(connection, identity)

    def record_withdrawn(self, identity: SurveyIdentity, reason: str, *, is_final: bool) -> None:
        """Record what the relay said to a withdrawal; if that is final, delete its message."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE surveys SET reason = ?, sealed = CASE WHEN ? THEN NULL ELSE sealed END "
                "WHERE survey = ? AND origin = ?",
                (reason, is_final, *identity.key),
            )

    def forget_messages(self, now: float) -> None:
        """Delete each message of a relay that has an outcome, and that no withdrawal can stop any more."""
        query = "SELECT 1 FROM surveys WHERE sealed IS NOT NULL AND closes <= ? AND state <> ?"
        limits = (now - MESSAGE_SECONDS, State.QUEUED)
        with self._transaction(writes=False) as connection:
            if not connection.execute(query, limits).fetchone():
                return
        with self._transaction() as connection:
            connection.execute("UPDATE surveys SET sealed = NULL WHERE closes <= ? AND state <> ?", limits)

    def record_closed(self, identity: SurveyIdentity, now: float) -> bool:
        """Record that the collector says that a survey is closed; return whether the report has expired.

        It expires after a day of such responses: a single one may come from a wrong clock, or from a survey
        that was closed by mistake. Until then it stays QUEUED with the reason "closed-once". `now` is in
        seconds since the epoch.
        """
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT closed_at FROM surveys WHERE survey = ? AND origin = ?", identity.key
            ).fetchone()
            first = row[0] if row else None
            since = find_closed_time(first, now)
            if since is None:
                _end_report(connection, identity, State.EXPIRED, Reason.SURVEY_CLOSED)
                return True
            connection.execute(
                "UPDATE surveys SET reason = ?, closed_at = ? WHERE survey = ? AND origin = ? AND state = ?",
                (CLOSED_ONCE, since, *identity.key, State.QUEUED),
            )
            return False

    # -- reading ---------------------------------------------------------------------------

    def find(self, identity: SurveyIdentity) -> JournalEntry | None:
        """Return the entry of a survey; None if it has none."""
        with self._transaction(writes=False) as connection:
            return find_entry(connection, identity)

    def find_answered(self, identity: SurveyIdentity, family: str) -> JournalEntry | None:
        """Return the entry of the answered survey of a publisher's family; None if none was answered.

        Without a `family`, the survey is taken for the first round: its id is then the family of the others.
        """
        with self._transaction(writes=False) as connection:
            return find_answered_entry(connection, identity, family or identity.survey)

    def standing(self, series: str) -> Standing | None:
        """Return the consent to a series, by its name and its author's key; None if there never was one."""
        with self._transaction(writes=False) as connection:
            return find_standing(connection, series)

    def entries(self) -> list[JournalEntry]:
        """Return the entries of all surveys."""
        with self._transaction(writes=False) as connection:
            return read_entries(connection)

    def queued_surveys(self) -> list[SurveyIdentity]:
        """Return the identity of the survey of every queued report."""
        with self._transaction(writes=False) as connection:
            rows = connection.execute(
                "SELECT survey, origin, signer FROM surveys WHERE state = ?", (State.QUEUED,)
            )
            return [SurveyIdentity(*row) for row in rows]


def find_closed_time(first: float | None, now: float) -> float | None:
    """Return the time of the first of several responses "closed"; None if a day has passed since then.

    The day begins again if the device's clock was set back.
    """
    if first is None or now < first:
        return now
    return first if now - first < CLOSED_SECONDS else None


# -- SQL ------------------------------------------------------------------------------------


def _require_budget(connection: sqlite3.Connection, plan: AnyPlan, max_total: Fraction | None) -> None:
    require_left(connection, plan)
    if max_total is None:
        return
    spent = sum(
        (Fraction(text) for (text,) in connection.execute("SELECT epsilon FROM surveys")), Fraction(0)
    )
    if spent + Fraction(plan.epsilon) > max_total:
        raise BudgetError(
            f"the survey would spend epsilon {plan.epsilon}, "
            f"but {float(spent):g} of {float(max_total):g} are already spent (max_total_epsilon)",
            "total-epsilon-spent",
        )


def _end_report(connection: sqlite3.Connection, identity: SurveyIdentity, state: State, reason: str) -> None:
    connection.execute(
        "UPDATE surveys SET state = ?, reason = ?, report = NULL, plan = NULL, closed_at = NULL, "
        "sealed = CASE WHEN ? THEN sealed END WHERE survey = ? AND origin = ? AND state = ?",
        # only a message that a relay may have can still be withdrawn
        (state, reason, state in (State.SENT, State.WITHDRAWN), *identity.key, State.QUEUED),
    )

"""The journal of a silo: consent and plan as in a person's journal, and a ledger of epochs.

The consent of a silo stays READY while it reports; each epoch has a state of its own. A message is made
inside the transaction that records its epoch. So noise is drawn once for an epoch, and a message that was not
recorded was never sent. Only the id of a message can change, after its token was used by another silo.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from encoders.errors import Reason
from encoders.survey.silo_plan import SiloPlan
from ldp_client.errors import ConsentError, JournalError
from ldp_client.journal.journal import CLOSED_ONCE, Journal, find_closed_time
from ldp_client.journal.table import JournalEntry, find_entry, require_consent, require_pinned_plan
from ldp_client.receipt import State
from ldp_client.survey_identity import SurveyIdentity
from ldp_silo import silo_ledger
from ldp_silo.silo_ledger import Epoch, NewEpoch


class SiloJournal(Journal):
    """One SQLite file, readable only by its owner; JournalError if it cannot be used."""

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        super()._create_tables(connection)
        silo_ledger.create_tables(connection)

    def read_key(self) -> bytes:
        with self._transaction() as connection:
            return silo_ledger.read_key(connection)

    def find_epochs(self, identity: SurveyIdentity, family: str = "") -> list[Epoch]:
        """Return the epochs of a survey, and of the other surveys of its publisher's family."""
        with self._transaction(writes=False) as connection:
            return silo_ledger.find_epochs(connection, identity, family)

    def find_epoch(self, number: int) -> Epoch | None:
        return next((epoch for epoch in self.epochs() if epoch.number == number), None)

    def epochs(self) -> list[Epoch]:
        with self._transaction(writes=False) as connection:
            return silo_ledger.read_epochs(connection)

    def _end_consent(self, connection: sqlite3.Connection, identity: SurveyIdentity, family: str) -> None:
        super()._end_consent(connection, identity, family)
        silo_ledger.withdraw_epochs(connection, silo_ledger.find_epochs(connection, identity))

    def commit_epoch(
        self,
        identity: SurveyIdentity,
        plan: SiloPlan,
        new: NewEpoch,
        message_id: bytes,
        make_message: Callable[[], bytes] | None,
        max_total: Fraction | None = None,
    ) -> tuple[Epoch, bool]:
        """Make and record the message of an epoch, unless the epoch has one already; return if it was made.

        `make_message` draws the noise. It is called at most once, while the journal is locked, and only if
        its result will be recorded in the same transaction. None is for a rehearsal, which checks everything
        and records nothing. `max_total` is the epsilon that all surveys of this journal may spend of one
        person's budget.
        Raises ConsentError, PlanError, BudgetError, EpochError, TokenError or RepeatedPersonsError if the
        silo has not agreed, the plan is another one, or the rows do not fit the ledger, and JournalError if
        the journal cannot be written. Nothing is then recorded, and what was drawn is discarded unsent.
        """
        with self._transaction() as connection:
            agreed = _require_agreed(connection, identity, plan)
            earlier = silo_ledger.find_epochs(connection, identity, plan.family)
            if known := silo_ledger.find_named(earlier, identity.survey, new.name):
                silo_ledger.require_same_file(known, new.counted.file)
                return known, False
            if tuple(each.number for each in earlier) != new.earlier:
                raise JournalError(
                    "another process has recorded an epoch in the meantime: run the command again"
                )
            epoch = _queued_epoch(agreed, plan, new, message_id)
            connection.execute("SAVEPOINT before_epoch")
            silo_ledger.require_one_plan(earlier, epoch)
            silo_ledger.require_new_rows(earlier, new)
            if new.counted.persons:
                silo_ledger.add_persons(connection, earlier, epoch, new, plan.rows_per_person)
            silo_ledger.require_unused_token(connection, message_id)
            silo_ledger.require_total(connection, epoch, max_total)
            if make_message is None:
                connection.execute("ROLLBACK TO before_epoch")
                return epoch, False
            return silo_ledger.insert_epoch(connection, replace(epoch, message=make_message())), True

    def change_token(self, epoch: Epoch, plan: SiloPlan, message_id: bytes) -> Epoch:
        """Let a message wait under the id of another token, if its own token was reused; return its epoch.

        Under another id, the rows of a message that may have been counted could be counted twice, so it stays
        as it is. Raises ConsentError, PlanError, or TokenError if the other token was used.
        """
        with self._transaction() as connection:
            agreed = _require_agreed(connection, epoch.identity, plan)
            known = next(each for each in silo_ledger.read_epochs(connection) if each.number == epoch.number)
            if not known.is_token_reused or known.message_id == message_id:
                return known  # as another process has left it
            if (known.origin, known.digest) != (agreed.origin, plan.digest):
                raise ConsentError(f"the message is bound to {known.url} and its plan: call grant() for them")
            silo_ledger.require_unused_token(connection, message_id)
            return silo_ledger.change_message_id(connection, known, message_id)

    def record_epoch_outcome(self, epoch: Epoch, state: State, reason: str = "") -> None:
        """Record the outcome of a message that waits with this id; an earlier outcome stays unchanged."""
        with self._transaction() as connection:
            silo_ledger.end_epoch(connection, epoch, state, reason)

    def record_epoch_closed(self, epoch: Epoch, now: float) -> bool:
        """Record that the collector says that the survey is closed; after a day, the message expires."""
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT closed_at FROM silo_epochs WHERE number = ?", (epoch.number,)
            ).fetchone()
            first = row[0] if row else None
            since = find_closed_time(first, now)
            if since is None:
                silo_ledger.end_epoch(connection, epoch, State.EXPIRED, Reason.SURVEY_CLOSED)
                return True
            connection.execute(
                "UPDATE silo_epochs SET reason = ?, closed_at = ? "
                "WHERE number = ? AND message_id = ? AND state = ?",
                (CLOSED_ONCE, since, epoch.number, epoch.message_id, State.QUEUED),
            )
            return False


def _require_agreed(connection: sqlite3.Connection, identity: SurveyIdentity, plan: SiloPlan) -> JournalEntry:
    """Return the entry of a survey; raise ConsentError or PlanError unless the silo agrees to this plan."""
    agreed = find_entry(connection, identity)
    require_pinned_plan(agreed, plan)
    agreed = require_consent(agreed)
    if agreed.origin != identity.origin:  # another process has moved the consent since it was checked
        raise ConsentError(f"the consent is to send to {agreed.url}, another collector: call grant() again")
    return agreed


def _queued_epoch(agreed: JournalEntry, plan: SiloPlan, new: NewEpoch, message_id: bytes) -> Epoch:
    return Epoch(
        number=0,  # the database chooses it
        survey=agreed.survey,
        origin=agreed.origin,
        signer=agreed.signer,
        family=plan.family,
        name=new.name,
        url=agreed.url,
        digest=plan.digest,
        epsilon=str(plan.epsilon),
        rows=new.counted.rows,
        file=new.counted.file,
        person_column=new.person_column,
        state=State.QUEUED,
        reason="",
        message_id=message_id,
        message=None,
    )

"""The checks before a client reports: opt-out, consent, the plan, the policy, the invitation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from encoders.randomness import SystemEntropy
from encoders.survey.invitation import read_invitation
from encoders.survey.plan import Plan
from encoders.survey.randomise import randomise_all
from ldp_client.bound_survey import BoundSurvey
from ldp_client.errors import ConsentError
from ldp_client.journal.journal import CLOSED_ONCE
from ldp_client.journal.table import JournalEntry, require_consent
from ldp_client.opt_out import find_prohibition, require_permission
from ldp_client.plan_source import fetch_texts
from ldp_client.receipt import Receipt, State
from ldp_client.relay import UNREACHABLE, seal, withdraw_message
from ldp_client.waves import NotDueError, choose_wave, describe_wait, find_wave, require_due

NO_SERIES = "the plan is not of a series whose author's key is the client's public_key"


@dataclass
class Participation(BoundSurvey[Plan]):
    """One person's participation in one survey, as their journal records it."""

    is_rehearsal: ClassVar[bool] = False
    failed_grant: str = field(default="", init=False)
    """Why the last grant failed, for calls that miss the consent; empty if it did not."""

    def require_permission(self) -> None:
        """Raise ConsentError if an environment variable forbids reports."""
        require_permission(self.is_rehearsal)

    def load_texts(self) -> Plan:
        """Return the plan with its texts, which are fetched on first use, if it has any."""
        plan = self.plan
        if plan.texts_digest and not plan.texts:
            self.require_permission()
            plan = self._plan = fetch_texts(plan, self.url, self.transport)
        return plan

    def grant(self, lifetime: Fraction | None = None, renews: bool = False) -> None:
        """Record that the person agrees to the plan, unless the survey is answered already.

        `lifetime` and `renews` are as for :meth:`ldp_client.journal.Journal.grant`.
        """
        self.failed_grant = ""
        try:
            self.require_permission()
            entry = self.journal.find(self.identity)
            if (entry is None) if renews else not (entry and entry.is_answered and lifetime is None):
                plan, token = self.plan, self.token
                # the author's signature was verified
                is_signed = plan.series is not None and plan.series.key == self.policy.public_key
                if (renews or lifetime is not None) and not is_signed:
                    raise ConsentError(NO_SERIES)
                read_invitation(plan, token)  # consent without a valid invitation would be useless
                self.journal.grant(
                    plan,
                    self.url,
                    self.policy.public_key,
                    self.policy.max_total_epsilon,
                    lambda known: choose_wave(plan, token, known),
                    lifetime,
                    renews,
                )
        except Exception as error:
            receipt = Receipt.from_error(error, self.identity.survey)
            self.failed_grant = f"; the last grant() failed ({receipt.reason}): {receipt.why}"
            raise

    def report(self, row: Mapping[str, object], label: object = None) -> Receipt:
        """Randomise what this person sends and write it to the journal, unless the survey is answered."""
        self.require_permission()
        entry = self.find_entry()
        if entry and entry.is_answered:
            return self.status(entry, is_repeat=True)
        entry = require_consent(entry, self.failed_grant)
        plan = self.pinned_plan(entry)
        read_invitation(plan, self.token)
        if waiting := describe_wait(plan, entry):  # before the row is read
            return waiting
        if isinstance(row, Mapping):  # read each value once, whatever kind of mapping it is
            row = {each.name: row[each.name] for each in plan.entries if each.name in row}
        # encode outside the journal's transaction, so that only integers are used inside it
        coded, clipped = plan.encode(row, label), plan.clipped_names(row)
        receipt = Receipt(State.QUEUED, plan.id, epsilon=float(plan.epsilon), clipped=clipped)
        made: list[bytes] = []
        wave = find_wave(plan, entry.wave)

        def make_report(agreed: JournalEntry) -> bytes:
            require_due(plan, self.token, agreed, wave)
            sent = randomise_all(plan, coded, SystemEntropy(), self.token, wave)
            reports = [each.report for each in sent]
            made.append(seal(plan, reports, wave, self.token) if plan.relay else reports[0])
            return made[0]

        max_total = self.policy.max_total_epsilon
        try:
            asked = plan.waves.list[wave] if plan.waves and wave is not None else None
            entry, created = self.journal.commit(self.identity, plan, make_report, max_total, asked)
        except NotDueError:  # the wave ended, or another client granted the token of another one
            return self.status(self.find_entry())
        except Exception:  # closing the file fails after the commit too
            if made and (stored := self.journal.find(self.identity)) and stored.post[1] == made[0]:
                return receipt
            raise
        if not created:  # another thread or process was faster
            return self.status(entry, is_repeat=True)
        return receipt

    def withdraw(self) -> Receipt:
        """Record that the person no longer agrees; ask the relay, if there is one, to delete the report.

        The relay is asked even if this process has sent nothing: another process may have.
        """
        self.failed_grant = ""
        plan = self._known_plan
        family, series = (plan.family, plan.series_id) if plan else ("", "")
        self.journal.withdraw(self.identity, family, series)
        entry = self.find_entry()
        receipts = [self._take_back(entry)]
        for other in self.journal.entries():  # of any series: a relay may have been out of reach before
            if other.series and other.sealed and not (entry and entry.identity == other.identity):
                receipts.append(self._take_back(other))
        return next((each for each in receipts if each.reason == UNREACHABLE), receipts[0])

    def _take_back(self, entry: JournalEntry | None) -> Receipt:
        """Ask the relay, if there is one, to delete a withdrawn report."""
        if not (entry and entry.sealed and entry.state is State.WITHDRAWN):
            return self.status(entry)
        if why := find_prohibition()[1]:
            why = f"the relay was not asked to delete the report: {why}"
            receipt = replace(self.status(entry), reason=UNREACHABLE, why=why)
        else:
            receipt = withdraw_message(entry, self.transport)
        self.journal.record_withdrawn(entry.identity, receipt.reason, is_final=receipt.reason != UNREACHABLE)
        return receipt

    def find_entry(self) -> JournalEntry | None:
        """Return the survey's journal entry, or the entry of another round that this device answered."""
        entry = self.journal.find(self.identity)
        if entry and entry.is_answered:
            return entry
        family = entry.family if entry else self._known_plan.family if self._known_plan else ""
        return self.journal.find_answered(self.identity, family) or entry

    @property
    def _known_plan(self) -> Plan | None:
        """The plan; None while the client has neither got nor read it."""
        return self.source if isinstance(self.source, Plan) else self._plan

    def describe_series(self, series: str) -> str:
        """Return what the plans of a series have spent, as a sentence; empty without consent to a series."""
        return str(self.journal.standing(series) or "") if series else ""

    def status(self, entry: JournalEntry | None, is_repeat: bool = False) -> Receipt:
        """Return the receipt for a journal entry: the survey's status, or a repeated answer."""
        if entry is None or not entry.is_answered:
            self.require_permission()
        if entry is None or entry.state is State.NO_CONSENT:
            why = self.failed_grant.removeprefix("; ")
            return Receipt(State.NO_CONSENT, self.identity.survey, reason="no-consent", why=why)
        if entry.wave is not None and not entry.is_answered:
            plan = self._plan or self.reader.from_json(entry.plan or b"")
            return describe_wait(plan, entry) or Receipt(entry.state, entry.survey)
        is_other_round = entry.survey != self.identity.survey
        if entry.state is State.QUEUED and not is_other_round:
            self.policy.check_queued_report(entry.digest, entry.epsilon, entry.signer)
        if entry.state is not State.WITHDRAWN and (is_repeat or is_other_round):
            why = "this device has answered the survey before, or another round of it"
            return Receipt(State.ALREADY_REPORTED, entry.survey, reason=entry.reason, why=why)
        server = "collector" if entry.sealed is None else "relay"
        why = (
            f"the {server} says that the survey is closed; the report is deleted if it still says so a day "
            "later"
            if entry.reason == CLOSED_ONCE
            else entry.why
        )
        return Receipt(entry.state, entry.survey, reason=entry.reason, why=why)

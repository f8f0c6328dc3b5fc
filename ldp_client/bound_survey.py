"""A survey as a client is bound to it: the plan that was pinned on this device, and passes the policy."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Generic

from encoders.errors import SurveyError
from encoders.survey.compiled_plan import PlanT
from encoders.survey.plan_files import PlanReader
from ldp_client.errors import ConsentError
from ldp_client.journal.journal import Journal
from ldp_client.journal.table import JournalEntry, require_pinned_plan
from ldp_client.plan_source import COLLECTOR, RELAY, is_url, load_any_plan
from ldp_client.policy import ClientPolicy
from ldp_client.relay import check_plan, check_plan_url
from ldp_client.survey_identity import SurveyIdentity
from ldp_client.transport import Transport


@dataclass
class BoundSurvey(ABC, Generic[PlanT]):
    """Loads the plan of a survey, and accepts no other plan than the one that this device is bound to."""

    reader: PlanReader[PlanT]
    identity: SurveyIdentity
    url: str
    """The survey's URL at its collector, or at its relay."""
    source: str | os.PathLike[str] | PlanT
    """The source of the plan, as for :class:`~ldp_client.client.Client`."""
    token: str | None
    """The invitation, if the survey needs one."""
    policy: ClientPolicy
    journal: Journal
    transport: Transport
    _plan: PlanT | None = field(default=None, init=False)

    @abstractmethod
    def require_permission(self) -> None:
        """Raise ConsentError if the environment forbids to send anything."""

    @property
    def plan(self) -> PlanT:
        """The survey's plan, checked on first use; see :attr:`~ldp_client.client.Client.plan`."""
        return self._plan or self._load_plan(self.journal.find(self.identity))

    def pinned_plan(self, entry: JournalEntry) -> PlanT:
        """Return the plan that was agreed to, without a request; raise ConsentError for another collector."""
        if entry.url != self.url:
            raise ConsentError(
                f"the consent is to send to {entry.url}, not to {self.url}: call grant() again"
            )
        return self._plan or self._load_plan(entry, may_fetch=False)

    def _load_plan(self, entry: JournalEntry | None, may_fetch: bool = True) -> PlanT:
        """Return the checked plan: given by the application, stored in the journal, or fetched."""
        public_key = self.policy.public_key
        if not isinstance(self.source, self.reader.plan_types) and is_url(self.source):
            check_plan_url(self.policy, self.url)
        if isinstance(self.source, self.reader.plan_types):
            plan = self.source
        elif not is_url(self.source):
            plan = load_any_plan(self.reader, str(self.source), public_key=public_key or None)
        elif entry and entry.plan and public_key in ("", entry.signer):
            plan = self.reader.from_json(entry.plan)
        elif may_fetch:
            self.require_permission()
            server = RELAY if self.policy.relay else COLLECTOR
            plan = load_any_plan(self.reader, self.url, self.transport, public_key or None, server)
        else:
            raise ConsentError(
                "the consent is to a plan without the signature that is now required: call grant() again"
            )
        check_plan(plan, self.policy, self.url)
        if plan.id != self.identity.survey:
            raise SurveyError("the plan is of another survey than the URL: give that survey's plan", "id")
        require_pinned_plan(entry, plan)
        self.policy.check(plan.digest, str(plan.epsilon))
        self._plan = plan
        return plan

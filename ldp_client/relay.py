"""Surveys with a relay: which plans a client accepts, and the one message that it sends.

The client never knows the collector's address, so it cannot send to it. The reports are sealed once; only the
message is kept in the journal, and each attempt sends the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from urllib.parse import urlsplit

from encoders.errors import Reason
from encoders.late_imports import LateImport, MissingExtraError
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.invitation import read_code
from encoders.survey.plan import Plan
from ldp_client.collector_response import is_survey_closed
from ldp_client.errors import OTHER_PLAN, BudgetError, OptionError, PlanError, TransportError
from ldp_client.journal.table import JournalEntry
from ldp_client.plan_source import refuse_relay
from ldp_client.policy import ClientPolicy
from ldp_client.receipt import CODE_REFUSALS, Receipt, State
from ldp_client.survey_identity import origin_of_url
from ldp_client.transport import Transport

SPREAD_SECONDS = 3600.0
"""The default of `spread` with a relay."""
_SEALING = LateImport("encoders.survey.sealing")  # most surveys have no relay
UNREACHABLE = "relay-unreachable"
_WITHDRAW_SECONDS = 10.0
_WRONG_URL = "with a relay, give the survey's address at the relay, {}, not its address at the collector"


def check_plan_url(policy: ClientPolicy, url: str) -> None:
    """Raise OptionError or TransportError unless a plan may be fetched: from the relay, and not anybody's.

    A server that can replace the plan could put its own keys in it, and read the reports.
    """
    if not policy.relay:
        return
    if origin_of_url(url) != policy.relay or urlsplit(url).path.count("/") > 1:
        raise OptionError(_WRONG_URL.format(f"{policy.relay}/ID"))
    if not (policy.digest or policy.public_key):
        raise TransportError(
            "with a relay, the plan must be pinned: give its digest, its author's public_key, or the plan",
            "relay-unpinned",
        )


def check_plan(plan: AnyPlan, policy: ClientPolicy, url: str) -> None:
    """Raise TransportError, PlanError or BudgetError unless a plan fits the relay that the application chose.

    TransportError means that the application names no relay, or that this installation cannot seal.
    """
    if not policy.relay:
        refuse_relay(plan)
        return
    relay = plan.relay if isinstance(plan, Plan) else None
    if relay is None or origin_of_url(relay.url) != policy.relay:
        raise PlanError(f"the plan's reports do not go through {policy.relay}", OTHER_PLAN)
    if relay.url != url:
        raise PlanError(_WRONG_URL.format(relay.url), OTHER_PLAN)
    if Fraction(relay.epsilon) > policy.max_epsilon:
        raise BudgetError(
            f"the plan promises epsilon {relay.epsilon}, but max_epsilon is {float(policy.max_epsilon):g}"
        )
    assert isinstance(plan, Plan)
    # shows before anything is drawn that the keys and this installation can seal
    seal(plan, [b""] * len(plan.longest_by_column), 0 if plan.waves else None)


def seal(plan: Plan, reports: Sequence[bytes], wave: int | None, token: str | None = None) -> bytes:
    """Return the envelope of a person's reports of a wave; `token` is the relay's code, if there is one."""
    sealing = _SEALING.load()
    try:
        code = b"" if token is None else read_code(plan, token)
        envelope: bytes = sealing.seal_envelope(plan, reports, code, wave)
        return envelope
    except MissingExtraError as error:
        raise TransportError(str(error), "relay-unsupported") from error
    except sealing.SealError as error:
        raise PlanError(str(error), OTHER_PLAN) from error


def withdraw_message(entry: JournalEntry, transport: Transport) -> Receipt:
    """Ask the relay to delete the message of a report, and return what it says."""

    def receipt(reason: str, why: str) -> Receipt:
        return Receipt(State.WITHDRAWN, entry.survey, reason=reason, why=why)

    url, message = entry.post
    try:
        response = transport.request("DELETE", url, message, _WITHDRAW_SECONDS)
    except Exception:  # an injected transport may raise anything
        response = None
    reason = response.entry("reason") if response and response.status in (403, 409) else None
    # with a code that it refuses, the relay never held the message, and never will
    if (response and response.status == 204) or (isinstance(reason, str) and reason in CODE_REFUSALS):
        return receipt("", "the relay does not have the report, and will not pass it on")
    if reason == "passed-on":
        return receipt(reason, "the relay has passed the report on: it cannot be taken back")
    if response and is_survey_closed(response):
        return receipt(
            str(Reason.SURVEY_CLOSED), "the relay has passed the report on, or deleted it with all others"
        )
    return receipt(UNREACHABLE, "the relay did not confirm it: withdraw again, or it may pass the report on")

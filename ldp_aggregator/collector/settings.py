"""What one collector serves, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from encoders.survey import Plan
from ldp_aggregator.collector.content import Content
from ldp_aggregator.collector.deadlines import Deadlines
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.rates import Rates
from ldp_aggregator.collector.recent import Recent
from ldp_aggregator.collector.windows import Windows
from ldp_aggregator.stores import Store

MAX_BODY_BYTES = 4 << 20


@dataclass(frozen=True)
class Service:
    """What the application is made of.

    Attributes
    ----------
    store : Store
    plans : mapping of survey id to Plan
        Those in the store when the application was made.
    intakes : mapping of survey id to Intake
        What takes the reports of each.
    windows : Windows
        When each survey takes answers.
    signatures : mapping of survey id to bytes
        Of those plans that their authors signed; passed on unchecked.
    operator_token : str or None
        None closes the operator's pages.
    deadlines : Deadlines
        Until when a request has to be there.
    max_body : int
        Bytes of one request's body at most.
    promise : str
        What the store's acknowledgement is worth.
    rates : Rates
        How many posts each address may send.
    progress : Recent
        What the operator's page was last told, by survey.
    """

    store: Store
    plans: Mapping[str, Plan]
    intakes: Mapping[str, Intake]
    windows: Windows
    signatures: Mapping[str, bytes]
    operator_token: str | None
    deadlines: Deadlines
    max_body: int
    promise: str
    rates: Rates
    progress: Recent[Content] = field(default_factory=Recent)

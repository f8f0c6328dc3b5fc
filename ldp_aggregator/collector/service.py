"""State that all requests of one collector share."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.unsealing import PrivateKey
from ldp_aggregator.collector.cached_response import CachedResponse
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.serving.metrics import StoreReader
from ldp_aggregator.collector.serving.rate_limit import RateLimit
from ldp_aggregator.collector.serving.traffic import Traffic
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.ttl_cache import TtlCache
from ldp_aggregator.stores import Store, StoreError
from ldp_aggregator.stores.schedule import Phase, Schedule, read_all_schedules
from ldp_aggregator.stores.tombstone import DELETED

SCHEDULE_TTL_SECONDS = 2.0
"""How long a worker caches the schedules; after this time every worker has seen a change in the store."""
RESULT_TTL_SECONDS = 2.0
"""How long a worker caches the sections of the dashboard, and whether it is ready."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """State that all requests of one collector share."""

    settings: CollectorSettings
    store: Store
    plans: Mapping[str, Plan | SiloPlan]
    """The plans in the store when the application was made."""
    intakes: Mapping[str, Intake]
    """The intake of each survey."""
    texts: Mapping[str, CachedResponse]
    """The texts of the surveys that have some."""
    signatures: Mapping[str, bytes]
    """The authors' signatures, served unchecked."""
    keys: Mapping[str, PrivateKey] = field(repr=False)
    """The private keys of the surveys with a relay."""
    lost: Collection[str]
    """The surveys whose plans were lost."""
    guarantee: str
    """What the store guarantees for an acknowledged report; see :meth:`Store.check_durability`."""
    rate_limit: RateLimit
    """Limits the reports of each address."""
    wrong_token_limit: RateLimit
    """Limits the wrong tokens of each address."""
    schedules: TtlCache[tuple[dict[str, Schedule], Collection[str]]] = field(
        default_factory=lambda: TtlCache(SCHEDULE_TTL_SECONDS, stale_on=StoreError)
    )
    """When each survey is open, and the deleted surveys; while the store cannot be used, as last read."""
    progress: TtlCache[CachedResponse] = field(default_factory=lambda: TtlCache(RESULT_TTL_SECONDS))
    """The sections of the dashboard, by survey."""
    readiness: TtlCache[None] = field(default_factory=lambda: TtlCache(RESULT_TTL_SECONDS, repeat=StoreError))
    """Whether the store can record reports."""
    store_reader: StoreReader = field(default_factory=StoreReader)
    """Reads the store for metrics."""
    traffic: Traffic = field(default_factory=Traffic)
    """The counts of requests; the server makes all workers count in shared memory."""

    def check_ready(self) -> None:
        """Raise StoreError if the store could not take a report within the last seconds."""
        self.readiness.get("", self._check_ready)  # cached, because each check writes to the store

    def _check_ready(self) -> None:
        """Check the store; what a survey lost after it was closed is found at the next start."""
        closed = [survey for survey in self.plans if self.phase(survey) is Phase.CLOSED]
        self.store.check_ready(closed)

    def phase(self, survey: str) -> Phase:
        """Return the current phase of a survey: waiting, open, in its grace period, or closed."""
        return self._read_schedules()[0].get(survey, Schedule()).phase(time.time())

    def is_deleted(self, survey: str) -> bool:
        """Return whether a survey was deleted from the store."""
        return survey in self._read_schedules()[1]

    def _read_schedules(self) -> tuple[dict[str, Schedule], Collection[str]]:
        return self.schedules.get("", lambda: (read_all_schedules(self.store), self.store.notes(DELETED)))

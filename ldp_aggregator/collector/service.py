"""State that all requests of one collector share."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
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
from ldp_aggregator.collector.shared_results import SharedCall, TtlCache
from ldp_aggregator.stores import Store, StoreError
from ldp_aggregator.stores.operator_log import DELETED
from ldp_aggregator.stores.schedule import Phase, Schedule, read_all_schedules

SCHEDULE_TTL_SECONDS = 2.0
"""How long a worker caches the schedules; after this time every worker has seen a change in the store."""
PATIENCE_SECONDS = 0.25
"""How long a request waits for schedules that were read before."""
RESULT_TTL_SECONDS = 2.0
"""How long a worker caches the sections of the dashboard, and whether it is ready."""


class CachedSchedules:
    """When each survey is open, and which were deleted; as last read while the store fails or is slow."""

    def __init__(self, store: Store) -> None:
        self._store, self._seconds = store, SCHEDULE_TTL_SECONDS
        self._refresh = SharedCall[None](PATIENCE_SECONDS)
        self._found: tuple[dict[str, Schedule], Collection[str]] | None = None
        self._end = 0.0

    def read(self) -> tuple[dict[str, Schedule], Collection[str]]:
        if self._found is None:
            self._found = self._read()
        elif time.monotonic() >= self._end:
            with suppress(TimeoutError):
                self._refresh.result(self._read_again)
        return self._found

    def _read(self) -> tuple[dict[str, Schedule], Collection[str]]:
        self._end = time.monotonic() + self._seconds
        return read_all_schedules(self._store), self._store.notes(DELETED)

    def _read_again(self) -> None:
        with suppress(StoreError):
            self._found = self._read()


@dataclass(frozen=True, kw_only=True)
class Service:
    settings: CollectorSettings
    store: Store
    plans: Mapping[str, Plan | SiloPlan]
    """The plans in the store when the application was made."""
    intakes: Mapping[str, Intake]
    texts: Mapping[str, CachedResponse]
    signatures: Mapping[str, bytes]
    """The authors' signatures, served unchecked."""
    keys: Mapping[str, PrivateKey] = field(repr=False)
    lost: Collection[str]
    guarantee: str
    """What the store guarantees for an acknowledged report; see :meth:`Store.check_durability`."""
    rate_limit: RateLimit
    wrong_token_limit: RateLimit
    schedules: CachedSchedules
    progress: TtlCache[CachedResponse] = field(default_factory=lambda: TtlCache(RESULT_TTL_SECONDS))
    readiness: TtlCache[StoreError | None] = field(default_factory=lambda: TtlCache(RESULT_TTL_SECONDS))
    store_reader: StoreReader = field(default_factory=StoreReader)
    traffic: Traffic = field(default_factory=Traffic)
    """The counts of requests; the server makes all workers count in shared memory."""

    def check_ready(self) -> None:
        if error := self.readiness.get("", self._find_error):  # cached, because each check writes
            raise error.with_traceback(None)

    def _find_error(self) -> StoreError | None:
        """Check the store; what a survey lost after it was closed is found at the next start."""
        try:
            self.store.check_ready([survey for survey in self.plans if self.phase(survey) is Phase.CLOSED])
        except StoreError as error:
            return error
        return None

    def schedule(self, survey: str) -> Schedule:
        return self.schedules.read()[0].get(survey, Schedule())

    def phase(self, survey: str) -> Phase:
        return self.schedule(survey).phase(time.time())

    def is_deleted(self, survey: str) -> bool:
        return survey in self.schedules.read()[1]

"""The TTL cache: freshness, errors, concurrent callers."""

import threading

import pytest

from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.shared_results import TtlCache
from ldp_aggregator.stores.failure import MissingSurveyError


def test_a_result_is_computed_again_after_the_ttl():
    now, made = [0.0], iter(range(9))
    cache: TtlCache[int] = TtlCache(2, lambda: now[0])
    assert [cache.get("a", lambda: next(made)) for _ in range(3)] == [0, 0, 0]
    assert cache.get("b", lambda: next(made)) == 1
    now[0] = 2.0
    assert cache.get("a", lambda: next(made)) == 2


def test_an_error_is_not_cached():
    cache: TtlCache[float] = TtlCache(60)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert cache.get("a", lambda: 1.0) == 1.0


def test_concurrent_callers_share_one_computation():
    cache, made, gate = TtlCache[int](60), [], threading.Barrier(8)

    def ask() -> None:
        gate.wait()
        cache.get("a", lambda: made.append(1) or 1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_a_failed_check_of_readiness_is_repeated_to_all_callers_until_the_ttl_ends(store, monkeypatch):
    checks = []

    def fail(_: object) -> None:
        checks.append(1)
        raise MissingSurveyError(["sleep"])

    service = create_app(CollectorSettings(), store).extensions["ldp"]
    service.readiness._seconds = 60.0
    monkeypatch.setattr(store, "check_ready", fail)
    for _ in range(3):
        with pytest.raises(MissingSurveyError):
            service.check_ready()
    assert len(checks) == 1
    service.readiness._seconds = 0.0
    monkeypatch.undo()
    service.check_ready()

"""Background tasks: one run for many requests, and another for later ones."""

import threading

from ldp_aggregator.background_task import BackgroundTask
from tests.support.servers import wait_for


def test_many_requests_are_one_run_and_a_later_request_is_another():
    runs: list[int] = []
    task = BackgroundTask(lambda: runs.append(1))
    for _ in range(100):
        task.request(0.05)
    wait_for(lambda: runs == [1])
    task.request(0.01)
    wait_for(lambda: runs == [1, 1])


def test_request_during_a_run_starts_another_run():
    begun, go_on, runs = threading.Event(), threading.Event(), []

    def run() -> None:
        begun.set()
        go_on.wait(20)
        runs.append(1)

    task = BackgroundTask(run)
    task.request(0.01)
    assert begun.wait(20)
    task.request(0.01)
    go_on.set()
    wait_for(lambda: runs == [1, 1])


def test_a_thread_that_cannot_be_started_is_tried_again(monkeypatch):
    runs: list[int] = []
    task = BackgroundTask(lambda: runs.append(1))

    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", refuse)
        task.request(0.01)
    task.request(0.01)
    wait_for(lambda: runs == [1])

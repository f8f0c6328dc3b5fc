"""Pauses between attempts are random, and grow up to a limit."""

from ldp_client.retry_after import draw_backoff, draw_uniform


def test_backoff_is_jittered_under_a_limit():
    assert all(0 <= draw_backoff(0) <= 0.5 for _ in range(100))
    assert all(0 <= draw_backoff(99) <= 300 for _ in range(100))
    assert len({draw_backoff(5) for _ in range(20)}) > 1


def test_uniform_draws_are_spread_evenly():
    draws = [draw_uniform() for _ in range(4000)]
    assert all(0 <= draw < 1 for draw in draws)
    for tenth in range(10):  # 400 expected, sigma 19: beyond 8 sigma once in 1e15
        assert abs(sum(tenth <= 10 * draw < tenth + 1 for draw in draws) - 400) < 152

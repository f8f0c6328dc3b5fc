"""What a relay promises in whatever order things happen; `make endurance` runs 500 histories."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from tests.support.relay_histories import History


@pytest.mark.slow
def test_no_history_sends_a_message_twice_a_withdrawn_one_or_a_small_batch(tmp_path):
    done: Counter[str] = Counter()
    for seed in range(25):
        done += History(seed, tmp_path).run()
    assert min(done.values()) > 20
    assert done["passed on"] > 500

"""Sources of random bytes: fresh in every process, exact in tests, repeatable in simulations."""

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from encoders.errors import LdpError
from encoders.randomness import FastStream, GivenBytes, PooledEntropy, SystemEntropy

ROOT = Path(__file__).resolve().parents[2]


FORKS = """
import os, sys
from encoders import randomness
rng = getattr(randomness, sys.argv[1])()
print(rng.take(16).hex(), flush=True)  # whatever is read ahead is there before the forks
for _ in range(64):
    child = os.fork()
    if child == 0:
        os.write(1, rng.take(16).hex().encode() + b"\\n")
        os._exit(0)
    os.waitpid(child, 0)
print(rng.take(16).hex())
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("source", ["SystemEntropy", "PooledEntropy"])
def test_64_forked_processes_and_their_parent_draw_distinct_answers(source):
    # In a process of its own: forking one that has threads, as a test runner may, is deprecated.
    run = subprocess.run(
        [sys.executable, "-c", FORKS, source], capture_output=True, text=True, check=True, cwd=ROOT
    )
    drawn = run.stdout.split()
    assert len(drawn) == len(set(drawn)) == 66
    assert {len(draw) for draw in drawn} == {32}


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda pool: pickle.loads(pickle.dumps(pool))]
)
def test_a_copy_of_a_pool_shares_nothing_that_was_read_ahead(duplicate):
    # multiprocessing pickles what it passes on: two processes with the same noise would reveal the truth.
    pool = PooledEntropy()
    pool.take(16)
    other = duplicate(pool)
    drawn = [source.take(16) for source in (pool, other) for _ in range(300)]
    assert len(set(drawn)) == 600


@pytest.mark.parametrize("source", [SystemEntropy, PooledEntropy])
@pytest.mark.parametrize("count", [0, 1, 8, 15, 16, 17, 256, 5000])
def test_entropy_returns_the_requested_number_of_bytes(source, count):
    assert len(source().take(count)) == count


def test_entropy_read_ahead_is_returned_once():
    pool = PooledEntropy()
    assert len({pool.take(16) for _ in range(1000)}) == 1000


@pytest.mark.slow
def test_threads_never_share_entropy_read_ahead():
    pool = PooledEntropy()
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: pool.take(16), range(8000)))
    assert len(set(taken)) == 8000


def test_pool_is_refilled_after_forget(monkeypatch):
    pool = PooledEntropy()
    monkeypatch.setattr(os, "urandom", lambda count: b"a" * count)
    assert pool.take(16) == b"a" * 16
    monkeypatch.setattr(os, "urandom", lambda count: b"b" * count)
    assert pool.take(16) == b"a" * 16  # read ahead
    pool.forget()
    assert pool.take(16) == b"b" * 16


def test_given_bytes_come_in_order_and_run_out():
    rng = GivenBytes(bytes(range(10)))
    assert rng.take(4) == bytes(range(4))
    assert rng.take(0) == b""
    assert rng.take(6) == bytes(range(4, 10))
    with pytest.raises(LdpError, match="1 random bytes asked for, 0 are left"):
        rng.take(1)


def test_given_bytes_return_nothing_when_too_few_are_left():
    rng = GivenBytes(b"abc")
    with pytest.raises(LdpError):
        rng.take(4)
    assert rng.take(3) == b"abc"


def test_a_stream_is_the_same_however_it_is_split():
    whole = FastStream(5).take(10_000)
    rng, parts = FastStream(5), np.random.default_rng(1).integers(0, 40, size=400)
    pieces = [rng.take(int(count)) for count in parts]
    assert [len(piece) for piece in pieces] == parts.tolist()
    assert b"".join(pieces) == whole[: int(parts.sum())]


def test_streams_are_equal_for_equal_seeds_only():
    seeds: list[int | np.random.SeedSequence] = [0, 1, 2, np.random.SeedSequence([1, 2])]
    heads = [FastStream(seed).take(64) for seed in seeds]
    assert len(set(heads)) == 4
    assert heads == [FastStream(seed).take(64) for seed in seeds]


def test_a_stream_is_pinned():
    # Simulations quoted in the documentation can be repeated: the stream does not move.
    assert FastStream(2026).take(16).hex() == "f08d59014a69f81fd927158f91def1cf"


def test_a_stream_s_bits_are_fair():
    bits = np.unpackbits(np.frombuffer(FastStream(3).take(1 << 20), np.uint8).reshape(-1, 8), axis=1)
    n = len(bits)
    assert np.all(np.abs(bits.sum(axis=0) - n / 2) < 6 * np.sqrt(n) / 2)  # 64 z-tests, 1.3e-7 in all


@pytest.mark.parametrize("source", [SystemEntropy(), PooledEntropy(), GivenBytes(b"12345678"), FastStream(1)])
def test_every_source_returns_bytes(source):
    assert type(source.take(8)) is bytes

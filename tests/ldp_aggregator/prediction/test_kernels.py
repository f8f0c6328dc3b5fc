"""Training gives the same numbers, within rounding, whichever BLAS kernel the processor selects."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ldp_aggregator.snapshot import Snapshot

pytestmark = pytest.mark.slow

KERNELS = ("Prescott", "Sandybridge", "Haswell")
"""OpenBLAS kernels that many processors run; the default of this machine may be one of them."""
TRAIN = """
import sys
from threadpoolctl import threadpool_info
from ldp_aggregator.cli.train import main
for source in sys.argv[1:]:
    main([source, "-o", source + ".model"], standalone_mode=False)
print(*{each.get("architecture") for each in threadpool_info() if each["internal_api"] == "openblas"})
"""
Trained = tuple[str, list[Any]]


def train(snapshots: Sequence[Snapshot], folder: Path, kernel: str | None) -> Trained:
    """Train in a process of its own; return the names of its BLAS kernels (none if it died) and models."""
    sources = [folder / f"snapshot-{number}" for number in range(len(snapshots))]
    for source, snapshot in zip(sources, snapshots, strict=True):
        source.write_bytes(snapshot.to_json())
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    environment |= {"OPENBLAS_CORETYPE": kernel} if kernel else {}
    command = [sys.executable, "-c", TRAIN, *map(str, sources)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if kernel and run.returncode < 0:
        return "", []  # a processor without the kernel's instructions ends the process by a signal
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()[-1], [json.loads(Path(f"{each}.model").read_bytes()) for each in sources]


@pytest.fixture(scope="module")
def default(
    snapshot: Snapshot, number_snapshot: Snapshot, tmp_path_factory: pytest.TempPathFactory
) -> Trained:
    pytest.importorskip("threadpoolctl")
    return train([snapshot, number_snapshot], tmp_path_factory.mktemp("default"), None)


def assert_close(one: Any, other: Any, path: str = "") -> None:
    """Compare two JSON documents: floats within 1e-9 of their size, all else exactly."""
    if isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys(), path
        for key in one.keys() - {"checksum"}:
            assert_close(one[key], other[key], f"{path}/{key}")
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other), path
        for place, pair in enumerate(zip(one, other, strict=True)):
            assert_close(*pair, f"{path}/{place}")
    elif isinstance(one, float) and isinstance(other, float):
        assert math.isclose(one, other, rel_tol=1e-9), f"{path}: {one!r}, {other!r}"
    else:
        assert (type(one), one) == (type(other), other), path


@pytest.mark.parametrize("kernel", KERNELS)
def test_another_blas_kernel_trains_the_same_model_but_for_rounding(
    kernel, default, snapshot, number_snapshot, tmp_path
):
    used, models = train([snapshot, number_snapshot], tmp_path, kernel)
    if used in ("", default[0]):
        pytest.skip(f"needs an OpenBLAS that takes {kernel} here, and another kernel by default")
    for one, other in zip(default[1], models, strict=True):
        assert_close(one, other)

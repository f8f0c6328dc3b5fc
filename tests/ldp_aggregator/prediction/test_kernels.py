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
from tests.support.snapshots import make_snapshot
from tests.support.surveys import make_plan

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
def snapshots() -> list[Snapshot]:
    """Return the reports to a survey of categories and bins, and to one with numbers."""
    tea, hours = ["black", "green"], {"range": [0, 12], "missing": "category"}
    discrete = {"tea": tea, "hours": hours | {"bins": 3}}
    numbers = {"tea": tea, "hours": hours, "age": {"range": [0, 100]}}
    return [
        make_snapshot(make_plan(epsilon=8.0, features=features), people)
        for features, people in ((discrete, 20_000), (numbers, 40_000))
    ]


@pytest.fixture(scope="module")
def default(snapshots: list[Snapshot], tmp_path_factory: pytest.TempPathFactory) -> Trained:
    pytest.importorskip("threadpoolctl")
    return train(snapshots, tmp_path_factory.mktemp("default"), None)


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
def test_another_blas_kernel_trains_the_same_model_but_for_rounding(kernel, default, snapshots, tmp_path):
    used, models = train(snapshots, tmp_path, kernel)
    if used in ("", default[0]):
        pytest.skip(f"needs an OpenBLAS that takes {kernel} here, and another kernel by default")
    for one, other in zip(default[1], models, strict=True):
        assert_close(one, other)

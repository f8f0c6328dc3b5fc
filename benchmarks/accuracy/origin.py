"""Digests of the data sets and of the source code that results come from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (
    "encoders/**/*.py",
    "ldp_aggregator/estimation/**/*.py",
    "ldp_aggregator/classifiers/**/*.py",
    "ldp_design/model_validation.py",
    "ldp_design/authoring/project.py",
    "ldp_aggregator/simulated_population.py",
    "ldp_design/simulation/experiment.py",
    "ldp_design/simulation/variants.py",
    "benchmarks/accuracy/plain.py",
    "benchmarks/accuracy/ways.py",
)


def digest_of(path: Path) -> str:
    """Return a file's SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_code(sources: Sequence[str] = SOURCES) -> str:
    """Return one SHA-256 of all files that match a pattern."""
    paths = sorted(path for pattern in sources for path in ROOT.glob(pattern))
    lines = (f"{path.relative_to(ROOT).as_posix()} {digest_of(path)}\n" for path in paths)
    return hashlib.sha256("".join(lines).encode()).hexdigest()

"""The import law: encoders <- reduction <- {ldp_client <- ldp_audit | ldp_aggregator}, and a light device."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "encoders": {"encoders"},
    "reduction": {"encoders", "reduction"},
    "ldp_client": {"encoders", "reduction", "ldp_client"},
    "ldp_aggregator": {"encoders", "reduction", "ldp_aggregator"},
    "ldp_audit": {"encoders", "ldp_client", "ldp_audit"},
}
ON_THE_DEVICE = ("encoders", "reduction", "ldp_client")
BASE_INSTALL = {"msgpack", *ON_THE_DEVICE}
FITS = ROOT / "reduction"
"""Fitting a projection is desk work: devices apply it by encoders/survey/projection.py."""
FOR_TESTS = ROOT / "ldp_client" / "testing.py"
SIGNS = ROOT / "encoders" / "survey" / "signature.py"


def modules_of(*rooms: str) -> list[Path]:
    return sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(node: ast.AST, late: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield each dotted name that runs as an import below `node`, and whether it stands in a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, late) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from ((f"{child.module}.{alias.name}", late) for alias in child.names)
        elif is_type_checking(child):
            yield from imports(ast.Module(body=child.orelse, type_ignores=[]), late)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports(child, late or inside)


def every_import(path: Path) -> list[tuple[str, bool]]:
    return list(imports(ast.parse(path.read_text(encoding="utf-8"))))


def top(name: str) -> str:
    return name.partition(".")[0]


def is_fit(path: Path) -> bool:
    return path.is_relative_to(FITS) and path.name != "__init__.py"


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_the_rooms_below_it(room: str) -> None:
    # Names under TYPE_CHECKING count here too: a type is a dependency of design.
    broken = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules_of(room)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
        if top(name) in MAY_IMPORT.keys() - MAY_IMPORT[room]
    ]
    assert not broken


def test_the_device_needs_only_the_standard_library_and_msgpack() -> None:
    allowed = sys.stdlib_module_names | BASE_INSTALL
    broken = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules_of(*ON_THE_DEVICE)
        for name, late in every_import(path)
        if top(name) not in allowed
        and not (
            top(name) == "numpy" and (late or is_fit(path)) and not path.is_relative_to(ROOT / "ldp_client")
        )
        and not (top(name) == "cryptography" and late and path == SIGNS)
        and not (top(name) == "pytest" and path == FOR_TESTS)
    ]
    assert not broken, (
        "numpy comes late in encoders, or to fit in reduction; cryptography late, to sign; pytest in the "
        "fixture for applications' tests, which nothing imports; nothing else"
    )


def test_noise_on_the_device_never_comes_from_a_seeded_generator() -> None:
    # FastStream, the simulations' source, is the one that may import numpy.random, and only when it is used.
    broken = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules_of(*ON_THE_DEVICE)
        for name, late in every_import(path)
        if top(name) == "random" or (name.startswith("numpy.random") and not late)
    ]
    assert not broken


@pytest.mark.parametrize("room", ON_THE_DEVICE)
def test_importing_the_device_side_loads_nothing_heavy(room: str) -> None:
    code = f"import {room}, sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-I", "-c", path_to_here(code)], capture_output=True, text=True, check=True
    )
    loaded = {top(name) for name in run.stdout.split()}
    assert room in loaded
    heavy = {
        "numpy",
        "scipy",
        "sklearn",
        "pandas",
        "flask",
        "werkzeug",
        "redis",
        "gunicorn",
        "click",
        "cryptography",
    }
    assert not loaded & (heavy | {"ldp_aggregator"})


def path_to_here(code: str) -> str:
    return f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"


def test_the_base_install_is_msgpack_alone() -> None:
    requirements = importlib.metadata.requires("ldp-bayes") or []
    base = {re.split(r"[^\w.-]", line)[0] for line in requirements if "extra ==" not in line}
    assert base == {"msgpack"}


def test_every_room_carries_its_types() -> None:
    assert all((ROOT / room / "py.typed").is_file() for room in MAY_IMPORT)

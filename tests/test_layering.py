"""What each package and each of its layers may import, what a device needs, and how long code may be."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from encoders.late_imports import LateImport

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "encoders": {"encoders"},
    "reduction": {"encoders", "reduction"},
    "ldp_client": {"encoders", "reduction", "ldp_client"},
    "ldp_silo": {"encoders", "reduction", "ldp_client", "ldp_silo"},
    "ldp_relay": {"encoders", "ldp_relay"},
    "ldp_aggregator": {"encoders", "reduction", "ldp_aggregator"},
    "ldp_central": {"encoders", "reduction", "ldp_aggregator", "ldp_central"},
    "ldp_design": {"encoders", "reduction", "ldp_aggregator", "ldp_central", "ldp_design"},
    "ldp_audit": {"encoders", "ldp_client", "ldp_silo", "ldp_aggregator", "ldp_central", "ldp_audit"},
    "ldp_bayes": {"encoders", "ldp_client", "ldp_design", "ldp_bayes"},
}
ON_THE_DEVICE = ("encoders", "reduction", "ldp_client")
WITHOUT_EXTRAS = (*ON_THE_DEVICE, "ldp_silo")
BASE_INSTALL = {"msgpack", *WITHOUT_EXTRAS}
FITTING = ROOT / "reduction"
"""Fitting a projection is desk work: devices apply it by encoders/survey/projection.py."""
FOR_TESTS = ROOT / "ldp_client" / "testing.py"
WITH_CRYPTOGRAPHY = {
    ROOT / "encoders" / "survey" / f"{name}.py" for name in ("signature", "sealing", "unsealing")
}
PROGRESS = ROOT / "encoders" / "progress.py"

LAYERS = {
    "encoders": [
        {"__init__", "errors", "notebook_html"},
        {"build", "canonical", "late_imports"},
        {"lazy_numpy"},
        {
            "argument_parser",
            "epsilon_proof",
            "file_kind",
            "installation",
            "key_file",
            "problem",
            "progress",
            "proxies",
            "randomness",
            "report",
            "rows_csv",
            "server_sockets",
            "shuffling",
        },
        {"composition", "exact_samplers", "probability_tables"},
        {"table_design"},
        {"extras"},
        {"mechanisms"},
        {"survey"},
        {"explain"},
    ],
    "ldp_client": [
        {
            "errors",
            "retry_after",
            "survey_identity",
            "traceback_redaction",
        },
        {"debug_log", "opt_out", "options"},
        {"receipt", "stored_consent", "transport"},
        {"collector_response", "journal"},
        {"plan_source", "policy"},
        {"relay"},
        {"bound_survey", "report_maker", "sending", "waves"},
        {"participation"},
        {"rehearsal", "survey_display"},
        {"client"},
        {"aio"},
        {"__init__"},
        {"cli", "telemetry", "testing"},
    ],
    "ldp_aggregator": [
        {"arrays", "atomic_file", "background_task", "wording"},
        {"form_page"},
        {"codec"},
        {"render", "rows", "stores"},
        {"snapshot_entries"},
        {"damage", "snapshot"},
        {"estimation", "reports"},
        {"prediction", "privacy_statement", "series", "simulated_population"},
        {"results"},
        {"results_file"},
        {"statements"},
        {"views"},
        {"classifiers", "training_sources"},
        {"collector"},
        {"__init__", "deletion", "migrate"},
        {"cli"},
    ],
    "ldp_relay": [
        {"__init__", "networks", "release"},
        {"relay_database", "relay_settings"},
        {"held_messages"},
        {"delivery", "selftest"},
        {"metrics"},
        {"relay_app"},
        {"serving"},
        {"cli"},
    ],
    "ldp_design": [
        {"authoring"},
        {"model_validation"},
        {"simulation"},
        {"__init__", "sizing"},
        {"comparison", "dossier"},
        {"studio"},
        {"cli"},
    ],
    "ldp_aggregator.estimation": [
        {"discrete"},
        {"tail_quantiles"},
        {"intervals", "numeric.moments"},
        {"bayes", "odds_ratios", "class_prior", "independence", "quantiles"},
        {"numeric.number"},
        {"class_differences", "tables"},
        {"table_result", "raw_estimates"},
        {"estimators"},
        {"relevance"},
        {"number_result"},
        {"feature_result", "pooling", "validation_result"},
        {"poisoning", "silo_influence"},
        {"estimates"},
        {"figures", "sequential_intervals"},
        {"__init__"},
    ],
}
"""The folders and modules of a package, lowest layer first: each imports itself and lower layers only."""

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 45


def modules_of(*packages: str) -> list[Path]:
    folders = [ROOT.joinpath(*package.split(".")) for package in packages]
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children of `node` without expressions, which hold most nodes and no imports."""
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    return [prefix + alias.name for alias in node.names]


def imports(node: ast.AST, late: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield each dotted name that runs as an import below `node`, and whether it stands in a function."""
    for child in statements_in(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield from ((name, late) for name in imported_names(child))
        elif is_type_checking(child):
            yield from imports(ast.Module(body=child.orelse, type_ignores=[]), late)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from imports(child, late or inside)


@cache
def late_imports(path: Path) -> list[str]:
    """Return the targets of each `LateImport` of a module."""
    if "LateImport(" not in path.read_text(encoding="utf-8"):
        return []
    calls = (node for node in ast.walk(parse(path)) if isinstance(node, ast.Call))
    targets = [call.args[0] for call in calls if ast.unparse(call.func) == "LateImport"]
    return [each.value for each in targets if isinstance(each, ast.Constant)]


@cache
def every_import(path: Path) -> list[tuple[str, bool]]:
    """Return the imports that run."""
    late = [(target.replace(":", "."), True) for target in late_imports(path)]
    return [*imports(parse(path)), *late]


@cache
def every_dependency(path: Path) -> list[str]:
    """Return all imports, late ones and those for type checkers too: a type is a dependency of design."""
    below: list[ast.AST] = [parse(path)]
    for node in below:
        below += statements_in(node)
    names = [
        name
        for node in below
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported_names(node)
    ]
    return [*names, *(target.replace(":", ".") for target in late_imports(path))]


def top(name: str) -> str:
    return name.partition(".")[0]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def is_fitting(path: Path) -> bool:
    return path.is_relative_to(FITTING) and path.name != "__init__.py"


@pytest.mark.slow
@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_the_packages_below_it(package):
    broken = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules_of(package)
        for name in every_dependency(path)
        if top(name) in MAY_IMPORT.keys() - MAY_IMPORT[package]
    ]
    assert not broken


@pytest.mark.parametrize("package", LAYERS)
def test_a_layer_imports_only_the_layers_below_it(package):
    layer_of = {name: layer for layer, names in enumerate(LAYERS[package]) for name in names}
    broken = []
    for path in modules_of(package):
        importer = find_unit(module_name(path), package, layer_of)
        for name in every_dependency(path):
            imported = find_unit(name, package, layer_of) if f"{name}.".startswith(f"{package}.") else None
            if imported not in (None, importer) and layer_of[imported] >= layer_of[importer]:
                broken.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not broken


def find_unit(name: str, package: str, layer_of: Mapping[str, int]) -> str:
    """Return which folder or module of a table of layers a dotted name is in; else `__init__`."""
    unit = name.removeprefix(package).removeprefix(".")
    while unit and unit not in layer_of:
        unit = unit.rpartition(".")[0]
    return unit or "__init__"


@pytest.mark.parametrize("package", LAYERS)
def test_every_module_has_a_layer(package):
    layer_of = dict.fromkeys((unit for layer in LAYERS[package] for unit in layer), 0)
    names = {module_name(path).removeprefix(f"{package}.") for path in modules_of(package)} - {package}
    split_folders = {unit.rpartition(".")[0] for unit in layer_of}
    assert all(find_unit(name, package, layer_of) != "__init__" for name in names - split_folders)
    assert layer_of.keys() <= names | {"__init__"}


def test_no_modules_import_each_other():
    modules = {module_name(path): path for path in modules_of(*MAY_IMPORT)}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        graph[module] = set()
        for name in every_dependency(path):
            while name and name not in modules:  # a name in a module
                name = name.rpartition(".")[0]
            graph[module] |= {name} - {module, ""}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


SLOW_LIBRARIES = {
    **dict.fromkeys(("email", "http", "sqlite3", "ssl"), "an application that sends nothing starts faster"),
    "unicodedata": "a megabyte of memory, which ASCII texts do not need",
    **dict.fromkeys(("scipy", "sklearn", "threadpoolctl"), "a command that does not need it starts faster"),
}
"""The libraries that functions may import, and why; none is optional where it is imported."""
LOADS_NEXT_TO_NOTHING = {"ldp_client", "ldp_client.telemetry", "ldp_client.traceback_redaction"}
"""What an application loads when it starts, and what returns a receipt for every error, even of an import."""


@pytest.mark.slow
def test_functions_import_only_slow_libraries():
    found = {
        f"{module_name(path)} imports {name}"
        for path in modules_of(*MAY_IMPORT)
        for name, late in imports(parse(path))
        if late and top(name) not in SLOW_LIBRARIES and module_name(path) not in LOADS_NEXT_TO_NOTHING
    }
    assert not found, "join a registry, or use encoders.late_imports.LateImport: see CONTRIBUTING.md"


@pytest.mark.slow
@pytest.mark.parametrize("package", MAY_IMPORT)
def test_every_late_import_can_be_loaded(package):
    for path in modules_of(package):
        for target in late_imports(path):
            assert LateImport(target).load() is not None


@pytest.mark.slow
def test_modules_and_functions_are_short():
    too_long = {
        str(path.relative_to(ROOT))
        for path in modules_of(*MAY_IMPORT)
        if len(path.read_text(encoding="utf-8").splitlines()) > MAX_MODULE_LINES
    }
    too_long |= {
        f"{path.relative_to(ROOT)}:{node.name}"
        for path in modules_of(*MAY_IMPORT)
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and count_lines(node) > MAX_FUNCTION_LINES
    }
    assert not too_long


def count_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its docstring."""
    first = function.body[0]
    docstring = first.end_lineno - first.lineno + 1 if ast.get_docstring(function) is not None else 0
    return function.end_lineno - function.lineno + 1 - docstring


@pytest.mark.slow
def test_the_device_needs_only_the_standard_library_and_msgpack():
    allowed = sys.stdlib_module_names | BASE_INSTALL
    broken = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules_of(*WITHOUT_EXTRAS)
        for name, late in every_import(path)
        if top(name) not in allowed
        and not (
            top(name) == "numpy"
            and (late or is_fitting(path))
            and not path.is_relative_to(ROOT / "ldp_client")
        )
        and not (top(name) == "cryptography" and late and path in WITH_CRYPTOGRAPHY)
        and not (top(name) == "click" and late and path == PROGRESS)
        and not (top(name) == "pytest" and path == FOR_TESTS)
    ]
    assert not broken, (
        "numpy comes late in encoders, or to fit in reduction; cryptography late, to sign; click late, to "
        "show the progress of a command; pytest in the fixture for applications' tests, which nothing "
        "imports; nothing else"
    )


FOR_SILOS = (
    "encoders.exact_samplers",
    "encoders.mechanisms.counted_table",
    "encoders.rows_csv",
    "encoders.survey.any_survey",
    "encoders.survey.silo_plan",
    "ldp_silo",
)
"""What organisations with many rows need, and no device of a person."""
FOR_AUTHORS = tuple(
    f"encoders.survey.{name}"
    for name in (
        "auto_questions",
        "compiler",
        "relay_promise",
        "row_cells",
        "schema_tables",
        "survey",
        "survey_tables",
        "toml_reader",
        "wave_calendar",
    )
)
"""What compiles a survey file. A device with a compiled plan loads none of it."""
PLAN_FILES = "encoders.survey.plan_files"


@pytest.mark.parametrize(
    "module",
    [
        "encoders.explain.nonresponse",
        "encoders.server_sockets",
        "encoders.problem",
        "encoders.progress",
        "encoders.proxies",
        *FOR_SILOS,
    ],
)
def test_devices_import_no_module_for_desks(module):
    importers = {
        module_name(path)
        for path in modules_of(*ON_THE_DEVICE)
        for name in every_dependency(path)
        if f"{name}.".startswith(f"{module}.")
    }
    allowed = FOR_SILOS if module in FOR_SILOS else ()
    assert not {name for name in importers if not name.startswith(allowed or "-")}


@pytest.mark.parametrize("module", FOR_AUTHORS)
def test_devices_compile_surveys_only_on_demand(module):
    importers = {
        module_name(path)
        for path in modules_of(*ON_THE_DEVICE)
        for name, late in every_import(path)
        if f"{name}.".startswith(f"{module}.") and not (late and module_name(path) == PLAN_FILES)
    }
    assert importers <= {*FOR_AUTHORS, *FOR_SILOS}


def test_devices_do_not_import_what_fits_a_projection():
    importers = {
        module_name(path)
        for path in modules_of("encoders", "ldp_client")
        for name in every_dependency(path)
        if top(name) == "reduction"
    }
    assert not importers


def test_noise_on_the_device_never_comes_from_a_seeded_generator():
    # FastStream, the simulations' source, is the one that may import numpy.random, and only when it is used.
    broken = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules_of(*WITHOUT_EXTRAS)
        for name, late in every_import(path)
        if top(name) == "random" or (name.startswith("numpy.random") and not late)
    ]
    assert not broken


@pytest.mark.slow
@pytest.mark.parametrize("package", WITHOUT_EXTRAS)
def test_importing_the_device_side_loads_nothing_heavy(package):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {package}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = {top(name) for name in run.stdout.split()}
    assert package in loaded
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


def test_the_base_install_is_msgpack_alone():
    requirements = importlib.metadata.requires("ldp-bayes") or []
    base = {re.split(r"[^\w.-]", line)[0] for line in requirements if "extra ==" not in line}
    assert base == {"msgpack"}


def test_every_package_has_a_marker_of_its_types():
    assert all((ROOT / package / "py.typed").is_file() for package in MAY_IMPORT)


@pytest.mark.slow
@pytest.mark.parametrize("folder", [*MAY_IMPORT, "benchmarks", "examples"])
def test_only_tools_import_from_tests(folder):
    assert not [path for path in modules_of(folder) if "tests" in map(top, every_dependency(path))]

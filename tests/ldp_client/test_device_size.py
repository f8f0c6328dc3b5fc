"""What the client weighs on a device."""

import importlib.util
import marshal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ldp_client.conftest import ROW

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("encoders", "reduction", "ldp_client", "msgpack")
FOR_DESKS = {
    ("encoders", "argument_parser.py"),  # loaded by commands alone
    ("encoders", "build.py"),  # loaded by commands of servers alone
    ("encoders", "extras.py"),  # loaded by commands alone
    ("encoders", "exact_samplers.py"),
    ("encoders", "file_kind.py"),  # loaded after an error about a file that a command names
    ("encoders", "key_file.py"),
    ("encoders", "notebook_html.py"),  # loaded in a notebook alone
    ("encoders", "problem.py"),  # loaded by collectors and relays
    ("encoders", "progress.py"),
    ("encoders", "proxies.py"),  # loaded by collectors and relays
    ("encoders", "server_sockets.py"),  # loaded by collectors and relays
    ("encoders", "rows_csv.py"),
    ("encoders", "table_design.py"),
    ("explain", "nonresponse.py"),
    ("ldp_client", "cli.py"),
    ("ldp_client", "telemetry.py"),  # loaded by command-line tools alone
    ("ldp_client", "testing.py"),
    ("mechanisms", "auto_choice.py"),
    ("mechanisms", "counted_table.py"),
    ("mechanisms", "support_counters.py"),  # loaded by collectors
    ("reduction", "fit.py"),
    ("survey", "any_survey.py"),
    ("survey", "auto_questions.py"),
    ("survey", "compiler.py"),
    ("survey", "row_cells.py"),
    ("survey", "unsealing.py"),
    ("survey", "relay_promise.py"),
    ("survey", "schema_tables.py"),
    ("survey", "silo_plan.py"),
    ("survey", "survey.py"),
    ("survey", "survey_tables.py"),
    ("survey", "toml_reader.py"),
    ("survey", "wave_calendar.py"),
}
"""Modules for commands of servers, authors and auditors, and for tests of applications.
tests/test_layering.py keeps them off devices."""
MOST_BYTES = 3_200_000
A_REPORT = """
import sys
sys.path.insert(0, {root!r})
before = set(sys.modules)
from encoders.survey import Plan
from ldp_client import Client, HttpTransport
plan, url = Plan.from_json({plan!r}), "http://127.0.0.1:9/v1/surveys/sleep"
with Client(plan, url, journal=":memory:") as client:
    client.grant()
    print(client.report({row!r}, "no").state)
    client.flush(0.1)
files = {{name for name, module in sys.modules.items() if getattr(module, "__file__", None)}} - before
print(*{{name.partition(".")[0] for name in files}} - sys.stdlib_module_names)
print(*files)
"""


def weight(file: Path) -> int:
    """Return a file's size, and that of its bytecode, which is the same wherever the file is installed."""
    data = file.read_bytes()
    if file.suffix != ".py":
        return len(data)
    return len(data) + 16 + len(marshal.dumps(compile(data, file.name, "exec")))


@pytest.mark.slow
def test_a_report_loads_the_client_and_msgpack_alone(plan):
    code = A_REPORT.format(root=str(ROOT), plan=plan.json, row=ROW)
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    state, loaded, modules = run.stdout.splitlines()
    assert state == "queued"
    assert set(loaded.split()) <= set(PACKAGES)
    parts = [name.split(".")[-2:] for name in modules.split() if "." in name]
    assert not {(folder, f"{name}.py") for folder, name in parts} & FOR_DESKS


@pytest.mark.slow
def test_client_packages_take_at_most_three_megabytes_and_a_fifth():
    total = 0
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        folder = Path(spec.origin).parent
        files = [file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
        files = [file for file in files if file.parts[-2:] not in FOR_DESKS]
        total += sum(map(weight, files))
    assert total <= MOST_BYTES, f"{total / 2**20:.2f} MiB"

"""The notebook runs without an error, and its stored numbers are those of a run."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "examples" / "survey_to_results.ipynb"
MAX_BYTES = 200_000
MAX_CELL_LINES = 25
TIMEOUT_SECONDS = 600


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(NOTEBOOK.read_text("utf-8"))
    return content


def code_cells(notebook: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def numbers(notebook: Mapping[str, Any]) -> list[list[str]]:
    """Return the numbers in the text of each output, without HTML and images."""
    found = []
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            text = "".join(output.get("text") or output.get("data", {}).get("text/plain", ""))
            found.append(re.findall(r"\d[\d,.]*", text))
    return found


@pytest.mark.filterwarnings("default")  # those of the libraries that start the kernel
def test_the_notebook_gives_its_stored_numbers_again(stored, monkeypatch, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for name in ("DO_NOT_TRACK", "LDP_CLIENT_OFF", "LDP_REHEARSAL"):
        monkeypatch.delenv(name, raising=False)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in code_cells(notebook):
        cell["outputs"] = []
    resources = {"metadata": {"path": str(tmp_path)}}
    # outputs may arrive long after a cell has ended
    waits = {"timeout": TIMEOUT_SECONDS, "iopub_timeout": TIMEOUT_SECONDS, "raise_on_iopub_timeout": True}
    NotebookClient(notebook, **waits, kernel_name="python3", resources=resources).execute()
    refresh = f"run: jupyter execute --inplace {NOTEBOOK.relative_to(ROOT)}, and remove the cells' metadata"
    assert numbers(notebook) == numbers(stored), refresh


def test_the_stored_outputs_are_complete_small_and_without_paths(stored):
    text = NOTEBOOK.read_text("utf-8")
    assert len(text.encode()) < MAX_BYTES
    cells = code_cells(stored)
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    kinds = [output["output_type"] for cell in cells for output in cell["outputs"]]
    assert "error" not in kinds
    outputs = json.dumps([cell["outputs"] for cell in cells])
    assert not re.findall(r"(?:/(?:tmp|home|root|Users|work|var|usr)/|[A-Z]:\\\\)[^\s\"]*", outputs)
    assert all(not cell["metadata"] for cell in cells)


def test_plans_previews_receipts_and_models_are_shown_as_html(stored):
    shown = [
        "".join(output["data"]["text/html"])
        for cell in code_cells(stored)
        for output in cell["outputs"]
        if "text/html" in output.get("data", {})
    ]
    for part in (
        "survey sleep-2026",
        "This preview contains",
        "<caption>rehearsal",
        "NaiveBayes of sleep-2026",
    ):
        assert any(part in html for html in shown)
    images = [
        output for cell in code_cells(stored) for output in cell["outputs"] if "image/png" in str(output)
    ]
    assert images


def test_cells_are_short(stored):
    assert all(len(cell["source"]) <= MAX_CELL_LINES for cell in stored["cells"])

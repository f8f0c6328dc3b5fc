"""Golden files: outputs that are compared as a whole, and written anew with `pytest --golden`."""

from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--golden", action="store_true", help="Write the golden files of the tests that run.")


@pytest.fixture
def golden(request):
    """Return a function that compares a text with the file golden/NAME beside the test."""

    def compare(name, text):
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption("--golden", default=False):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        assert text == path.read_text("utf-8")

    return compare

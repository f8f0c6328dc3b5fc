"""The names other tools call: they stay, they resolve, and nothing else pretends to be public."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

PROMISED = {
    "ldp_client": {"configure", "report", "Client", "make_report", "load_plan", "Receipt"},
    "ldp_aggregator": {"load_model", "simulate"},
    "ldp_aggregator.collector": {"create_app"},
    "ldp_aggregator.stores": {"open_store"},
    "encoders.survey": {"Plan", "read_survey"},
    "encoders.mechanisms": {"MECHANISMS", "design", "load"},
}


@pytest.mark.parametrize("name", PROMISED)
def test_promised_names_are_public_and_resolve(name: str) -> None:
    module = importlib.import_module(name)
    assert PROMISED[name] <= set(module.__all__)
    assert sorted(module.__all__) == sorted(set(module.__all__))
    for public in module.__all__:
        assert getattr(module, public) is not None
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("name", ["ldp_client", "ldp_aggregator"])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        importlib.import_module(name).no_such_name  # noqa: B018


def test_importing_the_client_loads_no_database_network_or_numbers() -> None:
    code = "import sys, ldp_client; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"sqlite3", "http.client", "ssl", "numpy", "tomllib", "asyncio"} & set(loaded)

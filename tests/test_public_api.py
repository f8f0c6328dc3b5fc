"""The public names of the packages: other programs import them, so they stay."""

import importlib
import subprocess
import sys

import pytest

PUBLIC_NAMES = {
    "ldp_client": {
        "configure",
        "report",
        "Client",
        "AsyncClient",
        "make_report",
        "load_plan",
        "Receipt",
        "__version__",
    },
    "ldp_aggregator": {"NaiveBayes", "load_model", "__version__"},
    "ldp_aggregator.collector": {"create_app"},
    "ldp_aggregator.estimation": {"estimate_snapshot"},
    "ldp_aggregator.models": {
        "ModelError",
        "NaiveBayes",
        "load_model",
        "save_model",
        "save_onnx",
        "to_sklearn",
    },
    "ldp_aggregator.stores": {"open_store"},
    "ldp_audit": {"audit", "__version__"},
    "ldp_design": {"simulate", "__version__"},
    "ldp_silo": {"Silo"},
    "encoders.survey": {"Plan", "read_survey"},
    "encoders.mechanisms": {"MECHANISMS", "design", "load"},
}


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_public_names_are_listed_once_and_resolve(name):
    module = importlib.import_module(name)
    assert PUBLIC_NAMES[name] <= set(module.__all__)
    assert sorted(module.__all__) == sorted(set(module.__all__))
    for public in module.__all__:
        assert getattr(module, public) is not None
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("name", ["ldp_client", "ldp_aggregator", "ldp_design"])
def test_the_names_that_load_on_first_use_are_those_that_they_are_listed_by(name):
    module = importlib.import_module(name)
    for public in module.__all__:
        assert getattr(getattr(module, public), "__name__", public) == public


@pytest.mark.parametrize("name", ["ldp_client", "ldp_aggregator", "ldp_design"])
def test_an_unknown_name_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        importlib.import_module(name).no_such_name  # noqa: B018


UNWANTED_MODULES = {
    "ldp_client": {"sqlite3", "http.client", "ssl", "numpy", "tomllib", "asyncio", "importlib.metadata"},
    "ldp_aggregator.estimation": {"sklearn", "scipy"},
    **{
        f"{module}": {"sklearn", "scipy", "pandas", "matplotlib"}
        for module in (
            *(f"ldp_aggregator.cli.{command}" for command in ("predict", "results", "train")),
            *(f"ldp_design.cli.{command}" for command in ("compare", "simulate", "survey")),
        )
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNWANTED_MODULES)
def test_importing_a_package_loads_no_more_than_it_needs(name):
    # a client reports without a database, network or numbers until it is used; a collector estimates
    # without scikit-learn, and a command of which only some options need it starts without it
    code = f"import sys, {name}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not UNWANTED_MODULES[name] & set(run.stdout.split())

"""The clients in other languages agree with every test vector."""

import subprocess
import sys

import pytest

from tests.support.ports import PORTS, Port
from tools.vectors import check_port


@pytest.mark.slow
@pytest.mark.parametrize("port", PORTS)
def test_a_core_agrees_with_every_vector(port: Port):
    with port.serve_adapter() as url:
        command = [sys.executable, "-I", "-S", check_port.__file__, url]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "agrees with every vector" in run.stdout
    assert "skipped" not in run.stdout

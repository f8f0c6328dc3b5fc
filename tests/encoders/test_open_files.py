"""A server takes no more connections than it may open files."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
from encoders.server_sockets import allow_connections
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
print(allow_connections(16), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("soft", "hard", "connections", "limit"),
    [(256, 4096, 1000, 1112), (256, 1024, 912, 1024), (4096, 4096, 1000, 4096), (64, 64, 1, 64)],
)
def test_the_limit_of_open_files_is_raised_or_bounds_the_connections(soft, hard, connections, limit):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip("this process may not open so many files")
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(soft), str(hard)], capture_output=True, check=True
    )
    assert run.stdout.split() == [b"%d" % connections, b"%d" % limit]

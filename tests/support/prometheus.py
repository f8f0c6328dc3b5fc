"""A real Prometheus, and promtool, for tests."""

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers import SHIPPED_NGINX, free_port, stop, wait_for

ALERTS = SHIPPED_NGINX.with_name("alerts.yml")
DASHBOARD = SHIPPED_NGINX.with_name("grafana-dashboard.json")


def promtool(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run promtool. Skips without it."""
    return subprocess.run(
        [_program("promtool"), *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )


def _program(name: str) -> str:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"needs {name} (Debian: apt-get install prometheus)")
    return program


class Prometheus:
    """The API of a running Prometheus."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}/api/v1"

    def is_ready(self) -> bool:
        with suppress(OSError):  # also the status 503
            self._get("status/buildinfo")
            return True
        return False

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self._base}/{path}", timeout=60) as response:
            return json.load(response)["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series of an expression now."""
        found = self._get(f"query?{urllib.parse.urlencode({'query': expression})}")
        series: list[dict[str, Any]] = found["result"]
        return series

    def value(self, expression: str) -> float | None:
        """Return the only value of an expression; None if there is none."""
        return float(found[0]["value"][1]) if (found := self.query(expression)) else None

    def firing(self) -> dict[str, dict[str, Any]]:
        """Return the alerts that fire, by name."""
        alerts = self._get("alerts")["alerts"]
        return {each["labels"]["alertname"]: each for each in alerts if each["state"] == "firing"}

    def scrape_errors(self) -> dict[str, str]:
        """Return the last error of each target, by job."""
        targets = self._get("targets")["activeTargets"]
        return {each["labels"]["job"]: each["lastError"] for each in targets}


@contextmanager
def prometheus(folder: Path, jobs: Sequence[dict[str, Any]], rules: str = "") -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes each second. Skips without it."""
    program, port = _program("prometheus"), free_port()
    (folder / "rules.yml").write_text(rules or "groups: []")
    every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    config = {"global": every, "rule_files": ["rules.yml"], "scrape_configs": list(jobs)}
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    command = [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    process = subprocess.Popen(command)
    try:
        running = Prometheus(port)
        wait_for(lambda: process.poll() is not None or running.is_ready())
        assert process.poll() is None
        yield running
    finally:
        stop(process)

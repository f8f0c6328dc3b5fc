"""A trial on this machine: a real collector with the survey's page, and results, in a temporary folder.

Reports go straight to the collector: a relay, waves and invitations are left out. Nothing is left behind.
"""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.request import Request, build_opener

from encoders.late_imports import needs_extra, LateImport
from encoders.randomness import SystemEntropy
from encoders.survey import Plan
from ldp_design.authoring.sample_row import make_sample_row
from ldp_design.studio.checked import compile_survey
from ldp_design.studio.operations import apply_operations
from ldp_design.studio.processes import CommandError, run_command, start_command

MAX_PEOPLE = 1_000
_COLLECTOR = LateImport("ldp_aggregator.cli.serve", "collector", "a trial")
_OPENER = build_opener()
_LOCAL = (
    {"op": "relay", "value": ""},
    {"op": "delete", "path": ["waves"]},
    {"op": "delete", "path": ["survey", "enrolment"]},
)


class Pilot:
    """A running collector; `plan` is the plan that it serves.

    Raises SurveyError if the survey cannot be compiled, and CommandError if the collector does not start.
    """

    def __init__(self, text: str) -> None:
        _COLLECTOR.load()
        text = apply_operations(text, _LOCAL)
        _, self.plan = compile_survey(text)
        self.folder = Path(tempfile.mkdtemp(prefix="ldp-survey-trial-"))
        (self.folder / "survey.toml").write_text(text, "utf-8")
        self._token = secrets.token_urlsafe()
        options = ("--bind", "127.0.0.1:0", "--workers", 1, "--page")
        self._process = start_command(
            "ldp-collector",
            *("serve", "survey.toml", "--store", "sqlite:///ldp.db", *options),
            folder=self.folder,
            removes=True,
            environment={"LDP_OPERATOR_TOKEN": self._token},
        )
        assert self._process.stdout
        found = re.search(r"http://[0-9.]+:[0-9]+", self._process.stdout.readline())
        if not found:
            errors = self._process.stderr.read() if self._process.stderr else ""
            self.end()
            raise CommandError(errors.strip().rpartition("Error: ")[2] or "the collector did not start")
        self.origin = found[0]

    @property
    def url(self) -> str:
        """The address of the survey at the collector."""
        return f"{self.origin}/v1/surveys/{self.plan.id}"

    @property
    def page(self) -> str:
        """The address of the page on which people answer."""
        return f"{self.origin}/s/{self.plan.id}"

    def count(self) -> int:
        """Return how many reports the collector has counted; raises OSError if it does not answer."""
        request = Request(f"{self.url}/progress", headers={"Authorization": f"Bearer {self._token}"})  # noqa: S310
        with _OPENER.open(request, timeout=5) as response:
            return int(json.load(response)["reports"])

    def render_results(self) -> bytes:
        """Train on the reports, and return the results page; raises CommandError."""
        environment = {"LDP_OPERATOR_TOKEN": self._token}
        run_command("ldp-train", self.url, "-o", "model.json", folder=self.folder, environment=environment)
        run_command("ldp-results", "model.json", "-o", "results.html", folder=self.folder)
        return (self.folder / "results.html").read_bytes()

    def end(self) -> None:
        """End the collector, and delete the folder."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()


def make_people(plan: Plan, count: int) -> list[dict[str, Any]]:
    """Return the answers of made-up people, drawn uniformly from the survey's values."""
    people, label = [], plan.row_label
    for _ in range(min(count, MAX_PEOPLE)):
        row = make_sample_row(plan, SystemEntropy())
        value = row.pop(label.name) if label.exists else None
        people.append({"row": row, "label": value})
    return people

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
from urllib.request import ProxyHandler, Request, build_opener

from encoders.randomness import SystemEntropy
from ldp_design.authoring.sample_row import make_sample_row
from ldp_design.studio.checked import compile_survey, describe_plan
from ldp_design.studio.commands import CommandError, read_error, run_command, start_service
from ldp_design.studio.edits import apply_operations
from ldp_design.studio.publish import read_words

MAX_PEOPLE = 1_000
_LOCAL: tuple[dict[str, Any], ...] = (
    {"op": "relay", "value": ""},
    {"op": "delete", "path": ["waves"]},
    {"op": "delete", "path": ["survey", "enrolment"]},
)
_OPENER = build_opener(ProxyHandler({}))
_OPTIONS = ("--store", "sqlite:///ldp.db", "--bind", "127.0.0.1:0", "--workers", 1, "--page")


class Pilot:
    """A running collector; raises SurveyError for a survey with mistakes, or CommandError."""

    def __init__(self, text: str) -> None:
        self.source, text = text, apply_operations(text, _LOCAL)
        _, self._plan = compile_survey(text)
        self._folder = Path(tempfile.mkdtemp(prefix="ldp-survey-trial-"))
        self._token = secrets.token_urlsafe()
        (self._folder / "survey.toml").write_text(text, "utf-8")
        command = ("ldp-collector", "serve", "survey.toml", *_OPTIONS)
        with (self._folder / "errors.txt").open("w+", encoding="utf-8") as errors:
            self._process = start_service(*command, folder=self._folder, token=self._token, errors=errors)
            assert self._process.stdout
            found = re.search(r"http://[0-9.]+:[0-9]+", self._process.stdout.readline())
            if not found:
                self.end()
                errors.seek(0)
                raise CommandError(read_error(errors.read()) or "the collector did not start")
        self.url = f"{found[0]}/v1/surveys/{self._plan.id}"
        """The address of the survey."""
        self.page = f"{found[0]}/s/{self._plan.id}"
        """The address of the page on which people answer."""

    def make_people(self, count: int) -> dict[str, Any]:
        """Return the answers of made-up people, drawn uniformly from the survey's values, and the plan."""
        label, people = self._plan.row_label, []
        for _ in range(min(max(count, 1), MAX_PEOPLE)):
            row = make_sample_row(self._plan, SystemEntropy())
            people.append({"row": row, "label": row.pop(label.name) if label.exists else None})
        return describe_plan(self._plan, self.url) | {"people": people}

    def count(self) -> int:
        """Return how many reports the collector has counted; raises OSError if it does not answer."""
        request = Request(f"{self.url}/progress", headers={"Authorization": f"Bearer {self._token}"})  # noqa: S310
        with _OPENER.open(request, timeout=5) as response:
            return int(json.load(response)["reports"])

    def render_results(self, language: str = "en") -> bytes:
        """Train on the reports, and return the results page; raises CommandError."""
        run_command("ldp-train", self.url, "-o", "model.json", folder=self._folder, token=self._token)
        options = ("--language", language, "--note", read_words(language, "trial_note"))
        run_command("ldp-results", "model.json", *options, "-o", "results.html", folder=self._folder)
        return (self._folder / "results.html").read_bytes()

    def end(self) -> None:
        """End the collector, and delete the folder."""
        with self._process as process:
            assert process.stdin
            process.stdin.close()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()

"""Surveys and audits for the tests of the dossier."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from encoders.survey import Survey
from ldp_design.dossier.source import DossierSource, read_source
from ldp_design.sizing.assumed_people import LabelShares
from ldp_design.sizing.survey_size import Size, size_for_users
from tests.ldp_design.sizing.surveys import make_forecast
from tests.support.surveys import PROJECTED, SLEEP, SLEEP_TEXTS, TEA, VALIDATED, survey_toml

NUMBERS = survey_toml(
    id="noise",
    epsilon=2.5,
    users=5000,
    label={"name": "rested"},
    features={"hours": {"range": [0, 12], "missing": "category"}, "loudness": {"range": [0, 120]}},
    about={"retention": "Until 2030", "ethics": "Approval 114"},
)
INVITED = SLEEP.replace('id = "sleep"', 'id = "sleep"\nenrolment = "token"')
HOSTILE = """\
[survey]
id = "hostile"
epsilon = 32
family = "others"

[about]
title = "<script>alert(1)</script>"
purpose = "</p><img src=x onerror=alert(1)> {{ 7 * 7 }}\\nanonymous and compliant"
contact = "\\"' onload='x'"

[label]
name = "<b>label</b>"
values = ["<b>yes</b>", "{{ 7 * 7 }}"]

[features."a&b \\" onload='x'"]
values = ["</td>", "\\u0627\\u0644\\u0639\\u0631\\u0628\\u064a\\u0629"]

[features.long]
values = ["LONG", "other"]
""".replace("LONG", "x" * 200)
SURVEYS = {
    "discrete": TEA,
    "numbers": NUMBERS,
    "invitation": INVITED,
    "texts": SLEEP + SLEEP_TEXTS,
    "projection": PROJECTED,
    "validation": VALIDATED,
    "hostile": HOSTILE,
}


def make_source(
    folder: Path, text: str, users: int | None = None, name: str = "survey.toml", **audit: object
) -> DossierSource:
    """Write a survey, and an audit of it if entries of the audit are given; return what a dossier needs."""
    path = folder / name
    path.write_text(text)
    audit_path = write_audit(folder, make_source(folder, text).plan.digest, **audit) if audit else None
    return read_source(path, users, audit_path)


def write_audit(folder: Path, digest: str, **entries: object) -> Path:
    """Write what `ldp-audit --json` prints, with other values of some entries."""
    document = {
        "plan_digest": digest,
        "trials": 20_000,
        "faults": [],
        "notes": [],
        "black_box": [{"leak": {"epsilon_lower_bound": 0.9}}],
    }
    path = folder / "audit.json"
    path.write_text(json.dumps(document | entries))
    return path


@contextmanager
def fixed_forecasts() -> Iterator[None]:
    """Let dossiers that are made meanwhile contain fixed accuracies, which no simulation computes."""

    def size(survey: Survey, users: int, label_shares: LabelShares | None = None) -> Size:
        means = {"little": 0.52, "much": 0.66}
        forecasts = {name: make_forecast(users, mean) for name, mean in means.items()}
        return replace(
            size_for_users(survey, users, repeats=0, label_shares=label_shares), forecasts=forecasts
        )

    with patch("ldp_design.dossier.source.size_for_users", size):
        yield

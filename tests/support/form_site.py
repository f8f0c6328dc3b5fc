"""The page of `ldp-survey page`, and a collector at another origin."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.commands import command
from tests.support.http_servers import serve_folder
from tests.support.servers import TOKEN, collector

SURVEY = """
[survey]
id = "habits"
epsilon = 1
[label]
name = "ill"
values = ["yes", "no", "not sure"]
[features.smokes]
values = [true, false]
missing = "category"
[features.cigarettes]
range = [0, 60]
missing = "category"
ask_if = { all = [{ feature = "smokes", value = true }, { not = { feature = "drinks", value = "coffee" } }] }
[features.city]
values = ["a", "b", "c", "d", "e", "f", "g", "other"]
[features.drinks]
choices = ["tea", "coffee", "milk"]
missing = "category"
[features.hours]
edges = [0, 6, 7.5, 8, 24]
[about]
purpose = "To learn <b>why</b> people are ill."
contact = "A. Researcher\\na@example.org"
[texts.en]
title = "Health & habits"
[texts.en.label]
title = "Were you ill this winter?"
values = { yes = "Yes", no = "No", "not sure" = "I am not sure" }
[texts.en.features.smokes]
title = "Do you smoke?"
values = { true = "Yes", false = "No", "(missing)" = "I prefer not to say" }
[texts.en.features.cigarettes]
title = "How many cigarettes a day?"
[texts.en.features.city]
title = "Where do you live?"
[texts.en.features.drinks]
title = "What did you drink today?"
values = { tea = "Tea", coffee = "Coffee", milk = "Milk" }
[texts.en.features.hours]
title = "How long did you sleep?"
[texts.de]
title = "Gesundheit & Gewohnheiten"
[texts.de.label]
title = "Waren Sie krank?"
values = { yes = "Ja", no = "Nein", "not sure" = "Ich bin nicht sicher" }
[texts.de.features.smokes]
title = "Rauchen Sie?"
values = { true = "Ja", false = "Nein" }
[texts.ar]
title = "الصحة والعادات"
[texts.ar.label]
title = "هل كنت مريضا؟"
"""


@dataclass
class FormSite:
    """A page, its collector, and the folder of the page."""

    page: str
    collector: str
    folder: Path

    def count(self) -> int:
        """Return the number of reports that the collector has counted."""
        url = f"{self.collector}/v1/surveys/habits/progress"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request) as response:
            reports: int = json.load(response)["reports"]
        return reports


@contextmanager
def serve_form(folder: Path, more: str = "") -> Iterator[FormSite]:
    """Serve a signed survey, with more tables, and its page, which is written into the folder."""
    survey = folder / "habits.toml"
    survey.write_text(SURVEY + more, encoding="utf-8")
    key = command("ldp-survey", "keygen", folder / "author.key").stdout.split()[-1]
    command("ldp-survey", "sign", survey, "--key", folder / "author.key")
    with collector([survey], f"sqlite:///{folder}/store.db", workers=1) as (base, _):
        options = ["--collector", base, "-o", folder / "page", "--public-key", key, "--allow-english"]
        command("ldp-survey", "page", survey, *options)
        with serve_folder(folder / "page") as origin:
            yield FormSite(f"{origin}/", base, folder)

"""Takes the pictures of docs/studio.md: python -m tools.studio_pictures (needs Chromium).

A studio runs on a made-up survey in a temporary folder, and a browser shows its parts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

_FIGURES = Path(__file__).parent.parent / "docs" / "figures"
_SURVEY = """\
[survey]
id = "sleep-and-shifts"
epsilon = 1.0
users = 4000

[features.shift]
values = ["day", "evening", "night"]
missing = "category"

[features.sleeps_well]
values = [true, false]
missing = "category"

[features.hours]
range = [0, 12]
bins = 8
missing = "category"

[features.mood]
values = ["bad", "so-so", "good"]
ordered = true
missing = "category"

[tables.sleep_by_shift]
features = ["shift", "sleeps_well"]

[about]
title = "Sleep and shift work"
contact = "sleep@university.example"

[texts.en]

[texts.en.features.shift]
title = "When do you work?"
values = { day = "By day", evening = "In the evening", night = "At night" }

[texts.en.features.sleeps_well]
title = "Do you sleep well?"
values = { true = "Yes", false = "No" }

[texts.en.features.hours]
title = "How many hours did you sleep?"

[texts.en.features.mood]
title = "How do you feel?"

[texts.de]
title = "Schlaf und Schichtarbeit"

[texts.de.features.shift]
title = "Wann arbeiten Sie?"
values = { day = "Tagsüber", night = "Nachts" }
"""
_SIZE = {"width": 1040, "height": 760}


def main() -> None:
    """Write docs/figures/studio-*.png."""
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder:
        survey = Path(folder) / "survey.toml"
        survey.write_text(_SURVEY, "utf-8")
        command = [str(Path(sys.executable).parent / "ldp-survey"), "studio", str(survey), "--no-browser"]
        environment = os.environ | {"XDG_STATE_HOME": folder}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout
            process.stdout.readline()
            address = process.stdout.readline().strip()
            try:
                with sync_playwright() as driver:
                    browser = driver.chromium.launch(executable_path=program, args=arguments)
                    page = browser.new_page(viewport=_SIZE, locale="en-GB")  # type: ignore[arg-type]
                    page.goto(address)
                    _take(page)
                    browser.close()
            finally:
                process.terminate()


def _take(page: Page) -> None:
    page.locator("#card-0").click()
    page.locator(".editor").wait_for()
    page.locator("#card-0").evaluate("card => scrollTo(0, card.getBoundingClientRect().top - 20)")
    page.screenshot(path=_FIGURES / "studio-questions.png")
    page.locator("#view-sizes").click()
    page.locator("#suggestion-2").wait_for()
    page.screenshot(path=_FIGURES / "studio-sizes.png", full_page=True)
    page.locator("#view-page").click()
    question = page.frame_locator("iframe").locator("fieldset").first
    question.wait_for()
    question.scroll_into_view_if_needed()
    question.hover()
    page.mouse.wheel(0, _SIZE["height"] // 2)
    page.wait_for_timeout(300)
    page.screenshot(path=_FIGURES / "studio-page.png")


if __name__ == "__main__":
    main()

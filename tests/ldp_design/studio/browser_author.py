"""An author at work: a studio on a survey, and a browser window that shows it."""

import re

from playwright.sync_api import Page, expect

from ldp_design.studio import imports

EXAMPLE = imports.read_example().replace("# users = 20_000", "users = 20_000")
VIEWS = ("questions", "sizes", "page", "trial", "publish", "file")
TIMEOUT = 60_000


class Author:
    """A browser window with the studio; at its end there must be no error, and no request elsewhere."""

    def __init__(self, chromium, studio, **options):
        self.studio = studio
        self.context = chromium.new_context(**{"locale": "en-GB"} | options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.errors, self.asked = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self) -> Page:
        self.page.goto(self.studio.address)
        expect(self.page.get_by_role("heading", level=2).first).to_be_visible()
        return self.page

    def go(self, view: str) -> None:
        self.page.locator(f"#view-{view}").click()
        expect(self.page.locator(f"#view-{view}")).to_have_attribute("aria-current", "page")

    def fill(self, name: str, text: str) -> None:
        field = self.page.get_by_label(name, exact=True)
        field.fill(text)
        field.press("Tab")

    def save(self) -> str:
        self.page.locator("#save").click()
        expect(self.page.locator("#save")).to_be_disabled()
        return self.studio.path.read_text("utf-8")

    def is_verified(self) -> None:
        expect(self.page.locator("#margins")).to_contain_text(re.compile("Computed for|Berechnet für"))

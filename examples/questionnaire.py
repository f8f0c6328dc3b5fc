"""A questionnaire on a person's own device, made with Textual: they agree, answer, and see the outcome.

    pip install textual
    python examples/questionnaire.py http://127.0.0.1:8000/v1/surveys/yrbss-2013
    python examples/questionnaire.py examples/yrbss/survey.toml http://127.0.0.1:8000/v1/surveys/yrbss-2013

Keys: Tab and Shift-Tab move between questions, Space toggles the switch, Enter opens a list of answers,
Ctrl-S sends, Ctrl-Q quits. Nothing is randomised or sent while the switch is off.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Button, Footer, Header, Input, Label, Select, SelectionList, Static, Switch
from wording import in_words, promise

from encoders.survey import Plan
from encoders.survey.features import Choices
from ldp_client import AsyncClient, LdpError, Receipt, RowError, State, load_plan

AGREED = (State.READY, State.INVALID, State.QUEUED, State.SENT, State.DUPLICATE, State.ALREADY_REPORTED)
OPEN = (State.NO_CONSENT, State.READY, State.INVALID, State.QUEUED, State.UNAVAILABLE)


def main() -> None:
    parser = argparse.ArgumentParser(description="Answer a survey; only a disguised answer is sent.")
    parser.add_argument("survey", help="the survey's URL, or the file of its plan")
    parser.add_argument("url", nargs="?", help="the survey's URL, if its plan is a file")
    chosen = parser.parse_args()
    try:
        app = Questionnaire(load_plan(chosen.survey), chosen.url or chosen.survey)
    except LdpError as error:
        sys.exit(f"This survey cannot be answered now: {error}")
    app.run()


class Question(Vertical):
    """One question: a list of answers, boxes to tick or a field for a number, and an error message."""

    def __init__(self, entry: Any) -> None:
        super().__init__()
        self.entry = entry
        self.may_skip = getattr(entry, "missing", "error") == "category"

    def compose(self) -> ComposeResult:
        yield Label(self.entry.name)
        skip = "no answer" if self.may_skip else "please choose"
        if isinstance(self.entry, Choices):
            yield SelectionList(*((choice, choice) for choice in self.entry.values))
        elif hasattr(self.entry, "values"):
            yield Select([(value, value) for value in self.entry.values], prompt=skip)
        else:
            low, high = self.entry.bounds
            hint = f"a number from {low:,.12g} to {high:,.12g}"
            yield Input(placeholder=f"{hint}, or {skip}" if self.may_skip else hint)
        yield Label(classes="problem")

    def read(self) -> object:
        """Return the answer; show a message and raise RowError if it does not fit the survey."""
        problem = self.query_one(".problem", Label)
        problem.update("")
        try:
            chosen = self.query(Select)
            if isinstance(self.entry, Choices):
                answer = self.query_one(SelectionList).selected  # no tick means none of the choices
            elif chosen:
                answer = chosen.first().selection
            else:
                answer = self.entry.from_text(self.query_one(Input).value)
            self.entry.code(answer)
        except RowError:
            problem.update("Please choose an answer." if chosen else "Please type a number like 7.5.")
            raise
        return answer


class Questionnaire(App[None]):
    """The survey as one form, with a switch for the person's consent above the questions."""

    TITLE = "Survey"
    BINDINGS = (("ctrl+s", "send", "Send"), ("ctrl+q", "quit", "Quit"))
    CSS = """
    #promise { padding: 1 2; }
    #form { height: auto; }
    #consent, Question { height: auto; padding: 0 2; }
    #consent Label { padding: 1; }
    .problem { color: $text-error; }
    Button { margin: 0 2; }
    #status { padding: 1 2; background: $panel; }
    """

    class Outcome(Message):
        """The client has a new receipt."""

        def __init__(self, receipt: Receipt) -> None:
            super().__init__()
            self.receipt = receipt

    def __init__(self, plan: Plan, url: str, **options: object) -> None:
        super().__init__()
        self.plan = plan
        self.client = AsyncClient(plan, url, on_outcome=self.post_outcome, **options)

    def post_outcome(self, receipt: Receipt) -> None:
        """Post a receipt to the screen; messages may be posted from any thread."""
        self.post_message(self.Outcome(receipt))

    def compose(self) -> ComposeResult:
        yield Header()
        with VerticalScroll(can_focus=False):
            yield Static(promise(self.plan), id="promise")
            with Horizontal(id="consent"):
                yield Switch()
                yield Label("I agree to take part")
            with Vertical(id="form", disabled=True):
                for entry in (*self.plan.entries, *[self.plan.row_label] * self.plan.row_label.exists):
                    yield Question(entry)
                yield Button("Disguise and send", id="send", variant="primary")
        yield Static(id="status")
        yield Footer()

    async def on_mount(self) -> None:
        self.sub_title = self.plan.id
        self.show(await self.client.flush(0))  # sends a report that an earlier run could not send

    async def on_unmount(self) -> None:
        await self.client.close()

    @on(Switch.Changed)
    async def decide(self, switch: Switch.Changed) -> None:
        self.show(await (self.client.grant() if switch.value else self.client.withdraw()))

    @on(Button.Pressed, "#send")
    async def action_send(self) -> None:
        if self.query_one("#form").disabled:
            return
        answers, wrong = {}, []
        for question in self.query(Question):
            try:
                answers[question.entry.name] = question.read()
            except RowError:
                wrong.append(question)
        if wrong:
            wrong[0].query_one("Select, Input").focus()
            return
        self.query_one("#form").disabled = True
        label = answers.pop(self.plan.row_label.name, None)
        await self.client.report(answers, label)  # the result arrives as an Outcome

    @on(Outcome)
    async def show_outcome(self, outcome: Outcome) -> None:
        is_final = outcome.receipt.state is not State.QUEUED  # a queued report may have been sent by now
        self.show(outcome.receipt if is_final else await self.client.status())

    def show(self, receipt: Receipt) -> None:
        """Show the state of the survey, and enable the actions that are possible in it."""
        self.query_one("#status", Static).update(in_words(receipt))
        self.query_one("#form").disabled = receipt.state not in (State.READY, State.INVALID)
        switch = self.query_one(Switch)
        switch.disabled = receipt.state not in OPEN
        with self.prevent(Switch.Changed):
            switch.value = receipt.state in AGREED


if __name__ == "__main__":
    main()

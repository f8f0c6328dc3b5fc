"""A survey in a person's own terminal: they read the terms, agree, and answer once.

    python examples/terminal_survey.py http://127.0.0.1:8000/v1/surveys/yrbss-2013
    python examples/terminal_survey.py examples/yrbss/survey.toml http://127.0.0.1:8000/v1/surveys/yrbss-2013
    python examples/terminal_survey.py http://127.0.0.1:8000/v1/surveys/yrbss-2013 --withdraw

The second form accepts only the plan in the file, even if the collector serves another one.
"""

from __future__ import annotations

import argparse
import sys
import textwrap

from wording import in_words, promise

from encoders.survey import BinnedFeature, CategoricalFeature, Label, NumericFeature, Plan
from encoders.survey.features import Choices
from ldp_client import Client, LdpError, Receipt, RowError, State

SKIP = ", or Enter for no answer"


def main() -> None:
    parser = argparse.ArgumentParser(description="Answer a survey; only a disguised answer is sent.")
    parser.add_argument("survey", help="the survey's URL, or the file of its plan")
    parser.add_argument("url", nargs="?", help="the survey's URL, if its plan is a file")
    parser.add_argument("--withdraw", action="store_true", help="take back your agreement")
    chosen = parser.parse_args()
    try:
        with Client(chosen.survey, chosen.url) as client:
            print(in_words(withdraw(client) if chosen.withdraw else take_part(client)))
    except LdpError as error:
        sys.exit(f"This survey cannot be answered now: {error}")


def take_part(client: Client) -> Receipt:
    """Show the terms, ask for consent and answers, and report; return the last receipt."""
    if client.status().state not in (State.NO_CONSENT, State.READY):
        return client.flush()  # answered already; send a report that an earlier run could not send
    show(client.plan)
    try:
        if not agrees("Do you want to take part?"):
            return client.withdraw()
        if (receipt := client.grant()).state is not State.READY:
            return receipt
        row = {feature.name: ask(feature) for feature in client.plan.entries}
        label = ask(client.plan.row_label) if client.plan.row_label.exists else None
        print("\nThat was all. To show you what is sent, here is one example; your report is drawn again:\n")
        print(client.preview(row, label))
        if agrees("\nDraw, disguise and send?"):
            receipt = client.report(row, label)
        return client.flush() if receipt.state is State.QUEUED else receipt
    except (EOFError, KeyboardInterrupt):
        print()
        return client.status()


def withdraw(client: Client) -> Receipt:
    receipt = client.withdraw()
    if receipt.state in (State.SENT, State.DUPLICATE):
        print("A counted report cannot be taken back: nobody knows which report was yours.")
    return receipt


def show(plan: Plan) -> None:
    asked = ", ".join([*(entry.name for entry in plan.entries), *plan.row_label.names])
    for paragraph in (f'The survey "{plan.id}" asks you for: {asked}.', *promise(plan).split("\n\n")):
        print(textwrap.fill(paragraph, 79) + "\n")


def agrees(question: str) -> bool:
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


# -- one question ---------------------------------------------------------------------------------


def ask(entry: CategoricalFeature | BinnedFeature | NumericFeature | Label) -> object:
    """Ask until the answer fits the survey; None is an answer if the question may be skipped."""
    if isinstance(entry, Label):
        return choose(entry.name, entry.values, may_skip=False)
    if isinstance(entry, Choices):
        return tick(entry)
    if isinstance(entry, CategoricalFeature):
        return choose(entry.name, entry.values, may_skip=entry.missing == "category")
    return enter(entry)


def list_values(name: str, values: tuple[str, ...]) -> dict[str, str]:
    """Print the values to choose from; return them by the number to type."""
    choices = {str(place): value for place, value in enumerate(values, 1)}
    print(f"\n{name}")
    print("\n".join(f"  [{place}] {value}" for place, value in choices.items()))
    return choices


def tick(entry: Choices) -> list[str] | None:
    choices = list_values(entry.name, entry.values)
    skip = SKIP if entry.missing == "category" else ""
    while True:
        text = input(f"all that apply, separated by commas, or 0 for none{skip}: ").strip()
        typed = [part.strip() for part in text.split(",")]
        if skip and not text:
            return None
        if typed == ["0"] or choices.keys() >= set(typed):
            return [choices[each] for each in typed if each != "0"]
        print(f"  Please type numbers in brackets, such as 1,2{skip}.")


def choose(name: str, values: tuple[str, ...], may_skip: bool) -> str | None:
    choices = list_values(name, values)
    while True:
        text = input(f"1 to {len(values)}{SKIP if may_skip else ''}: ").strip()
        if text in choices or (may_skip and not text):
            return choices.get(text)
        print(f"  Please type a number in brackets{SKIP if may_skip else ''}.")


def enter(feature: BinnedFeature | NumericFeature) -> object:
    low, high = feature.bounds
    skip = SKIP if feature.missing == "category" else ""
    print(f"\n{feature.name}")
    while True:
        text = input(f"a number from {low:,.12g} to {high:,.12g}{skip}: ").strip()
        try:
            number = feature.from_text(text)
            feature.code(number)
        except RowError:
            print(f"  Please type a number like 7.5{skip}.")
            continue
        if feature.is_clipped(number):
            print("  That is outside the survey's range, and counts as the end of the range.")
        return number


if __name__ == "__main__":
    main()

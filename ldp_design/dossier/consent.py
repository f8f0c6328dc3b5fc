"""Writes the draft of a consent text in plain words, with placeholders for the author."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from encoders.survey.display_texts import display_texts
from ldp_aggregator.results.statements import update_belief
from ldp_design.dossier.asked import about, title_of
from ldp_design.dossier.nonresponse import join, list_required
from ldp_design.dossier.privacy import WEAK_EPSILON
from ldp_design.dossier.sections import section
from ldp_design.dossier.source import DossierSource

_MAX_QUOTED = 300
"""Longer texts of the author are not repeated in the consent text, in characters."""
_MAX_TITLE = 100
"""A longer title of a question is not repeated, in characters."""
_MAX_QUESTIONS = 12
"""More questions are not repeated."""


@dataclass(frozen=True)
class Part:
    """A part of a paragraph."""

    text: str
    is_placeholder: bool = False
    """Whether the author must replace the text."""


def build_consent(source: DossierSource) -> dict[str, Any]:
    """Return the paragraphs of the draft with their headings, and the languages of the survey's texts."""
    languages = list(source.plan.texts.languages) if source.plan.texts else []
    others = [each for each in languages if each.partition("-")[0] != "en"]
    return {
        "paragraphs": [
            ("What this is about", list(_introduce(source))),
            ("What we ask", list(_list_questions(source))),
            ("What happens to your answers", list(_explain_report(source))),
            ("What others can notice", list(_explain_visible(source))),
            ("Your choice", list(_explain_choice(source))),
            ("Where data are kept, and for how long", list(_explain_storage(source))),
            ("Whom you can ask", list(_name_contact(source))),
        ],
        "other_languages": ", ".join(others),
    }


def _fill(text: str) -> Part:
    return Part(f"[{text}]", is_placeholder=True)


def _introduce(source: DossierSource) -> Iterator[Part]:
    yield Part(
        f"You are invited to take part in the survey \u201c{title_of(source.plan)}\u201d. Its purpose: "
    )
    yield _quote(source, "purpose")
    yield Part(" The survey is run by ")
    yield _fill("names and countries of all organisations")
    yield Part(".")


def _list_questions(source: DossierSource) -> Iterator[Part]:
    texts = display_texts(source.plan)
    titles = [texts.label.title, *(texts.features[each.name].title for each in source.plan.entries)]
    if len(titles) > _MAX_QUESTIONS or max(map(len, titles)) > _MAX_TITLE:
        yield _fill(f"all questions, as in {section('asked')}")
        return
    yield Part("The main question is: ")
    yield from _write_title(titles[0])
    yield Part(" The other questions are: " if len(titles) > 2 else " The other question is: ")
    for place, title in enumerate(titles[1:]):
        yield Part(" " if place else "")
        yield from _write_title(title)


def _write_title(title: str) -> Iterator[Part]:
    """Yield a question; the author must word it if there is only its name in the survey file."""
    if title.endswith(("?", ".", "!", "\u2026")):
        yield Part(f"\u201c{title}\u201d")
        return
    yield _fill(f"wording of the question {title}")
    yield Part(".")


def _explain_report(source: DossierSource) -> Iterator[Part]:
    before = 50
    after = math.ceil(100 * update_belief(before / 100, source.odds_factor()))
    certainty = (
        "What is sent can show your answer almost as well as the answer itself."
        if source.plan.epsilon >= WEAK_EPSILON
        else "Nobody can see which. Somebody who sees what was sent can guess your answer better than "
        "before. But they cannot be certain."
    )
    most = f"at most {after} in 100" if after < 100 else "nearly 100 in 100"
    yield Part(
        f"You fill in all questions on your own phone or computer. {_describe_choice(source)} Your device "
        "then changes the answers by chance, as with dice. It sends only the changed answers. These can be "
        f"your true answers or others. {certainty} An example: somebody thinks that the chance is {before} "
        f"in 100 that something about you is true. After seeing what was sent, the chance can be {most}."
    )


def _describe_choice(source: DossierSource) -> str:
    """Return which answers the device sends."""
    plan = source.plan
    if plan.validation:
        return "Your device guesses your answer to the main question. It sends whether the guess was right."
    if len(plan.questions) == 1:
        return "Your device takes your answers together with the main question."
    one = "a few of the other questions" if source.grouped else "one of the other questions"
    answer = "answers" if source.grouped else "answer"
    it = "them" if source.grouped else "it"
    who = "Your invitation has picked" if plan.by_invitation else "Your device picks"
    return (
        f"{who} {one} by chance. Only your {answer} to {it} and to the main question count. Your device "
        f"takes your {answer} together with the main question."
    )


def _explain_visible(source: DossierSource) -> Iterator[Part]:
    yield Part(
        "Others may see that you took part, when, and from which internet address. Somebody who uses your "
        "device can see that you agreed to this survey. "
    )
    yield _fill("whether the app keeps your answers on the device")
    yield Part(" ")
    if source.plan.by_invitation:
        yield Part(
            "Show your invitation to nobody. The people who gave it to you can know which report is yours. "
            "They cannot see your true answers in it. "
        )
    required = join([*list_required(source)[:-1], "the main question"])
    yield Part(
        f"If you leave {required} empty, nothing is sent, and others may notice this. Does your partner or "
        "somebody of your family take part too? Then the reports together can show more about what you "
        "share. Other surveys about you also add to what can be learned."
    )


def _explain_choice(source: DossierSource) -> Iterator[Part]:
    yield Part(
        "Taking part is your choice. If you say no, you have no disadvantage. You can stop until your "
        "report is sent. This is usually a few seconds after your last answer "
    )
    yield _fill("or the time that the app waits")
    yield Part(". After that you cannot take it back, because the program has no command that removes it.")


def _explain_storage(source: DossierSource) -> Iterator[Part]:
    yield Part("The reports are collected by ")
    yield _fill("name and country")
    kept = "a code of your invitation" if source.plan.by_invitation else "a random number"
    yield Part(
        f". They keep totals. For each report they also keep the question, {kept} and the changed answer in "
        "a short form. They keep no name and no internet address. How long data are kept: "
    )
    yield _quote(source, "retention")
    yield Part(" ")
    yield _fill("when the short forms of the reports are deleted")


def _name_contact(source: DossierSource) -> Iterator[Part]:
    yield Part("Questions and complaints: ")
    yield _quote(source, "contact")
    yield Part(" ")
    yield _fill("after the approval: name of the review board, and number of its approval")


def _quote(source: DossierSource, key: str) -> Part:
    text = about(source.plan).get(key)
    if text is None:
        return _fill(f"{key}: not stated by the author")
    text = " ".join(text.split())
    if len(text) > _MAX_QUOTED:
        return _fill(f"{key}: see {section('purpose')}")
    return Part(text if text.endswith((".", "!", "?")) else f"{text}.")

"""The dossier of a survey of people: its facts, tables and commands; the words are in texts/."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import reduce
from urllib.parse import urlsplit

from encoders.canonical import decimal_text
from encoders.explain.nonresponse import NonresponseCauses, find_nonresponse_causes
from encoders.mechanisms.base import realised_epsilon
from encoders.survey import Plan
from encoders.survey.display_texts import display_texts
from ldp_aggregator.statements.privacy import find_audit, find_report_privacy, update_belief
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Count, FactorAtMost, RoundShare, Share
from ldp_design.authoring.overview import find_setting_warnings, report_bytes
from ldp_design.dossier.accuracy import describe_accuracy
from ldp_design.dossier.asked import describe_choice, describe_sample, list_languages, list_questions
from ldp_design.dossier.dossier_page import TEXTS, Facts, describe_plan, render_page
from ldp_design.dossier.source import BELIEFS, SURVEYS, DossierSource

_WEAK_EPSILON = Decimal(4)
"""From this epsilon on, one report can be nearly as good as the answer itself."""
_STRICT, _MODERATE, _LAX = Decimal("0.5"), Decimal(1), Decimal(2)
"""The largest epsilons to which the recommendations of docs/size-and-epsilon.md apply."""
_MARK_BYTES = 8
"""Randomised answers of at most this length can be computed from their mark in the collector's store."""
_MAX_QUOTED = 300
"""Longer texts of the author are not repeated in the consent text, in characters."""
_MAX_TITLE = 100
"""A longer title of a question is not repeated, in characters."""
_MAX_QUESTIONS = 12
"""More questions are not repeated."""


def render_dossier(source: DossierSource) -> bytes:
    """Return the dossier in UTF-8; the same source gives the same bytes."""
    return render_page("dossier.html", describe_people(source), source.commands)


def describe_people(source: DossierSource) -> Facts:
    """Return all facts and tables of the dossier of a survey of people."""
    plan = source.plan
    facts = describe_plan(source, source.commands, is_silo=False)
    facts |= (
        describe_choice(plan) | _describe_questions(plan) | _describe_relay(plan) | _describe_audit(source)
    )
    facts |= describe_accuracy(source) | _describe_privacy(source) | describe_sample(plan)
    shared = ("rating", "weak", "unanswered", "reported", "record", "mark", "no_audit", "audit_result")
    facts |= {name: TEXTS.find(f"words.{name}", **facts) for name in shared}
    facts |= {
        "conditions": len(TEXTS.section("conditions", facts)),
        "warnings": [
            TEXTS.find("warnings.warning", message=_begin_sentence(each.message), **facts)
            for each in find_setting_warnings(plan)
        ],
    }
    return facts | _describe_consent(source, facts)


def _describe_questions(plan: Plan) -> Facts:
    """Return the facts on the questions, their reports, and who cannot answer them."""
    lengths = [report_bytes(plan, question) for question in plan.questions]
    payloads = [question.mechanism.payload_bytes for question in plan.questions]
    causes = find_nonresponse_causes(plan)
    main = f"\u201c{plan.row_label.name}\u201d"
    incomplete = [*causes.incomplete, *([main] if causes.is_label_incomplete else [])]
    return {
        "family": plan.family,
        "entries": len(plan.entries),
        "one_entry": len(plan.entries) == 1,
        "asked": [(language, list(list_questions(plan, language))) for language in list_languages(plan)],
        "shortest": min(lengths),
        "longest": max(lengths),
        "lengths_differ": len(set(lengths)) > 1,
        "marks_are_readable": max(payloads) <= _MARK_BYTES,
        "marks_are_hashes": min(payloads) > _MARK_BYTES,
        "required": ", ".join(causes.required),
        "can_be_silent": plan.row_label.exists or bool(causes.required),
        "required_questions": _join_or(causes.required),
        "incomplete": _join_or(incomplete),
        "main_required": causes.is_label_required,
        "main_incomplete": causes.is_label_incomplete,
        "has_corrections": _can_be_corrected(causes),
        "unworded": ", ".join(_list_unworded(plan)),
    }


def _describe_relay(plan: Plan) -> Facts:
    """Return what the relay of a survey promises, and where it is."""
    relay = plan.relay
    if relay is None:
        return {"has_relay": False}
    return {
        "has_relay": True,
        "relay_host": urlsplit(relay.url).hostname,
        "batch": Count(relay.batch),
        "honest_reports": Count(relay.honest_reports),
        "relay_factor": FactorAtMost(math.exp(relay.epsilon)),
        "relay_delta": f"{relay.delta:g}",
    }


def _can_be_corrected(causes: NonresponseCauses) -> bool:
    is_incomplete = bool(causes.incomplete) or causes.is_label_incomplete
    return bool(causes.required) or is_incomplete or causes.is_label_required


def _join_or(names: Sequence[str]) -> str:
    """Return names as an enumeration: "a, b or c"."""
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _list_unworded(plan: Plan) -> list[str]:
    """Return the features without a text in any language."""
    languages = plan.texts.languages if plan.texts else {}
    named = {name for each in languages.values() for name in each.get("features", {})}
    return [each.name for each in plan.entries if each.name not in named]


def _describe_privacy(source: DossierSource) -> Facts:
    """Return the section about epsilon: how strict it is, its effect on beliefs, and the proof."""
    plan, epsilon = source.plan, source.plan.epsilon
    return {
        "is_strict": epsilon <= _STRICT,
        "is_moderate": epsilon <= _MODERATE,
        "is_lax": epsilon <= _LAX,
        "is_weak": epsilon >= _WEAK_EPSILON,
        "beliefs": [(RoundShare(each), source.belief_after(each)) for each in BELIEFS],
        "privacy_statement": find_report_privacy(source.epsilon),
        "factors": [
            (count, decimal_text(count * epsilon), FactorAtMost(source.odds_factor(count)))
            for count in SURVEYS
        ],
        "epsilons": [
            (
                question.name,
                Share(plan.question_probability(question)),
                question.mechanism.name,
                report_bytes(plan, question),
                f"{realised_epsilon(question.mechanism.ratio):f}",
            )
            for question in plan.questions
        ],
    }


def _begin_sentence(message: str) -> str:
    return message[:1].upper() + message[1:].rstrip(".")


def _describe_audit(source: DossierSource) -> Facts:
    audit = source.audit
    if not audit:
        return {"has_audit": False, "audit_passed": False, "audit_faults": [], "audit_notes": []}
    command = source.commands["audit"]
    faults, notes = (
        [TEXTS.find(f"audit_file.{name}", text=each, audit_command=command) for each in texts]
        for name, texts in (("fault", audit.faults), ("note", audit.notes))
    )
    return {
        "has_audit": True,
        "audit_passed": audit.passed,
        "audit_statement": find_audit(audit.passed, audit.trials),
        "audit_name": audit.name,
        "audit_bound": f"{audit.bound:.4f}",
        "audit_dates": "; ".join(f"{name}: {value}" for name, value in audit.dated),
        "audit_faults": faults,
        "audit_notes": notes,
    }


def _describe_consent(source: DossierSource, facts: Facts) -> Facts:
    """Return the facts of the draft of a consent text, with the author's words that it repeats."""
    plan = source.plan
    texts = display_texts(plan)
    titles = [texts.features[each.name].title for each in plan.entries]
    label = [texts.label.title] if texts.label else []
    others = list(map(_quote_title, titles))
    chance = math.ceil(100 * update_belief(0.5, source.odds_factor()))
    languages = list(plan.texts.languages) if plan.texts else []
    return {
        "many_questions": len(label + titles) > _MAX_QUESTIONS or max(map(len, label + titles)) > _MAX_TITLE,
        "main_question": _quote_title(texts.label.title) if texts.label else "",
        "other_questions": reduce(_join_questions, others) if others else "",
        "chance": chance,
        "nearly_certain": chance >= 100,
        "other_languages": ", ".join(each for each in languages if each.partition("-")[0] != "en"),
        **{f"consent_{name}": quote for name, quote in _quote_declarations(facts)},
    }


def _quote_title(title: str) -> Statement:
    """Return a question; the author must word it if there is only its name in the survey file."""
    is_sentence = title.endswith(("?", ".", "!", "\u2026"))
    return TEXTS.find("consent_words.question", question=title, is_sentence=is_sentence)


def _join_questions(first: Statement, second: Statement) -> Statement:
    return TEXTS.find("consent_words.pair", first=first, second=second)


def _quote_declarations(facts: Facts) -> Iterator[tuple[str, Statement]]:
    """Yield (name, statement) of the author's purpose, contact and retention; a long text is not quoted."""
    for name in ("purpose", "contact", "retention"):
        text = " ".join(str(facts[name] or "").split())
        is_short = 0 < len(text) <= _MAX_QUOTED
        sentence = text if text.endswith((".", "!", "?")) else f"{text}."
        values = facts | {"name": name, "is_short": is_short, "text": sentence if text else ""}
        yield name, TEXTS.find("consent_words.quote", **values)

"""The dossier of a survey of people: its facts, tables and commands; the words are in texts/."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from functools import reduce
from types import SimpleNamespace
from urllib.parse import urlsplit

from encoders.canonical import decimal_text
from encoders.epsilon_proof import realised_epsilon
from encoders.explain.nonresponse import find_nonresponse_causes
from encoders.mechanisms import SS
from encoders.survey import Plan
from encoders.survey.display_texts import display_texts
from ldp_aggregator.statements.privacy import find_audit, find_report_privacy, update_belief
from ldp_aggregator.wording.language import LANGUAGE
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import (
    Count,
    Counted,
    FactorAtMost,
    RoundShare,
    Share,
    ShareAtMost,
    localise,
    quote,
    quote_questions,
)
from ldp_design.authoring.overview import find_setting_warnings, longest_report
from ldp_design.dossier.accuracy import describe_accuracy
from ldp_design.dossier.asked import describe_questions, describe_sample, list_asked
from ldp_design.dossier.dossier_page import (
    TEXTS,
    DossierFacts,
    describe_plan,
    join_names,
    quote_program,
    render_page,
    title_label,
)
from ldp_design.dossier.source import BELIEFS, SURVEYS, DossierSource
from ldp_design.sizing.size_facts import describe_size

_WEAK_EPSILON = Decimal(4)
"""From this epsilon on, one report can be nearly as good as the answer itself."""
_STRICT, _MODERATE, _LAX = Decimal("0.5"), Decimal(1), Decimal(2)
"""The largest epsilons to which the recommendations of docs/size-and-epsilon.md apply."""
_HUNDREDTH = Decimal("0.01")
_MARK_BYTES = 8
"""Randomised answers of at most this length can be computed from their mark in the collector's store, and
longer ones of SS too, because all sets can be tried: there are at most 2^33."""
_MAX_QUOTED = 300
"""Longer texts of the author are not repeated in the consent text, in characters."""
_MAX_TITLE = 100
"""A longer title of a question is not repeated, in characters."""
_MAX_QUESTIONS = 12


def render_dossier(source: DossierSource) -> bytes:
    """Return the dossier in UTF-8; the same source and language give the same bytes."""
    with quote_questions(source.plan):
        plan, audit, facts = source.plan, source.audit, describe_people(source)
        return render_page(
            "dossier.html",
            source,
            facts,
            asked=list_asked(plan),
            warnings=[
                TEXTS.find(
                    "warnings.warning",
                    message=quote_program(each.message[:1].upper() + each.message[1:].rstrip(".")),
                    is_silo=False,
                    commands=source.commands,
                )
                for each in find_setting_warnings(plan)
            ],
            audit_faults=_quote_audit("fault", audit.faults, source) if audit else [],
            audit_notes=_quote_audit("note", audit.notes, source) if audit else [],
            beliefs=[(RoundShare(each), source.belief_after(each)) for each in BELIEFS],
            factors=[
                (count, localise(decimal_text(count * plan.epsilon)), FactorAtMost(source.odds_factor(count)))
                for count in SURVEYS
            ],
            epsilons=[
                (
                    quote(question.name),
                    Share(plan.question_probability(question)),
                    question.mechanism.name,
                    longest_report(plan, question),
                    localise(f"{realised_epsilon(question.mechanism.ratio):f}"),
                )
                for question in plan.questions
            ],
        )


def describe_people(source: DossierSource) -> DossierFacts:
    plan, audit, commands, epsilon = source.plan, source.audit, source.commands, source.plan.epsilon
    if audit:
        words = {"statement": find_audit(audit.passed, audit.trials), "bound": localise(audit.bound)}
        audit = SimpleNamespace(**{**vars(audit), **words})
    sizes = source.scenarios[0] if source.scenarios else ()
    size = describe_size(sizes[0], len(sizes) > 1, commands.size) if sizes else None
    common = describe_plan(source, commands, size, is_silo=False)
    mechanisms = [question.mechanism for question in plan.questions]
    are_readable = {each.payload_bytes <= _MARK_BYTES or isinstance(each, SS) for each in mechanisms}
    return DossierFacts(
        **vars(common),
        questions=describe_questions(plan),
        nonresponse=_describe_nonresponse(plan),
        relay=_describe_relay(plan),
        audit=audit,
        accuracy=describe_accuracy(source, size) if size else None,  # None for a validation round
        sample=describe_sample(plan),
        consent=_describe_consent(source, common),
        privacy=find_report_privacy(source.epsilon, plan.asks_all),
        is_strict=epsilon <= _STRICT,
        is_moderate=epsilon <= _MODERATE,
        is_lax=epsilon <= _LAX,
        is_weak=epsilon >= _WEAK_EPSILON,
        # whether randomised answers to all questions can, or cannot, be computed from their marks
        marks_are_readable=all(are_readable),
        marks_are_hashes=not any(are_readable),
    )


def _describe_nonresponse(plan: Plan) -> SimpleNamespace:
    causes, label = find_nonresponse_causes(plan), title_label(plan)
    required = [quote(each) for each in causes.required]
    quoted = [TEXTS.write("words.quoted", name=label.name)] if causes.is_label_incomplete else []
    incomplete = [*map(quote, causes.incomplete), *quoted]
    return SimpleNamespace(
        causes=causes,
        required=", ".join(required),
        # the same names with "or" before the last
        required_questions=_join_or(required),
        # the questions whose answers may not fit everybody
        incomplete=_join_or(incomplete),
        can_be_silent=label.exists or bool(required),
        # whether a question may be left out
        optional=any(each.missing == "category" for each in plan.entries),
        has_corrections=bool(required or incomplete or causes.is_label_required),
    )


def _describe_relay(plan: Plan) -> SimpleNamespace | None:
    relay = plan.relay
    if relay is None:
        return None
    each = max(realised_epsilon(question.mechanism.ratio) for question in plan.questions)
    kept = update_belief(0.5, math.exp(each))
    return SimpleNamespace(
        host=urlsplit(relay.url).hostname,
        batch=Count(relay.batch),
        # of the reports, or envelopes with all answers of a person, in a batch
        honest_reports=Count(relay.honest_reports),
        epsilon=localise(decimal_text(relay.epsilon)),
        factor=FactorAtMost(math.exp(relay.epsilon)),
        delta=localise(f"{relay.delta:g}"),
        # of a person, if each answers all questions
        reports=Counted(len(plan.questions), "report"),
        # the largest epsilon of one of these
        each=localise(f"{each.quantize(_HUNDREDTH, ROUND_CEILING).normalize():f}"),
        # what a belief of 50% becomes after one of these
        belief_of_one=ShareAtMost(kept),
        # the share of yes/no answers with this epsilon that are true
        sent_as_they_are=ShareAtMost(kept),
    )


def _join_or(names: Sequence[str]) -> str:
    return join_names(filter(None, (", ".join(names[:-1]), *names[-1:])), "or")


def _quote_audit(name: str, texts: Sequence[str], source: DossierSource) -> list[Statement]:
    return [
        TEXTS.find(f"audit_file.{name}", text=quote_program(each), commands=source.commands) for each in texts
    ]


def _describe_consent(source: DossierSource, common: DossierFacts) -> SimpleNamespace:
    plan, about, texts = source.plan, common.about, display_texts(source.plan, LANGUAGE.get().tag)
    titles = [texts.features[each.name].title for each in plan.entries]
    label = [texts.label.title] if texts.label else []
    others = list(map(_quote_title, titles))
    languages = list(plan.texts.languages) if plan.texts else []
    own = (LANGUAGE.get().tag or "en").partition("-")[0]
    return SimpleNamespace(
        # whether the questions are too many or too long to be repeated
        many_questions=len(label + titles) > _MAX_QUESTIONS or max(map(len, label + titles)) > _MAX_TITLE,
        main_question=_quote_title(texts.label.title) if texts.label else None,
        other_questions=reduce(
            lambda one, two: TEXTS.find("consent_words.pair", first=one, second=two), others
        )
        if others
        else None,
        # the largest chance that a chance of 50% becomes
        before=RoundShare(0.5),
        chance=source.belief_after(0.5),
        # if one of them is not that of the dossier
        languages=", ".join(languages) if {each.partition("-")[0] for each in languages} - {own} else "",
        purpose=_quote("purpose", about.purpose, common.sections),
        contact=_quote("contact", about.contact, common.sections),
        retention=_quote("retention", about.retention, common.sections),
    )


def _quote_title(title: str) -> Statement:
    """Return a question; the author must word it if there is only its name in the survey file."""
    is_sentence = title.endswith(("?", ".", "!", "\u2026"))
    return TEXTS.find("consent_words.question", question=title, is_sentence=is_sentence)


def _quote(name: str, stated: str, sections: SimpleNamespace) -> Statement:
    text = " ".join(stated.split())
    is_short = 0 < len(text) <= _MAX_QUOTED
    sentence = text if not text or text.endswith((".", "!", "?")) else f"{text}."
    return TEXTS.find(
        "consent_words.quote",
        name=TEXTS.write(f"words.{name}"),
        is_short=is_short,
        text=sentence,
        sections=sections,
    )

"""Statements on a model, or results without one: what it is and is worth, how to read, use and cite it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from encoders.build import Build
from encoders.canonical import decimal_text
from encoders.explain.text import Counted
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.results import Results, Usefulness, Useless
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.data import SentFacts
from ldp_aggregator.statements.privacy import PromiseFacts
from ldp_aggregator.statements.rules import UNKNOWN_SHARE
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Names, RoundShare, Share


@dataclass(frozen=True, kw_only=True)
class MajorityFacts:
    """The most frequent class."""

    name: str | None
    share: Share


@dataclass(frozen=True, kw_only=True)
class UselessFacts:
    """Why a model is useless: one of three reasons, see :class:`Useless`."""

    weak: bool
    nothing: bool
    unsupported: bool
    majority: MajorityFacts
    people: bool
    """Whether more people could help, not more silos."""

    @classmethod
    def of(cls, usefulness: Usefulness | None, *, people: bool) -> Self | None:
        """Return why a model is useless; None if it is not."""
        if not (usefulness and usefulness.useless):
            return None
        share = Share(usefulness.majority_share or 0.0)
        return cls(
            weak=usefulness.useless == Useless.WEAK,
            nothing=usefulness.useless == Useless.NOTHING,
            unsupported=usefulness.useless == Useless.UNSUPPORTED,
            majority=MajorityFacts(name=usefulness.majority, share=share),
            people=people,
        )


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """The facts of model.md."""

    sent: SentFacts
    label: str
    classes: Names
    used: int
    """Number of features that the model uses."""
    features: Counted
    useless: UselessFacts | None
    validated: bool
    majority: MajorityFacts | None
    """None if the shares of the classes are unknown."""


def find_model(estimates: Estimates, usefulness: Usefulness | None) -> list[Statement]:
    """Return statements on the model: its kind, whether it is useless, and the majority share."""
    majority, sent = estimates.majority, SentFacts.of(estimates)
    facts = ModelFacts(
        sent=sent,
        label=estimates.label,
        classes=Names(estimates.classes),
        used=len(estimates.used_features),
        features=Counted(len(estimates.features), "feature"),
        useless=UselessFacts.of(usefulness, people=sent.people),
        validated=estimates.validation is not None,
        majority=MajorityFacts(name=majority.name, share=Share(majority.share)) if majority else None,
    )
    return TEXTS.section("model", facts)


def find_notices(plan: AnyPlan, usefulness: Usefulness | None) -> list[Statement]:
    """Return what a user of predictions must not miss: fake reports, and a useless model."""
    found: list[Statement] = []
    if usefulness and usefulness.alarms:
        questions = Counted(usefulness.questions, "question")
        found.append(
            TEXTS.find("poisoning.result", alarm=True, tested=usefulness.tested, questions=questions)
        )
    if useless := UselessFacts.of(usefulness, people=not isinstance(plan, SiloPlan)):
        found.append(TEXTS.find("model.useless", useless=useless))
    return found


@dataclass(frozen=True, kw_only=True)
class ResultsFacts:
    """What results were made from: the facts of method.md, reading.md and limits.md."""

    people: bool
    """Whether people reported."""
    asks_all: bool
    """Whether each person answered all questions."""
    silos: bool
    curator: bool
    classes: bool
    """Whether the survey has a label, and therefore a model."""
    all_looks: bool
    """Whether the intervals are valid at all looks, while the survey is open."""
    estimator: str
    paper: bool
    """Whether the estimator is that of the paper."""
    unknown_share: RoundShare

    @classmethod
    def of(cls, results: Results, *, all_looks: bool = False) -> Self:
        """Return what these results were made from."""
        estimates = results.estimates
        return cls(
            people=results.has_people,
            asks_all=results.plan.asks_all,
            silos=estimates.silos is not None,
            curator=results.is_curator,
            classes=results.has_label,
            all_looks=all_looks,
            estimator=estimates.estimator,
            paper=estimates.estimator == "paper",
            unknown_share=RoundShare(UNKNOWN_SHARE),
        )


def find_method(results: Results) -> list[Statement]:
    """Return statements on how the results were estimated."""
    return TEXTS.section("method", ResultsFacts.of(results))


def find_terms(results: Results, *, all_looks: bool = False) -> list[Statement]:
    """Return statements that explain the terms of the results."""
    return TEXTS.section("reading", ResultsFacts.of(results, all_looks=all_looks))


def find_limits(results: Results) -> list[Statement]:
    """Return the limits of a model, or of results without one."""
    return TEXTS.section("limits", ResultsFacts.of(results))


@dataclass(frozen=True, kw_only=True)
class CitationFacts:
    """The facts of citation.md."""

    survey: str
    digest: str
    epsilon: str
    asks_all: bool
    """Whether each person answered all questions."""
    classes: bool
    """Whether the survey has a label."""
    sent: SentFacts
    curator: PromiseFacts | None
    build: Build | None
    """The build that computed the results, if it is known."""


def find_citation(results: Results) -> list[Statement]:
    """Return the statements that say how to cite the results, the software and the method."""
    plan, curator = results.plan, results.privacy.curator
    facts = CitationFacts(
        survey=plan.id,
        digest=plan.digest,
        epsilon=decimal_text(plan.epsilon),
        asks_all=plan.asks_all,
        classes=results.has_label,
        sent=SentFacts.of(results.estimates),
        curator=PromiseFacts.of(curator) if curator else None,
        build=results.build,
    )
    return TEXTS.section("citation", facts)

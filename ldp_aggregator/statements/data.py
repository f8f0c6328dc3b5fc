"""Statements on the data: what was sent and rejected, classes and features, and a validation round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from encoders.explain.text import Counted
from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.estimation.silo_influence import SiloSummary
from ldp_aggregator.privacy_statement import PrivacyStatement
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.rules import is_known
from ldp_aggregator.stores.schedule import format_time
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Count, FirstNames, Names, Share, format_share


@dataclass(frozen=True, kw_only=True)
class SentFacts:
    """What people and silos sent, for several text files."""

    people: bool
    """Whether people were asked, not silos alone."""
    silos: bool
    pooled: bool
    """Whether silos and people were asked."""
    reports: Counted
    """Of people."""
    answered: Count
    """The number of these reports."""
    one_report: bool
    messages: Counted
    """Of silos."""
    empty: bool

    @classmethod
    def of(cls, estimates: Estimates) -> Self:
        """Count what was sent."""
        silos = estimates.silos
        messages = silos.messages if silos else 0
        reports = estimates.reports - messages
        return cls(
            people=is_of_people(estimates),
            silos=silos is not None,
            pooled=silos is not None and silos.people is not None,
            reports=Counted(reports, "report"),
            answered=Count(reports),
            one_report=reports == 1,
            messages=Counted(messages, "message"),
            empty=not estimates.reports,
        )


def is_of_people(estimates: Estimates) -> bool:
    """Return whether people reported, not silos alone."""
    return estimates.silos is None or estimates.silos.people is not None


@dataclass(frozen=True, kw_only=True)
class RejectedFacts:
    """Rejected reports and messages."""

    count: Count
    reasons: Names
    """Each with its number."""

    @classmethod
    def of(cls, rejected: Mapping[str, int]) -> Self | None:
        """Return the facts about numbers by reason; None if there are none."""
        reasons = Names(f"{Count(count)} {reason}" for reason, count in sorted(rejected.items()))
        return cls(count=Count(sum(rejected.values())), reasons=reasons) if rejected else None


@dataclass(frozen=True, kw_only=True)
class SiloRowsFacts:
    """The rows that messages of silos are about."""

    rows: Counted
    """An estimate."""
    margin: str
    """Half of the 95% interval, by noise."""
    surveys: Count
    several: bool
    """Whether there are several surveys."""
    simulated: bool


@dataclass(frozen=True, kw_only=True)
class DataFacts:
    """The facts of data.md."""

    sent: SentFacts
    silos: SiloRowsFacts | None
    simulated: bool
    """Whether reports were simulated."""
    validation: bool
    """Whether it is a validation round."""
    rejected: RejectedFacts | None
    lost: Count
    """Reports and messages, after they were acknowledged."""
    unknown_counters: Count
    """Counters that may lack more reports."""
    unknown_ids: Count
    """Reports and messages that would count again."""
    backups: Names
    """The times of the backups that were restored."""
    asked: Counted | None
    """The questions, if each person answered all."""
    lacking: Names
    """The questions that lack answers of some people, with their numbers."""


def find_data(estimates: Estimates, privacy: PrivacyStatement, *, validation: bool) -> list[Statement]:
    """Return statements on the data of people and silos; `validation` is true for a validation round."""
    silos, people = estimates.silos, privacy.people
    all_of = people.questions if people and people.asks_all else ()
    lacks = [(each.question, people.reports - each.reports) for each in all_of] if people else []
    facts = DataFacts(
        sent=SentFacts.of(estimates),
        silos=SiloRowsFacts(
            rows=Counted(max(round(silos.rows), 0), "row"),
            margin=f"{Z95 * silos.rows_stderr:,.0f}",
            surveys=Count(silos.surveys),
            several=silos.surveys > 1,
            simulated=any(each.simulated for each in privacy.silos),
        )
        if silos
        else None,
        simulated=privacy.simulated,
        validation=validation,
        rejected=RejectedFacts.of(privacy.rejected),
        lost=Count(privacy.losses.reports),
        unknown_counters=Count(privacy.losses.counters),
        unknown_ids=Count(privacy.losses.ids),
        backups=Names(f"{format_time(each)} UTC" for each in privacy.losses.backups),
        asked=Counted(len(all_of), "question") if all_of else None,
        lacking=Names(f"{name} lacks {Counted(lack, 'answer')}" for name, lack in lacks if lack),
    )
    return TEXTS.section("data", facts)


@dataclass(frozen=True, kw_only=True)
class SiloInfluenceFacts:
    """How far one message of a lying silo could move estimates, see :class:`SiloInfluence`."""

    rows_limit: Counted
    prior: str
    conditionals: str
    """Of each class."""
    with_noise: str
    """The largest move of any estimate by a message with invented noise."""


@dataclass(frozen=True, kw_only=True)
class SilosFacts:
    """The facts of silos.md."""

    label: str
    pooled: bool
    """Whether estimates of several surveys are pooled."""
    influence: SiloInfluenceFacts | None


def find_silos(silos: SiloSummary, label: str, classes: tuple[str, ...]) -> list[Statement]:
    """Return statements on the errors of estimates from silos, and on the influence of one lying silo."""
    influence = None
    if moves := silos.influence:
        pairs = zip(classes, moves.conditionals.tolist(), strict=True)
        influence = SiloInfluenceFacts(
            rows_limit=Counted(silos.rows_limit, "row"),
            prior=format_share(moves.prior.max()),
            conditionals=", ".join(f"{name} {format_share(move)}".strip() for name, move in pairs),
            with_noise=format_share(
                max([*moves.conditionals_with_noise, *(moves.prior_with_noise if label else ())])
            ),
        )
    return TEXTS.section("silos", SilosFacts(label=label, pooled=silos.pooled, influence=influence))


@dataclass(frozen=True, kw_only=True)
class LargestClassFacts:
    """The most frequent class, with the 95% interval of its share."""

    name: str
    known: bool
    share: Share
    low: Share
    high: Share


@dataclass(frozen=True, kw_only=True)
class ClassesFacts:
    """The facts of features.md."""

    people: bool
    label: str
    largest: LargestClassFacts | None
    features: Counted
    differing: FirstNames
    """The features in which the classes are distinguishable."""
    count: int
    """Their number."""


def find_classes_and_features(
    estimates: Estimates, features: Sequence[FeatureResult | NumberResult]
) -> list[Statement]:
    """Return the most frequent class, and the features in which the classes are distinguishable.

    Parameters
    ----------
    estimates : Estimates
        With a label.
    features : sequence of FeatureResult and NumberResult
        Its features; several answers to one question are one feature.
    """
    majority, prior, largest = estimates.majority, estimates.raw_prior, None
    if majority:
        low, high, stderr = (float(each[majority.place]) for each in (prior.low, prior.high, prior.stderr))
        largest = LargestClassFacts(
            name=majority.name,
            known=is_known(low, high, stderr=stderr),
            share=Share(majority.share),
            low=Share(low),
            high=Share(high),
        )
    differing = FirstNames(each.name for each in features if each.distinguishable)
    facts = ClassesFacts(
        people=is_of_people(estimates),
        label=estimates.label,
        largest=largest,
        features=Counted(len(features), "feature"),
        differing=differing,
        count=len(differing),
    )
    return TEXTS.section("features", facts)


@dataclass(frozen=True, kw_only=True)
class ValidationFacts:
    """The facts of validation.md."""

    survey: str
    reports: Counted
    rejected: RejectedFacts | None
    known: bool
    """Whether the reports show the accuracy."""
    accuracy: Share
    """Of the model with all features."""
    low: Share
    high: Share
    features: int
    selected: Names
    """The features that the model keeps; empty if it keeps all."""
    count: int
    """Their number."""


def find_validation(validation: Estimates, rejected: Mapping[str, int]) -> list[Statement]:
    """Return the statements about the results of a validation round.

    Parameters
    ----------
    validation : Estimates
        Of the round.
    rejected : mapping from str to int
        Numbers of its rejected reports by reason.
    """
    result = validation.validation_result
    assert result is not None
    accuracy, low, high = (
        min(max(float(each), 0.0), 1.0)
        for each in (result.accuracy.value, result.accuracy.low, result.accuracy.high)
    )
    selected = Names(() if result.selected is None else result.selected_features)
    facts = ValidationFacts(
        survey=validation.survey,
        reports=Counted(validation.reports, "device"),
        rejected=RejectedFacts.of(rejected),
        known=is_known(low, high, stderr=float(result.accuracy.stderr)),
        accuracy=Share(accuracy),
        low=Share(low),
        high=Share(high),
        features=len(result.features),
        selected=selected,
        count=len(selected),
    )
    return TEXTS.section("validation", facts)

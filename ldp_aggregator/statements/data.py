"""Statements on the data: what was sent and rejected, classes and features, and a validation round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.estimation.silo_influence import SiloSummary
from ldp_aggregator.privacy_statement import PrivacyStatement
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.rules import is_known
from ldp_aggregator.stores.schedule import format_time
from ldp_aggregator.wording import values
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import quote


def count_sent(estimates: Estimates) -> SimpleNamespace:
    silos = estimates.silos
    messages = silos.messages if silos else 0
    reports = estimates.reports - messages
    return SimpleNamespace(
        people=is_of_people(estimates),
        silos=silos is not None,
        pooled=silos is not None and silos.people is not None,
        reports=values.Counted(reports, "report"),
        answered=values.Count(reports),
        one_report=reports == 1,
        messages=values.Counted(messages, "message"),
        empty=not estimates.reports,
    )


def is_of_people(estimates: Estimates) -> bool:
    return estimates.silos is None or estimates.silos.people is not None


def _describe_rejected(rejected: Mapping[str, int]) -> SimpleNamespace | None:
    reasons = values.Names(f"{values.Count(count)} {reason}" for reason, count in sorted(rejected.items()))
    return SimpleNamespace(count=values.Count(sum(rejected.values())), reasons=reasons) if rejected else None


def find_data(estimates: Estimates, privacy: PrivacyStatement, *, validation: bool) -> list[Statement]:
    silos, people = estimates.silos, privacy.people
    all_of = people.questions if people and people.asks_all else ()
    lacks = [(each.question, people.reports - each.reports) for each in all_of] if people else []
    return TEXTS.section(
        "data",
        sent=count_sent(estimates),
        silos=SimpleNamespace(
            rows=values.Counted(max(round(silos.rows), 0), "row"),
            margin=values.localise(f"{Z95 * silos.rows_stderr:,.0f}"),
            surveys=values.Count(silos.surveys),
            several=silos.surveys > 1,
            simulated=any(each.simulated for each in privacy.silos),
        )
        if silos
        else None,
        simulated=privacy.simulated,
        validation=validation,
        rejected=_describe_rejected(privacy.rejected),
        # reports and messages, after they were acknowledged
        lost=values.Count(privacy.losses.reports),
        # counters that may lack more reports
        unknown_counters=values.Count(privacy.losses.counters),
        # reports and messages that would count again
        unknown_ids=values.Count(privacy.losses.ids),
        # the times of the backups that were restored
        backups=values.Names(values.write_time(format_time(each)) for each in privacy.losses.backups),
        # the questions, if each person answered all
        asked=values.Counted(len(all_of), "question") if all_of else None,
        # the questions that lack answers of some people, with their numbers
        lacking=values.Names(
            TEXTS.write("labels.lacks", question=quote(name), answers=values.Counted(lack, "answer"))
            for name, lack in lacks
            if lack
        ),
    )


def find_silos(silos: SiloSummary, label: str, classes: tuple[str, ...]) -> list[Statement]:
    influence = None
    if moves := silos.influence:
        pairs = zip((quote(label, each) for each in classes), moves.conditionals.tolist(), strict=True)
        influence = SimpleNamespace(
            rows_limit=values.Counted(silos.rows_limit, "row"),
            prior=values.format_share(moves.prior.max()),
            conditionals=", ".join(f"{name} {values.format_share(move)}".strip() for name, move in pairs),
            # the largest move of any estimate by a message with invented noise
            with_noise=values.format_share(
                max([*moves.conditionals_with_noise, *(moves.prior_with_noise if label else ())])
            ),
        )
    return TEXTS.section("silos", label=quote(label), pooled=silos.pooled, influence=influence)


def find_classes_and_features(
    estimates: Estimates, features: Sequence[FeatureResult | NumberResult]
) -> list[Statement]:
    """Return the most frequent class, and the joined features that distinguish the classes."""
    majority, prior, largest = estimates.majority, estimates.raw_prior, None
    if majority:
        low, high, stderr = (float(each[majority.place]) for each in (prior.low, prior.high, prior.stderr))
        largest = SimpleNamespace(
            name=quote(estimates.label, majority.name),
            known=is_known(low, high, stderr=stderr),
            share=values.Share(majority.share),
            low=values.Share(low),
            high=values.Share(high),
        )
    differing = values.FirstNames(quote(each.name) for each in features if each.distinguishable)
    return TEXTS.section(
        "features",
        people=is_of_people(estimates),
        label=quote(estimates.label),
        largest=largest,
        features=values.Counted(len(features), "feature"),
        # the features in which the classes are distinguishable
        differing=differing,
        count=len(differing),
    )


def find_validation(validation: Estimates, rejected: Mapping[str, int]) -> list[Statement]:
    """Return the statements about a validation round with these numbers of rejected reports."""
    result = validation.validation_result
    assert result is not None
    accuracy, low, high = (
        min(max(float(each), 0.0), 1.0)
        for each in (result.accuracy.value, result.accuracy.low, result.accuracy.high)
    )
    selected = values.Names(() if result.selected is None else map(quote, result.selected_features))
    return TEXTS.section(
        "validation",
        survey=validation.survey,
        reports=values.Counted(validation.reports, "device"),
        rejected=_describe_rejected(rejected),
        known=is_known(low, high, stderr=float(result.accuracy.stderr)),
        # of the model with all features
        accuracy=values.Share(accuracy),
        low=values.Share(low),
        high=values.Share(high),
        features=len(result.features),
        # the features that the model keeps; empty if it keeps all
        selected=selected,
        count=len(selected),
    )

"""Statements on the classes and features, and the warnings that a reader needs before using an estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from encoders.explain.text import Counted
from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult
from ldp_aggregator.estimation.pooling import CONTRADICTION_LEVEL
from ldp_aggregator.estimation.table_result import TableResult
from ldp_aggregator.estimation.tables.noisy_tables import COUNT_TABLE, name_counted
from ldp_aggregator.statements.poisoning import find_alarms
from ldp_aggregator.statements.rules import find_margins, is_known
from ldp_aggregator.statements.words import TEXTS
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import MAX_MARGIN, FirstNames, Names, NumberMargin, Share, ShareMargin


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
    majority, prior = estimates.majority, estimates.raw_prior
    names = [each.name for each in features if each.distinguishable]
    values: dict[str, object] = {
        "people": is_of_people(estimates),
        "known": False,
        "label": estimates.label,
        "differ": names,
        "count": len(names),
        "features": Counted(len(features), "feature"),
        "names": FirstNames(names),
    }
    if majority:
        low, high, stderr = (float(each[majority.place]) for each in (prior.low, prior.high, prior.stderr))
        values |= {
            "known": is_known(low, high, stderr=stderr),
            "largest": majority.name,
            "share": Share(majority.share),
            "low": Share(low),
            "high": Share(high),
        }
    return TEXTS.section("features", values)


def is_of_people(estimates: Estimates) -> bool:
    """Return whether people reported, not silos alone."""
    return estimates.silos is None or estimates.silos.people is not None


def find_warnings(estimates: Estimates) -> list[Statement]:
    """Return the warnings that a reader needs before using the estimates."""
    return list(_find_warnings(estimates))


def _find_warnings(estimates: Estimates) -> Iterator[Statement]:
    people = is_of_people(estimates)
    if not estimates.reports:
        yield TEXTS.find("warnings.empty", people=people)
        return
    if estimates.silos and estimates.silos.contradictions:
        yield TEXTS.find(
            "warnings.contradiction",
            names=Names(estimates.silos.contradictions),
            level=f"{CONTRADICTION_LEVEL:g}",
        )
    for feature in estimates.features:
        if warning := find_feature_warning(feature, estimates.classes):
            yield warning
    for table in estimates.tables:
        if table.n and (warning := _find_noise(table, table.rows, table.mechanism, table.n)):
            yield warning
    yield from find_alarms(estimates.poisoning)
    if estimates.validation:
        for warning in find_warnings(estimates.validation):
            yield TEXTS.find("warnings.of-round", survey=estimates.validation.survey, warning=warning)
    if not np.isfinite(estimates.raw_prior.stderr).all():
        yield TEXTS.find("warnings.no-prior", label=estimates.label)


def find_feature_warning(feature: FeatureResult | NumberResult, classes: Sequence[str]) -> Statement | None:
    """Return the warning about one feature, given the names of all classes; None if there is none."""
    if isinstance(feature, NumberResult):
        questions = {"mean": feature.mean_question, "square": feature.square_question}
        mechanisms, n = (
            [each.mechanism for each in questions.values() if each.mechanism],
            feature.mean_question.n,
        )
        empty = [name for name, each in questions.items() if not each.n]
    else:
        mechanisms, n = [feature.mechanism] if feature.mechanism else [], feature.n
        empty = []
    if not mechanisms:
        return TEXTS.find("warnings.not-asked", feature=feature.name, classes=len(classes) > 1)
    _, counted = name_counted(mechanisms[0])
    if not n and len(empty) != 1:
        return TEXTS.find("warnings.no-reports", feature=feature.name, counted=counted)
    if len(empty) == 1 and counted == "reports":  # a table of counts measures means and squares
        [other] = {"mean", "square"} - set(empty)
        return TEXTS.find("warnings.no-moment", feature=feature.name, moment=empty[0], other=other)
    joint = feature.frequencies if isinstance(feature, FeatureResult) else None
    if joint and len(classes) > 1 and not np.isfinite(joint.stderr).any():
        return TEXTS.find("warnings.without-label", feature=feature.name)
    return _find_noise(feature, classes, mechanisms[0], n)


def _find_noise(
    result: FeatureResult | NumberResult | TableResult, groups: Sequence[str], mechanism: str, n: int
) -> Statement | None:
    """Return the warning that estimates are noise: of a feature in some classes, of a table in some rows."""
    margins, useful = find_margins(result)
    if not (noisy := margins > useful).any():
        return None
    one, counted = name_counted(mechanism)
    write = NumberMargin if isinstance(result, NumberResult) else ShareMargin
    widest = float(margins.max())
    needed = n * (widest / useful) ** 2  # of few people in a class, not even the margin is known
    is_measured = len(groups) == 1 or isinstance(result, NumberResult) or widest < MAX_MARGIN
    return TEXTS.find(
        "warnings.noise",
        feature=result.name,
        number=isinstance(result, NumberResult),
        table=isinstance(result, TableResult),
        ordered=isinstance(result, FeatureResult) and result.ordered and len(groups) == 1,
        grouped=len(groups) > 1,
        some=not noisy.all(),
        noisy=FirstNames([name for name, each in zip(groups, noisy, strict=True) if each]),
        group=groups[int(margins.argmax())],
        scales=COUNT_TABLE not in mechanism and math.isfinite(needed) and is_measured,
        n=Counted(n, one, counted),
        margin=write(widest),
        useful=write(useful),
        needed=Counted(_round_up(needed) if math.isfinite(needed) else 0, one, counted),
    )


def _round_up(number: float) -> int:
    """Return a number rounded up to two digits."""
    digits = max(len(str(int(number))) - 2, 0)
    return int(-(-number // 10**digits) * 10**digits)

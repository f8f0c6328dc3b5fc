"""Warnings that a reader needs before using an estimate, and statements on fake reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np

from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult
from ldp_aggregator.estimation.poisoning.influence import FAKE_SHARE
from ldp_aggregator.estimation.poisoning.summary import PoisoningSummary, SupportTests, Untested
from ldp_aggregator.estimation.pooling import CONTRADICTION_LEVEL
from ldp_aggregator.estimation.table_result import TableResult
from ldp_aggregator.estimation.tables.noisy_tables import COUNT_TABLE
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.data import is_of_people
from ldp_aggregator.statements.rules import find_margins
from ldp_aggregator.wording import values
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import quote


def find_warnings(estimates: Estimates) -> list[Statement]:
    return list(_find_warnings(estimates))


def _find_warnings(estimates: Estimates) -> Iterator[Statement]:
    people, classes = is_of_people(estimates), [quote(estimates.label, each) for each in estimates.classes]
    if not estimates.reports:
        yield TEXTS.find("warnings.empty", people=people)
        return
    if estimates.silos and estimates.silos.contradictions:
        yield TEXTS.find(
            "warnings.contradiction",
            names=values.Names(map(quote, estimates.silos.contradictions)),
            level=values.localise(f"{CONTRADICTION_LEVEL:g}"),
        )
    for feature in estimates.features:
        if warning := find_feature_warning(feature, classes):
            yield warning
    for table in estimates.tables:
        if table.n and (warning := _find_noise(table, table.rows, table.mechanism, table.n)):
            yield warning
    yield from find_alarms(estimates.poisoning)
    if estimates.validation:
        for warning in find_warnings(estimates.validation):
            yield TEXTS.find("warnings.of-round", survey=estimates.validation.survey, warning=warning)
    if not np.isfinite(estimates.raw_prior.stderr).all():
        yield TEXTS.find("warnings.no-prior", label=quote(estimates.label))


def find_feature_warning(feature: FeatureResult | NumberResult, classes: Sequence[str]) -> Statement | None:
    if isinstance(feature, NumberResult):
        questions = {"mean": feature.mean_question, "square": feature.square_question}
        mechanisms = [each.mechanism for each in questions.values() if each.mechanism]
        empty = [name for name, each in questions.items() if each.mechanism and not each.n]
        n = feature.mean_question.n
    else:
        mechanisms, n = [feature.mechanism] if feature.mechanism else [], feature.n
        empty = []
    if not mechanisms:
        return TEXTS.find("warnings.not-asked", feature=quote(feature.name), classes=len(classes) > 1)
    if not n and len(empty) in (0, len(mechanisms)):
        counted = values.name_counted(mechanisms[0])
        kinds = {"rows": counted == "row", "both": counted == "report-or-row"}
        return TEXTS.find("warnings.no-reports", feature=quote(feature.name), **kinds)
    if len(empty) == 1:
        return TEXTS.find("warnings.no-moment", feature=quote(feature.name), is_mean=empty == ["mean"])
    joint = feature.frequencies if isinstance(feature, FeatureResult) else None
    if joint and len(classes) > 1 and not np.isfinite(joint.stderr).any():
        return TEXTS.find("warnings.without-label", feature=quote(feature.name))
    return _find_noise(feature, classes, mechanisms[0], n)


def _find_noise(
    result: FeatureResult | NumberResult | TableResult, groups: Sequence[str], mechanism: str, n: int
) -> Statement | None:
    margins, useful = find_margins(result)
    if not (noisy := margins > useful).any():
        return None
    counted = values.name_counted(mechanism)
    write = values.NumberMargin if isinstance(result, NumberResult) else values.ShareMargin
    widest = float(margins.max())
    needed = n * (widest / useful) ** 2  # of few people in a class, not even the margin is known
    is_measured = len(groups) == 1 or isinstance(result, NumberResult) or widest < values.MAX_MARGIN
    return TEXTS.find(
        "warnings.noise",
        feature=quote(result.name),
        number=isinstance(result, NumberResult),
        table=isinstance(result, TableResult),
        # whether cumulative shares are shown besides
        ordered=isinstance(result, FeatureResult) and bool(result.ordered) and len(groups) == 1,
        grouped=len(groups) > 1,
        some=not noisy.all(),
        noisy=values.FirstNames([name for name, each in zip(groups, noisy, strict=True) if each]),
        group=groups[int(margins.argmax())],
        # whether it is known how many are needed
        scales=COUNT_TABLE not in mechanism and math.isfinite(needed) and is_measured,
        n=values.Counted(n, counted),
        margin=write(widest),
        # A wider margin is noise
        useful=write(useful),
        needed=values.Counted(values.round_up(needed, 2) if math.isfinite(needed) else 0, counted),
    )


# -- fake reports ---------------------------------------------------------------------------------


def find_poisoning(poisoning: PoisoningSummary, label: str) -> list[Statement]:
    influence = None
    if largest := poisoning.largest_influence:
        check, move = largest
        name, _, feature = move.estimate.partition(" of ")
        influence = SimpleNamespace(
            fake_share=values.RoundShare(FAKE_SHARE),
            question=quote(check.question),
            estimate=_name_estimate(name, label, quote(feature)),
            # how far they could move the estimate, in standard errors
            stderrs=values.localise(f"{move.largest:#.3g}".rstrip(".")),
        )
    return TEXTS.section(
        "poisoning",
        alarm=bool(poisoning.alarms),
        tested=len(poisoning.questions) - len(poisoning.untested),
        questions=values.Counted(len(poisoning.questions), "question"),
        envelopes=poisoning.asks_all,
        influence=influence,
    )


def _name_estimate(name: str, label: str, feature: str) -> str:
    """Return what a reader sees instead of a name of :class:`Influence`, of each class or of all people."""
    of_all = name.removeprefix("overall_")
    classes = bool(label) and of_all == name
    estimate = TEXTS.write(f"estimates.{of_all.replace('_', '-')}", label=quote(label), classes=classes)
    if label and not classes:
        estimate = TEXTS.write("estimates.of-all", estimate=estimate)
    return TEXTS.write("estimates.of-feature", estimate=estimate, feature=feature) if feature else estimate


def find_alarms(poisoning: PoisoningSummary | None) -> Iterator[Statement]:
    for check in poisoning.alarms if poisoning else ():
        assert isinstance(check.support, SupportTests)
        deviations = _describe_alarm(check.support)
        yield TEXTS.find("warnings.fake-reports", question=quote(check.question), deviations=deviations)


def _describe_alarm(tests: SupportTests) -> Statement:
    parts = []
    if tests.sizes < tests.level:
        parts.append(TEXTS.find("poisoning-details.sizes", p_value=_power_above(tests.sizes)))
    if tests.pairs < tests.level:
        pairs = values.Names(
            TEXTS.write(
                "poisoning-details.pair",
                first=each.values[0],
                second=each.values[1],
                reports=values.localise(f"{each.reports:,.0f}"),
                expected=values.localise(f"{each.expected:,.0f}"),
            )
            for each in tests.suspicious_pairs
        )
        parts.append(TEXTS.find("poisoning-details.pairs", pairs=pairs, p_value=_power_above(tests.pairs)))
    if len(parts) == 1:
        return parts[0]
    return TEXTS.find("poisoning-details.both", sizes=parts[0], pairs=parts[1])


def _power_above(p_value: float) -> str:
    return f"1e{math.floor(math.log10(max(p_value, 1e-300))) + 1:d}"


def find_untested(poisoning: PoisoningSummary) -> list[Statement]:
    reasons: dict[object, list[str]] = {}
    for check in poisoning.untested:
        reasons.setdefault(check.support, []).append(quote(check.question))
    return [
        TEXTS.find(
            "poisoning-details.untested",
            mechanism=reason == Untested.MECHANISM,
            questions=values.Names(dict.fromkeys(questions)),
        )
        for reason, questions in reasons.items()
    ]

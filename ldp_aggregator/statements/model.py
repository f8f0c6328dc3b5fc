"""Statements on a model, or results without one: what it is and is worth, how to read, use and cite it."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

from encoders.canonical import decimal_text
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.results import Results, Usefulness, Useless
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.data import count_sent
from ldp_aggregator.statements.privacy import describe_promise
from ldp_aggregator.statements.rules import UNKNOWN_SHARE, find_known_majority
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Counted, Names, RoundShare, Share, localise, quote


def _describe_uselessness(
    usefulness: Usefulness | None, *, people: bool, known: bool = True
) -> SimpleNamespace | None:
    """Return why a model is useless, or None; more `people` could help, or more silos.

    `known` is whether the results show the share of the most frequent class.
    """
    if not (usefulness and usefulness.useless):
        return None
    share = Share(usefulness.majority_share or 0.0)
    return SimpleNamespace(
        unknown=not known,
        weak=usefulness.useless == Useless.WEAK,
        nothing=usefulness.useless == Useless.NOTHING,
        unsupported=usefulness.useless == Useless.UNSUPPORTED,
        majority=SimpleNamespace(name=usefulness.majority, share=share),
        people=people,
    )


def find_model(estimates: Estimates, usefulness: Usefulness | None) -> list[Statement]:
    majority, sent = find_known_majority(estimates), count_sent(estimates)
    return TEXTS.section(
        "model",
        sent=sent,
        label=quote(estimates.label),
        classes=Names(quote(estimates.label, each) for each in estimates.classes),
        used=len(estimates.used_features),
        features=Counted(len(estimates.features), "feature"),
        useless=_describe_uselessness(usefulness, people=sent.people, known=majority is not None),
        validated=estimates.validation is not None,
        majority=majority
        and SimpleNamespace(name=quote(estimates.label, majority.name), share=Share(majority.share)),
    )


def find_notices(plan: AnyPlan, usefulness: Usefulness | None, *, known: bool = True) -> list[Statement]:
    found: list[Statement] = []
    if usefulness and usefulness.alarms:
        questions = Counted(usefulness.questions, "question")
        found.append(
            TEXTS.find("poisoning.result", alarm=True, tested=usefulness.tested, questions=questions)
        )
    if useless := _describe_uselessness(usefulness, people=not isinstance(plan, SiloPlan), known=known):
        found.append(TEXTS.find("model.useless", useless=useless))
    return found


def _describe_origin(results: Results, *, all_looks: bool) -> SimpleNamespace:
    """Return the facts of method.md, reading.md and limits.md; `all_looks` while a survey is open."""
    estimates = results.estimates
    return SimpleNamespace(
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


def explain(topic: str, results: Results, *, all_looks: bool = False) -> list[Statement]:
    """Return the method, how to read the results ("reading"), or their limits."""
    return TEXTS.section(topic, _describe_origin(results, all_looks=all_looks))


_ABBREVIATED = ("DE", "SUE", "OUE", "SHE", "THE", "SS", "sign", "sign-vector", "piecewise", "count_table")


def explain_mechanisms(names: Iterable[str]) -> list[str]:
    """Return a sentence for each abbreviated mechanism among the names."""
    used = {name.partition("(")[0] for name in names}
    return [TEXTS.write(f"mechanisms.{each}") for each in _ABBREVIATED if each in used]


def find_citation(results: Results) -> list[Statement]:
    plan, privacy, curator = results.plan, results.privacy, results.privacy.curator
    is_simulated = privacy.simulated or any(each.simulated for each in privacy.silos)
    return TEXTS.section(
        "citation",
        survey=plan.id,
        digest=plan.digest,
        epsilon=localise(decimal_text(plan.epsilon)),
        asks_all=plan.asks_all,
        classes=results.has_label,
        sent=count_sent(results.estimates),
        curator=describe_promise(curator) if curator else None,
        # whether there is a table of estimates, of true reports
        table=results.has_estimates and not (results.is_validation or is_simulated),
        silo_epsilon=Names(dict.fromkeys(each.epsilon for each in privacy.silos)),
        mechanisms=Names(dict.fromkeys(each.mechanism.name for each in plan.questions)),
        estimator=results.estimates.estimator,
        software=f"ldp-bayes {results.build}" if results.build else "ldp-bayes",
        # the build that computed the results, if it is known
        build=results.build,
    )

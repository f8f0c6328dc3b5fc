"""Publishes a collector's surveys in the store, before any request is served."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from flask import Flask

from encoders.errors import SurveyError
from encoders.survey import Plan
from encoders.survey.any_survey import load_any_plan_file
from encoders.survey.opening import PrivateKey
from encoders.survey.plan_files import load_signature_file, signature_path
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.collector.app import create_app
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.sealed_reports import has_relay, load_keys
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.snapshot import counter_names, read_stored_plan
from ldp_aggregator.stores import (
    MemoryStore,
    Store,
    StoreError,
    identify_file,
    open_store,
)
from ldp_aggregator.stores.base import count_reports
from ldp_aggregator.stores.failure import MissingSurveyError


@dataclass(frozen=True, kw_only=True)
class PublishedSurveys:
    """Surveys that are published in the store, ready to be served."""

    settings: CollectorSettings
    plans: list[Plan | SiloPlan]
    signatures: dict[str, bytes]
    """The signatures of those surveys that have a signature file beside their files."""
    guarantee: str
    """What the store guarantees for an acknowledged report."""
    keys: dict[str, PrivateKey] = field(default_factory=dict, repr=False)
    """The private keys of those surveys that have a relay."""
    report_counts: Mapping[str, int] = field(default_factory=dict)
    """The number of reports of each survey in the store, when it was read; also of surveys without a file."""
    new_store: bool = False
    """Whether the store had no survey before these were published."""
    store_file: tuple[int, int] | None = None
    """Identifies the file of a SQLite store at the start: another file is used only after a restart."""

    def make_app(self) -> Flask:
        """Make the application, in a worker.

        Raises
        ------
        StoreError
            If the store cannot be used, or lacks a survey, or is another file than at the start. A file that
            is missing is not created.
        """
        identify_file(self.settings.store, self.store_file)
        store = open_store(self.settings.store, create=False)
        guarantee = store.check_durability(self.settings.store_policy)
        _require_surveys(store, self.report_counts)
        return create_app(self.settings, store, self.signatures, guarantee, self.keys)


def publish_surveys(settings: CollectorSettings, former: PublishedSurveys | None = None) -> PublishedSurveys:
    """Read the survey files that the settings name, and publish the surveys.

    Parameters
    ----------
    settings : CollectorSettings
    former : PublishedSurveys, optional
        The surveys that this collector serves already, for a reload. The store must still have them.

    Raises
    ------
    LdpError
        If a file is not a survey or signature, or the store does not satisfy the settings, or has lost a
        survey.
    """
    plans = [load_any_plan_file(path) for path in settings.surveys]
    counts = Counter(plan.id for plan in plans)
    if repeated := [survey for survey, count in counts.items() if count > 1]:
        raise SettingsError(f"two survey files have the id {repeated[0]}: remove one, or change its id")
    _require_relay_token(settings, plans)
    signatures = _load_signatures(settings.surveys, plans)
    if former:
        identify_file(former.settings.store, former.store_file)
    store = open_store(settings.store, create=former is None)
    if isinstance(store, MemoryStore):
        raise StoreError(
            "memory:// is for tests, because each worker would count separately; use sqlite:///FILE"
        )
    try:
        guarantee = store.check_durability(settings.store_policy)
        _require_surveys(store, former.report_counts if former else ())
        keys = load_keys(zip(settings.surveys, plans, strict=True), store)
        new_store = not store.plans()
        _publish(store, plans, former.report_counts if former else ())
        report_counts = {survey: count_reports(store.totals(survey)) for survey in store.plans()}
    finally:
        store.close()
    return PublishedSurveys(
        settings=settings,
        plans=plans,
        signatures=signatures,
        keys=keys,
        guarantee=guarantee,
        report_counts=report_counts,
        new_store=new_store,
        store_file=identify_file(settings.store),
    )


def _require_relay_token(settings: CollectorSettings, plans: list[Plan | SiloPlan]) -> None:
    """Raise SettingsError if a survey has a relay, and there is no token that it could send."""
    if settings.relay_token is None and (relayed := [plan.id for plan in plans if has_relay(plan)]):
        raise SettingsError(
            f"{relayed[0]} has a relay: make a token for it (openssl rand -hex 16), and set LDP_RELAY_TOKEN "
            "or --relay-token-file"
        )


def _load_signatures(surveys: tuple[Path, ...], plans: list[Plan | SiloPlan]) -> dict[str, bytes]:
    """Return the signatures beside the survey files, by survey id."""
    signatures = {
        plan.id: load_signature_file(signature_path(path)) for path, plan in zip(surveys, plans, strict=True)
    }
    return {survey: signature for survey, signature in signatures.items() if signature}


def _require_surveys(store: Store, surveys: Collection[str]) -> None:
    """Raise MissingSurveyError if the store has lost one of the surveys."""
    if missing := set(surveys) - store.plans().keys():
        raise MissingSurveyError(missing)


def _publish(store: Store, plans: list[Plan | SiloPlan], former: Collection[str]) -> None:
    """Write the plans and texts to the store; refuse a changed plan.

    All other plans in the store that are new to this collector are published too, so that a cluster marks
    their counters. Counters of a former survey are not marked again: their server may have lost its data.
    """
    _require_texts(store, plans)
    for plan in plans:
        store.publish(plan.id, plan.json, () if plan.id in former else counter_names(plan))
        if plan.texts:
            store.set_texts(plan.id, plan.texts.json)
    for survey in store.plans().keys() - {plan.id for plan in plans} - set(former):
        with suppress(SurveyError):  # a plan of another version is not served
            plan = read_stored_plan(store, survey)
            store.publish(survey, plan.json, counter_names(plan))


def _require_texts(store: Store, plans: list[Plan | SiloPlan]) -> None:
    """Raise SettingsError for a plan whose texts are neither beside its file nor in the store."""
    stored = store.texts()
    for plan in plans:
        if plan.texts_digest and not plan.texts and plan.id not in stored:
            raise SettingsError(
                f"the texts of {plan.id} are not beside its plan: `ldp-survey compile SURVEY.toml -o "
                "PLAN.json` writes both files"
            )

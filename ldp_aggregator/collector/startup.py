"""Publishes a collector's surveys in the store, before any request is served."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from flask import Flask

from encoders.survey import Plan
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.plan_files import load_signature_file, signature_path
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.unsealing import PrivateKey
from ldp_aggregator.collector.access_tokens import Role, log_tokens
from ldp_aggregator.collector.app import create_app
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.invitations import count_tokens
from ldp_aggregator.collector.sealed_reports import load_keys
from ldp_aggregator.collector.serving.logs import log_event
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.damage import find_damage
from ldp_aggregator.snapshot_entries import counter_names, stored_counters
from ldp_aggregator.stores import (
    MemoryStore,
    Store,
    StoreError,
    StoreFailure,
    identify_file,
    open_store,
    schedule,
)
from ldp_aggregator.stores.failure import CounterError, SeenTotals
from ldp_aggregator.stores.operator_log import local_account, read_tombstones, require_living, write_log
from ldp_aggregator.stores.shards import fix_shards
from ldp_aggregator.stores.store import TEXTS, changed_plan_error, count_reports


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
    stored_plans: Mapping[str, bytes] = field(default_factory=dict)
    """The plan of each survey in the store, when it was read; also of surveys without a file, and of those
    that the store has lost since then."""
    damaged: Mapping[str, CounterError] = field(default_factory=dict)
    """What surveys of the store have lost; the others can be served."""
    seen: SeenTotals = field(default_factory=SeenTotals)
    """The largest numbers of reports that the workers have seen, also before a reload."""
    report_counts: Mapping[str, int] = field(default_factory=dict)
    deleted: Mapping[str, str] = field(default_factory=dict)
    """The surveys whose files are left out because the surveys were deleted, with the dates."""
    new_store: bool = False
    """Whether the store had no survey before these were published."""
    store_file: tuple[int, int] | None = None
    """Identifies the file of a SQLite store at the start: another file is used only after a restart."""

    def make_app(self) -> Flask:
        """Make the application, in a worker; StoreError if the store cannot be used, or is another file."""
        identify_file(self.settings.store, self.store_file)
        store = open_store(self.settings.store, create=False)
        guarantee = self.guarantee
        try:
            guarantee = store.check_durability(self.settings.store_policy)
        except StoreError as error:  # other nodes can count; each report checks the settings of its node
            if error.reason not in (StoreFailure.TIMEOUT, StoreFailure.CONNECTION_FAILED):
                raise
        store.seen = self.seen
        lost = self.damaged.keys() - self.stored_plans.keys()
        app = create_app(self.settings, store, self.signatures, guarantee, self.keys, self.stored_plans, lost)
        app.extensions["ldp"].schedules.read()  # no request has to wait for them if the store then hangs
        return app


def publish_surveys(
    settings: CollectorSettings,
    former: PublishedSurveys | None = None,
    before_writing: Callable[[], None] = lambda: None,
) -> PublishedSurveys:
    """Read the survey files that the settings name, and publish the surveys.

    Everything is checked before anything is written, and before the file of a new store is created;
    `before_writing` makes the caller's last checks. For a reload, `former` are the surveys that this
    collector serves already. Those that the store has lost since then are not published again.

    Raises LdpError if a file is not a survey or signature, or the store does not satisfy the settings, or is
    a backup, or has reports to another plan of a survey.
    """
    plans = _load_plans(settings)
    signatures = _load_signatures(settings.surveys, plans)
    if former:
        identify_file(former.settings.store, former.store_file)
    try:
        store = open_store(settings.store, create=False)
    except StoreError as error:
        if former or error.reason is not StoreFailure.FILE_MISSING:
            raise
        _check(MemoryStore(), settings, plans)
        before_writing()
        store = open_store(settings.store)
    try:
        guarantee = store.check_durability(settings.store_policy)
        settings, plans, deleted = _leave_out_deleted(store, settings, plans)
        keys = _check(store, settings, plans)
        new_store = not (store.plans() or read_tombstones(store) or store.lost_plans())
        before_writing()
        store.check_ready()  # a full disk is found before the first survey is written
        stored_plans = _publish(store, settings, plans, former)
        report_counts = _count_reports(store, stored_plans)
        counters = {survey: stored_counters(store, survey, plan) for survey, plan in stored_plans.items()}
        damaged = find_damage(store)
    finally:
        store.close()
    return PublishedSurveys(
        settings=settings,
        plans=plans,
        deleted=deleted,
        signatures=signatures,
        keys=keys,
        guarantee=guarantee,
        stored_plans=stored_plans,
        report_counts=report_counts,
        damaged=damaged,
        seen=SeenTotals(counters, former.seen if former else None),
        new_store=new_store,
        store_file=identify_file(settings.store),
    )


def _count_reports(store: Store, surveys: Iterable[str]) -> dict[str, int]:
    schedules, totals = schedule.read_all_schedules(store), store.all_totals()
    corrected = {
        each: schedules.get(each, schedule.Schedule()).correct(totals.get(each, {})) for each in surveys
    }
    return {survey: count_reports(each) for survey, each in corrected.items()}


def _load_plans(settings: CollectorSettings) -> list[Plan | SiloPlan]:
    plans = [ANY_PLANS.load(path) for path in settings.surveys]
    counts = Counter(plan.id for plan in plans)
    if repeated := [survey for survey, count in counts.items() if count > 1]:
        raise SettingsError(f"two survey files have the id {repeated[0]}: remove one, or change its id")
    if settings.store.startswith("memory:"):
        raise StoreError(
            "memory:// is for tests, because each worker would count separately; use sqlite:///FILE"
        )
    if Role.RELAY not in settings.roles and (relayed := [plan.id for plan in plans if plan.relay]):
        raise SettingsError(
            f"{relayed[0]} has a relay: make a token for it (ldp-collector access add NAME --role relay), "
            "and add --tokens tokens.toml"
        )
    return plans


def _load_signatures(surveys: tuple[Path, ...], plans: list[Plan | SiloPlan]) -> dict[str, bytes]:
    files = zip(surveys, plans, strict=True)
    signatures = {plan.id: load_signature_file(signature_path(path)) for path, plan in files}
    return {survey: signature for survey, signature in signatures.items() if signature}


def _leave_out_deleted(
    store: Store, settings: CollectorSettings, plans: list[Plan | SiloPlan]
) -> tuple[CollectorSettings, list[Plan | SiloPlan], dict[str, str]]:
    """Leave out deleted surveys; DeletedSurveyError if one of these ids has another plan now."""
    tombstones = read_tombstones(store)
    living = []
    for path, plan in zip(settings.surveys, plans, strict=True):
        if plan.id not in tombstones:
            living.append((path, plan))
        elif tombstones[plan.id].digest != plan.digest:
            require_living(store, plan.id)
    deleted = {plan.id: tombstones[plan.id].date for plan in plans if plan.id in tombstones}
    return replace(settings, surveys=tuple(path for path, _ in living)), [plan for _, plan in living], deleted


def _check(store: Store, settings: CollectorSettings, plans: list[Plan | SiloPlan]) -> dict[str, PrivateKey]:
    stored, texts = store.plans(), store.notes(TEXTS)
    for survey in stored:
        schedule.require_no_backup(survey, schedule.read_schedule(store, survey))
    for plan in plans:
        if is_changed := stored.get(plan.id, plan.json) != plan.json:
            schedule.require_usable(store, plan.id)
            totals, tokens = store.totals(plan.id), count_tokens(store, plan.id)
            if totals or tokens:
                raise changed_plan_error(plan.id, totals, tokens)
        if plan.texts_digest and not plan.texts and (is_changed or plan.id not in texts):
            raise SettingsError(
                f"the texts of {plan.id} are not beside its plan: `ldp-survey compile SURVEY.toml -o "
                "PLAN.json` writes both files"
            )
    return load_keys(zip(settings.surveys, plans, strict=True), store)


def _publish(
    store: Store,
    settings: CollectorSettings,
    plans: list[Plan | SiloPlan],
    former_surveys: PublishedSurveys | None,
) -> dict[str, bytes]:
    """Write the plans and texts to the store; return its plans, and the former ones that it has lost.

    A former plan is not published again: another collector may have replaced it, or the store lost it.
    """
    former = former_surveys.stored_plans if former_surveys else {}
    if settings.tokens != (former_surveys.settings.tokens if former_surveys else ()):
        log_tokens(store, settings.tokens)
    stored = store.plans()
    for plan in plans:
        if former.get(plan.id) == plan.json and stored.get(plan.id) != plan.json:
            continue
        shards = fix_shards(store, plan.id, None if plan.id in stored else settings.shards)
        if settings.shards not in (None, shards):
            log_event("shards-kept", logging.WARNING, survey=plan.id, shards=shards)
        store.publish(plan.id, plan.json, counter_names(plan, shards))
        if plan.texts:
            store.set_note(TEXTS, plan.id, plan.texts.json)
        if stored.get(plan.id) != plan.json:
            write_log(store, local_account(), "published", plan.id, f"digest {plan.digest}")
    left_out = {plan.id for plan in plans if former.get(plan.id) != plan.json} | read_tombstones(store).keys()
    return store.plans() | {survey: plan for survey, plan in former.items() if survey not in left_out}

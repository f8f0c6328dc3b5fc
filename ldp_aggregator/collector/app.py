"""The collector as a WSGI application."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from flask import Flask

from encoders.errors import SurveyError
from encoders.survey import Plan
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.unsealing import PrivateKey
from ldp_aggregator.collector import problems
from ldp_aggregator.collector.cached_response import CachedResponse
from ldp_aggregator.collector.cross_origin import open_to_web_pages
from ldp_aggregator.collector.dashboard.dashboard_page import page
from ldp_aggregator.collector.form_pages import form_pages
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.routes import pages
from ldp_aggregator.collector.service import CachedSchedules, Service
from ldp_aggregator.collector.serving import logs
from ldp_aggregator.collector.serving.rate_limit import (
    MAX_WRONG_TOKENS_PER_MINUTE,
    WRONG_TOKEN_TABLE_ROWS,
    RateLimit,
)
from ldp_aggregator.collector.serving.traffic import count_requests
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.snapshot import counter_names
from ldp_aggregator.stores import Store
from ldp_aggregator.stores.group_commit import GroupCommit
from ldp_aggregator.stores.shards import read_shards
from ldp_aggregator.stores.store import TEXTS, token_namespace

_LOST_PLAN = b"lost"
"""Stands for a plan that was lost; no store has it, so its reports get 503."""


def create_app(
    settings: CollectorSettings,
    store: Store,
    signatures: Mapping[str, bytes] | None = None,
    guarantee: str = "",
    keys: Mapping[str, PrivateKey] | None = None,
    stored_plans: Mapping[str, bytes] | None = None,
    lost: Collection[str] = (),
) -> Flask:
    """Make the application that serves the surveys published in a store.

    Parameters
    ----------
    settings : CollectorSettings
        With an `operator_bind`, the operator's pages are served only at the address that the application's
        configuration has under `auth.OPERATOR_ADDRESS`.
    store : Store
        An open store, used instead of `settings.store`. It holds the plans; see :meth:`Store.publish`. If it
        loses one of them, its reports are refused.
    signatures : mapping of survey id to bytes, optional
        The authors' signatures, served unchecked: the collector does not know which keys apps pin.
    guarantee : str
        What the store guarantees for an acknowledged report; /readyz returns it.
    keys : mapping of survey id to PrivateKey, optional
        The private keys of the surveys with a relay.
    stored_plans : mapping of survey id to bytes, optional
        The plans that the store had at the start. If it has lost or changed one, reports get 503.
    lost : collection of str, optional
        Surveys whose plans were lost before.

    Returns
    -------
    Flask
        Keeps nothing about senders: no log of requests, no addresses.
    """
    app = Flask(__name__, static_folder=None)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False  # cross_origin.py answers OPTIONS where it is allowed
    app.url_map.merge_slashes = False  # a path with // is answered with 404, not redirected
    plans = _read_plans(store, store.plans() | dict(stored_plans or {}))
    for plan in plans.values():
        store.require_survey(plan.id, plan.json, counter_names(plan, read_shards(store, plan.id)))
        if plan.by_invitation:
            store.require_survey(token_namespace(plan.id), b"", [each.key for each in plan.counted_questions])
    for survey in lost:
        store.require_survey(survey, _LOST_PLAN)
    group = GroupCommit(store)
    service = app.extensions["ldp"] = Service(
        settings=settings,
        store=store,
        plans=plans,
        intakes={survey: Intake(plan, store, group) for survey, plan in plans.items()},
        texts=_make_texts(plans),
        signatures=signatures or {},
        keys=keys or {},
        lost=lost,
        guarantee=guarantee,
        rate_limit=RateLimit(settings.rate, settings.trusted_proxy),
        wrong_token_limit=RateLimit(
            MAX_WRONG_TOKENS_PER_MINUTE, settings.trusted_proxy, rows=WRONG_TOKEN_TABLE_ROWS
        ),
        schedules=CachedSchedules(store),
    )
    count_requests(app, service.traffic)
    app.register_blueprint(pages)
    app.register_blueprint(page)
    if settings.page:
        app.register_blueprint(form_pages)
    open_to_web_pages(app)
    problems.register_error_handlers(app)
    return app


def _read_plans(store: Store, stored: Mapping[str, bytes]) -> dict[str, Plan | SiloPlan]:
    plans: dict[str, Plan | SiloPlan] = {}
    texts = store.notes(TEXTS)
    for survey, plan in stored.items():
        try:
            plans[survey] = ANY_PLANS.from_json(plan)
        except SurveyError:
            logs.log_event("survey-unreadable", logging.ERROR, survey=survey)
            continue
        if survey in texts:
            try:
                plans[survey] = plans[survey].with_texts(texts[survey])
            except SurveyError:
                logs.log_event("texts-unreadable", logging.ERROR, survey=survey)
    return plans


def _make_texts(plans: Mapping[str, Plan | SiloPlan]) -> dict[str, CachedResponse]:
    return {
        survey: CachedResponse(plan.texts.json, "application/json")
        for survey, plan in plans.items()
        if plan.texts
    }

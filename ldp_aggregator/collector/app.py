"""The collector as a WSGI application."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from flask import Flask

from encoders.errors import SurveyError
from encoders.survey import Plan
from ldp_aggregator.collector import problems
from ldp_aggregator.collector.dashboard.page import page
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.routes import pages
from ldp_aggregator.collector.service import MAX_BODY_BYTES, Service
from ldp_aggregator.collector.serving import logs
from ldp_aggregator.collector.serving.deadlines import Deadlines
from ldp_aggregator.collector.serving.rate_limit import WRONG_TOKEN_ROWS, WRONG_TOKENS, Rates
from ldp_aggregator.collector.windows import Windows
from ldp_aggregator.stores import Store
from ldp_aggregator.stores.group_commit import GroupCommit


def create_app(
    store: Store,
    operator_token: str | None = None,
    max_body: int = MAX_BODY_BYTES,
    signatures: Mapping[str, bytes] | None = None,
    promise: str = "",
    rates: Rates | None = None,
    gateway_token: str | None = None,
    separate_operator_address: bool = False,
) -> Flask:
    """Make the application that serves the surveys published in a store.

    Parameters
    ----------
    store : Store
        Holds the plans; see :meth:`Store.publish`.
    operator_token : str, optional
        Opens /snapshot, /estimates and /progress to whoever sends it; without one they stay closed.
    max_body : int
        Bytes of one request's body at most.
    signatures : mapping of survey id to bytes, optional
        The authors' signatures. They are passed on unchecked: which keys apps pin is not known here.
    promise : str
        What the store's acknowledgement is worth, for /readyz; see :meth:`Store.check_durability`.
    rates : Rates, optional
        How many reports each address may send; without it, any number.
    gateway_token : str, optional
        With `rates`, only posts that have it may hold several reports; they are not counted by address.
    separate_operator_address : bool
        Answer the operator's pages only where a request's environ has `auth.OPERATOR_LISTENER`.

    Returns
    -------
    Flask
        It keeps nothing about senders: no log of requests, no addresses.
    """
    app = Flask(__name__, static_folder=None)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False  # no page is for scripts of other sites
    app.url_map.merge_slashes = False  # an odd path is no such page, rather than sent elsewhere
    plans = _readable(store.plans())
    record = GroupCommit(store).record
    rates = rates or Rates()
    app.extensions["ldp"] = Service(
        store=store,
        plans=plans,
        intakes={survey: Intake(plan, store, record) for survey, plan in plans.items()},
        windows=Windows(store),
        signatures=signatures or {},
        operator_token=operator_token,
        gateway_token=gateway_token,
        wrong_tokens=Rates(WRONG_TOKENS, rates.trusted, rows=WRONG_TOKEN_ROWS),
        separate_operator_address=separate_operator_address,
        deadlines=Deadlines(),
        max_body=max_body,
        promise=promise,
        rates=rates,
    )
    app.register_blueprint(pages)
    app.register_blueprint(page)
    problems.install(app)
    return app


def _readable(plans: Mapping[str, bytes]) -> dict[str, Plan]:
    """Read the plans; one that this version cannot read keeps no other from being served."""
    found = {}
    for survey, plan in plans.items():
        try:
            found[survey] = Plan.from_json(plan)
        except SurveyError:
            logs.tell("survey-unreadable", logging.ERROR, survey=survey)
    return found

"""What a collector is told to serve: its settings, come to surveys that are published."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Flask

from encoders.survey import Plan
from encoders.survey.plan_files import load_plan_file, load_signature_file, signature_path
from ldp_aggregator.collector.app import create_app
from ldp_aggregator.collector.service import GATEWAY_TOKEN_VARIABLE, SettingsError, read_token
from ldp_aggregator.collector.serving.rate_limit import Rates
from ldp_aggregator.stores import MemoryStore, StoreError, StorePolicy, open_store
from ldp_aggregator.training_sources import TOKEN_VARIABLE


@dataclass(frozen=True)
class Offer:
    """Surveys that are published, ready to be served.

    Attributes
    ----------
    settings : mapping
        As `ldp-collector serve` names them.
    plans : list of Plan
    signatures : dict of survey id to bytes
        Of those that lie signed beside their files.
    promise : str
        What the store's acknowledgement is worth.
    token : str or None
        The operator's.
    gateway_token : str or None
        The gateways'.
    """

    settings: Mapping[str, Any]
    plans: list[Plan]
    signatures: dict[str, bytes]
    promise: str
    token: str | None
    gateway_token: str | None

    def make_app(self) -> Flask:
        """Make the application, in a worker."""
        store = open_store(self.settings["store"])
        promise = store.check_durability(_policy(self.settings))
        rates = Rates(self.settings["rate"], self.settings["trusted_proxy"])
        return create_app(
            store,
            self.token,
            signatures=self.signatures,
            promise=promise,
            rates=rates,
            gateway_token=self.gateway_token,
            separate_operator_address=self.settings["operator_bind"] is not None,
        )


def prepare(settings: Mapping[str, Any]) -> Offer:
    """Read the files that the settings name, and publish the surveys.

    Raises
    ------
    LdpError
        If a file is no survey, signature or token, or the store cannot be used as the settings ask.
    """
    token = _token(settings, TOKEN_VARIABLE, "operator")
    gateway_token = _token(settings, GATEWAY_TOKEN_VARIABLE, "gateway")
    if token is not None and gateway_token == token:
        raise SettingsError("the gateway's token is the operator's, whose pages it would open: make another")
    plans = [load_plan_file(path) for path in settings["surveys"]]
    if twice := [survey for survey, count in Counter(plan.id for plan in plans).items() if count > 1]:
        raise SettingsError(f"the survey {twice[0]} is named twice")
    signatures = _signatures(settings["surveys"], plans)
    promise = _publish(settings["store"], plans, _policy(settings))
    return Offer(settings, plans, signatures, promise, token, gateway_token)


def _token(settings: Mapping[str, Any], variable: str, owner: str) -> str | None:
    return read_token(settings[f"{owner}_token_file"], variable, os.environ.get(variable), owner)


def _policy(settings: Mapping[str, Any]) -> StorePolicy:
    return StorePolicy(settings["durability"], settings["allow_open_redis"])


def _signatures(surveys: tuple[Path, ...], plans: list[Plan]) -> dict[str, bytes]:
    """Return the signatures that lie beside the surveys, by id."""
    found = [
        (plan.id, load_signature_file(signature_path(path)))
        for path, plan in zip(surveys, plans, strict=True)
    ]
    return {survey: signature for survey, signature in found if signature}


def _publish(url: str, plans: list[Plan], policy: StorePolicy) -> str:
    """Put the plans into the store, or learn that one changed, before any request is served.

    Returns
    -------
    str
        What the store's acknowledgement is worth.
    """
    store = open_store(url)
    if isinstance(store, MemoryStore):
        raise StoreError("memory:// is for tests: each worker would count on its own; use sqlite:///FILE")
    try:
        promise = store.check_durability(policy)
        for plan in plans:
            store.publish(plan.id, plan.json)
        return promise
    finally:
        store.close()

"""Publishes a collector's surveys in the store, before any request is served."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from flask import Flask

from encoders.survey import Plan
from encoders.survey.plan_files import load_plan_file, load_signature_file, signature_path
from ldp_aggregator.collector.app import create_app
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.stores import MemoryStore, Store, StoreError, open_store


@dataclass(frozen=True, kw_only=True)
class PublishedSurveys:
    """Surveys that are published in the store, ready to be served.

    Attributes
    ----------
    settings : CollectorSettings
    plans : list of Plan
    signatures : dict of survey id to bytes
        The signatures of those surveys that have a signature file beside their files.
    guarantee : str
        What the store guarantees for an acknowledged report.
    """

    settings: CollectorSettings
    plans: list[Plan]
    signatures: dict[str, bytes]
    guarantee: str

    def make_app(self) -> Flask:
        """Make the application, in a worker."""
        store = open_store(self.settings.store)
        guarantee = store.check_durability(self.settings.store_policy)
        return create_app(self.settings, store, self.signatures, guarantee)


def publish_surveys(settings: CollectorSettings) -> PublishedSurveys:
    """Read the survey files that the settings name, and publish the surveys.

    Raises
    ------
    LdpError
        If a file is not a survey or signature, or the store does not satisfy the settings.
    """
    plans = [load_plan_file(path) for path in settings.surveys]
    counts = Counter(plan.id for plan in plans)
    if repeated := [survey for survey, count in counts.items() if count > 1]:
        raise SettingsError(f"two survey files have the id {repeated[0]}")
    return PublishedSurveys(
        settings=settings,
        plans=plans,
        signatures=_load_signatures(settings.surveys, plans),
        guarantee=_publish(settings, plans),
    )


def _load_signatures(surveys: tuple[Path, ...], plans: list[Plan]) -> dict[str, bytes]:
    """Return the signatures beside the survey files, by survey id."""
    signatures = {
        plan.id: load_signature_file(signature_path(path)) for path, plan in zip(surveys, plans, strict=True)
    }
    return {survey: signature for survey, signature in signatures.items() if signature}


def _publish(settings: CollectorSettings, plans: list[Plan]) -> str:
    """Write the plans and texts to the store; refuse a changed plan; return what the store guarantees."""
    store = open_store(settings.store)
    if isinstance(store, MemoryStore):
        raise StoreError(
            "memory:// is for tests, because each worker would count separately; use sqlite:///FILE"
        )
    try:
        guarantee = store.check_durability(settings.store_policy)
        _require_texts(store, plans)
        for plan in plans:
            store.publish(plan.id, plan.json)
            if plan.texts:
                store.set_texts(plan.id, plan.texts.json)
        return guarantee
    finally:
        store.close()


def _require_texts(store: Store, plans: list[Plan]) -> None:
    """Raise SettingsError for a plan whose texts are neither beside its file nor in the store."""
    stored = store.texts()
    for plan in plans:
        if plan.texts_digest and not plan.texts and plan.id not in stored:
            raise SettingsError(
                f"the file of the texts of {plan.id} is not beside its plan: "
                "`ldp-survey compile SURVEY.toml -o PLAN.json` writes both"
            )

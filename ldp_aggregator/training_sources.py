"""Where totals come from: a collector, a store, a snapshot file, or archives of raw reports.

Whatever the source, the result is a snapshot, and snapshots of one plan add up; so do a survey's rounds.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from encoders.errors import LdpError
from encoders.survey import Plan
from ldp_aggregator.reports.archives import ArchiveError, Warn, read_archives
from ldp_aggregator.snapshot import Snapshot, sum_snapshots, take_snapshot
from ldp_aggregator.stores import Store, open_store

TOKEN_VARIABLE = "LDP_OPERATOR_TOKEN"  # noqa: S105 - the name of a variable, not a token
_TIMEOUT_SECONDS = 60
_EXPLANATION_BYTES = 4096


class Collected(NamedTuple):
    """What sources hold.

    Attributes
    ----------
    snapshot : Snapshot
        Of all rounds.
    validation : Snapshot or None
        Of the round that validates a model, if one was named.
    """

    snapshot: Snapshot
    validation: Snapshot | None


class SourceError(LdpError):
    """A source that yields no totals; says what to do about it."""


def read_sources(
    sources: Sequence[str],
    *,
    plan: Plan | None = None,
    surveys: Sequence[str] = (),
    token: str | None = None,
    warn: Warn = warnings.warn,
    scheduler: str | None = None,
) -> Collected:
    """Read every source and add up what they hold.

    Parameters
    ----------
    sources : sequence of str
        URLs of collectors (``http://host:8000/v1/surveys/ID``) and stores (``sqlite:///ldp.db``), and
        paths of snapshots and of archives of raw reports, concatenated, maybe compressed with gzip, of any
        size. Reports are counted once across all archives; between other sources nothing tells one report
        from another.
    plan : Plan, optional
        What the archives answer; other sources bring their own, which must be this one.
    surveys : sequence of str
        Which survey of a store to read, if it holds several; or which, if they are rounds of one.
    token : str, optional
        The operator's, for collectors.
    warn : callable
        Hears of damage to archives: what could be counted of them was.
    scheduler : str, optional
        Address of a Dask cluster to spread archives over, or "local".

    Raises
    ------
    SourceError
        If a source cannot be read, is named twice, or needs a plan, survey or token that is not given; if
        several validations are named, or nothing else.
    SnapshotError
        If a snapshot is damaged, or the sources' plans are no rounds of one survey, see
        :func:`~ldp_aggregator.snapshot.choose_covering_plan`.
    IncompleteImportError
        If an import is still bringing the survey into its store.
    """
    for names in (list(map(_whole_name, sources)), list(surveys)):
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise SourceError(f"{twice[0]} is named twice: its reports would count twice")
    reports = [source for source in sources if _is_reports(source)]
    snapshots = [
        each for source in sources if source not in reports for each in _read(source, surveys, token)
    ]
    if reports:
        snapshots.append(read_reports(reports, plan, warn, scheduler))
    if plan is not None and not reports and plan not in [each.plan for each in snapshots]:
        raise SourceError("the sources do not answer the plan that was given, which only raw reports need")
    return _apart(snapshots)


def _apart(snapshots: Sequence[Snapshot]) -> Collected:
    """Add up the rounds, and apart from them what validates a model."""
    rounds = [each for each in snapshots if not each.plan.validation]
    judged = [each for each in snapshots if each.plan.validation]
    if not rounds:
        raise SourceError(
            f"{judged[0].plan.id} validates a model, and cannot train one: name the rounds that it was made "
            "from, too"
        )
    if twice := [each.plan.id for each in judged if each.plan.validation != judged[0].plan.validation]:
        raise SourceError(f"{judged[0].plan.id} and {twice[0]} validate two models: name one of them")
    return Collected(sum_snapshots(rounds), sum_snapshots(judged) if judged else None)


def _whole_name(source: str) -> str:
    return source if "://" in source else str(Path(source).resolve())


def _is_reports(source: str) -> bool:
    """Tell an archive from a snapshot: JSON starts with a brace, neither a report nor gzip ever does."""
    if "://" in source:
        return False
    try:
        with open(source, "rb") as file:
            return file.read(1) != b"{"
    except OSError as error:
        raise SourceError(f"{source}: cannot be read: {error.strerror}") from error


def _read(source: str, surveys: Sequence[str], token: str | None) -> list[Snapshot]:
    if source.startswith(("http://", "https://")):
        return [read_collector(source, token)]
    if "://" in source:
        return read_store(source, surveys)
    return [Snapshot.from_json(Path(source).read_bytes(), source)]


def read_store(url: str, surveys: Sequence[str] = ()) -> list[Snapshot]:
    """Read one survey's totals from a store, or those of each of several.

    Raises
    ------
    SourceError
        If there is no such file, or several surveys and none is named.
    StoreError
        If the store cannot be used or lacks the survey.
    """
    store = open_existing_store(url, read_only=True)
    try:
        return [take_snapshot(store, each) for each in surveys or [_only_survey(store)]]
    finally:
        store.close()


def open_existing_store(url: str, read_only: bool = False) -> Store:
    """Open a store, but make none.

    Parameters
    ----------
    url : str
    read_only : bool
        Whether nothing will be written: then a file stays as it is.

    Raises
    ------
    SourceError
        If it is a file that is not there: opening would make an empty store where the name is misspelt.
    StoreError
        If it cannot be opened.
    """
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).is_file():
        raise SourceError(f"{url}: there is no such file")
    return open_store(url, read_only)


def _only_survey(store: Store) -> str:
    held = sorted(store.plans())
    if len(held) == 1:
        return held[0]
    if not held:
        raise SourceError("the store holds no survey yet")
    raise SourceError(
        f"the store holds several surveys, choose one, or the rounds of one, by --survey: {', '.join(held)}"
    )


def read_reports(
    paths: Sequence[str], plan: Plan | None, warn: Warn = warnings.warn, scheduler: str | None = None
) -> Snapshot:
    """Count the reports of archives exactly as a collector would: checked, and each once.

    Raises
    ------
    SourceError
        Without a plan, or if a file cannot be read or holds no reports. Single bad reports are counted as
        rejections instead.
    """
    if plan is None:
        raise SourceError(f"{paths[0]}: raw reports need the survey or plan that they answer (--plan)")
    try:
        return read_archives(plan, paths, warn, scheduler)
    except ArchiveError as error:
        raise SourceError(str(error)) from error


class _NoRedirect(HTTPRedirectHandler):
    """Follows nothing: the token is for the host that was named."""

    def redirect_request(self, *_: object) -> None:
        return None


def read_collector(url: str, token: str | None) -> Snapshot:
    """Fetch a survey's snapshot from its collector.

    Parameters
    ----------
    url : str
        ``http://host:8000/v1/surveys/ID``.
    token : str or None
        The operator's.

    Raises
    ------
    SourceError
        If the collector is out of reach, refuses, or sends no snapshot.
    """
    if not token:
        raise SourceError(f"{url}: reading a collector needs the operator's token in {TOKEN_VARIABLE}")
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    request = Request(url.rstrip("/") + "/snapshot", headers=headers)  # noqa: S310 - http or https, see _read
    try:
        with build_opener(_NoRedirect).open(request, timeout=_TIMEOUT_SECONDS) as response:
            body: bytes = response.read()
    except HTTPError as error:
        raise SourceError(f"{url}: the collector refused: {_explain(error)}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise SourceError(f"{url}: the collector is out of reach: {error}") from error
    return Snapshot.from_json(body, url)


def _explain(error: HTTPError) -> str:
    """Return what a problem document says, or the bare status."""
    try:
        problem = json.loads(error.read(_EXPLANATION_BYTES))
        said = problem.get("detail") or problem.get("title")
    except (ValueError, AttributeError, OSError, HTTPException, RecursionError):
        said = None
    return f"{error.code} {said or error.reason}"

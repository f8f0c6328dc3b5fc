"""Reads the sources of training: collectors, stores, snapshot files and archives of raw reports."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from encoders.errors import LdpError, escape_unprintable
from encoders.file_kind import describe_other
from encoders.progress import ShowProgress, hide_progress
from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.reports.archives import ArchiveError, Warn, count_archives
from ldp_aggregator.snapshot import (
    FORMAT,
    AnySnapshot,
    SiloSnapshot,
    Snapshot,
    read_snapshot,
    require_different,
    sum_snapshots,
    take_snapshot,
)
from ldp_aggregator.stores import Store, open_store

TOKEN_VARIABLE = "LDP_OPERATOR_TOKEN"  # noqa: S105 - the name of a variable, not a token
_TIMEOUT_SECONDS = 60
_MAX_PROBLEM_BYTES = 4096


class TrainingData(NamedTuple):
    snapshot: AnySnapshot
    """The sum of all rounds of a survey of people; without people, the sum of all messages of the survey of
    silos with the largest epsilon."""
    validation: Snapshot | None = None
    """The sum of the snapshots of the validation round, if a source has one."""
    silos: tuple[SiloSnapshot, ...] = ()
    """The sums of all messages of further surveys of silos."""


class SourceError(LdpError):
    """A source that cannot be read; the message states what to do."""


def read_training_data(
    sources: Sequence[str],
    *,
    plan: Plan | SiloPlan | None = None,
    surveys: Sequence[str] = (),
    token: str | None = None,
    warn: Warn = warnings.warn,
    workers: int | str = 1,
    show: ShowProgress = hide_progress,
) -> TrainingData:
    """Read all sources and add up their snapshots: those of people, and those of each survey of silos.

    Sources are URLs of collectors (``http://host:8000/v1/surveys/ID``) and stores (``sqlite:///ldp.db``), and
    paths of snapshots and of archives of raw reports. Each report counts once across all archives; duplicates
    between other sources cannot be detected. `plan` is that of the archives, and `warn` and `workers` are as
    in :func:`count_archives`. `surveys` are the ids to read from a store that has several: one survey, or the
    rounds of one. `token` is the operator's, for collectors.

    Raises SourceError if a source cannot be read, is named twice, or needs a plan, survey or token that is
    not given; if the sources validate several models, or contain only a validation round. Raises
    SnapshotError if a snapshot is damaged or a copy of another one, or the plans are not rounds of one
    survey; and IncompleteImportError if the survey's import into its store is not complete.
    """
    resolved = [source if "://" in source else str(Path(source).resolve()) for source in sources]
    for names in (resolved, list(surveys)):
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise SourceError(f"{twice[0]} is given twice, so its reports would count twice: give it once")
    archives = [source for source in sources if _is_archive(source)]
    by_source = {}
    with show("reading sources", len(sources) - len(archives), "sources") as progress:
        for source in sources:
            if source not in archives:
                by_source[source] = _read_snapshots(source, surveys, token)
                progress.advance()
    require_different({source: each[0] for source, each in by_source.items() if len(each) == 1})
    snapshots: list[AnySnapshot] = [snapshot for each in by_source.values() for snapshot in each]
    if archives:
        if plan is None:
            raise _refuse_archive(archives[0])
        try:
            snapshots.append(count_archives(plan, archives, warn, workers, show))
        except ArchiveError as error:
            raise SourceError(str(error)) from error
    if plan is not None and not archives and plan not in [each.plan for each in snapshots]:
        raise SourceError(
            "the sources answer another plan than that of --plan: leave --plan out, which only archives of "
            "raw reports need"
        )
    people = [each for each in snapshots if isinstance(each, Snapshot)]
    silos = _separate_silos([each for each in snapshots if isinstance(each, SiloSnapshot)])
    if not people:
        return TrainingData(silos[0], silos=silos[1:])
    return _separate_validation(people)._replace(silos=silos)


def _refuse_archive(path: str) -> SourceError:
    if other := describe_other(Path(path), "reports", "gzip"):
        return SourceError(f"{path}: is neither a snapshot nor an archive of reports{other}")
    return SourceError(
        f"{path}: is an archive of raw reports; add the survey or plan that they answer (--plan)"
    )


def _separate_silos(snapshots: Sequence[SiloSnapshot]) -> tuple[SiloSnapshot, ...]:
    by_plan: dict[str, list[SiloSnapshot]] = {}
    for each in snapshots:
        by_plan.setdefault(each.plan.digest, []).append(each)
    sums = map(sum_snapshots, by_plan.values())
    return tuple(sorted(sums, key=lambda each: each.plan.epsilon, reverse=True))


def _separate_validation(snapshots: Sequence[Snapshot]) -> TrainingData:
    """Return the sum of the rounds that train a model and, separately, of the validation rounds."""
    rounds = [each for each in snapshots if not each.plan.validation]
    validations = sorted((each for each in snapshots if each.plan.validation), key=lambda each: each.plan.id)
    if not rounds:
        raise SourceError(
            f"{validations[0].plan.id} is a validation round, which cannot train a model alone: also give "
            "the rounds that its model was trained on"
        )
    ids: dict[str, str] = {}
    for each in validations:
        assert each.plan.validation is not None
        ids.setdefault(each.plan.validation.digest, each.plan.id)
    if len(ids) > 1:
        *others, last = ids.values()
        raise SourceError(
            f"{', '.join(others)} and {last} validate {len(ids)} models: give the rounds of one of them only"
        )
    return TrainingData(sum_snapshots(rounds), sum_snapshots(validations) if validations else None)


def _is_archive(source: str) -> bool:
    """Return whether a source is an archive, not a snapshot: only JSON starts with a brace."""
    if "://" in source:
        return False
    try:
        with open(source, "rb") as file:
            return file.read(1) != b"{"
    except OSError as error:
        raise SourceError(f"{source}: cannot be read: {error.strerror}") from error


def _read_snapshots(source: str, surveys: Sequence[str], token: str | None) -> list[AnySnapshot]:
    if source.startswith(("http://", "https://")):
        return [fetch_snapshot(source, token)]
    if "://" in source:
        with closing(open_existing_store(source, read_only=True)) as store:
            return [take_snapshot(store, each) for each in surveys or [_find_only_survey(store)]]
    return [read_snapshot(Path(source).read_bytes(), source)]


def open_existing_store(url: str, read_only: bool = False) -> Store:
    """Open a store, never create one; SourceError if its file is missing, StoreError if it is unusable."""
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).is_file():
        raise SourceError(f"{url}: there is no such file: check the path")
    return open_store(url, read_only, create=False)


def _find_only_survey(store: Store) -> str:
    surveys = sorted(store.plans())
    if len(surveys) == 1:
        return surveys[0]
    if not surveys:
        raise SourceError("the store does not contain a survey yet: run ldp-collector serve with it first")
    raise SourceError(
        "the store contains several surveys; choose one, or the rounds of one, with --survey: "
        + ", ".join(surveys)
    )


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect, since the token is for the named host only."""

    def redirect_request(self, *_: object) -> None:
        return None


def fetch_snapshot(url: str, token: str | None) -> AnySnapshot:
    """Fetch a snapshot from a survey's URL with the operator's token; SourceError if there is none."""
    if not token:
        raise SourceError(
            f"{url}: a collector needs the operator's token to show its totals, and none is set: set the "
            f"environment variable {TOKEN_VARIABLE} to it"
        )
    if not (token.isascii() and token.isprintable()):  # urllib's error would quote it
        raise SourceError(f"{TOKEN_VARIABLE} has a line break or a letter that no token has: set it again")
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    request = Request(url.rstrip("/") + "/snapshot", headers=headers)  # noqa: S310 - http or https, see _read_snapshots
    try:
        with build_opener(_NoRedirect).open(request, timeout=_TIMEOUT_SECONDS) as response:
            body: bytes = response.read()
    except HTTPError as error:
        if error.code == HTTPStatus.UNAUTHORIZED:
            raise SourceError(
                f"{url}: the collector refuses the token in {TOKEN_VARIABLE}: {_describe_refusal(error)}"
            ) from error
        raise SourceError(f"{url}: the collector refused the request: {_describe_refusal(error)}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise SourceError(f"{url}: the collector cannot be reached: {error}") from error
    is_page = FORMAT.encode() not in body
    name = f"{url}: a proxy or a network's sign-in page may have answered" if is_page else url
    return read_snapshot(body, name)


def _describe_refusal(error: HTTPError) -> str:
    try:
        problem = json.loads(error.read(_MAX_PROBLEM_BYTES))
        detail = problem.get("detail") or problem.get("title")
    except (ValueError, AttributeError, OSError, HTTPException, RecursionError):
        detail = None
    return f"{error.code} {escape_unprintable(str(detail or error.reason))}"

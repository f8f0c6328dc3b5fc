"""A training by a curator, from the files of a survey and its rows to the bytes of a model file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import msgpack

from encoders.canonical import dump_canonical_json, normalise_person, to_nfc
from encoders.errors import RowError
from encoders.explain.text import Counted
from encoders.randomness import RandomSource
from encoders.survey import Plan, Survey
from ldp_aggregator.estimation import NaiveBayesParameters
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.prediction import LINEAR, NAIVE_BAYES
from ldp_aggregator.prediction.linear_model import MAX_DEGREE
from ldp_aggregator.prediction.predictor import encode_any_labels
from ldp_aggregator.privacy_statement import CuratorPrivacy, PrivacyStatement
from ldp_aggregator.results import Results
from ldp_aggregator.results_file import dump_results
from ldp_aggregator.rows.encode_table import describe_rows, drop_missing_codes, encode_table
from ldp_aggregator.rows.table_input import parse_text_columns, parse_typed_columns, read_table_file
from ldp_central.coded_rows import CentralError, CodedRows
from ldp_central.curator_estimates import estimate_training
from ldp_central.curator_ledger import TrainingRequest
from ldp_central.curator_naive_bayes import SELECTION_SHARE, CentralNaiveBayes
from ldp_central.learner import AUTO, COUNT_SHARE, Training, train
from ldp_central.linear import count_weights
from ldp_central.noise import bound_tail_delta, find_rho
from ldp_central.promise import Promise

MAX_TAIL_DELTA = Fraction(1, 10**9)
"""The largest delta of a linear model: nobody asked for it, so it must be negligible."""


@dataclass(frozen=True)
class CuratorRows:
    plan: Plan
    users: int | None
    rows: CodedRows
    digests: tuple[str, str]
    """The SHA-256 digests of the file and of the sorted rows. They must not leave the ledger."""
    notes: tuple[str, ...] = field(default=(), repr=False)
    """What the curator's terminal shows, see :func:`~ldp_aggregator.rows.encode_table.describe_rows`."""


def read_curator_rows(
    survey: Survey, path: Path, rows_per_person: int = 1, person: str | None = None, multiline: bool = False
) -> CuratorRows:
    """Read and code the rows of a CSV file. It is read once, so all of it is of one moment.

    Nothing else is checked than that rows exist and fit the survey: a refusal of rows of one class only would
    reveal that somebody of another class is among them. If the column `person` names the person of each row,
    nobody may have more than `rows_per_person`.
    Raises CentralError if there are no rows, or a person has too many, and TableError or RowError, which
    names the rows, if the file is not a valid table or a row does not fit the survey.
    """
    refuse_validation(survey)
    plan = survey.compile()
    data = read_table_file(path)
    texts = parse_text_columns(data, path, multiline=multiline)
    columns = parse_typed_columns(texts, survey.entries)
    for label in plan.label.names:
        if label not in columns:
            raise RowError(label, "the table has no such column, and it is the label: add it")
    count = len(next(iter(columns.values())))
    if not count:
        raise CentralError(f"{path}: there are no rows, so nothing is trained")
    if person is not None:
        person = to_nfc(person)
        if person not in texts:
            raise CentralError(f"{path}: there is no column {person!r}: check --person")
        _require_rows_per_person(texts[person], rows_per_person, person)
    notes = tuple(describe_rows(survey.entries, columns))
    columns, kept = drop_missing_codes(survey.entries, columns)
    codes = encode_table(plan, columns)
    given = columns[plan.label.name] if plan.label.exists else [None] * count
    labels = encode_any_labels(plan.label, given)
    rows = CodedRows(plan.features, len(plan.label.values), codes[kept], labels[kept])
    digests = hashlib.sha256(data).hexdigest(), digest_rows(texts)
    return CuratorRows(plan, survey.users, rows, digests, notes)


def digest_rows(columns: Mapping[str, Sequence[str]]) -> str:
    """Return a digest of a table in NFC, whatever the order of rows and columns."""
    names = sorted(columns, key=to_nfc)
    rows = zip(*(map(to_nfc, columns[name]) for name in names), strict=True)
    digests = sorted(hashlib.sha256(msgpack.packb(row)).digest() for row in rows)
    return hashlib.sha256(msgpack.packb([*map(to_nfc, names)]) + b"".join(digests)).hexdigest()


@dataclass(frozen=True)
class CuratorTraining:
    data: CuratorRows
    promise: Promise
    learner: str

    def __post_init__(self) -> None:
        """Check what would fail after the amount was committed, or would promise nothing."""
        if self.learner in (AUTO, LINEAR) and self._bound_delta() > MAX_TAIL_DELTA:
            raise CentralError(
                "epsilon is too large for a linear model with this adjacency, because its delta would not "
                "be negligible. Give a smaller epsilon, or use the learner tree or nb"
            )
        if not self.promise.delta:
            return
        if self.learner != NAIVE_BAYES:
            raise CentralError(
                f"--delta is only for --learner nb: {self.learner} does not use it, so leave it out"
            )
        share = (1 - COUNT_SHARE) * (1 - SELECTION_SHARE)
        find_rho(share * self.promise.row_epsilon, self.promise.row_delta)

    @property
    def request(self) -> TrainingRequest:
        """The training as a ledger knows it, with an upper bound on its delta."""
        promise = self.promise
        command: dict[str, object] = {
            "plan": self.data.plan.digest,
            "users": self.data.users,
            "learner": self.learner,
            "adjacency": promise.adjacency,
            "rows_per_person": promise.rows_per_person,
            "epsilon": str(promise.epsilon),
            "delta": str(promise.delta),
        }
        coded = {each.name: list(map(str, each.missing_codes)) for each in self.data.plan.entries}
        if any(coded.values()):  # not part of the plan, but of what is trained
            command["missing_codes"] = coded
        digest = hashlib.sha256(dump_canonical_json(command)).hexdigest()
        return TrainingRequest(self.data.digests, digest, promise.epsilon, self._bound_delta())

    def _bound_delta(self) -> Fraction:
        if self.learner == NAIVE_BAYES:
            return self.promise.delta
        if self.learner not in (AUTO, LINEAR):
            return Fraction(0)
        rows = self.data.rows
        weights = count_weights(rows.features, rows.k, MAX_DEGREE)
        bound = bound_tail_delta(weights, self.promise.row_epsilon) * self.promise.delta_growth
        return 2 * bound if self.learner == AUTO else bound  # a trial model, and the released one

    def run(self, source: RandomSource | None = None) -> bytes:
        """Train, and return the bytes of the model file; a model from a seeded source is not private."""
        users = self.data.users
        try:
            training = train(self.data.rows, self.promise, users=users, learner=self.learner, source=source)
        except (ArithmeticError, ValueError) as error:  # LinAlgError is a ValueError
            why = (
                f"the training failed ({type(error).__name__}); nothing is released, and its epsilon is "
                "spent. Check the rows, or use another learner"
            )
            raise CentralError(why) from error
        spent = sum(each.epsilon for each in training.spendings)
        if spent > self.promise.epsilon or training.delta > self._bound_delta():
            raise CentralError(
                "internal error: the training spent more than was committed; nothing is released. Please "
                "report this"
            )
        return dump_results(_make_results(self.data.plan, training, are_rows_public=users is not None))


def _make_results(plan: Plan, training: Training, *, are_rows_public: bool) -> Results:
    model, promise = training.model, training.promise
    privacy = CuratorPrivacy(
        adjacency=promise.adjacency,
        rows_per_person=promise.rows_per_person,
        epsilon=promise.epsilon,
        delta=training.delta,
        steps=training.spendings,
        expected_rows=training.expected_rows,
        are_rows_public=are_rows_public,
    )
    return Results(
        plan=plan,
        privacy=PrivacyStatement(curator=privacy),
        estimates=estimate_training(plan, training),
        classifier=NaiveBayesParameters(model.prior, model.conditionals)
        if isinstance(model, CentralNaiveBayes)
        else model,
    )


def _require_rows_per_person(people: Sequence[str], most: int, column: str) -> None:
    """Raise CentralError, with the first row too many, if a person has more than `most`, or no name."""
    seen: Counter[str] = Counter()
    for number, person in enumerate(map(normalise_person, people), 1):
        if not person:
            raise CentralError(
                f"{column}: row {number}: the cell is empty, so it is unknown whose row this is: fill in "
                "the cell"
            )
        seen[person] += 1
        if seen[person] > most:
            raise CentralError(
                f"{column}: row {number}: its person has more than {Counted(most, 'row')}: "
                "remove rows, or allow more with --rows-per-person"
            )

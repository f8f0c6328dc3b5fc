"""Clients with one privacy bug each, of the kinds that occur in research code; the audit must flag all."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from math import exp
from typing import Any, cast
from unittest.mock import patch

import msgpack

import ldp_client
from encoders.mechanisms import DE, SUE, FrequencyOracle
from encoders.mechanisms.laplace import SampledLaplace
from encoders.mechanisms.numeric_base import GRID
from encoders.randomness import FastStream, RandomSource, SystemEntropy
from encoders.report import FORMAT, ID_BYTES, Report, pack, unpack
from encoders.survey import Plan, Question, read_survey
from encoders.survey.questions import SQUARE
from ldp_audit.device import PublicClient, Row
from ldp_client import Client, Journal, Receipt, Response, Transport

SURVEY = """
[survey]
id = "mutants"
epsilon = 1
[label]
name = "paid"
values = ["yes", "no"]
[features.kind]
values = ["a", "b", "c", "d"]
missing = "category"
[features.size]
range = [0, 10]
[mechanism]
frequency = "{frequency}"
numeric = "{numeric}"
"""

Codes = tuple[int, ...]


@cache
def compile_survey(frequency: str = "DE", numeric: str = "sign") -> Plan:
    """Return the plan of `SURVEY` with these mechanisms."""
    return read_survey(SURVEY.format(frequency=frequency, numeric=numeric)).compile()


@cache
def design(kind: type[FrequencyOracle], domain: int, epsilon: Decimal) -> FrequencyOracle:
    """Return a mechanism with tables for this epsilon."""
    return kind.design(domain, epsilon)


class StepwiseClient:
    """A client without a bug. Each step from a row to bytes is a method; a subclass replaces one of them.

    It has no whole requests.
    """

    _last: tuple[Plan, Row, str | None, tuple[Codes, int]] | None = None

    def __init__(self) -> None:
        self.rng: RandomSource = SystemEntropy()

    def attempts(self, plan: Plan, row: Row, label: str | None) -> list[bytes]:
        return PublicClient().attempts(plan, row, label)

    def report(self, plan: Plan, row: Row, label: str | None) -> bytes:
        codes, label_code = self._encode(plan, row, label)
        question = self.draw_question(plan, codes, label_code)
        report_id = self.draw_id(row, label)
        payload = self.randomise(plan, question, codes, label_code, row)
        report = Report(bytes.fromhex(plan.digest), question.index, report_id, payload)
        return self.pack(report, row, label_code)

    def _encode(self, plan: Plan, row: Row, label: str | None) -> tuple[Codes, int]:
        """Code a row once for its many trials."""
        if not self._last or self._last[0] is not plan or self._last[1] is not row or self._last[2] != label:
            self._last = plan, row, label, plan.encode(row, label)
        return self._last[3]

    def draw_question(self, plan: Plan, codes: Codes, label_code: int) -> Question:
        return plan.draw(self.rng)

    def draw_id(self, row: Row, label: str | None) -> bytes:
        return self.rng.take(ID_BYTES)

    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        return question.mechanism.perturb(question.value(codes, label_code), self.rng)

    def pack(self, report: Report, row: Row, label_code: int) -> bytes:
        return pack(report)


class FullEpsilonPerBit(StepwiseClient):
    """SUE with all of epsilon for each bit, although two bits differ."""

    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        if question.mechanism.name != "SUE":
            return super().randomise(plan, question, codes, label_code, row)
        mechanism = design(SUE, question.domain, 2 * plan.epsilon)
        return mechanism.perturb(question.value(codes, label_code), self.rng)


class KeepProbabilityOfTwoValues(StepwiseClient):
    """DE that keeps the truth with e^eps/(e^eps + 1), the probability for a domain of two values."""

    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        if question.mechanism.name != "DE":
            return super().randomise(plan, question, codes, label_code, row)
        truth = question.value(codes, label_code)
        draw = int.from_bytes(self.rng.take(16), "little")
        kept = draw % 2**64 < 2**64 / (1 + exp(-float(plan.epsilon)))
        other = (truth + 1 + (draw >> 64) % (question.domain - 1)) % question.domain
        return bytes([truth if kept else other])


class LabelInTheClear(StepwiseClient):
    """The value is randomised, the label is not."""

    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        payload = super().randomise(plan, question, codes, label_code, row)
        if question.mechanism.name != "DE":
            return payload
        return bytes([payload[0] // 2 * 2 + label_code])


class SeparateLabel(StepwiseClient):
    """Value and label are randomised separately, each with all of epsilon."""

    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        if question.mechanism.name != "DE":
            return super().randomise(plan, question, codes, label_code, row)
        value = design(DE, question.domain // 2, plan.epsilon).perturb(codes[0], self.rng)[0]
        label = design(DE, 2, plan.epsilon).perturb(label_code, self.rng)[0]
        return bytes([value * 2 + label])


class NoReportIfMissing(StepwiseClient):
    """A person without an answer sends nothing."""

    def report(self, plan: Plan, row: Row, label: str | None) -> bytes:
        return b"" if row["kind"] is None else super().report(plan, row, label)


class IdFromAnswers(StepwiseClient):
    """A byte of the report id is a hash of the answers."""

    def draw_id(self, row: Row, label: str | None) -> bytes:
        answers = f"{sorted(row.items(), key=str)} {label}".encode()
        return hashlib.sha256(answers).digest()[:1] + self.rng.take(ID_BYTES - 1)


class LengthByValue(StepwiseClient):
    """The length of the message depends on the answer."""

    def pack(self, report: Report, row: Row, label_code: int) -> bytes:
        return pack(report) + bytes(int(size_of(row)) % 7)


class QuestionByValue(StepwiseClient):
    """People with a rare answer are asked about it more often."""

    def draw_question(self, plan: Plan, codes: Codes, label_code: int) -> Question:
        drawn = plan.draw(self.rng)
        return plan.questions[0] if codes[0] == 3 and self.rng.take(1)[0] < 64 else drawn


class FreshRetries(StepwiseClient):
    """Every retry is randomised anew."""

    def attempts(self, plan: Plan, row: Row, label: str | None) -> list[bytes]:
        return [self.report(plan, row, label) for _ in range(3)]


class SeededOnce(StepwiseClient):
    """All random bytes are from a generator that is seeded once; a fork copies its state."""

    def __init__(self) -> None:
        self.rng = FastStream(1)


class SeededForEachReport(StepwiseClient):
    """All random bytes are from a generator that is seeded anew for each report."""

    def report(self, plan: Plan, row: Row, label: str | None) -> bytes:
        self.rng = FastStream(1)
        return super().report(plan, row, label)


class ClippedAfterNoise(StepwiseClient):
    """Noise is added to a number that is not clipped; the sum is clipped."""

    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        mechanism = question.mechanism
        if not isinstance(mechanism, SampledLaplace) or question.moment == SQUARE:
            return super().randomise(plan, question, codes, label_code, row)
        code = int(size_of(row) / 5 * GRID)
        whole, rest = divmod(code, 2 * GRID)
        noisy = mechanism.perturb(rest * 2 + label_code, self.rng)
        vector = list(mechanism._vector.unpack(noisy))
        shifted = vector[label_code] + 2 * whole * mechanism._steps_per_unit
        vector[label_code] = min(shifted, mechanism._max_output)
        return mechanism._vector.pack(*vector)


class LabelInFormatVersion(StepwiseClient):
    """The format version of the report reveals the label."""

    def pack(self, report: Report, row: Row, label_code: int) -> bytes:
        parts = [FORMAT + label_code, report.plan_digest, report.question, report.id, report.payload]
        return bytes(msgpack.packb(parts))


class LabelInDigest(StepwiseClient):
    """A bit of the plan's digest reveals the label."""

    def pack(self, report: Report, row: Row, label_code: int) -> bytes:
        digest = report.plan_digest[:-1] + bytes([report.plan_digest[-1] ^ label_code])
        return pack(replace(report, plan_digest=digest))


class MomentByValue(StepwiseClient):
    """People with a small number are asked for the mean, people with a large one for the square."""

    def draw_question(self, plan: Plan, codes: Codes, label_code: int) -> Question:
        drawn = plan.draw(self.rng)
        if drawn.moment is None:
            return drawn
        return next(each for each in plan.questions if each.moment == 1 + (codes[1] > GRID))


class MiddleInTheClear(StepwiseClient):
    """Values between the first and the last are not randomised."""

    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        if question.mechanism.name == "DE" and 0 < codes[0] < 3:
            return bytes([question.value(codes, label_code)])
        return super().randomise(plan, question, codes, label_code, row)


class SeededNoise(StepwiseClient):
    """Report ids are from the operating system, answers from a generator that is seeded once."""

    def __init__(self) -> None:
        super().__init__()
        self.noise = FastStream(1)

    def draw_question(self, plan: Plan, codes: Codes, label_code: int) -> Question:
        return plan.draw(self.noise)

    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        return question.mechanism.perturb(question.value(codes, label_code), self.noise)


class FreshRetriesForSome(StepwiseClient):
    """Retries of people without an answer are randomised anew."""

    def attempts(self, plan: Plan, row: Row, label: str | None) -> list[bytes]:
        reports = [self.report(plan, row, label) for _ in range(3)]
        return reports if row["kind"] is None else reports[:1] * 3


class SeededById(StepwiseClient):
    """Noise is computed from the public report id."""

    def draw_id(self, row: Row, label: str | None) -> bytes:
        self.report_id = super().draw_id(row, label)
        return self.report_id

    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        noise = FastStream(int.from_bytes(self.report_id, "big"))
        return question.mechanism.perturb(question.value(codes, label_code), noise)


class SeededByClock(StepwiseClient):
    """Report ids are from the operating system, answers from a generator that is seeded by the clock."""

    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        noise = FastStream(time.time_ns())
        return question.mechanism.perturb(question.value(codes, label_code), noise)


class QuestionByTwoFeatures(StepwiseClient):
    """People with exactly one of two properties are asked another question; no feature alone decides."""

    def draw_question(self, plan: Plan, codes: Codes, label_code: int) -> Question:
        drawn = plan.draw(self.rng)
        # people with the first, the last or the middle value of both features have both or none
        between = GRID // 10 < abs(codes[1] - GRID) < GRID - GRID // 10
        return plan.questions[0] if (codes[0] == 1) ^ between else drawn


def size_of(row: Row) -> float:
    return cast(float, row["size"])


# -- bugs in whole requests --------------------------------------------------------------------------


class ChangedRequestClient(Client):
    """A client that makes a correct report and then changes its request; a subclass defines the change."""

    def report(self, row: Mapping[str, object], label: object = None) -> Receipt:
        self.transport = _ChangingTransport(self.transport, self, row, str(label))
        return super().report(row, label)

    def change_body(self, body: bytes, row: Row, label: str | None) -> bytes:
        return body

    def user_agent(self, label: str | None) -> str:
        return ldp_client.transport.USER_AGENT


class _ChangingTransport:
    """A transport that sends what its client made of a request."""

    def __init__(self, inner: Transport, client: ChangedRequestClient, row: Row, label: str | None) -> None:
        self._inner, self._client, self._row, self._label = inner, client, row, label

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        changed = self._client.change_body(body or b"", self._row, self._label)
        with patch.object(ldp_client.transport, "USER_AGENT", self._client.user_agent(self._label)):
            return self._inner.request(method, url, changed, timeout)


class TruthfulClient(ChangedRequestClient):
    def change_body(self, body: bytes, row: Row, label: str | None) -> bytes:
        report = unpack(body)
        question = self.plan.questions[report.question]
        truth = question.value(*self.plan.encode(row, label))
        if question.moment:  # the sign of the number, and the label
            code, label_code = divmod(truth, 2)
            truth = 2 * (code > GRID) + label_code
        return pack(replace(report, payload=bytes([truth])))


class TruthInRequests(PublicClient):
    """make_report randomises, but Client.report sends the truth."""

    client_class = TruthfulClient


class UserAgentClient(ChangedRequestClient):
    def user_agent(self, label: str | None) -> str:
        return f"ldp-client/{len(label or '')}"


class LabelInUserAgent(PublicClient):
    """The header User-Agent of the request depends on the label."""

    client_class = UserAgentClient


class SharedStreamClient(ChangedRequestClient):
    def __init__(self, *arguments: Any, journal: Journal, **options: Any) -> None:
        super().__init__(*arguments, journal=journal, **options)
        self._key: int = vars(journal).setdefault("noise_key", int.from_bytes(os.urandom(16), "big"))

    def change_body(self, body: bytes, row: Row, label: str | None) -> bytes:
        report = unpack(body)
        question = self.plan.questions[report.question]
        noise = FastStream(self._key)
        payload = question.mechanism.perturb(question.value(*self.plan.encode(row, label)), noise)
        return pack(replace(report, payload=payload))


class SharedNoiseStream(PublicClient):
    """A device takes the noise of every survey from the start of the same stream."""

    client_class = SharedStreamClient


# -- the list ----------------------------------------------------------------------------------------

CERTAIN = 100
"""Trials that suffice where the bug shows in every report, or in what the audit does besides the trials."""


@dataclass(frozen=True)
class Mutant:
    """A client with a bug, and an audit that detects it.

    Attributes
    ----------
    device : type of client
    layer : str
        The layer of the audit that must find a fault.
    frequency, numeric : str
        The mechanisms of the survey.
    trials, requests, copies : int
        Numbers at which the audit misses the bug in fewer than one of a million runs.
    """

    device: type[StepwiseClient] | type[PublicClient]
    layer: str
    frequency: str = "DE"
    numeric: str = "sign"
    trials: int = 1500
    requests: int = 20
    copies: int = 2

    @property
    def name(self) -> str:
        return self.device.__name__


MUTANTS = (
    Mutant(FullEpsilonPerBit, "black box", frequency="SUE", trials=5000),
    Mutant(KeepProbabilityOfTwoValues, "black box"),
    Mutant(LabelInTheClear, "black box"),
    Mutant(SeparateLabel, "black box", trials=5000),
    Mutant(NoReportIfMissing, "homogeneity", trials=CERTAIN),
    Mutant(IdFromAnswers, "homogeneity", trials=CERTAIN),
    Mutant(LengthByValue, "homogeneity", trials=CERTAIN),
    Mutant(QuestionByValue, "homogeneity"),
    Mutant(FreshRetries, "freshness", trials=CERTAIN),
    Mutant(SeededOnce, "freshness", trials=CERTAIN),
    Mutant(SeededForEachReport, "freshness", trials=CERTAIN),
    Mutant(ClippedAfterNoise, "black box", numeric="sampled-laplace"),
    Mutant(LabelInFormatVersion, "homogeneity", trials=CERTAIN),
    Mutant(LabelInDigest, "homogeneity", trials=CERTAIN),
    Mutant(MomentByValue, "homogeneity"),
    Mutant(MiddleInTheClear, "black box"),
    Mutant(SeededNoise, "freshness", copies=16),
    Mutant(FreshRetriesForSome, "freshness", trials=CERTAIN),
    Mutant(TruthInRequests, "black box", trials=CERTAIN, requests=120),
    Mutant(SeededById, "freshness"),
    Mutant(SharedNoiseStream, "freshness"),
    Mutant(SeededByClock, "freshness"),
    Mutant(LabelInUserAgent, "homogeneity", trials=CERTAIN),
    Mutant(QuestionByTwoFeatures, "homogeneity", trials=CERTAIN),
)

"""Clients with one privacy bug each, of the kinds that research code ships; the audit must flag every one."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from math import exp
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
from ldp_audit.device import Device, PublicClient, Row
from ldp_client import Client

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


def plan_of(frequency: str = "DE", numeric: str = "sign") -> Plan:
    return read_survey(SURVEY.format(frequency=frequency, numeric=numeric)).compile()


@cache
def designed(kind: type[FrequencyOracle], domain: int, epsilon: Decimal) -> FrequencyOracle:
    return kind.design(domain, epsilon)


class Retold:
    """The steps from a row to bytes, repeated here so that each can be damaged; it has no whole requests."""

    def __init__(self) -> None:
        self.rng: RandomSource = SystemEntropy()

    def attempts(self, plan: Plan, row: Row, label: str) -> list[bytes]:
        return PublicClient().attempts(plan, row, label)

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        codes, label_code = plan.encode(row, label)
        question = self.question(plan, codes, label_code)
        report_id = self.id(row, label)
        payload = self.payload(plan, question, codes, label_code, row)
        return self.packed(
            Report(bytes.fromhex(plan.digest), question.index, report_id, payload), row, label_code
        )

    def question(self, plan: Plan, codes: tuple[int, ...], label_code: int) -> Question:
        return plan.draw(self.rng)

    def id(self, row: Row, label: str) -> bytes:
        return self.rng.take(ID_BYTES)

    def payload(
        self, plan: Plan, question: Question, codes: tuple[int, ...], label_code: int, row: Row
    ) -> bytes:
        return question.mechanism.perturb(question.value(codes, label_code), self.rng)

    def packed(self, report: Report, row: Row, label_code: int) -> bytes:
        return pack(report)


class FullEpsilonPerBit(Retold):
    """SUE with all of epsilon on each bit, of which two differ."""

    def payload(self, plan, question, codes, label_code, row):
        if question.mechanism.name != "SUE":
            return super().payload(plan, question, codes, label_code, row)
        return designed(SUE, question.domain, 2 * plan.epsilon).perturb(
            question.value(codes, label_code), self.rng
        )


class TruthAsIfOfTwo(Retold):
    """DE that keeps the truth with e^eps/(e^eps + 1), as if there were two values."""

    def payload(self, plan, question, codes, label_code, row):
        if question.mechanism.name != "DE":
            return super().payload(plan, question, codes, label_code, row)
        truth = question.value(codes, label_code)
        draw = int.from_bytes(self.rng.take(16), "little")
        kept = draw % 2**64 < 2**64 / (1 + exp(-float(plan.epsilon)))
        other = (truth + 1 + (draw >> 64) % (question.domain - 1)) % question.domain
        return bytes([truth if kept else other])


class LabelInTheClear(Retold):
    """The value is randomised, the label is not."""

    def payload(self, plan, question, codes, label_code, row):
        payload = super().payload(plan, question, codes, label_code, row)
        if question.mechanism.name != "DE":
            return payload
        return bytes([payload[0] // 2 * 2 + label_code])


class LabelOnTheSide(Retold):
    """Value and label each randomised with all of epsilon."""

    def payload(self, plan, question, codes, label_code, row):
        if question.mechanism.name != "DE":
            return super().payload(plan, question, codes, label_code, row)
        value = designed(DE, question.domain // 2, plan.epsilon).perturb(codes[0], self.rng)[0]
        label = designed(DE, 2, plan.epsilon).perturb(label_code, self.rng)[0]
        return bytes([value * 2 + label])


class MissingIsSkipped(Retold):
    """Who has no answer sends nothing."""

    def report(self, plan, row, label):
        return b"" if row["kind"] is None else super().report(plan, row, label)


class IdFromTheRecord(Retold):
    """A byte of the report id is a hash of the answers."""

    def id(self, row, label):
        record = f"{sorted(row.items(), key=str)} {label}".encode()
        return hashlib.sha256(record).digest()[:1] + self.rng.take(ID_BYTES - 1)


class PaddedByValue(Retold):
    """The message is as long as the answer."""

    def packed(self, report, row, label_code):
        return pack(report) + bytes(int(row["size"]) % 7)


class QuestionByData(Retold):
    """Those with a rare answer are asked about it more often."""

    def question(self, plan, codes, label_code):
        drawn = plan.draw(self.rng)
        return plan.questions[0] if codes[0] == 3 and self.rng.take(1)[0] < 64 else drawn


class FreshRetries(Retold):
    """Every retry is randomised anew."""

    def attempts(self, plan, row, label):
        return [self.report(plan, row, label) for _ in range(3)]


class Seeded(Retold):
    """A generator seeded once, whose state a fork copies."""

    def __init__(self):
        self.rng = FastStream(1)


class SeededEachTime(Retold):
    """A generator seeded anew for each report."""

    def report(self, plan, row, label):
        self.rng = FastStream(1)
        return super().report(plan, row, label)


class ClippedLate(Retold):
    """Noise first, then the bounds."""

    def payload(self, plan, question, codes, label_code, row):
        mechanism = question.mechanism
        if not isinstance(mechanism, SampledLaplace) or question.moment == SQUARE:
            return super().payload(plan, question, codes, label_code, row)
        code = int(row["size"] / 5 * GRID)
        whole, rest = divmod(code, 2 * GRID)
        near = mechanism.perturb(rest * 2 + label_code, self.rng)
        vector = list(mechanism._vector.unpack(near))
        shifted = vector[label_code] + 2 * whole * mechanism._steps_per_unit
        vector[label_code] = min(shifted, mechanism._max_output)
        return mechanism._vector.pack(*vector)


class LabelInTheHeader(Retold):
    """The format version reveals the label."""

    def packed(self, report, row, label_code):
        return msgpack.packb(
            [FORMAT + label_code, report.plan_digest, report.question, report.id, report.payload]
        )


class LabelInTheDigest(Retold):
    """A bit of the plan's digest reveals the label."""

    def packed(self, report, row, label_code):
        digest = report.plan_digest[:-1] + bytes([report.plan_digest[-1] ^ label_code])
        return pack(replace(report, plan_digest=digest))


class HalfByData(Retold):
    """Small numbers are asked for their mean, large ones for their square."""

    def question(self, plan, codes, label_code):
        drawn = plan.draw(self.rng)
        if drawn.moment is None:
            return drawn
        return next(each for each in plan.questions if each.moment == 1 + (codes[1] > GRID))


class MiddleInTheClear(Retold):
    """The values between the first and the last are not randomised."""

    def payload(self, plan, question, codes, label_code, row):
        if question.mechanism.name == "DE" and 0 < codes[0] < 3:
            return bytes([question.value(codes, label_code)])
        return super().payload(plan, question, codes, label_code, row)


class SeededAnswers(Retold):
    """Report ids from the operating system, answers from a generator seeded once."""

    def __init__(self):
        super().__init__()
        self.seeded = FastStream(1)

    def question(self, plan, codes, label_code):
        return plan.draw(self.seeded)

    def payload(self, plan, question, codes, label_code, row):
        return question.mechanism.perturb(question.value(codes, label_code), self.seeded)


class FreshRetriesForSome(Retold):
    """Those who have no answer are randomised anew on every retry."""

    def attempts(self, plan, row, label):
        again = [self.report(plan, row, label) for _ in range(3)]
        return again if row["kind"] is None else again[:1] * 3


class SeededById(Retold):
    """Noise is expanded from the public report id."""

    def id(self, row, label):
        self.seed = super().id(row, label)
        return self.seed

    def payload(self, plan, question, codes, label_code, row):
        noise = FastStream(int.from_bytes(self.seed, "big"))
        return question.mechanism.perturb(question.value(codes, label_code), noise)


class SeededByClock(Retold):
    """Report ids from the operating system, answers from a generator that is seeded by the clock."""

    def payload(self, plan, question, codes, label_code, row):
        noise = FastStream(time.time_ns())
        return question.mechanism.perturb(question.value(codes, label_code), noise)


class QuestionByTwoFeatures(Retold):
    """Those with exactly one of two properties are asked another question; no feature alone decides."""

    def question(self, plan, codes, label_code):
        drawn = plan.draw(self.rng)
        # nobody at the ends or in the middle of both features has just one of them
        between = GRID // 10 < abs(codes[1] - GRID) < GRID - GRID // 10
        return plan.questions[0] if (codes[0] == 1) ^ between else drawn


class SpoilingClient(Client):
    """A client that spoils each request after the report was made as it should be."""

    def report(self, row, label):
        self.transport = _Spoiling(self.transport, self, row, label)
        return super().report(row, label)

    def spoilt(self, body, row, label):
        return body

    def user_agent(self, label):
        return ldp_client.transport.USER_AGENT


class _Spoiling:
    """A transport that carries what a client spoilt."""

    def __init__(self, inner, client, row, label):
        self.inner, self.client, self.row, self.label = inner, client, row, label

    def request(self, method, url, body, timeout):
        body = self.client.spoilt(body, self.row, self.label)
        with patch.object(ldp_client.transport, "USER_AGENT", self.client.user_agent(self.label)):
            return self.inner.request(method, url, body, timeout)


class TruthfulClient(SpoilingClient):
    def spoilt(self, body, row, label):
        report = unpack(body)
        question = self.plan.questions[report.question]
        truth = question.value(*self.plan.encode(row, label))
        if question.moment:  # the sign of the number, and the label
            code, label_code = divmod(truth, 2)
            truth = 2 * (code > GRID) + label_code
        return pack(replace(report, payload=bytes([truth])))


class TruthOnTheWire(PublicClient):
    """make_report randomises, but Client.report sends the truth."""

    client_class = TruthfulClient


class LabellingClient(SpoilingClient):
    def user_agent(self, label):
        return f"ldp-client/{len(label)}"


class LabelInUserAgent(PublicClient):
    """The header User-Agent of the request depends on the label."""

    client_class = LabellingClient


class OneStreamClient(SpoilingClient):
    def __init__(self, *arguments, journal, **options):
        super().__init__(*arguments, journal=journal, **options)
        self.key = vars(journal).setdefault("noise_key", int.from_bytes(os.urandom(16), "big"))

    def spoilt(self, body, row, label):
        report = unpack(body)
        question = self.plan.questions[report.question]
        noise = FastStream(self.key)
        payload = question.mechanism.perturb(question.value(*self.plan.encode(row, label)), noise)
        return pack(replace(report, payload=payload))


class OneStreamForAll(PublicClient):
    """A device takes the noise of all its surveys from the start of one stream."""

    client_class = OneStreamClient


@dataclass(frozen=True)
class Mutant:
    device: Callable[[], Device]
    layer: str
    frequency: str = "DE"
    numeric: str = "sign"
    trials: int = 1500  # so many that a bug escapes less than once in a million runs
    requests: int = 20

    @property
    def name(self) -> str:
        return getattr(self.device, "__name__", "")


MUTANTS = (
    Mutant(FullEpsilonPerBit, "black box", frequency="SUE", trials=5000),
    Mutant(TruthAsIfOfTwo, "black box"),
    Mutant(LabelInTheClear, "black box"),
    Mutant(LabelOnTheSide, "black box", trials=5000),
    Mutant(MissingIsSkipped, "homogeneity"),
    Mutant(IdFromTheRecord, "homogeneity"),
    Mutant(PaddedByValue, "homogeneity"),
    Mutant(QuestionByData, "homogeneity"),
    Mutant(FreshRetries, "freshness"),
    Mutant(Seeded, "freshness"),
    Mutant(SeededEachTime, "freshness"),
    Mutant(ClippedLate, "black box", numeric="sampled-laplace"),
    Mutant(LabelInTheHeader, "homogeneity"),
    Mutant(LabelInTheDigest, "homogeneity"),
    Mutant(HalfByData, "homogeneity"),
    Mutant(MiddleInTheClear, "black box"),
    Mutant(SeededAnswers, "freshness"),
    Mutant(FreshRetriesForSome, "freshness"),
    Mutant(TruthOnTheWire, "black box", requests=120),
    Mutant(SeededById, "freshness"),
    Mutant(OneStreamForAll, "freshness"),
    Mutant(SeededByClock, "freshness"),
    Mutant(LabelInUserAgent, "homogeneity"),
    Mutant(QuestionByTwoFeatures, "homogeneity"),
)

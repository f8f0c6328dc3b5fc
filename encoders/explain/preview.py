"""Explains to a person what they would send: the question, the bytes, and the likelihood of each true answer.

It contains the true answer, so only the person, or an author with a row of their own, may see it. A report
that waits to be sent is explained without the row, which is not stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context, Decimal
from itertools import chain
from typing import Any

from encoders.canonical import decimal_text
from encoders.explain.plausible import compute_likelihoods, describe_likelihoods, describe_payload
from encoders.explain.text import Wording, format_table, sentence, wrap_text
from encoders.late_imports import LateImport
from encoders.randomness import RandomSource
from encoders.survey.features import CategoricalFeature, NumericFeature
from encoders.survey.plan import Plan
from encoders.survey.questions import SQUARE, Question, format_number
from encoders.survey.randomise import RandomisedReport, randomise, randomise_all, read_report

_MUCH = 5
"""With a larger epsilon, relay and collector together can learn most answers."""
_TWO_DIGITS = Context(prec=2, rounding=ROUND_CEILING)

_PREVIEW_HTML = LateImport("encoders.notebook_html:preview_html")  # loaded in notebooks alone


@dataclass(frozen=True)
class Preview:
    """What a device would send of one row. `str` explains it; `repr` hides the true answer."""

    plan: Plan = field(repr=False)
    randomised: RandomisedReport
    """The question, the true answer as an input of its mechanism, and the report."""
    clipped: tuple[str, ...] = field(default=(), repr=False)
    """Names of the entries outside their public bounds, see :meth:`encoders.survey.Plan.clipped_names`."""
    rehearsal: bool = False
    """Whether the client that made it rehearses: none of its reports is sent."""
    series: str = ""
    """What the survey's series has spent, as a sentence, if the person agreed to a series."""
    language: str = field(default="", repr=False)
    """The language of the texts, if the plan has its texts; empty for the survey's first language."""
    others: tuple[RandomisedReport, ...] = ()
    """If each person answers all questions, the reports to the others; `randomised` is the first one."""

    @property
    def answers(self) -> tuple[Preview, ...]:
        """A preview of each report that would be sent, in the plan's order: of one, or of all."""
        return tuple(replace(self, randomised=each, others=()) for each in (self.randomised, *self.others))

    @property
    def question(self) -> str:
        return self.randomised.question.name

    @property
    def truth(self) -> dict[str, str]:
        """The true answer in words, keyed by the names of features and label. It stays on the device."""
        return self.randomised.question.meaning(self.randomised.truth)

    @property
    def report(self) -> bytes:
        return self.randomised.report

    @property
    def epsilon(self) -> float:
        return float(self.plan.epsilon)

    def as_dict(self) -> dict[str, Any]:
        """Return the preview as an object of JSON. It contains the true answer, as the text does."""
        facts = {"survey": self.plan.id, "epsilon": self.epsilon}
        answers = [each._answer_as_dict() for each in self.answers]
        return facts | ({"answers": answers} if self.others else answers[0])

    def _answer_as_dict(self) -> dict[str, Any]:
        question, truth, payload, report = self.randomised
        chances = compute_likelihoods(question, payload, truth).items()
        return {
            "question": question.name,
            "probability": float(self.plan.question_probability(question)),
            "mechanism": question.mechanism.name,
            "true_answer": self.truth,
            "report": report.hex(),
            "chances": [{"answer": question.meaning(each), "chance": float(p)} for each, p in chances],
        }

    def __str__(self) -> str:
        return explain(self)

    def _repr_html_(self) -> str:
        html: str = _PREVIEW_HTML.load()(str(self))
        return html


def preview(
    plan: Plan,
    row: Mapping[str, object],
    label: object,
    rng: RandomSource,
    question_name: str | None = None,
    token: str | None = None,
    language: str = "",
    wave: int | None = None,
) -> Preview:
    """Make what a person sends of a row by the steps of a device, and send nothing.

    What is not given is drawn: the question, unless a token names it or each person answers all; and the wave
    (by its index), of which the preview then says that it is not drawn yet. `language`: see :class:`Preview`.
    Raises RowError, TokenError, or LdpError for an unknown question.
    """
    if plan.by_invitation and question_name is None and token is None:
        question_name = plan.draw(rng).name
    is_example = plan.waves and wave is None and (token is None or question_name)
    if plan.waves and is_example:
        wave = plan.waves.draw(rng)
    if plan.asks_all and question_name is None:
        made = randomise_all(plan, plan.encode(row, label), rng, wave=wave)
    else:
        made = [randomise(plan, row, label, rng, question_name, token, wave)]
    clipped = plan.clipped_names(row)
    if is_example:  # the person's wave is drawn when they agree
        made = [each._replace(question=replace(each.question, wave=None)) for each in made]
    return Preview(plan, made[0], clipped, language=language, others=tuple(made[1:]))


def explain(shown: Preview) -> str:
    """Return the text of a preview. It contains the true answer, so only the person may see it."""
    rehearsal = ["This is a rehearsal: no report is sent or kept."] if shown.rehearsal else []
    rehearsal += wrap_text(shown.series)
    if shown.others:
        return _paragraphs(rehearsal, *_explain_all(shown))
    plan, (question, truth, payload, report) = shown.plan, shown.randomised
    wording = Wording.from_plan(plan, shown.language)
    clipped = describe_clipping(plan, shown.clipped)
    return _paragraphs(
        rehearsal,
        describe_wave(plan, question),
        _describe_questions(plan, question, "is", wording),
        _describe_validation(plan),
        describe_square(question),
        [sentence("truth"), f"  {wording.titled_answer(shown.truth)}", *clipped],
        [
            f"{sentence('mechanism', question.mechanism.name)}:",
            *wrap_text(f"{question.mechanism.describe_output(truth)}.", "  "),
        ],
        _describe_bytes(report, sentence("bytes", len(report)))
        + _describe_randomised_answer(question, payload, wording),
        _describe_invitation(plan),
        describe_relay(plan),
        describe_likelihoods(plan, question, payload, wording, truth),
    )


def _explain_all(shown: Preview) -> Iterator[list[str]]:
    """Yield the paragraphs of a preview of all questions."""
    plan, answers = shown.plan, shown.answers
    wording = Wording.from_plan(plan, shown.language)
    yield describe_wave(plan, answers[0].randomised.question)
    yield describe_relay(plan)
    yield _describe_validation(plan)
    yield describe_clipping(plan, shown.clipped)
    for number, each in enumerate(answers, 1):
        question, truth, payload, _ = each.randomised
        mechanism, sent = question.mechanism, "; ".join(describe_payload(question, payload, wording))
        lines = [
            " ".join(describe_square(question)),
            f"{sentence('truth')} {wording.titled_answer(each.truth)}.",
            f"{sentence('mechanism', mechanism.name)}: {mechanism.describe_output(truth)}.",
            f"This time it would be: {' '.join(sent.split())}.",
        ]
        heading = sentence("answered", number, len(answers), question.name)
        yield [heading, *chain.from_iterable(wrap_text(line, "  ") for line in lines)]
    yield wrap_text(f"{sentence('spendsAll', decimal_text(plan.epsilon))}. Each preview draws again.")


def explain_report(plan: Plan, report: bytes) -> str:
    """Describe a packed report as anyone with the plan can read it; raise ReportError for other bytes."""
    read = read_report(plan, report)
    question, wording = plan.counted_questions[read.question], Wording.from_plan(plan)
    return _paragraphs(
        describe_wave(plan, question),
        _describe_questions(plan, question, "was", wording),
        _describe_validation(plan),
        describe_square(question),
        _describe_bytes(report, f"The report, {len(report)} bytes:")
        + _describe_randomised_answer(question, read.payload, wording),
        _describe_invitation(plan),
        describe_relay(plan),
        describe_likelihoods(plan, question, read.payload, wording),
    )


def _paragraphs(*parts: list[str]) -> str:
    return "\n\n".join("\n".join(part) for part in parts if part)


def describe_wave(plan: Plan, asked: Question) -> list[str]:
    """Return the lines about the wave of a question, or about all waves if it has none yet."""
    if plan.waves is None:
        return []
    waves, what = plan.waves.list, "waves"
    count: object = len(waves)
    if asked.wave is not None:
        waves = waves[asked.wave : asked.wave + 1]
        what, count = "wave", waves[0].name
    ends = waves[0].opens, waves[-1].closes
    times = (f"{datetime.fromtimestamp(each, UTC):%Y-%m-%d %H:%M} UTC" for each in ends)
    return wrap_text(sentence(what, count, *times))


def _describe_questions(plan: Plan, asked: Question, tense: str, wording: Wording) -> list[str]:
    first, chances = f"One question {tense} asked", ["" for _ in plan.questions]
    if plan.asks_all:
        how = "and a report of its own answers it"
        first = f"Every question {tense} asked"
    elif plan.by_invitation:
        how = sentence("invited")
    else:
        how = "drawn at random, without looking at the answers"
        chances = [f"{plan.question_probability(each):.1%}" for each in plan.questions]
    rows = [
        [f"  {each.name}", chance, "<- this one" if each.index == asked.index % len(plan.questions) else ""]
        for each, chance in zip(plan.questions, chances, strict=True)
    ]
    titles = wording.titles([*(feature.name for feature in asked.asked_features), *asked.label.names])
    displayed = [line for name, title in titles.items() for line in wrap_text(f"{name}: {title}", "  ")]
    heading = ["Its texts:"] if displayed else []
    return [f"{first}, {how}:", *format_table(rows, "<><"), *heading, *displayed]


def _describe_validation(plan: Plan) -> list[str]:
    model = plan.validation
    if not model:
        return []
    used = ", ".join(model.features[index].name for index in model.order)
    return wrap_text(
        f"This survey tests a model. The device predicts {model.label.name} from the answers, with all "
        f"features of the model and with only the first few of them, in this order: {used}. The questions "
        "ask only whether these predictions are right."
    )


def _describe_invitation(plan: Plan) -> list[str]:
    text = (
        f"The report contains the invitation, which chooses the question. {sentence('invitation')} "
        "The answer in it is randomised as without an invitation."
    )
    return wrap_text(text) if plan.by_invitation else []


def _describe_bytes(report: bytes, head: str) -> list[str]:
    digits = report.hex(" ").split()
    lines = [" ".join(digits[start : start + 24]) for start in range(0, len(digits), 24)]
    return [head, *(f"  {line}" for line in lines)]


def _describe_randomised_answer(question: Question, payload: bytes, wording: Wording) -> list[str]:
    last = "byte" if len(payload) == 1 else f"{len(payload)} bytes"
    return [
        f"The last {last}: the answer, randomised by {question.mechanism.name}. Decoded:",
        *(f"  {line}" for line in describe_payload(question, payload, wording)),
    ]


def describe_clipping(plan: Plan, clipped: Sequence[str]) -> list[str]:
    """Return a line for each entry outside its range, by name."""
    features = {feature.name: feature for feature in (*plan.row_schema.features, *plan.entries)}
    lines: list[str] = []
    for name in clipped:
        feature = features[name]
        assert not isinstance(feature, CategoricalFeature)
        low, high = (format_number(float(bound)) for bound in feature.bounds)
        text = f"({name} is outside its range, {low} to {high}: the device moves it to the nearest end)"
        lines += wrap_text(text, "  ")
    return lines


def describe_square(question: Question) -> list[str]:
    """Return the lines about a question about squares of numbers; none for others."""
    numbers = [each for each in question.asked_features if isinstance(each, NumericFeature)]
    if question.moment != SQUARE:
        return []
    if len(numbers) > 1:
        names = ", ".join(each.name for each in numbers)
        return wrap_text(f"{sentence('squares', names)} {sentence('squaresEnds')}")
    (number,) = numbers
    low, middle, high = (format_number(number.original(x)) for x in (-1, 0, 1))
    ends = sentence("squareEnds", middle, low, high)
    return wrap_text(f"{sentence('square', number.name, middle)} {ends}")


def describe_relay(plan: Plan) -> list[str]:
    relay = plan.relay
    if relay is None:
        return []
    odds, remainder = _factor(relay.epsilon), f"{math.floor(1 / relay.delta):,}"
    honest, batch = f"{relay.honest_reports:,}", f"{relay.batch:,}"
    together = sentence("togetherOdds", _factor(plan.epsilon))
    if plan.asks_all:
        if plan.epsilon > _MUCH:
            ratio = max(question.mechanism.ratio for question in plan.questions)
            together = sentence("together", f"{math.ceil(100 * ratio / (1 + ratio))}%")
        promise = sentence("relayed", odds, remainder, honest, batch)
        return wrap_text(f"{sentence('all')} {promise} {together}")
    return wrap_text(
        "The report goes through a relay, which cannot read it. The relay knows that you take part; the "
        "collector cannot see who sent which report. What the collector sees changes the odds of any two "
        f"answers of yours by at most {odds} times, with a remainder of at most 1 in {remainder}, if at "
        f"least {honest} of the {batch} reports that leave together come from people who do not help it. "
        f"{together}"
    )


def _factor(epsilon: Decimal) -> str:
    return format(_TWO_DIGITS.plus(epsilon.exp()), "f")

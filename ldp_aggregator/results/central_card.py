"""Describes a model of a trusted curator: in a line, a few lines, as HTML, and as a card in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from html import escape
from typing import Any

from encoders.notebook_html import table_html
from encoders.survey import Plan
from encoders.survey.decimals import parse_amount
from encoders.text_table import format_table
from ldp_aggregator.findings.bounds import factor_at_most
from ldp_aggregator.results.card import escape_markdown
from ldp_aggregator.results.statements import describe_beliefs

LEARNER_NAMES = {
    "nb": "Naive Bayes from noisy tables",
    "linear": "linear model by objective perturbation",
    "tree": "decision tree with private splits",
}
CENTRAL_LIMITS = (
    "It is not for a decision about one person: a prediction is a probability from noisy numbers.",
    "It does not explain causes: a feature that predicts the label need not affect it.",
    "It describes the people in the rows, and others only if they resemble them.",
)
UNVALIDATED = (
    "The model was not validated, so its accuracy is unknown. Validate it on rows that were not used to "
    "train it. An accuracy on private rows is private itself."
)
NEIGHBOURS = {
    "add-remove": "differ by the presence of one person",
    "replace": "differ by the content of one person's rows",
}
_SHORT = Context(prec=4, rounding=ROUND_CEILING)
_LONG = Context(prec=60, rounding=ROUND_CEILING)
_LEAST_PLAIN = -7
_MAX_FACTOR = Decimal("1e300")
"""Above this a double overflows, and beliefs are certain."""


def format_amount(text: str) -> str:
    """Return an exact fraction as a decimal of at most four digits, rounded up."""
    amount = parse_amount(text)
    long = _LONG.divide(_LONG.create_decimal(amount.numerator), _LONG.create_decimal(amount.denominator))
    short = long.normalize(_SHORT)
    return format(short, "f" if not short or short.adjusted() >= _LEAST_PLAIN else "e")


@dataclass(frozen=True, kw_only=True)
class CentralDescription:
    """What descriptions of a curator's model are made from."""

    plan: Plan
    classes: Iterable[Any]
    """The labels as the model returns them."""
    learner: str
    """One of "nb", "linear" or "tree"."""
    privacy: Mapping[str, Any]
    """The privacy statement."""
    selected: Sequence[int] | None = None
    """Indices of the features that Naive Bayes uses; None for other learners."""

    @property
    def epsilon(self) -> str:
        """The epsilon of the promise."""
        return format_amount(self.privacy["epsilon"])

    @property
    def features(self) -> list[str]:
        """Names of the features that the model may use."""
        names = [feature.name for feature in self.plan.features]
        return names if self.selected is None else [names[place] for place in self.selected]

    def list_facts(self) -> dict[str, str]:
        """Return the facts of all descriptions, in order."""
        privacy = self.privacy
        rows = f"about {privacy['expected_rows']:,}, from the {privacy['expected_rows_from']}"
        return {
            "plan digest": self.plan.digest,
            "learner": LEARNER_NAMES[self.learner],
            "trust": f"{privacy['trust']}: a curator had the rows",
            "epsilon": self.epsilon,
            "delta": format_amount(privacy["delta"]),
            "adjacency": f"{privacy['adjacency']}, at most {privacy['rows_per_person']} rows per person",
            "rows": rows,
            "classes": f"{self.plan.label.name}: {', '.join(map(str, self.classes))}",
            "features": f"{len(self.features)} of {len(self.plan.features)}",
        }

    def describe_privacy(self) -> Iterator[str]:
        """Yield sentences about the promise."""
        adjacency = self.privacy["adjacency"]
        epsilon = parse_amount(self.privacy["epsilon"])
        factor = (Decimal(epsilon.numerator) / epsilon.denominator).exp()  # doubles end at e^709
        yield (
            "A trusted curator had the rows of all people. The released model is "
            f"({self.epsilon}, {format_amount(self.privacy['delta'])})-differentially private: for two data "
            f"sets that {NEIGHBOURS[adjacency]}, the probabilities of every model differ by a factor of at "
            f"most {factor_at_most(factor)}, up to delta."
        )
        if adjacency == "add-remove":
            yield (
                "A person's rows are added or removed as a whole. A change of their content is a removal and "
                "an addition, so it is protected with twice this epsilon."
            )
        beliefs = describe_beliefs(float(min(factor, _MAX_FACTOR)))
        examples = (f"{before} becomes at most {after}" for before, after in beliefs)
        yield f"A belief about which of two such data sets it was of {'; of '.join(examples)}."
        yield (
            "This is not local differential privacy: the curator saw every answer, and must protect the rows "
            "and the ledger. Trainings on the same rows add up."
        )

    def list_steps(self) -> list[tuple[str, str, str]]:
        """Return step, epsilon and delta of each step of the training."""
        return [
            (step["step"], format_amount(step["epsilon"]), format_amount(step["delta"]))
            for step in self.privacy["steps"]
        ]

    def cite(self) -> str:
        """Return how to cite the model."""
        return (
            f"ldp-bayes, survey {self.plan.id}, plan digest {self.plan.digest}, trained by a curator with "
            f"epsilon {self.epsilon}, delta {format_amount(self.privacy['delta'])}, "
            f"{self.privacy['adjacency']} neighbours."
        )

    def format_line(self, name: str) -> str:
        """Return one line, for `repr`."""
        return (
            f"{name}(survey={self.plan.id!r}, digest={self.plan.digest[:8]!r}, learner={self.learner!r}, "
            f"trust={self.privacy['trust']!r}, epsilon={self.epsilon}, "
            f"adjacency={self.privacy['adjacency']!r})"
        )

    def format_lines(self, name: str) -> str:
        """Return a few lines, for `print`."""
        rows = [[f"  {key}", value] for key, value in self.list_facts().items()]
        return "\n".join([f"{name} of {self.plan.id}", *format_table(rows, "<<")])

    def format_html(self, name: str) -> str:
        """Return a small HTML table, in which all texts are escaped."""
        return table_html(f"{name} of {self.plan.id}", self.list_facts().items())

    def format_card(self) -> str:
        """Return the model card in Markdown."""
        facts = [f"- {key}: {escape_markdown(value)}" for key, value in self.list_facts().items()]
        steps = [f"| {step} | {epsilon} | {delta} |" for step, epsilon, delta in self.list_steps()]
        sections = {
            f"Model card: {escape_markdown(self.plan.id)}": facts,
            "Features": [f"- {escape_markdown(name)}" for name in self.features],
            "Privacy": [
                *(line for each in self.describe_privacy() for line in (each, "")),
                *["| step | epsilon | delta |", "|---|---:|---:|", *steps],
            ],
            "How well it predicts": [UNVALIDATED],
            "What it is not for": [f"- {limit}" for limit in CENTRAL_LIMITS],
            "How to cite": [escape(self.cite(), quote=False)],
        }
        lines: list[str] = []
        for place, (heading, content) in enumerate(sections.items()):
            lines += [f"{'##' if place else '#'} {heading}", "", *content, ""]
        return "\n".join(lines)

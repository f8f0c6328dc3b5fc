"""The survey as its author writes it; it is compiled to a plan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal

from encoders.epsilon_proof import MIN_EPSILON
from encoders.errors import SurveyError
from encoders.survey import relay_promise
from encoders.survey.auto_questions import CrossTable
from encoders.survey.compiled_plan import LOCAL, REFUSALS
from encoders.survey.compiler import AuthoredSurvey, Compiler, estimate_all_better
from encoders.survey.features import Feature
from encoders.survey.plan import Plan
from encoders.survey.plan_checks import MAX_EACH, MAX_SUM, check_count
from encoders.survey.projection import required_features
from encoders.survey.questions import Question
from encoders.survey.validation_round import Validation


@dataclass(frozen=True, kw_only=True)
class Survey(AuthoredSurvey):
    """An authored survey, checked but not yet compiled."""

    @property
    def entries(self) -> tuple[Feature, ...]:
        rows = self.validation or self
        return required_features(rows.features, rows.projection)

    def with_validation(self, validation: Validation) -> Survey:
        """Return a survey that asks whether a model predicts right, with all and with its top k features."""
        return replace(
            self,
            label=validation.question_label,
            features=validation.question_features,
            weights=(0, *(1 for _ in validation.top_k)),
            tables=(),
            projection=None,
            users=None,
            validation=validation,
            waves=None,
        )

    def of_one_wave(self) -> Survey:
        """Return the survey of the people of one wave, who are all people divided by the number of waves."""
        if self.waves is None:
            return self
        users = self.users and max(self.users // len(self.waves.list), 1)
        return replace(self, waves=None, users=users)

    def keep_tables(self, tables: Sequence[CrossTable]) -> Survey:
        """Return the survey with some of its tables; features of only the others are asked alone."""
        before, after = (
            {index for table in some for index in table.feature_indices} for some in (self.tables, tables)
        )
        label, *features = self.weights
        weights = [weight or int(index in before - after) for index, weight in enumerate(features)]
        return replace(self, tables=tuple(tables), weights=(label, *weights))

    def compile(self) -> Plan:
        """Return the plan: every question's tables are designed for `epsilon` and proved.

        A numeric feature is one question, or two, mean and square, and an ordered feature with many values is
        several. They share the feature's weight: all weights are multiplied, so that features are asked about
        in proportion to them. `laplace` asks for all numbers at once, with the sum of their weights.
        Raises SurveyError or PrivacyError if no mechanism fits a question, or no question estimates the prior
        of the label, or the survey is for a curator.
        """
        if self.kind != LOCAL:
            raise SurveyError(REFUSALS[self.kind], "survey.kind")
        if self.asks_all:
            questions = self._compile_all()
        else:
            questions = Compiler(survey=self.of_one_wave(), epsilon=self.epsilon).compile_questions()
        if self.relay:
            relay_promise.require_author_promise(self.relay, [each.mechanism for each in questions])
        return Plan(
            id=self.id,
            epsilon=self.epsilon,
            label=self.label,
            features=self.features,
            questions=questions,
            projection=self.projection,
            family=self.family,
            enrolment=self.enrolment,
            validation=self.validation,
            texts_digest=self.texts.digest if self.texts else "",
            texts=self.texts,
            users=self.users,
            relay=self.relay,
            waves=self.waves,
            series=self.series,
        )

    def fit_promise(self) -> Survey:
        """Return the survey with epsilon lowered to the largest that keeps its relay's promise."""
        if not self.relay:
            return self
        private = replace(self, epsilon=self.relay.epsilon, divide=relay_promise.EQUAL).compile()
        largest = relay_promise.largest_epsilon(self.relay, [each.mechanism for each in private.questions])
        return replace(self, epsilon=min(self.epsilon, largest))

    def _compile_all(self) -> tuple[Question, ...]:
        """Return the questions that each person answers all of: each gets a part of epsilon.

        A number is one question, of a larger part, if this estimates both moments of each number better, and
        keeps the relay's promise: fewer and larger parts cost more of it.
        """
        if not {*self.weights, *(each.weight for each in self.tables)} <= {None, 0, 1}:
            raise SurveyError('"all": everybody answers every question, so delete the weights', "relay.ask")
        if not MIN_EPSILON <= self.epsilon <= MAX_SUM:
            raise SurveyError(f"must be from {MIN_EPSILON} to {MAX_SUM}", "survey.epsilon")
        try:
            questions = self._compile_parts(joins_moments=False)
        except SurveyError:
            questions = self._compile_parts(joins_moments=True)
        else:
            with suppress(SurveyError):  # too few questions, too large parts, or the promise
                joined = self._compile_parts(joins_moments=True)
                mechanisms = [each.mechanism for each in joined]
                is_kept = self.relay is None or relay_promise.keeps_promise(self.relay, mechanisms)
                if estimate_all_better(joined, questions) and is_kept:
                    questions = joined
        if self.divide == relay_promise.MARGINS and self.relay:
            return tuple(relay_promise.divide_by_margins(self.relay, self.epsilon, questions))
        return questions

    def _compile_parts(self, *, joins_moments: bool) -> tuple[Question, ...]:
        compiler = Compiler(survey=self.of_one_wave(), epsilon=Decimal(1), joins_moments=joins_moments)
        count = len(compiler.compile_questions())
        check_count(count)
        each = relay_promise.equal_part(self.epsilon, count)
        if not MIN_EPSILON <= each <= MAX_EACH:
            least, most = MIN_EPSILON * count, min(MAX_EACH * count, MAX_SUM)
            raise SurveyError(
                f"gives {each.normalize():f} to each of {count} answers, and one may have {MIN_EPSILON} to "
                f"{MAX_EACH}: choose from {least} to {most}",
                "survey.epsilon",
            )
        return replace(compiler, epsilon=each).compile_questions()

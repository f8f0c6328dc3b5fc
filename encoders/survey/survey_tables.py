"""Reads the tables of a parsed survey file: [survey], [label], [features.NAME], [mechanism] and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from encoders.canonical import decimal_text, parse_decimal
from encoders.epsilon_proof import MAX_EPSILON
from encoders.errors import SurveyError
from encoders.mechanisms import check_name, check_numeric_name
from encoders.survey.auto_questions import CrossTable, read_cross_tables
from encoders.survey.compiled_plan import CENTRAL, LOCAL, TOKEN
from encoders.survey.features import Feature, NumericFeature
from encoders.survey.plan_checks import MAX_SUM
from encoders.survey.projection import Component, Projection
from encoders.survey.relay import ALL, DECIMALS, ONE, RELAY_REFUSES_TOKENS, TIMES, Relay
from encoders.survey.relay_promise import EQUAL, MARGINS
from encoders.survey.schema_tables import HINTS, Mistake, Path, SchemaReader, Table, survey_kind
from encoders.survey.survey import Survey
from encoders.survey.validation_round import Validation
from encoders.survey.wave_calendar import PERIODS, schedule_waves
from encoders.survey.waves import DRAWN, MAX_WAVES, Series, Waves

MAX_USERS = 10**11

_TABLE_KEYS = {
    "survey": {"id", "kind", "epsilon", "family", "enrolment", "users"},
    "label": {"name", "values", "weight"},
    "mechanism": {"frequency", "numeric"},
    "projection": {"inputs"},
    "validation": {"order", "tops", "prior", "scores"},
    "relay": {each.name for each in fields(Relay)} | {"divide"},
    "series": {"name", "key"},
    "waves": {"first", "every", "count", "open_days", "assign"},
}
_INPUT_KEYS = {"range", "missing", "missing_codes"}
_CENTRAL_KEYS = {"survey": {"id", "kind", "users"}, "label": {"name", "values"}, "projection": {"inputs"}}
_NO_WEIGHT = "a curator counts every value, so delete the weight"
_CENTRAL_HINTS = {
    ("survey", "epsilon"): "each training has a separate epsilon: ldp-central train --epsilon",
    ("survey", "enrolment"): "a curator holds the rows, so invitations are not needed: delete it",
    ("", "mechanism"): "a curator chooses a learner: ldp-central train --learner",
    ("", "validation"): "only people's answers can validate a model: delete it",
    ("", "tables"): "a curator counts single features: delete it",
    ("", "relay"): "a curator holds the rows, so a relay hides nothing: delete it",
    ("", "waves"): "only a survey of people has waves: delete it",
    ("", "series"): "only a survey of people belongs to a series: delete it",
    ("label", "weight"): _NO_WEIGHT,
    ("features", "weight"): _NO_WEIGHT,
}


def read_tables(document: Table) -> tuple[Survey, list[Mistake]]:
    """Return the survey of people or of a curator that a TOML document describes, and every mistake in it."""
    reader = (_CentralReader if survey_kind(document) == CENTRAL else _SurveyReader)(document)
    return reader.read_survey(), reader.mistakes


class _SurveyReader(SchemaReader):
    """Reads the tables in order; a default replaces a mistaken entry, so that reading continues."""

    kind = LOCAL
    table_keys = _TABLE_KEYS
    tables_of_names = SchemaReader.tables_of_names | {"tables"}
    feature_keys = SchemaReader.feature_keys | {"alone", "ask_if", "spread", "moments"}

    def read_survey(self) -> Survey:
        tables, common = self.read_common()
        if survey_kind(self.document) != self.kind:
            self.note(("survey", "kind"), 'must be "local" (the default), "silo" or "central"')
        label, features = common["label"], common["features"]
        cross_tables = read_cross_tables(self, self.read_table("tables"), label, features)
        weights = [self.read_weight(tables["label"], ("label",), None) if label.exists else 0]
        weights += self.read_feature_weights(tables["features"], features, cross_tables)
        waves, mechanism = self.read_waves(self.read_table("waves")), self.read_table("mechanism")
        why = "needs the number of people expected to answer, a whole number from 1"
        survey = Survey(
            **common,
            weights=tuple(weights),
            frequency=self.read_mechanism(mechanism, "frequency", check_name),
            numeric=self.read_mechanism(mechanism, "numeric", check_numeric_name),
            projection=self.read_projection(tables["projection"], tables["features"]),
            tables=cross_tables,
            users=self.read_whole(tables["survey"], ("survey", "users"), 1, MAX_USERS, why),
            relay=self.read_relay(waves),
            divide=self.read_division(),
            kind=self.kind,
            waves=waves,
            series=self.read_series(self.read_table("series")),
        )
        if "validation" not in self.document or self.mistakes:
            return survey
        validation = self.read_validation(self.read_table("validation"), survey)
        return survey.with_validation(validation) if validation else survey

    def read_feature_weights(
        self, entries: Table, features: Sequence[Feature], cross_tables: Sequence[CrossTable]
    ) -> list[int | None]:
        """Return the weight of the question about each feature alone; 0 if only tables contain it."""
        tabulated = {features[index].row_name for table in cross_tables for index in table.feature_indices}
        weights = {}
        for name, entry in entries.items():
            path = ("features", name)
            weights[name] = self.read_weight(entry, path, 1)
            alone = isinstance(entry, dict) and self.read_flag(entry, (*path, "alone"))
            if alone and name not in tabulated:
                self.note((*path, "alone"), "is in no table, so it is asked alone anyway: delete this entry")
            elif name in tabulated and not alone and "weight" in entry:
                self.note((*path, "weight"), "is not used, because a table asks for it: add alone = true")
        single = {index for table in cross_tables for index in table.feature_indices}
        return [
            0
            if index in single and not entries[each.row_name].get("alone", False)
            else weights[each.row_name]
            for index, each in enumerate(features)
        ]

    # -- [survey] and [mechanism] ------------------------------------------------------------

    def read_epsilon(self, table: Table, most: Decimal = MAX_EPSILON) -> Decimal:
        asks_all = self.read_table("relay").get("ask") == ALL
        return super().read_epsilon(table, MAX_SUM if asks_all else most)

    def read_mechanism(self, table: Table, key: str, check: Callable[[str], str]) -> str:
        name = table.get(key, "auto")
        try:
            return check(name if isinstance(name, str) else "")
        except SurveyError as error:
            self.note(("mechanism", key), error.why)
            return "auto"

    # -- [relay] ----------------------------------------------------------------------------

    def read_relay(self, waves: Waves | None) -> Relay | None:
        if "relay" not in self.document:
            return None
        table = self.read_table("relay")
        entries: dict[str, Any] = {each.name: table.get(each.name, "") for each in fields(Relay)}
        entries |= {name: parse_decimal(entries[name]) or Decimal(0) for name in DECIMALS}
        entries |= self.read_relay_times(table, waves) | {"ask": table.get("ask", ONE)}
        relay, survey = Relay(**entries), self.read_table("survey")
        if not self.accepts(partial(relay.check, survey.get("id", ""))):
            return None
        if survey.get("enrolment") == TOKEN:
            self.note(("relay",), RELAY_REFUSES_TOKENS)
        return relay

    def read_relay_times(self, table: Table, waves: Waves | None) -> dict[str, int]:
        if "waves" not in self.document:
            return {name: _read_time(table.get(name)) for name in TIMES}
        for name in TIMES:
            if name in table:
                self.note(("relay", name), "follows from [waves]: delete it")
        if waves is None:  # a mistake in them was noted
            return {"opens": 1, "closes": 2}
        return {"opens": waves.list[0].opens, "closes": waves.list[-1].closes}

    def read_division(self) -> str:
        table = self.read_table("relay")
        why = 'must be "equal" (the default) or "margins"'
        divide = self.read_choice(table, ("relay", "divide"), (EQUAL, MARGINS), why)
        if divide != EQUAL and table.get("ask") != ALL:
            self.note(("relay", "divide"), 'is for ask = "all": delete it')
        return divide

    def read_series(self, table: Table) -> Series | None:
        """Read the series that the survey belongs to; None without one, or for a mistake."""
        if "series" not in self.document:
            return None
        series = Series(table.get("name", ""), table.get("key", ""))
        return series if self.accepts(series.check) else None

    # -- [waves] ----------------------------------------------------------------------------

    def read_waves(self, table: Table) -> Waves | None:
        if "waves" not in self.document:
            return None
        before = len(self.mistakes)
        first, every = table.get("first"), table.get("every")
        if not isinstance(first, date) or isinstance(first, datetime):
            self.note(("waves", "first"), "needs the first day of the first wave, such as 2027-01-01")
        if every not in PERIODS:
            self.note(("waves", "every"), f"needs one of: {', '.join(PERIODS)}")
        if not (type(table.get("count")) is int and 2 <= table["count"] <= MAX_WAVES):
            self.note(("waves", "count"), f"needs a number of waves from 2 to {MAX_WAVES}")
        why = "needs for how many days each wave is open, from 1"
        days = self.read_whole(table, ("waves", "open_days"), 1, 2**63, why)
        if "validation" in self.document:
            self.note(("waves",), "a survey with [validation] has no waves: delete one of them")
        if len(self.mistakes) > before:
            return None
        try:
            steps = schedule_waves(first, every, table["count"], days)  # type: ignore[arg-type]
            waves = Waves(table.get("assign", DRAWN), steps)
            waves.check(1)  # with the compiled questions, the plan checks again
            return waves
        except SurveyError as error:
            field = "open_days" if error.field == "waves.list" else error.field.removeprefix("waves.")
            self.note(("waves", field), error.why)
            return None

    # -- [projection] ----------------------------------------------------------------------

    def read_projection(self, table: Table, features: Table) -> Projection | None:
        path = ("projection", "inputs")
        tables = {name: each for name, each in features.items() if isinstance(each, dict)}
        components = [
            self.read_component(name, each, ("features", name))
            for name, each in tables.items()
            if {"weights", "offset"} & set(each)
        ]
        entries = table.get("inputs", {})
        if not isinstance(entries, dict):
            self.note(path, "must be tables: [projection.inputs.NAME]")
            return None
        inputs = [self.read_input(name, each, (*path, name)) for name, each in entries.items()]
        taken = [name for name in entries if name in (*features, self.read_table("label").get("name"))]
        for name in taken:
            self.note((*path, name), "has the name of a feature or the label: rename it")
        if not (components or "projection" in self.document):
            return None
        projection = Projection(
            inputs=tuple(each for each in inputs if each),
            components=tuple(each for each in components if each),
        )
        if None not in inputs and None not in components and not taken:
            for problem in projection.problems():
                self.note(_split_field(problem.field), problem.why)
        return projection

    def read_component(self, name: str, entry: Table, path: Path) -> Component | None:
        if "range" not in entry and "edges" not in entry:
            self.note(path, "has weights, so it is a number: give it range = [low, high] or edges = [...]")
        listed = entry.get("weights", [])
        numbers = [parse_decimal(each) for each in listed] if isinstance(listed, list) else []
        weights = [each for each in numbers if each is not None]
        if not weights or len(weights) < len(numbers):
            self.note((*path, "weights"), "needs a list of finite numbers, one for each input")
            return None
        offset = parse_decimal(entry.get("offset", 0))
        if offset is None:
            self.note((*path, "offset"), "needs a finite number, for example 0.5")
            return None
        return Component(name, tuple(decimal_text(each) for each in weights), decimal_text(offset))

    def read_input(self, name: str, entry: Any, path: Path) -> NumericFeature | None:
        if not isinstance(entry, dict):
            self.note(path, f"must be a table: [projection.inputs.{name}]")
            return None
        self.check_name(name, path)
        self.check_keys(entry, _INPUT_KEYS, path)
        bounds = self.read_bounds(entry, path)
        missing = self.read_missing(entry, path)
        if not bounds:
            return None
        return self.read_missing_codes(NumericFeature(name, *bounds, missing), entry, path)

    # -- [validation] ----------------------------------------------------------------------

    def read_validation(self, table: Table, survey: Survey) -> Validation | None:
        if not survey.label.exists:
            self.note(("validation",), "a survey without a label has no model to validate: delete it")
            return None
        indices = {feature.name: index for index, feature in enumerate(survey.features)}
        order = [indices.get(name) if isinstance(name, str) else None for name in _list(table.get("order"))]
        if None in order:
            self.note(("validation", "order"), "needs a list of the names of features")
            return None
        scores = table.get("scores")
        if not isinstance(scores, dict) or set(scores) != set(indices):
            self.note(
                ("validation", "scores"), "needs a table of scores for each feature, NAME = [[...], ...]"
            )
            return None
        validation = Validation(
            label=survey.label,
            features=survey.features,
            order=tuple(index for index in order if index is not None),
            top_k=tuple(_list(table.get("tops"))),
            prior=tuple(_list(table.get("prior"))),
            scores=tuple(tuple(tuple(_list(row)) for row in _list(scores[name])) for name in indices),
            projection=survey.projection,
        )
        return validation if self.accepts(validation.check) else None


class _CentralReader(_SurveyReader):
    """Reads the survey of a curator, which has no entries that only devices use."""

    kind = CENTRAL
    table_keys = _CENTRAL_KEYS
    tables_of_names = SchemaReader.tables_of_names
    hints = HINTS | _CENTRAL_HINTS
    feature_keys = SchemaReader.feature_keys - {"weight"}

    def read_epsilon(self, table: Table, most: Decimal = MAX_EPSILON) -> Decimal:
        return Decimal(1)  # of the plan that codes rows


def _split_field(field: str) -> Path:
    """Split the dotted name of an entry of a projection; the name of a feature may contain dots."""
    table, _, rest = field.partition(".")
    name, _, key = rest.rpartition(".")
    return tuple(part for part in (table, name, key) if part)


def _read_time(value: object) -> int:
    """Return a time with its distance from UTC in whole seconds since 1970; 0 for anything else."""
    if isinstance(value, datetime) and value.tzinfo is not None and not value.microsecond:
        return int(value.timestamp())
    return 0


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []

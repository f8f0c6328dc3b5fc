"""The exact loss of whole messages, from files of rows to noisy cells, by enumeration of tiny surveys."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from encoders.mechanisms.counted_table import SOFT_UNIT, CountedTable
from encoders.survey.silo_plan import SiloPlan
from ldp_silo.epoch_reports import count_file
from tests.support.silo_laws import ScaleOf, planned_scale, worst_log_ratio
from tests.support.silo_surveys import read_silo_survey
from tests.support.surveys import survey_toml

CATEGORIES = survey_toml(
    id="tiny",
    kind="silo",
    rows=5,
    rows_per_person=1,
    label={"name": "y", "values": ["no", "yes"]},
    features={"a": ["u", "v"], "b": ["u", "v"]},
)
NUMBERS = CATEGORIES.replace(
    '[features.b]\nvalues = ["u", "v"]\n', '[features.b]\nrange = [0, 10]\nmissing = "category"\n'
)
EPSILON = 1.0
Cells = tuple[int, ...]
Row = tuple[str, str, str]
Count = Callable[[Sequence[Row]], Cells]
MOST_ROWS = 2
"""Number of rows beside those of one person."""


@pytest.fixture
def counted(tmp_path: Path) -> Callable[[SiloPlan], Count]:
    """Return the counts of a silo for rows that it reads from a file."""

    def of_plan(plan: SiloPlan) -> Count:
        known: dict[tuple[Row, ...], Cells] = {}

        def count(rows: Sequence[Row]) -> Cells:
            key = tuple(sorted(rows))
            if key not in known:
                path = tmp_path / "rows.csv"
                path.write_text("y,a,b\n" + "".join(",".join(row) + "\n" for row in key))
                known[key] = tuple(count_file(plan, path, None).counts)
            return known[key]

        return count

    return of_plan


def neighbours(rows: Sequence[Row], count: Count, rows_per_person: int = 1) -> Iterator[tuple[Cells, Cells]]:
    """Yield the counts of all sets of one or two rows, without and with any rows of one person."""
    people = list(itertools.combinations_with_replacement(rows, rows_per_person))
    for size in range(1, MOST_ROWS + 1):
        for base in itertools.combinations_with_replacement(rows, size):
            for person in people:
                yield count(base), count([*base, *person])


def worst_loss(
    plan: SiloPlan, pairs: Iterator[tuple[Cells, Cells]], scale_of: ScaleOf = planned_scale
) -> float:
    """Return the greatest loss of any message of any neighbours, in both directions."""
    return max(
        worst_log_ratio(plan.mechanism, *order, scale_of)
        for pair in set(pairs)
        for order in (pair, pair[::-1])
    )


ROWS = list(itertools.product(("no", "yes"), "uv", "uv"))


@pytest.mark.parametrize("epsilon", ["0.5", "1.0", "3.0"])
def test_messages_of_neighbouring_files_differ_by_a_factor_of_exactly_e_to_epsilon(counted, epsilon):
    plan = read_silo_survey(CATEGORIES.replace("epsilon = 1.0", f"epsilon = {epsilon}")).compile()
    loss = worst_loss(plan, neighbours(ROWS, counted(plan)))
    assert loss == pytest.approx(float(epsilon), rel=1e-9)


@pytest.mark.slow
def test_all_rows_of_a_person_together_lose_epsilon(counted):
    plan = read_silo_survey(CATEGORIES.replace("rows_per_person = 1", "rows_per_person = 2")).compile()
    assert worst_loss(plan, neighbours(ROWS, counted(plan), 2)) == pytest.approx(EPSILON, rel=1e-9)


def test_a_number_loses_no_more_than_a_category(counted):
    # a cell of discrete Laplace noise loses |change| / scale, which its clamped ends attain
    plan = read_silo_survey(NUMBERS).compile()
    numbers = ("", "-3", "0", "0.004", "1e-9", "3.3333", "5", "9.999", "10", "70")
    rows = list(itertools.product(("no", "yes"), "uv", numbers))
    losses = set()
    count = counted(plan)
    for base, person in itertools.product(rows[::9], rows):
        one, other = count([base]), count([base, person])
        changes = [
            (Fraction(abs(one[cell] - other[cell])) / table.scale)
            for table in plan.mechanism.tables
            for cell in range(table.start, table.end)
        ]
        losses.add(sum(changes))
    assert losses == {Fraction(1)}
    assert plan.mechanism.tables[1].unit == SOFT_UNIT


def undivided(table: CountedTable, _cell: int, _counts: Sequence[int]) -> Fraction:
    return table.scale / 2


def bare_class(table: CountedTable, cell: int, _counts: Sequence[int]) -> Fraction:
    return table.scale if (cell - table.start) % table.labels else Fraction(0)


def own_maximum(table: CountedTable, cell: int, counts: Sequence[int]) -> Fraction:
    label = (cell - table.start) % table.labels
    return table.scale * max(counts[table.start + label : table.end : table.labels])


@pytest.mark.parametrize(
    ("scale_of", "loss"), [(undivided, 2 * EPSILON), (bare_class, math.inf), (own_maximum, math.inf)]
)
def test_enumeration_finds_noise_that_is_too_small(counted, scale_of, loss):
    plan = read_silo_survey(CATEGORIES).compile()
    assert worst_loss(plan, neighbours(ROWS, counted(plan)), scale_of) == pytest.approx(loss, rel=1e-9)

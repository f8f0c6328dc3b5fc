"""Run the full audit: what each mechanism's messages reveal, and which bugs are flagged.

    make audit
    python -m benchmarks.audit [--trials 1000000] [--epsilons 0.5,1,2] [mechanisms...]

Each mechanism answers one question about two values (or a number) and two labels with the public client, for
four people, which are six pairs. "bound" is a lower bound on epsilon from the bytes alone; it is wrong once
in a million runs. Further tables list the clients with a bug, and how long reports take; and the bounds and
faults of the clients in other languages, if Node or a JDK is installed. The next two tables are about
trainings by a curator, and the last two about messages of silos. The tables are in docs/results/audit.md.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.buggy_clients import MUTANTS, Mutant, compile_survey
from benchmarks.buggy_curators import MUTANTS as MUTANTS_OF_CURATORS
from benchmarks.buggy_series import MUTANTS as MUTANTS_OF_SERIES
from benchmarks.buggy_series import StepwiseSeries, compile_series
from benchmarks.buggy_silos import MUTANTS as MUTANTS_OF_SILOS
from benchmarks.port_client import ADAPTERS, CLIENTS, PortClient
from encoders.survey import Plan, Question, Survey, read_survey
from encoders.survey.any_survey import read_any_survey
from encoders.survey.questions import SQUARE
from encoders.survey.silo_plan import SiloPlan, SiloSurvey
from ldp_aggregator.prediction import LINEAR
from ldp_audit import PublicClient, audit
from ldp_audit.audit import WHOLE_REQUESTS, collect_reports
from ldp_audit.blackbox import ALPHA
from ldp_audit.curator_audit import AUDITED, audit_trainings
from ldp_audit.device import Reporter
from ldp_audit.exact_epsilon import compute_exact
from ldp_audit.outcomes import LEAST_TRIALS
from ldp_audit.people import focus_plan, make_people
from ldp_audit.result import format_p_value, measure_leak
from ldp_audit.series_audit import check_series
from ldp_audit.silo_audit import audit_silo
from ldp_audit.timing import Timing, compare_times, measure_timing
from ldp_client import Client, Response

DISCRETE = ("DE", "SUE", "OUE", "SHE", "THE", "SS")
NUMERIC = ("onebit", "sign", "sign-vector", "piecewise", "sampled-laplace", "laplace")
SURVEY = """
[survey]
id = "audit"
epsilon = {epsilon}
[label]
name = "label"
values = ["no", "yes"]
[features.asked]
{feature}
[mechanism]
{kind} = "{mechanism}"
"""
CENTRAL_SURVEY = """
[survey]
id = "audit"
epsilon = 1.0
[label]
name = "label"
values = {labels}
[features.a]
values = ["x", "y"]
[features.b]
values = ["x", "y"]
[features.c]
range = [0, 10]
"""
TWO_LABELS = '["no", "yes"]'
THREE_LABELS = '["no", "yes", "maybe"]'
CENTRAL_LEARNERS = (*((learner, TWO_LABELS) for learner in AUDITED), (LINEAR, THREE_LABELS))
"""Linear models for two labels and for more have different constants."""
CENTRAL_EPSILONS = ("0.5", "2")
MUTANT_EPSILON = Fraction(1)
MUTANT_TRAININGS = 10
"""How many times as many trainings a correct learner has as a mutant."""
SILO_SURVEY = CENTRAL_SURVEY.replace('id = "audit"', 'id = "audit"\nkind = "silo"\nrows = 1000')
SILO_MUTANT_TRIALS = 5_000
BOUNDS_HEAD = """
| mechanism | epsilon | realised | loss | bound | bound / epsilon | trials | seconds |
|---|---|---|---|---|---|---|---|"""
URL = "http://audit.invalid/v1/surveys/audit"
SENT = 2_000
MUTANT_TRIALS = 20_000
SERIES_TRIALS = 1_000
TIMED = 100_000
PORT_TRIALS = 200_000
AUDITED_TRIALS = 5_000
AUDITED_REQUESTS = 300


def question_of(mechanism: str, epsilon: str) -> tuple[Plan, Question]:
    """Return a plan that nearly always asks one question by this mechanism, and the question."""
    kind = "frequency" if mechanism in DISCRETE else "numeric"
    feature = 'values = ["a", "b"]' if mechanism in DISCRETE else "range = [0, 1]"
    text = SURVEY.format(epsilon=epsilon, feature=feature, kind=kind, mechanism=mechanism)
    plan = read_survey(text).compile()
    asked = next(each for each in plan.questions if each.feature_indices and each.moment != SQUARE)
    return focus_plan(plan, asked), asked


def row(cell: tuple[str, str, int]) -> str:
    """Measure one mechanism of the public client at one epsilon."""
    return measure_bound(PublicClient(), *cell)


def port_row(cell: tuple[str, str]) -> str:
    """Measure one mechanism of a client in another language at epsilon 1."""
    name, mechanism = cell
    with PortClient(name) as client:
        return measure_bound(client, mechanism, "1", PORT_TRIALS)


def measure_bound(device: Reporter, mechanism: str, epsilon: str, trials: int) -> str:
    plan, question = question_of(mechanism, epsilon)
    start = time.perf_counter()
    people = [person for person in make_people(plan, question) if person.name.startswith(("first", "last"))]
    found = measure_leak(question.name, collect_reports(device, plan, people, trials), ALPHA)
    seconds = time.perf_counter() - start
    exact, bound = compute_exact(plan, question), found.leak.epsilon_lower_bound
    share = bound / float(epsilon)
    return (
        f"| {mechanism} | {epsilon} | {exact.realised_epsilon} | {exact.unused_share:.1e} | {bound:.4f} | "
        f"{share:.3f} | {trials:,} | {seconds:.0f} |"
    )


def port_faults(name: str, frequency: str, numeric: str) -> str:
    """Audit a client in another language with two mechanisms, in all layers."""
    plan = compile_survey(frequency, numeric)
    with PortClient(name) as client:
        found = audit(plan, AUDITED_TRIALS, client, requests=AUDITED_REQUESTS)
    checks, measured = found.checks, found.black_box
    passed = sum(bool(check.passed) for check in checks)
    bound = max(each.leak.epsilon_lower_bound for each in measured)
    [whole] = [each for each in measured if each.question == WHOLE_REQUESTS]
    return (
        f"| {frequency}, {numeric} | {passed} of {len(checks)} | {bound:.3f} | "
        f"{whole.leak.epsilon_lower_bound:.3f} of {whole.leak.max_detectable_epsilon:.2f} | "
        f"{'; '.join(found.faults) or 'none'} |"
    )


def timed(mechanism: str) -> str:
    """Compare the times that one mechanism's reports take."""
    plan, question = question_of(mechanism, "1")
    result = measure_timing(PublicClient(), plan, make_people(plan, question), TIMED)
    difference, p = f"{result.relative_difference:.2%}", format_p_value(result.p, 1)
    return f"| {mechanism} | {result.median:.1f} | {difference} | {p} | {result.runs:,} |"


def flagged(mutant: Mutant) -> str:
    """Audit one client with a bug."""
    found = audit(compile_survey(mutant.frequency, mutant.numeric), MUTANT_TRIALS, mutant.device())
    layers = ", ".join(dict.fromkeys(fault.split(":")[0] for fault in found.faults)) or "NOT FLAGGED"
    return f"| {(mutant.device.__doc__ or '').rstrip('.')} | {layers} |"


class Network:
    """A transport that records when a report reaches it."""

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        self.reached = time.perf_counter_ns()
        return Response(200, b'{"status": "recorded"}')


def until_sent(mechanism: str, runs: int) -> Timing:
    """Compare the times from the call of `report` until its bytes reach the transport."""
    plan, question = question_of(mechanism, "1")
    order = make_people(plan, question) * runs
    random.SystemRandom().shuffle(order)
    times: dict[str, list[int]] = {person.name: [] for person in order}
    for person in order:
        network = Network()
        with (
            TemporaryDirectory() as folder,
            Client(plan, URL, transport=network, journal=f"{folder}/journal") as client,
        ):
            client.grant()
            start = time.perf_counter_ns()
            client.report(person.row, person.label)
            client.flush()
        times[person.name].append(network.reached - start)
    return compare_times({name: np.array(found) for name, found in times.items()})


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("mechanisms", nargs="*", default=(*DISCRETE, *NUMERIC))
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--trainings", type=int, default=100_000)
    parser.add_argument("--messages", type=int, default=100_000, help="Messages of silos on each neighbour.")
    parser.add_argument("--epsilons", default="0.5,1,2")
    parser.add_argument(
        "--only", choices=("bounds", "bugs", "times", *ADAPTERS, "central", "silos"), help="One part."
    )
    chosen = parser.parse_args()
    if chosen.only in (None, "bounds"):
        print_bounds(chosen.mechanisms, chosen.epsilons.split(","), chosen.trials)
    if chosen.only in (None, "bugs"):
        print_bugs()
    if chosen.only in (None, "times"):
        print_times(chosen.mechanisms)
    for name in ADAPTERS:
        if chosen.only in (None, name):
            print_port(name)
    if chosen.only in (None, "central"):
        print_central(chosen.trainings)
    if chosen.only in (None, "silos"):
        print_silos(chosen.messages)


def print_central(trials: int) -> None:
    print("\n| learner of a curator | labels | epsilon | bound | trainings on each neighbour | seconds |")
    print("|---|---|---|---|---|---|", flush=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(central_row, product(CENTRAL_LEARNERS, CENTRAL_EPSILONS, (trials,))):
            print(line, flush=True)
    print("\n| bug of a curator | learner | epsilon | bound | flagged | trainings on each neighbour |")
    print("|---|---|---|---|---|---|", flush=True)
    places, fewer = range(len(MUTANTS_OF_CURATORS)), max(trials // MUTANT_TRAININGS, LEAST_TRIALS)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(central_flagged, product(places, (fewer,))):
            print(line, flush=True)


def central_survey(labels: str = TWO_LABELS) -> Survey:
    return read_survey(CENTRAL_SURVEY.format(labels=labels))


def central_row(cell: tuple[tuple[str, str], str, int]) -> str:
    (learner, labels), epsilon, trials = cell
    survey, start = central_survey(labels), time.perf_counter()
    [leak] = audit_trainings(survey, Fraction(epsilon), trials, [learner])
    seconds = time.perf_counter() - start
    return (
        f"| {learner} | {len(survey.label.values)} | {epsilon} | {leak.epsilon_lower_bound:.3f} | "
        f"{trials:,} | {seconds:.0f} |"
    )


def central_flagged(cell: tuple[int, int]) -> str:
    place, trials = cell
    mutant = MUTANTS_OF_CURATORS[place]  # its function cannot be sent to another process
    leak = mutant.audit(central_survey(), MUTANT_EPSILON, trials)
    return (
        f"| {mutant.name} | {mutant.learner} | {MUTANT_EPSILON} | {leak.epsilon_lower_bound:.3f} | "
        f"{'NO' if leak.passed else 'yes'} | {trials:,} |"
    )


def print_silos(messages: int) -> None:
    print("\n| epsilon of a survey of silos | person added | revealed at least | trials |")
    print("|---|---|---|---|", flush=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(silo_rows, ("0.5", "1.0", "2.0"), (messages,) * 3):
            print(lines, flush=True)
    print("\n| bug of a silo | detected by |\n|---|---|", flush=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(silo_flagged, range(len(MUTANTS_OF_SILOS))):
            print(line, flush=True)


def silo_rows(epsilon: str, messages: int) -> str:
    found = audit_silo(compile_silo_survey(epsilon), messages)
    lines = [
        f"| {epsilon} | {leak.name} | {leak.epsilon_lower_bound:.3f} | {leak.trials:,} |"
        for leak in found.leaks
    ]
    return "\n".join([*lines, *found.faults])


def silo_flagged(place: int) -> str:
    mutant = MUTANTS_OF_SILOS[place]  # its function cannot be sent to another process
    plan = compile_silo_survey("1.0")
    found = audit_silo(plan, SILO_MUTANT_TRIALS, mutant.make())
    bound = max(leak.epsilon_lower_bound for leak in found.leaks)
    causes = [f"bound {bound:.2f}"] * (bound > plan.epsilon) + found.faults
    return f"| {mutant.name} | {'; '.join(causes) or 'NOT DETECTED'} |"


def compile_silo_survey(epsilon: str) -> SiloPlan:
    text = SILO_SURVEY.format(labels=TWO_LABELS).replace("epsilon = 1.0", f"epsilon = {epsilon}")
    survey = read_any_survey(text)
    assert isinstance(survey, SiloSurvey)
    return survey.compile()


def print_bounds(mechanisms: Sequence[str], epsilons: Sequence[str], trials: int) -> None:
    print(BOUNDS_HEAD, flush=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(row, product(mechanisms, epsilons, (trials,))):
            print(line, flush=True)


def print_bugs() -> None:
    print("\n| bug | flagged by |\n|---|---|", flush=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for line in [*pool.map(flagged, MUTANTS), *pool.map(flagged_series, MUTANTS_OF_SERIES)]:
            print(line, flush=True)


def flagged_series(mutant: type[StepwiseSeries]) -> str:
    plan = compile_series()
    [leak], checks = check_series(plan, mutant(), make_people(plan), SERIES_TRIALS, ALPHA)
    causes = [f"bound {leak.leak.epsilon_lower_bound:.2f}"] * leak.exceeds(plan.epsilon)
    causes += [f"{each.layer}: {each.name}" for each in checks if not each.passed]
    return f"| {(mutant.__doc__ or '').rstrip('.')} | {'; '.join(causes) or 'NOT DETECTED'} |"


def print_times(mechanisms: Sequence[str]) -> None:
    """Time one mechanism after the other, with no other process running."""
    print("\n| mechanism | us per report | medians differ by | Kolmogorov-Smirnov test | runs of each |")
    print("|---|---|---|---|---|", flush=True)
    for mechanism in mechanisms:
        print(timed(mechanism), flush=True)
    print(f"\nuntil sent (sign-vector): {until_sent('sign-vector', SENT)}")


def print_port(name: str) -> None:
    """Print the bounds of a client in another language, and the results of its whole audits."""
    missing = "" if shutil.which(ADAPTERS[name][0]) else f"no {ADAPTERS[name][0]} found"
    if not missing and (CLIENTS / name / "Makefile").exists():
        made = subprocess.run(
            ["make", "-C", str(CLIENTS / name), "tests"], stdout=subprocess.DEVNULL, check=False
        )
        missing = "it cannot be built" if made.returncode else ""
    print(f"\nThe client in clients/{name}: {missing and 'not audited: '}{missing}")
    if missing:
        return
    print(BOUNDS_HEAD, flush=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(port_row, product((name,), (*DISCRETE, *NUMERIC))):
            print(line, flush=True)
    # one after the other: each forks copies of this process
    print("\n| mechanisms | checks passed | largest bound | bound of whole requests | faults |")
    print("|---|---|---|---|---|", flush=True)
    for frequency, numeric in zip(DISCRETE, NUMERIC, strict=True):
        print(port_faults(name, frequency, numeric), flush=True)


if __name__ == "__main__":
    main()

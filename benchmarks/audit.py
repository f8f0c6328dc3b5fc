"""The full audit: what each mechanism's messages give away, and which layer flags which bug; docs/privacy.md.

    make audit
    python -m benchmarks.audit [--trials 1000000] [--epsilons 0.5,1,2] [mechanisms...]

One question each, about two values (or a number) and two labels, answered by the public client; four people,
six pairs. "bound" is the lower bound on epsilon from the bytes alone, wrong once in a million runs.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product

from encoders.survey import Plan, Question, read_survey
from encoders.survey.questions import SQUARE
from ldp_audit import PublicClient, audit
from ldp_audit.audit import listen, measure
from ldp_audit.cases import cases_of, focused
from ldp_audit.checks import ALPHA
from ldp_audit.exact import exactly
from tests.ldp_audit.mutants import MUTANTS, Mutant, plan_of

DISCRETE = ("DE", "SUE", "OUE", "SHE", "THE")
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
MUTANT_TRIALS = 20_000


def question_of(mechanism: str, epsilon: str) -> tuple[Plan, Question]:
    """Return a plan that asks hardly anything but one question by this mechanism."""
    kind = "frequency" if mechanism in DISCRETE else "numeric"
    feature = 'values = ["a", "b"]' if mechanism in DISCRETE else "range = [0, 1]"
    text = SURVEY.format(epsilon=epsilon, feature=feature, kind=kind, mechanism=mechanism)
    plan = read_survey(text).compile()
    asked = next(each for each in plan.questions if each.features and each.moment != SQUARE)
    return focused(plan, asked), asked


def row(cell: tuple[str, str, int]) -> str:
    """Measure one mechanism at one epsilon."""
    mechanism, epsilon, trials = cell
    plan, question = question_of(mechanism, epsilon)
    start = time.perf_counter()
    people = [case for case in cases_of(plan, question) if case.name.startswith(("first", "last"))]
    found = measure(question.name, listen(PublicClient(), plan, people, trials), ALPHA)
    seconds = time.perf_counter() - start
    exact, bound = exactly(plan, question), found.leak.bound
    share = bound / float(epsilon)
    return (
        f"| {mechanism} | {epsilon} | {exact.realised} | {exact.loss:.1e} | {bound:.4f} | {share:.3f} | "
        f"{trials:,} | {seconds:.0f} |"
    )


def flagged(mutant: Mutant) -> str:
    """Audit one client with a bug."""
    found = audit(plan_of(mutant.frequency, mutant.numeric), MUTANT_TRIALS, mutant.device())
    layers = ", ".join(dict.fromkeys(fault.split(":")[0] for fault in found.faults)) or "NOT FLAGGED"
    return f"| {(mutant.device.__doc__ or '').rstrip('.')} | {layers} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("mechanisms", nargs="*", default=(*DISCRETE, *NUMERIC))
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--epsilons", default="0.5,1,2")
    chosen = parser.parse_args()
    cells = product(chosen.mechanisms, chosen.epsilons.split(","), (chosen.trials,))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        print("| mechanism | epsilon | realised | loss | bound | bound / epsilon | trials | seconds |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        for line in pool.map(row, cells):
            print(line, flush=True)
        print("\n| bug | flagged by |\n|---|---|", flush=True)
        for line in pool.map(flagged, MUTANTS):
            print(line, flush=True)


if __name__ == "__main__":
    main()

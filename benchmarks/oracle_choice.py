"""Print which frequency oracle "auto" chooses, by closed-form variance: docs/results/mechanisms.md.

python -m benchmarks.oracle_choice
"""

from __future__ import annotations

from decimal import Decimal

from encoders.mechanisms import MECHANISMS, design
from encoders.mechanisms.subset import SS

DOMAINS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 40, 48, 64, 80, 100, 128, 192, 256, 512)
EPSILONS = ("0.1", "0.5", "1", "2", "3", "4")


def describe_choice(domain: int, epsilon: str) -> str:
    """Return the chosen oracle; for SS also its set size, and its variance relative to the best other one."""
    chosen = design("auto", domain, Decimal(epsilon))
    if not isinstance(chosen, SS):
        return chosen.name
    others = [design(name, domain, Decimal(epsilon)) for name in MECHANISMS if name != chosen.name]
    best = min(other.variance(1 / domain) for other in others)
    return f"{chosen.name} {chosen.parameters['size']}, {chosen.variance(1 / domain) / best - 1:.0%}"


def main() -> None:
    """Print one row for each domain size."""
    print("\n".join([f"| d | {' | '.join(f'eps {each}' for each in EPSILONS)} |", "|---" * 7 + "|"]))
    for domain in DOMAINS:
        print(f"| {domain} | {' | '.join(describe_choice(domain, each) for each in EPSILONS)} |")


if __name__ == "__main__":
    main()

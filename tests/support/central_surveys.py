"""A survey with all kinds of features, and rows of a curator for it."""

import numpy as np

SURVEY = """
[survey]
id = "central-tea"
epsilon = 1.0
users = {users}
[label]
name = "tired"
values = ["yes", "no"]
[features.tea]
values = ["green", "black", "none"]
missing = "category"
[features.hours]
range = [0, 12]
[features.cups]
range = [0, 8]
bins = 4
missing = "category"
"""
HEADER = "id,tea,hours,cups,tired"


def survey_text(users: int = 2000) -> str:
    return SURVEY.format(users=users)


def make_csv(count: int = 2000, seed: int = 1) -> str:
    """Return rows whose label follows from all features."""
    rng = np.random.default_rng(seed)
    tired = rng.random(count) < 0.4
    tea = np.where(
        tired, rng.choice(["black", "black", "green"], count), rng.choice(["green", "none", ""], count)
    )
    hours = np.clip(rng.normal(np.where(tired, 4, 7), 1.5), 0, 12).round(2)
    cups = np.where(tired, rng.integers(3, 9, count), rng.integers(0, 6, count))
    lines = [
        f"{place},{a},{b},{c},{'yes' if d else 'no'}"
        for place, (a, b, c, d) in enumerate(zip(tea, hours, cups, tired, strict=True))
    ]
    return "\n".join([HEADER, *lines]) + "\n"

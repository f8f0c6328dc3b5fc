"""A survey that is right in every entry; the tests break it in one place at a time."""

GOOD = """\
[survey]
id = "sleep-2026"
epsilon = 1.5

[label]
name = "rested"
values = ["yes", "no"]

[features.age]
values = ["young", "old"]
missing = "category"

[features.hours]
range = [0, 10]
bins = 4
weight = 3

[mechanism]
frequency = "OUE"
"""

"""Rounds: what some people's reports say decides what the others are asked.

Each person answers one round with one report, so that several rounds cost no one more epsilon. Either the
first round teaches which projection tells the classes apart (:mod:`learned`), or each round leaves out what
was found to tell nothing (:mod:`narrowed`).
"""

"""Rounds: what some people's reports say decides what the others are asked.

Each person answers one round with one report, so that several rounds cost no one more epsilon. The first
round may teach which projection tells the classes apart (:mod:`learned`), each may leave out what was found
to tell nothing (:mod:`narrowed`), and one may judge the model so far (:mod:`validated`).
"""

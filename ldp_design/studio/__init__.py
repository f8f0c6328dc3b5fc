"""The studio: a local web application in which authors write, size, try and publish a survey file.

The survey file stays the truth: :mod:`blocks` and :mod:`edits` change its text and keep its comments,
:mod:`workfile` reads and writes it, and :mod:`app` serves it to one browser on this machine.
"""

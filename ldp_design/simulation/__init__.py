"""Simulates surveys: synthetic people, one trial, a grid of trials, plots."""

from __future__ import annotations

from ldp_aggregator.wording.statement import Texts

TEXTS = Texts("ldp_design.simulation")

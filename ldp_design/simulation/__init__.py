"""Simulates surveys: synthetic people, one trial, a grid of trials, plots."""

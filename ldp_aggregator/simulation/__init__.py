"""Simulate a survey: synthetic people, one trial, a grid of trials, plots."""

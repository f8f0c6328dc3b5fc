"""Runs the collector under gunicorn; rate limit, logs and metrics."""

"""Run the collector under gunicorn: workers, deadlines, rate limits, logs and metrics."""

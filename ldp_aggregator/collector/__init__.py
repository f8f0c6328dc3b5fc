"""The collector: counts randomised reports, each exactly once, and keeps nothing about who sent them."""

from encoders.late_imports import needs_extra

with needs_extra("collector", "ldp_aggregator.collector"):
    from ldp_aggregator.collector.app import create_app

__all__ = ["create_app"]

"""The collector: counts randomised reports, each exactly once, and keeps nothing about who sent them."""

from ldp_aggregator.collector.app import create_app

__all__ = ["create_app"]

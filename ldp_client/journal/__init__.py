"""The journal on the device: consent, the one report of each survey, and the report's outcome."""

from ldp_client.journal.journal import Journal

__all__ = ["Journal"]

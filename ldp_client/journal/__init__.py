"""The journal on the device: consent, the one report of each survey, and how it ended."""

from ldp_client.journal.journal import Journal

__all__ = ["Journal"]

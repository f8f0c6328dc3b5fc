"""The auditor: what leaves a device is held against epsilon, from outside.

Three layers: the tables' exact ratios (``exact``), a lower bound on epsilon from the bytes that would be
sent (``blackbox``), and that all else is the same for everybody and for every copy (``homogeneity``,
``freshness``, ``controlled``). The bytes are reports, and whole requests where a device has them
(``wire``). It drives the public client, or any other (:class:`Device`), and needs numpy and scipy.
"""

from encoders.extras import needs_extra

with needs_extra("audit", "ldp-audit"):
    from ldp_audit.audit import Audit, audit
    from ldp_audit.device import Device, PublicClient, Sending
    from ldp_audit.request_capture import Request

__all__ = ["Audit", "Device", "PublicClient", "Request", "Sending", "audit"]

"""The auditor: checks what leaves a device against epsilon, from outside.

Three layers: the tables' exact ratios (``exact``), a lower bound on epsilon from the bytes that would be
sent (``blackbox``), and that all else is the same for everybody and for every copy (``homogeneity``,
``freshness``). The bytes are reports, and whole requests where a device has them
(``request_capture``). It drives the public client, or any other (:class:`Device`), and needs numpy and
scipy.
"""

from encoders import __version__
from encoders.extras import needs_extra

with needs_extra("audit", "ldp-audit"):
    from ldp_audit.audit import audit
    from ldp_audit.device import Device, PublicClient, RequestDevice
    from ldp_audit.request_capture import Request
    from ldp_audit.result import AuditResult

Audit = AuditResult
Sending = RequestDevice
"""The former names, kept for one release."""

__all__ = ["AuditResult", "Device", "PublicClient", "Request", "RequestDevice", "__version__", "audit"]

"""The auditor: checks from outside that the messages of a device reveal at most epsilon.

``exact_epsilon`` computes the exact likelihood ratios of the tables, ``blackbox`` a lower bound on epsilon
from the bytes that would be sent. ``homogeneity`` and ``freshness`` check that everything else in a message
is the same for everybody, and that no noise is used twice; ``relay_audit`` checks sealed messages. The bytes
are reports, and whole requests if the device has the method for it. The auditor runs the public client or any
other client (:class:`Device`), and needs numpy and scipy.
"""

from encoders.installation import require_own_encoders  # fails if another package 'encoders' hides ours
from encoders.late_imports import needs_extra

require_own_encoders()

from encoders import __version__  # noqa: E402 - another package has no version

with needs_extra("audit", "ldp-audit"):
    from ldp_audit.audit import audit
    from ldp_audit.device import Device, PublicClient, RequestDevice
    from ldp_audit.request_capture import Request
    from ldp_audit.result import AuditResult

__all__ = ["AuditResult", "Device", "PublicClient", "Request", "RequestDevice", "__version__", "audit"]

"""Access control: the tokens of the operator, of gateways and of relays, and the operator's address."""

from __future__ import annotations

import hmac

from flask import Response, abort, after_this_request, current_app, request

from encoders.errors import Reason
from encoders.problem import Problem
from ldp_aggregator.collector.service import Service

OPERATOR_ADDRESS = "LDP_OPERATOR_ADDRESS"
"""Key of the application's configuration: host and port of the operator's pages, as strings."""
_PREFIX = "bearer "


def require_operator_listener(service: Service) -> None:
    """Refuse a request with 404 if it is not at the separate address of the operator's pages, if any."""
    listener = request.environ["SERVER_NAME"], request.environ["SERVER_PORT"]
    if service.settings.operator_bind is not None and listener != current_app.config.get(OPERATOR_ADDRESS):
        abort(404)


def require_operator(service: Service) -> None:
    """Refuse a request without the operator's token; keep the response out of shared caches."""
    require_operator_listener(service)
    if not service.settings.operator_token:
        raise Problem(
            Reason.NOT_AUTHORISED, "this page is closed: it opens when the operator sets LDP_OPERATOR_TOKEN"
        )
    _require_token(service, service.settings.operator_token, "operator")
    after_this_request(_forbid_shared_caching)


def has_gateway_token(service: Service) -> bool:
    """Return whether a request has the gateway's token; refuse any other bearer token.

    Return False if this collector has no gateway's token.
    """
    token = service.settings.gateway_token
    if token is None or not _authorization().lower().startswith(_PREFIX):
        return False
    _require_token(service, token, "gateway")
    return True


def require_relay(service: Service) -> None:
    """Refuse a request without the relay's token."""
    if not service.settings.relay_token:
        raise Problem(
            Reason.NOT_AUTHORISED,
            "this collector takes no sealed messages: its operator sets LDP_RELAY_TOKEN",
        )
    _require_token(service, service.settings.relay_token, "relay")


def require_rate(service: Service) -> None:
    """Count a request; refuse it if its address is over the rate limit."""
    if seconds := service.rate_limit.acquire(*_request_origin()):
        raise Problem(
            Reason.TOO_MANY_REQUESTS,
            "too many requests from this address in this minute; try again later",
            retry_seconds=seconds,
        )


def _require_token(service: Service, expected: str, owner: str) -> None:
    """Refuse a wrong token, and any token from an address that has sent too many wrong tokens."""
    if seconds := service.wrong_token_limit.acquire(*_request_origin(), count=False):
        raise Problem(
            Reason.TOO_MANY_REQUESTS,
            "too many wrong tokens from this address; try again later",
            retry_seconds=seconds,
        )
    authorization = _authorization()
    is_bearer = authorization.lower().startswith(_PREFIX)
    if is_bearer and hmac.compare_digest(authorization[len(_PREFIX) :].encode(), expected.encode()):
        return
    why = f"send the {owner}'s token: Authorization: Bearer TOKEN"
    if authorization:
        service.wrong_token_limit.acquire(*_request_origin())
        why = f"this is not the {owner}'s token of this collector, see LDP_{owner.upper()}_TOKEN; {why}"
    raise Problem(Reason.NOT_AUTHORISED, why, 401)


def _request_origin() -> tuple[str | None, str]:
    """Return the peer and the X-Forwarded-For of the current request, for :class:`RateLimit`."""
    return request.remote_addr, request.headers.get("X-Forwarded-For", "")


def _authorization() -> str:
    return request.headers.get("Authorization", "")


def _forbid_shared_caching(response: Response) -> Response:
    """Set `Cache-Control: private, no-store`, unless the page has set its own."""
    response.headers.setdefault("Cache-Control", "private, no-store")
    return response

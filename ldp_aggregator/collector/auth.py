"""Access control: the operator's token, a gateway's token, and the address of the operator's pages."""

from __future__ import annotations

import hmac

from flask import Response, abort, after_this_request, current_app, request

from encoders.errors import Reason
from ldp_aggregator.collector.problems import Problem
from ldp_aggregator.collector.service import Service

OPERATOR_ADDRESS = "LDP_OPERATOR_ADDRESS"
"""Key of the application's configuration: host and port where the operator's pages answer, as texts."""
_PREFIX = "bearer "


def require_operator_listener(service: Service) -> None:
    """Refuse with 404 at the public address, if the operator's pages have an address of their own."""
    listener = request.environ["SERVER_NAME"], request.environ["SERVER_PORT"]
    if service.settings.operator_bind is not None and listener != current_app.config.get(OPERATOR_ADDRESS):
        abort(404)


def require_operator(service: Service) -> None:
    """Refuse a request without the operator's token; keep the response out of shared caches."""
    require_operator_listener(service)
    if not service.settings.operator_token:
        raise Problem(
            Reason.NOT_AUTHORISED, "the operator has set no LDP_OPERATOR_TOKEN, so this page is closed"
        )
    _require_token(service, service.settings.operator_token, "operator")
    after_this_request(_forbid_shared_caching)


def has_gateway_token(service: Service) -> bool:
    """Return whether a request has the gateway's token; refuse one that has another bearer token.

    Without a gateway's token at this collector, no request has it.
    """
    token = service.settings.gateway_token
    if token is None or not _authorization().lower().startswith(_PREFIX):
        return False
    _require_token(service, token, "gateway")
    return True


def require_rate(service: Service) -> None:
    """Count a request, and refuse one too many from its address."""
    if seconds := service.rate_limit.acquire(*_request_origin()):
        raise Problem(
            Reason.TOO_MANY_REQUESTS,
            "this address has sent too many requests in this minute; try again later",
            retry_seconds=seconds,
        )


def _require_token(service: Service, expected: str, owner: str) -> None:
    """Refuse a wrong token, and every token of an address that has sent too many wrong ones."""
    if seconds := service.wrong_token_limit.acquire(*_request_origin(), count=False):
        raise Problem(
            Reason.TOO_MANY_REQUESTS,
            "this address has sent too many wrong tokens; try again later",
            retry_seconds=seconds,
        )
    authorization = _authorization()
    is_bearer = authorization.lower().startswith(_PREFIX)
    if is_bearer and hmac.compare_digest(authorization[len(_PREFIX) :].encode(), expected.encode()):
        return
    if authorization:
        service.wrong_token_limit.acquire(*_request_origin())
    raise Problem(Reason.NOT_AUTHORISED, f"send the {owner}'s token: Authorization: Bearer ...", 401)


def _request_origin() -> tuple[str | None, str]:
    """Return the peer of the current request and its X-Forwarded-For, as :class:`RateLimit` takes them."""
    return request.remote_addr, request.headers.get("X-Forwarded-For", "")


def _authorization() -> str:
    return request.headers.get("Authorization", "")


def _forbid_shared_caching(response: Response) -> Response:
    """Keep what only the operator may see out of every cache that does not ask again."""
    response.headers.setdefault("Cache-Control", "private, no-store")
    return response

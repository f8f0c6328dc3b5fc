"""Access control: the roles of tokens, and the operator's address."""

from __future__ import annotations

import hmac

from flask import Response, abort, after_this_request, current_app, request

from encoders.errors import Reason
from encoders.problem import Problem
from ldp_aggregator.collector.access_tokens import AccessToken, Role, hash_secret
from ldp_aggregator.collector.service import Service

OPERATOR_ADDRESS = "LDP_OPERATOR_ADDRESS"
"""Key of the application's configuration: host and port of the operator's pages, as strings."""
_PREFIX = "bearer "


def require_operator_listener(service: Service) -> None:
    """Refuse a request with 404 if it is not at the separate address of the operator's pages, if any."""
    listener = request.environ["SERVER_NAME"], request.environ["SERVER_PORT"]
    if service.settings.operator_bind is not None and listener != current_app.config.get(OPERATOR_ADDRESS):
        abort(404)


def require_operator(service: Service, other: Role) -> AccessToken:
    """Return the token of an operator or of another role, else refuse; keep out of shared caches."""
    require_operator_listener(service)
    token = require_token(service, Role.OPERATOR, other)
    after_this_request(_forbid_shared_caching)
    return token


def has_gateway_token(service: Service) -> bool:
    """Return whether a request has a gateway's token; refuse other tokens if there are any for gateways."""
    is_bearer = _authorization().lower().startswith(_PREFIX)
    if not is_bearer or Role.GATEWAY not in service.settings.roles:
        return False
    require_token(service, Role.GATEWAY)
    return True


def require_rate(service: Service) -> None:
    if seconds := service.rate_limit.acquire(*_request_origin()):
        raise Problem(
            Reason.TOO_MANY_REQUESTS,
            "too many requests from this address in this minute; try again later",
            retry_seconds=seconds,
        )


def require_token(service: Service, *roles: Role) -> AccessToken:
    """Return a request's token of one of the roles; refuse addresses that have sent too many wrong ones."""
    wanted = " or ".join(roles)
    if service.settings.roles.isdisjoint(roles):
        raise Problem(
            Reason.NOT_AUTHORISED,
            f"this page is closed: the collector has no token for {wanted} (see ldp-collector access, or set "
            "LDP_OPERATOR_TOKEN)",
        )
    if seconds := service.wrong_token_limit.acquire(*_request_origin(), count=False):
        raise Problem(
            Reason.TOO_MANY_REQUESTS,
            "too many wrong tokens from this address; try again later",
            retry_seconds=seconds,
        )
    token = _find_token(service)
    if token is None:
        why = f"send a token for {wanted}: Authorization: Bearer TOKEN"
        if _authorization():
            service.wrong_token_limit.acquire(*_request_origin())
            why = f"this collector does not have this token; {why}"
        raise Problem(Reason.NOT_AUTHORISED, why, 401)
    if token.days_left <= 0:
        why = f"the token {token.name} expired on {token.expires}: ask the collector's operator for a new one"
        raise Problem(Reason.NOT_AUTHORISED, why, 401)
    if token.role not in roles:
        raise Problem(
            Reason.NOT_AUTHORISED, f"the token {token.name} is for {token.role}, and not for {wanted}"
        )
    return token


def _find_token(service: Service) -> AccessToken | None:
    """Return the collector's token that the request has; all are compared, in constant time."""
    authorization = _authorization()
    if not authorization.lower().startswith(_PREFIX):
        return None
    sent = hash_secret(authorization[len(_PREFIX) :])
    same = [each for each in service.settings.all_tokens if hmac.compare_digest(each.sha256, sent)]
    return same[0] if same else None


def _request_origin() -> tuple[str | None, str]:
    return request.remote_addr, request.headers.get("X-Forwarded-For", "")


def _authorization() -> str:
    return request.headers.get("Authorization", "")


def _forbid_shared_caching(response: Response) -> Response:
    response.headers.setdefault("Cache-Control", "private, no-store")
    return response

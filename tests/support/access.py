"""Access tokens whose secrets the tests know, and files of them."""

from datetime import date
from pathlib import Path

from ldp_aggregator.collector.access_tokens import AccessToken, Role, hash_secret


def access(role: str, secret: str, name: str = "", expires: date | None = None) -> AccessToken:
    """Return a token with a secret; its name is by default that of its role."""
    return AccessToken(name=name or role, role=Role(role), sha256=hash_secret(secret), expires=expires)


def write_tokens(path: Path, *tokens: AccessToken) -> Path:
    """Write a file of tokens; return its path."""
    lines = []
    for each in tokens:
        lines += [f"[tokens.{each.name}]", f'role = "{each.role}"', f'sha256 = "{each.sha256}"']
        lines += [f"expires = {each.expires}"] if each.expires else []
    path.write_text("\n".join(lines))
    return path

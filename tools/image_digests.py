"""Writes the digests of the base images into the files of deploy/, for `make lock`.

A tag such as nginx:1.28 can move to another image; nginx:1.28@sha256:... cannot. Without a digest, the files
work too, with the image that the tag names at the time. A digest that is there stays, unless --upgrade is
given: if you change a tag, delete its digest. Nothing is written if an image cannot be found.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from email.message import Message
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[1]
FILES = (
    "deploy/Dockerfile",
    "deploy/compose.yaml",
    "deploy/cluster/compose.yaml",
    "deploy/relay/compose.yaml",
)
IMAGE = re.compile(r"^(FROM| +image:) +([a-z0-9/-]+:[\w.-]+)(@sha256:[0-9a-f]{64})?(?!\S)", re.M)
_TYPES = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"
"""The lists of an image's platforms: a digest of one is the same on every machine."""
_SECONDS = 30


class RegistryError(Exception):
    """A registry that cannot be used, or that does not have an image; the message says what to do."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Write the digests of the base images into deploy/.")
    parser.add_argument("--upgrade", action="store_true", help="Replace the digests that are there.")
    parser.add_argument("--registry", default="https://registry-1.docker.io", metavar="URL")
    parser.add_argument("--root", type=Path, default=ROOT, help="The folder that has deploy/.")
    options = parser.parse_args(arguments)
    try:
        lock_images(options.root, options.registry, upgrade=options.upgrade)
    except RegistryError as error:
        sys.exit(f"Error: {error}. No digest was written")


def lock_images(root: Path, registry: str, *, upgrade: bool = False) -> None:
    """Write a digest after each tag in the files.

    Raises RegistryError if a digest cannot be found; nothing is then written.
    """
    texts = {root / file: (root / file).read_text("utf-8") for file in FILES}
    found = [match for text in texts.values() for match in IMAGE.findall(text)]
    digests = {} if upgrade else {image: digest for _, image, digest in found if digest}
    for image in sorted({image for _, image, _ in found} - digests.keys()):
        digests[image] = f"@{find_digest(registry, image)}"
        sys.stdout.write(f"{image}{digests[image]}\n")
    for path, text in texts.items():
        path.write_text(IMAGE.sub(lambda match: f"{match[1]} {match[2]}{digests[match[2]]}", text), "utf-8")


def find_digest(registry: str, image: str) -> str:
    """Return the digest of an image for all platforms, computed from what the registry sends."""
    name, _, tag = image.partition(":")
    url = f"{registry}/v2/{name if '/' in name else f'library/{name}'}/manifests/{tag}"
    try:
        try:
            body, headers = _get(url, Accept=_TYPES)
        except HTTPError as error:
            if error.code != 401:
                raise
            token = _fetch_token(image, error.headers.get("WWW-Authenticate", ""))
            body, headers = _get(url, Accept=_TYPES, Authorization=f"Bearer {token}")
    except HTTPError as error:
        raise RegistryError(f"{image}: the registry answers {error.code}: check the tag") from error
    except (OSError, HTTPException) as error:
        raise RegistryError(f"{image}: {registry} cannot be reached: connect to a network") from error
    digest, kind = f"sha256:{sha256(body).hexdigest()}", headers.get_content_type()
    if headers.get("Docker-Content-Digest", digest) != digest:
        raise RegistryError(f"{image}: the digest of the registry does not fit what it sends: try again")
    if kind not in _TYPES.split(", "):
        raise RegistryError(f"{image}: the registry sends {kind} in place of a list of platforms")
    return digest


def _fetch_token(image: str, challenge: str) -> str:
    """Return the token that lets anybody read a public image."""
    fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    if not challenge.startswith("Bearer ") or "realm" not in fields:
        raise RegistryError(f"{image}: the registry wants a password: choose a public image")
    try:
        return str(json.loads(_get(f"{fields.pop('realm')}?{urlencode(fields)}")[0])["token"])
    except (ValueError, KeyError, TypeError) as error:
        raise RegistryError(f"{image}: the registry gave no token: try again") from error


def _get(url: str, **headers: str) -> tuple[bytes, Message]:
    with urlopen(Request(url, headers=headers), timeout=_SECONDS) as response:
        return response.read(), response.headers


if __name__ == "__main__":
    main()

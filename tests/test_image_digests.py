"""`make lock` writes digests of base images, which a registry on this machine gives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.http_servers import QuietHandler, serve
from tests.support.servers import free_port
from tools.image_digests import FILES, IMAGE, ROOT, main

INDEX = "application/vnd.oci.image.index.v1+json"


class Registry(QuietHandler):
    """Asks for a token, and has an image of each name and tag whose content is its path."""

    kind, salt, is_damaged = INDEX, "", False

    def do_GET(self) -> None:
        if self.path.startswith("/token?"):
            assert self.path == "/token?service=registry.test&scope=repository%3Alibrary%3Apull"
            self.answer(200, b'{"token": "for everybody"}')
        elif self.headers.get("Authorization") != "Bearer for everybody":
            realm = f"http://127.0.0.1:{self.server.server_port}/token"
            scope = 'service="registry.test",scope="repository:library:pull"'
            self.answer(401, WWW_Authenticate=f'Bearer realm="{realm}",{scope}')
        elif INDEX not in self.headers["Accept"] or not self.path.startswith("/v2/library/"):
            self.answer(404)
        else:
            body = (self.path + self.salt).encode()
            digest = f"sha256:{sha256(body).hexdigest()}"
            self.answer(
                200, body + b"x" * self.is_damaged, Content_Type=self.kind, Docker_Content_Digest=digest
            )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    for file in FILES:
        path = tmp_path / file
        path.write_text(IMAGE.sub(r"\1 \2", path.read_text()))  # without digests
    return tmp_path


@pytest.fixture
def registry() -> Iterator[tuple[str, type[Registry]]]:
    handler = type("OneRegistry", (Registry,), {})
    with serve(handler) as origin:
        yield origin, handler


def images(root: Path) -> dict[str, set[str]]:
    """Return the digests of each image in the files."""
    found: dict[str, set[str]] = {}
    for file in FILES:
        for _, image, digest in IMAGE.findall((root / file).read_text()):
            found.setdefault(image, set()).add(digest)
    return found


def digest_of(image: str, salt: str = "") -> str:
    name, tag = image.split(":")
    return f"@sha256:{sha256(f'/v2/library/{name}/manifests/{tag}{salt}'.encode()).hexdigest()}"


def lock(root: Path, registry: str, *options: str) -> None:
    main(["--registry", registry, "--root", str(root), *options])


def test_the_shipped_files_name_one_digest_of_each_image_or_none():
    found = images(ROOT)
    assert {image.partition(":")[0] for image in found} == {"nginx", "python", "redis"}
    assert len(found) == 3  # one tag of each
    assert all(len(digests) == 1 for digests in found.values())
    assert len({digests == {""} for digests in found.values()}) == 1


def test_digests_are_written_after_all_tags_and_nothing_else_changes(root, registry, capsys):
    before = {file: (root / file).read_text() for file in FILES}
    lock(root, registry[0])
    found = images(root)
    assert found == {image: {digest_of(image)} for image in found}
    assert capsys.readouterr().out.splitlines() == [f"{image}{digest_of(image)}" for image in sorted(found)]
    for file, text in before.items():
        assert IMAGE.sub(r"\1 \2", (root / file).read_text()) == text


def test_a_digest_stays_unless_an_upgrade_is_asked_for(root, registry):
    origin, handler = registry
    lock(root, origin)
    before = images(root)
    handler.salt = "a newer image"
    lock(root, origin)
    assert images(root) == before
    lock(root, origin, "--upgrade")
    assert images(root) == {image: {digest_of(image, handler.salt)} for image in before}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"is_damaged": True}, "does not fit what it sends"),
        ({"kind": "application/vnd.oci.image.manifest.v1+json"}, "in place of a list of platforms"),
        ({"kind": "text/html"}, "in place of a list of platforms"),
    ],
)
def test_an_answer_that_is_not_the_image_writes_nothing(root, registry, change, why):
    origin, handler = registry
    for name, value in change.items():
        setattr(handler, name, value)
    with pytest.raises(SystemExit, match=f"Error: nginx:[0-9.]+: .*{why}.*No digest was written"):
        lock(root, origin)
    assert all(digests == {""} for digests in images(root).values())


def test_without_a_registry_nothing_is_written(root):
    with pytest.raises(SystemExit, match=r"cannot be reached: connect to a network\. No digest was written"):
        lock(root, f"http://127.0.0.1:{free_port()}")
    path = root / FILES[1]
    path.write_text(path.read_text().replace("redis:7", "redis:no-such-tag"))
    with (
        serve(QuietHandler) as origin,
        pytest.raises(SystemExit, match="the registry answers 501: check the tag"),
    ):
        lock(root, origin)
    assert all(digests == {""} for digests in images(root).values())

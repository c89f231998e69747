"""Images without a registry: a tar of busybox, imported by the daemon."""

from __future__ import annotations

import io
import secrets
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import docker

_PATH = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Images:
    """References of the images, each with an exact tag."""

    busybox: str
    with_entrypoint: str
    without_shell: str
    with_secrets: str
    canary: str


def load_images(client: docker.DockerClient) -> Images:
    canary = f"canary-{secrets.token_hex(16)}"
    return Images(
        busybox=make_image(client, "gonogo-test/busybox", busybox_tar(), [_PATH, 'CMD ["sh"]']),
        with_entrypoint=make_image(
            client, "gonogo-test/entrypoint", busybox_tar(), [_PATH, 'ENTRYPOINT ["/entrypoint"]', 'CMD ["ignored"]']
        ),
        without_shell=make_image(client, "gonogo-test/shell-less", shell_less_tar(), [_PATH, 'CMD ["/bin/true"]']),
        with_secrets=make_image(
            client,
            "gonogo-test/secret-label",
            busybox_tar(),
            [_PATH, f"LABEL build.token={canary}", f"ENV BUILD_TOKEN={canary}"],
        ),
        canary=canary,
    )


def make_image(client: docker.DockerClient, repository: str, tar: bytes, changes: Sequence[str], tag: str = "1") -> str:
    """Import the tar as one layer. Returns the reference."""
    client.api.import_image_from_data(tar, repository=repository, tag=tag, changes=list(changes))
    return f"{repository}:{tag}"


@lru_cache
def busybox_tar() -> bytes:
    """A root folder with busybox under all its names, a user table, and `/entrypoint`."""
    program = _busybox()
    names = subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout.split()
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for folder, mode in (("bin", 0o755), ("etc", 0o755), ("root", 0o700), ("tmp", 0o1777), ("usr/bin", 0o755)):
            _add_folder(tar, folder, mode)
        _add_file(tar, "bin/busybox", Path(program).read_bytes(), 0o755)
        for name in names:
            if name != "busybox":
                _add_link(tar, f"bin/{name}", "busybox")
        _add_file(tar, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
        _add_file(tar, "etc/group", b"root:x:0:\nnogroup:x:65534:\n")
        _add_file(tar, "entrypoint", b"#!/bin/sh\necho entrypoint was here\nexit 9\n", 0o755)
    return data.getvalue()


def with_programs(tar: bytes, programs: Mapping[str, str]) -> bytes:
    """The same image with those programs, by their paths in it."""
    data = io.BytesIO(tar)
    with tarfile.open(fileobj=data, mode="a") as more:
        for name, text in programs.items():
            _add_file(more, name, text.encode(), 0o755)
    return data.getvalue()


@lru_cache
def shell_less_tar(*names: str) -> bytes:
    """Nothing but those programs, `/bin/true` and `/bin/sleep`: busybox acts by the name that it is called by."""
    program = Path(_busybox()).read_bytes()
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        _add_folder(tar, "bin", 0o755)
        for name in names or ("bin/true", "bin/sleep"):
            _add_file(tar, name, program, 0o755)
    return data.getvalue()


def files_tar(files: Mapping[str, bytes]) -> bytes:
    """Those programs, by their paths without the first slash."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, content in files.items():
            _add_file(tar, name, content, 0o755)
    return data.getvalue()


def shell_that_runs(script: str) -> bytes:
    """A root folder whose `/bin/sh` is that script, in the language of `/bin/busybox sh`."""
    shell = f"#!/bin/busybox sh\n{script}\n".encode()
    return files_tar({"bin/busybox": Path(_busybox()).read_bytes(), "bin/sh": shell})


def _busybox() -> str:
    program = shutil.which("busybox")
    assert program is not None, "busybox is not installed: apt-get install busybox-static"
    return program


def _add_folder(tar: tarfile.TarFile, name: str, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    tar.addfile(entry)


def _add_file(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def _add_link(tar: tarfile.TarFile, name: str, target: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    tar.addfile(entry)

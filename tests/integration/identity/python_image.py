"""An image with the python of this machine and a user table that knows root alone."""

from __future__ import annotations

import io
import subprocess
import tarfile
from functools import lru_cache
from pathlib import Path

from services.dockerd import Dockerd
from services.images import busybox_tar, make_image

_PYTHON = Path("/usr/bin/python3")
_LEFT_OUT = ("test", "tests", "idlelib", "lib2to3", "site-packages", "dist-packages", "ensurepip", "tkinter")


def missing_for_python_image() -> str:
    return "" if _PYTHON.exists() else f"{_PYTHON} is not installed: apt-get install python3-minimal"


def python_image(daemon: Dockerd) -> str:
    """Its reference on that daemon; imported once."""
    reference = "gonogo-test/python:1"
    if not daemon.client().images.list(name=reference):
        changes = ["ENV PATH=/usr/bin:/bin"]
        make_image(daemon.client(), "gonogo-test/python", _tar(), changes)
    return reference


@lru_cache
def _tar() -> bytes:
    """busybox's root folder, and above it the interpreter, its libraries and its modules."""
    data = io.BytesIO(busybox_tar())
    with tarfile.open(fileobj=data, mode="a") as tar:
        program = _PYTHON.resolve()
        for file in (program, *_libraries(program)):
            tar.add(file.resolve(), arcname=str(file).lstrip("/"))
        link = tarfile.TarInfo("usr/bin/python3")
        link.type, link.linkname = tarfile.SYMTYPE, program.name
        tar.addfile(link)
        modules = Path(_said(str(program), "-ISc", "import sysconfig; print(sysconfig.get_path('stdlib'))"))
        tar.add(modules, arcname=str(modules).lstrip("/"), filter=_wanted)
    return data.getvalue()


def _libraries(program: Path) -> list[Path]:
    return [Path(word) for word in _said("ldd", str(program)).split() if word.startswith("/")]


def _wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    parts = entry.name.split("/")
    dropped = "__pycache__" in parts or any(part in _LEFT_OUT for part in parts) or any("config-" in p for p in parts)
    return None if dropped else entry


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

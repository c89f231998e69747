"""Certificates for tests: an authority of our own, a server's for 127.0.0.1, a client's. By openssl."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def missing_for_certificates() -> str:
    return "" if shutil.which("openssl") else "openssl is not installed: apt-get install openssl"


def make_authority(folder: Path) -> None:
    """`ca.pem` and `ca-key.pem`."""
    folder.mkdir(parents=True, exist_ok=True)
    _openssl(
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gonogo test authority",
        "-keyout", str(folder / "ca-key.pem"), "-out", str(folder / "ca.pem"),
    )  # fmt: skip


def make_pair(authority: Path, folder: Path, name: str, usage: str) -> None:
    """`cert.pem` and `key.pem` beside a copy of `ca.pem`; `usage` is serverAuth or clientAuth."""
    folder.mkdir(parents=True, exist_ok=True)
    request, more = folder / "request.pem", folder / "extensions"
    more.write_text(f"extendedKeyUsage={usage}\nsubjectAltName=IP:127.0.0.1\n")
    _openssl(
        "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
        "-keyout", str(folder / "key.pem"), "-out", str(request),
    )  # fmt: skip
    _openssl(
        "x509", "-req", "-days", "2", "-in", str(request), "-extfile", str(more),
        "-CA", str(authority / "ca.pem"), "-CAkey", str(authority / "ca-key.pem"), "-CAcreateserial",
        "-out", str(folder / "cert.pem"),
    )  # fmt: skip
    shutil.copy(authority / "ca.pem", folder / "ca.pem")


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)

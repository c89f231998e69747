"""A real image registry of the tests' own, on loopback: a daemon takes it without TLS there."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import docker

from .dockerd import wait_until


def missing_for_registry() -> str:
    """Why no registry can be started here, empty where one can."""
    return (
        "" if shutil.which("docker-registry") else "docker-registry is not installed: apt-get install docker-registry"
    )


class Registry:
    """`docker-registry serve` with storage in a folder of its own. `address` is `127.0.0.1:PORT`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gonogo-registry-"))
        self.address = ""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        config = self.folder / "config.yml"
        config.write_text(
            f"version: 0.1\nlog: {{level: warn}}\nstorage: {{filesystem: {{rootdirectory: {self.folder / 'data'}}}}}\n"
            f"http: {{addr: '{self.address}'}}\n"
        )
        log = (self.folder / "log").open("wb")
        with log:
            self._process = subprocess.Popen(["docker-registry", "serve", str(config)], stdout=log, stderr=log)
        wait_until(self._answers, "the registry to answer")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()
        host, _, port = self.address.partition(":")
        with socket.socket() as asking:
            asking.settimeout(2)
            return asking.connect_ex((host, int(port))) == 0

    def push(self, client: docker.DockerClient, image: str, name: str) -> str:
        """Push that image under this name and let the daemon forget the name. Returns the reference to pull."""
        repository = f"{self.address}/{name}"
        client.images.get(image).tag(repository, "1")
        for line in client.images.push(repository, "1", stream=True, decode=True):
            assert "error" not in line, line
        client.images.remove(f"{repository}:1")
        return f"{repository}:1"

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

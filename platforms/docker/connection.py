"""Which daemon is meant, and the SDK's client for it, which is imported and asked on first use."""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gonogo.platforms.docker.door import Door
from gonogo.platforms.docker.errors import not_docker, translate
from gonogo.platforms.faults import Fault, NotFound, Refused
from gonogo.platforms.settings import Setting

#: The SDK's APIClient. Its type stubs leave half of its calls untyped.
Client = Any
DEFAULT_SOCKET = "unix:///var/run/docker.sock"
#: Seconds for a question that only reaches the daemon; below the ten that the suite gives such a probe.
REACH_SECONDS = 8.0


@dataclass(frozen=True)
class Endpoint:
    """A daemon's address and where it was taken from. `tls` is the folder with ca.pem, cert.pem and key.pem, if any."""

    url: str
    origin: str
    tls: Path | None = None
    verify: bool = True

    @property
    def shown(self) -> str:
        """The URL without a password that somebody wrote into it."""
        parts = urlsplit(self.url)
        if parts.password is None:
            return self.url
        return self.url.replace(f":{parts.password}@", "@", 1)

    @property
    def is_ssh(self) -> bool:
        return self.url.startswith("ssh://")

    @property
    def in_clear(self) -> bool:
        """Whether calls travel over TCP without TLS."""
        return urlsplit(self.url).scheme in ("tcp", "http") and self.tls is None

    @property
    def is_local(self) -> bool:
        """Whether the daemon is on this machine, as far as its address tells: a socket or a loopback port."""
        parts = urlsplit(self.url)
        if parts.scheme in ("unix", "http+unix", ""):
            return True
        return parts.scheme in ("tcp", "http", "https") and _is_loopback(parts.hostname or "")


def resolve_endpoint(setting: Setting[str | None], environment: Mapping[str, str]) -> Endpoint:
    """The daemon that is meant: as set for this run, else the docker context in use, else the default socket.

    Raises NotFound for a context that is not defined. Source: docker CLI 28, 'docker context', and its environment
    variables DOCKER_CONTEXT, DOCKER_CONFIG, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH.
    """
    if setting.value:
        url = setting.value if "://" in setting.value else f"unix://{setting.value}"
        return Endpoint(url, setting.origin, _tls_folder(environment))
    folder = _config_folder(environment)
    name = environment.get("DOCKER_CONTEXT") or _current_context(folder)
    if name and name != "default":
        return _from_context(folder, name)
    return Endpoint(DEFAULT_SOCKET, "default")


def _is_loopback(host: str) -> bool:
    try:
        return host in ("localhost", "") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _tls_folder(environment: Mapping[str, str]) -> Path | None:
    if not environment.get("DOCKER_TLS_VERIFY"):
        return None
    return Path(environment.get("DOCKER_CERT_PATH") or _config_folder(environment))


def _config_folder(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("DOCKER_CONFIG") or Path(environment.get("HOME") or "/") / ".docker")


def _current_context(folder: Path) -> str:
    try:
        return str(json.loads((folder / "config.json").read_text()).get("currentContext") or "")
    except (OSError, ValueError, AttributeError):
        return ""  # no such file, or none that the docker CLI could read either


def _from_context(folder: Path, name: str) -> Endpoint:
    digest = hashlib.sha256(name.encode()).hexdigest()
    try:
        meta = json.loads((folder / "contexts" / "meta" / digest / "meta.json").read_text())
        docker = meta["Endpoints"]["docker"]
        url, verify = str(docker["Host"]), not docker.get("SkipTLSVerify", False)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotFound(
            f"the docker context {name} is in use and cannot be read",
            detail=str(error),
            remedy="docker context ls, then `docker context use NAME` or --docker-host URL",
        ) from None
    tls = folder / "contexts" / "tls" / digest / "docker"
    return Endpoint(url or DEFAULT_SOCKET, f"docker context ({name})", tls if tls.is_dir() else None, verify)


class Connection:
    """The SDK's clients for one daemon, made on first use and shared between threads.

    `door` is the way to a daemon that the SDK cannot call by its own address.
    """

    def __init__(self, endpoint: Endpoint, door: Door | None = None) -> None:
        self.endpoint = endpoint
        self._door = door
        self._url = endpoint.url
        self._lock = threading.Lock()
        self._version: str | None = None
        self._clients: dict[float, Client] = {}

    @property
    def address(self) -> str:
        return self.endpoint.shown

    def client(self, seconds: float = REACH_SECONDS) -> Client:
        """A client whose every wait ends after `seconds`. Raises a Fault where the daemon does not answer."""
        url = self._door.url() if self._door is not None else self.endpoint.url
        with self._lock:
            if url != self._url:  # the way was made anew
                self._forget()
                self._url = url
            if seconds not in self._clients:
                version = self._version or self._negotiate(min(seconds, REACH_SECONDS))
                self._clients[seconds] = self._open(version, seconds)
            return self._clients[seconds]

    @contextlib.contextmanager
    def asking(self, doing: str, seconds: float = REACH_SECONDS) -> Iterator[Client]:
        """A client; whatever the SDK raises inside becomes a Fault. `doing` is such as 'while listing images'."""
        client = self.client(seconds)
        try:
            self.knock(seconds)
            yield client
        except Fault:
            raise
        except Exception as error:
            raise self.fault(error, doing, seconds) from error

    def fault(self, error: BaseException, doing: str, seconds: float | None = None) -> Fault:
        """What the SDK raised, as a Fault; where the way to the daemon broke, that one."""
        fault = translate(error, self.address, doing, seconds=seconds)
        return self._door.explain(fault) if self._door is not None else fault

    def call(self, doing: str, question: Callable[[Client], Any], seconds: float = REACH_SECONDS) -> Any:
        """The answer to one question."""
        with self.asking(doing, seconds) as client:
            return question(client)

    def knock(self, seconds: float = REACH_SECONDS) -> None:
        """Open a socket's file and close it again. Raises OSError.

        Its trouble is plain here, wrapped four times by the SDK, and the SDK leaves a socket open for each failure.
        A door's own socket always opens.
        """
        scheme, _, path = self._url.partition("://")
        if scheme == "unix" and self._door is None:
            with socket.socket(socket.AF_UNIX) as door:
                door.settimeout(seconds)
                door.connect(path)

    def close(self) -> None:
        """Close the clients. One that is waiting for a silent daemon has its own deadline: the end waits for none."""
        if self._lock.acquire(timeout=0.2):
            try:
                self._forget()
            finally:
                self._lock.release()

    def _forget(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _negotiate(self, seconds: float) -> str:
        """The API version to speak: the daemon's own, or the SDK's where that is older."""
        from docker.constants import DEFAULT_DOCKER_API_VERSION, MINIMUM_DOCKER_API_VERSION

        try:
            self.knock(seconds)
            client = self._open(MINIMUM_DOCKER_API_VERSION, seconds)
            with contextlib.closing(client):
                answer = client.version(api_version=False)
        except Exception as error:
            raise self.fault(error, "when asked for its version", seconds) from error
        offered = answer.get("ApiVersion") if isinstance(answer, dict) else None
        if not isinstance(offered, str):
            raise not_docker(self.address, str(answer)[:200])
        if _number(offered) < _number(MINIMUM_DOCKER_API_VERSION):
            raise Refused(
                f"the Docker daemon at {self.address} speaks API {offered}, the SDK needs {MINIMUM_DOCKER_API_VERSION}",
                remedy="install a Docker Engine of 20.10 or later there",
            )
        self._version = min(offered, DEFAULT_DOCKER_API_VERSION, key=_number)
        return self._version

    def _open(self, version: str, seconds: float) -> Client:
        from docker import APIClient

        client: Client = APIClient
        client = client(base_url=self._url, version=version, timeout=seconds, tls=self._tls())
        client.trust_env = False  # a proxy for the web must not come between this machine and its own daemon
        if self._door is not None and self._door.brief:
            client.headers["Connection"] = "close"
        return client

    def _tls(self) -> Any:
        folder = self.endpoint.tls
        if folder is None:
            return False
        from docker.tls import TLSConfig

        pair = (str(folder / "cert.pem"), str(folder / "key.pem")) if (folder / "cert.pem").exists() else None
        return TLSConfig(client_cert=pair, ca_cert=str(folder / "ca.pem"), verify=self.endpoint.verify)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def from_environment(setting: Setting[str | None]) -> Endpoint:
    """The endpoint as the process's environment has it."""
    return resolve_endpoint(setting, os.environ)

"""One probe container: a sh program run in an image, as the job's user, with the job's binds, and gone afterwards."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gonogo.platforms.docker.binds import Bind
from gonogo.platforms.docker.connection import Client, Connection
from gonogo.platforms.docker.errors import container_fault, translate
from gonogo.platforms.docker.labels import PROBE, RUN, this_process
from gonogo.platforms.faults import Fault, NotFound, TimedOut, ToolMissing
from gonogo.platforms.shell import Completed

#: A probe container belongs to nobody after this, however its maker ended; far above any deadline of a probe.
EXPIRES_SECONDS = 3600.0
#: Seconds for the removal when the deadline has already passed.
_REMOVE_SECONDS = 5.0
_SHELL = "/bin/sh"
_numbers = itertools.count(1)


class NoShell(ToolMissing):
    """The image has no sh; another image may."""


@dataclass(frozen=True)
class ProbeSpec:
    """What a probe container is given. `user` such as `1001:1001`, empty for the image's own.

    `limits` are the API's Ulimits, `gpus` and `runtime` are the job's own request, `shm` in
    bytes. The network is off unless named.
    """

    image: str
    program: bytes
    user: str = ""
    groups: Sequence[int] = ()
    binds: Sequence[Bind] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    network: str = "none"
    gpus: Sequence[Mapping[str, Any]] = ()
    runtime: str = ""
    shm: int | None = None
    limits: Sequence[Mapping[str, Any]] = ()


def run_probe(connection: Connection, spec: ProbeSpec, *, run_id: str, deadline: float, what: str) -> Completed:
    """Run the program to its end within `deadline` seconds and remove the container, whatever happens.

    The program travels over the container's standard input: no argument is too long for it and none shows it.
    Raises NoShell, NotFound (image or bind source), TimedOut naming the probe, or the daemon's own refusal as a Fault.
    """
    ends = time.monotonic() + deadline
    client = connection.client(deadline)
    name = f"gonogo-probe-{run_id}-{next(_numbers)}-{this_process().pid}"
    try:
        try:
            return _started(_run(client, connection, spec, name, run_id, ends, what), spec.image)
        except Fault:
            raise
        except Exception as error:
            raise _fault(error, connection, spec, what, deadline) from error
    finally:
        _remove(connection, name)


def _run(
    client: Client, connection: Connection, spec: ProbeSpec, name: str, run_id: str, ends: float, what: str
) -> Completed:
    container = client.create_container_from_config(_config(spec, run_id), name)["Id"]
    stream = client.attach_socket(container, params={"stdin": 1, "stream": 1})
    # In a thread: a shell that dies early reads no more, and its end must be seen all the same.
    sender = threading.Thread(target=_send, args=(stream, spec.program), daemon=True)
    try:
        client.start(container)
        sender.start()
        code = _wait(client, container, ends, connection, what)
    finally:
        _close(stream)
    stdout = client.logs(container, stdout=True, stderr=False)
    stderr = client.logs(container, stdout=False, stderr=True)
    return Completed(stdout, stderr, code)


def _started(done: Completed, image: str) -> Completed:
    """Raises where the shell could not be executed after the daemon had called the container started (runc 1.1)."""
    words = done.stderr.decode(errors="replace")
    fault = container_fault(words, image) if done.returncode and words.startswith(f"exec {_SHELL}: ") else None
    if fault is not None:
        raise fault
    return done


def _config(spec: ProbeSpec, run_id: str) -> dict[str, Any]:
    return {
        "Image": spec.image,
        "Entrypoint": [_SHELL],  # the image's own entrypoint would get the program as its input
        "Cmd": ["-s"],
        "User": spec.user,
        "WorkingDir": "/",
        "Env": [f"{key}={value}" for key, value in spec.environment.items()],
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "Labels": {PROBE: "1", RUN: run_id, **this_process().labels(time.time() + EXPIRES_SECONDS)},
        "HostConfig": {
            "NetworkMode": spec.network,
            "Mounts": [bind.mount() for bind in spec.binds],
            "GroupAdd": [str(group) for group in spec.groups],
            "DeviceRequests": [dict(one) for one in spec.gpus],
            "Ulimits": [dict(one) for one in spec.limits],
            # The answers are read from the log: a daemon whose default driver cannot be read must not lose them.
            "LogConfig": {"Type": "json-file", "Config": {}},
            **({"Runtime": spec.runtime} if spec.runtime else {}),
            **({"ShmSize": spec.shm} if spec.shm is not None else {}),
        },
    }


def _send(stream: Any, program: bytes) -> None:
    raw = getattr(stream, "_sock", stream)
    with contextlib.suppress(OSError, AttributeError, NotImplementedError):
        # The exit ends the shell where the connection cannot be half closed (TLS).
        raw.sendall(program + b"\nexit $?\n")
        raw.shutdown(socket.SHUT_WR)


def _close(stream: Any) -> None:
    """Let go of the hijacked connection, and of whoever still writes to it; the SDK would keep it open."""
    raw = getattr(stream, "_sock", stream)
    with contextlib.suppress(OSError, AttributeError):
        raw.shutdown(socket.SHUT_RDWR)
    for one in (stream, raw, getattr(stream, "_response", None)):
        with contextlib.suppress(Exception):
            if one is not None:
                one.close()


def _wait(client: Client, container: str, ends: float, connection: Connection, what: str) -> int:
    left = ends - time.monotonic()
    try:
        if left <= 0:
            raise TimeoutError
        return int(client.wait(container, timeout=left)["StatusCode"])
    except Exception as error:
        if isinstance(translate(error, connection.address, ""), TimedOut):
            raise TimedOut(
                f"{what} in a container on {connection.address} did not end in time",
                remedy="raise --probe-timeout, or see what the container waits for",
            ) from error
        raise


def _fault(error: Exception, connection: Connection, spec: ProbeSpec, what: str, deadline: float) -> Fault:
    from docker.errors import APIError, ImageNotFound

    text = str(getattr(error, "explanation", "") or error)
    if isinstance(error, ImageNotFound) or "no such image" in text.lower():
        return NotFound(
            f"image {spec.image} is not on the target", detail=text, remedy=f"docker pull {spec.image}, or add --pull"
        )
    if isinstance(error, APIError):
        fault = container_fault(text, spec.image)
        if isinstance(fault, ToolMissing) and _SHELL in fault.message:
            return NoShell(fault.message, detail=fault.detail, remedy=fault.remedy)
        if fault is not None:
            return fault
    return connection.fault(error, f"while running {what} in a container", deadline)


def _remove(connection: Connection, name: str) -> None:
    """Best effort: a daemon that is silent now keeps the container until a later run's sweep."""
    with contextlib.suppress(Exception):
        connection.client(_REMOVE_SECONDS).remove_container(name, force=True, v=True)

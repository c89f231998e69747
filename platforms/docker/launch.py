"""One launch, one container: create, start, find again.

The daemon holds a container's name once, which decides between two launchers.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from gonogo.platforms.contract import Placed
from gonogo.platforms.docker.connection import Connection
from gonogo.platforms.docker.errors import container_fault, first_line, true_error
from gonogo.platforms.docker.jobspec import JobSpec, container_config, prepared_files
from gonogo.platforms.docker.labels import DIGEST, LAUNCH, abandoned, job_container_name, made_here
from gonogo.platforms.faults import (
    ConnectionLost,
    Fault,
    LaunchLost,
    LaunchRefused,
    NotFound,
    Refused,
    TimedOut,
    Unreachable,
)

#: Seconds for one step of a launch; a daemon with a slow disk needs some to prepare a container's file system.
STEP_SECONDS = 60.0
_TICK = 0.05
#: Networks that the daemon itself provides.
_PREDEFINED = frozenset({"host", "none", "bridge", "default"})


def start_job(connection: Connection, spec: JobSpec) -> Placed:
    """Create and start the job's container. A container of this very launch that is there already is led to instead.

    Raises LaunchRefused (nothing of it stays), or LaunchLost where the daemon fell silent in between.
    """
    ensure_network(connection, spec.network)
    try:
        return _started(connection, spec)
    except KeyboardInterrupt:
        _undo(connection, spec)
        raise


def _undo(connection: Connection, spec: JobSpec) -> None:
    """After Ctrl-C: a container that this process made and has not started will never be anybody's job."""
    with contextlib.suppress(Fault):
        found = _inspect(connection, spec.name)
        if found is not None and found["State"]["Status"] == "created" and made_here(_labels(found)):
            remove_container(connection, str(found["Id"]))


def _started(connection: Connection, spec: JobSpec) -> Placed:
    ends = time.monotonic() + STEP_SECONDS
    while True:
        try:
            created = _create(connection, spec)
        except _NameTaken:
            placed = _led_to(connection, spec)
            if placed is not None:
                return placed
            # Cleared away, or another launcher's create is under way: its name is held before its container is shown.
            if time.monotonic() > ends:
                raise LaunchLost(f"container {spec.name} is being created and never appears") from None
            time.sleep(_TICK)
            continue
        return _start(connection, spec, created)


def find_job(connection: Connection, launch_id: str) -> Placed | None:
    """The container of that launch, None without one.

    One that was created and never started by a launcher that has since died is no job: `start_job` clears it away.
    """
    found = _inspect(connection, job_container_name(launch_id))
    if found is None or _labels(found).get(LAUNCH) != launch_id or _never_started(found):
        return None
    return _placed(connection, found)


def ensure_network(connection: Connection, name: str) -> None:
    """Create the bridge network if it is not there; another launcher creating it at the same time is no fault."""
    if name in _PREDEFINED or name.startswith("container:"):
        return
    with connection.asking(f"while creating network {name}", STEP_SECONDS) as client:
        if any(one.get("Name") == name for one in client.networks(names=[name])):
            return
        try:
            client.create_network(name, driver="bridge", check_duplicate=True)
        except Exception as error:
            if "already exists" not in str(getattr(error, "explanation", "")):
                raise


def remove_container(connection: Connection, native_id: str) -> None:
    """Remove it with its anonymous volumes; one that is gone already is fine."""
    try:
        with connection.asking(f"while removing container {native_id[:12]}", STEP_SECONDS) as client:
            client.remove_container(native_id, force=True, v=True)
    except NotFound:
        return
    except Refused as fault:
        if "already in progress" not in fault.detail:
            raise


class _NameTaken(Exception):
    """The daemon has a container of that name."""


def _create(connection: Connection, spec: JobSpec) -> str:
    try:
        client = connection.client(STEP_SECONDS)
        return str(client.create_container_from_config(container_config(spec), spec.name)["Id"])
    except Fault:
        raise
    except Exception as error:
        text = str(getattr(error, "explanation", "") or "")
        if "already in use" in text:
            raise _NameTaken from error
        raise _refusal(error, connection, spec) from error


def _start(connection: Connection, spec: JobSpec, container: str) -> Placed:
    """Hand over the files and start it. What was refused is removed; what may have started is left to be found."""
    try:
        client = connection.client(STEP_SECONDS)
        client.put_archive(container, "/", prepared_files(spec))
        client.start(container)
    except Exception as error:
        fault = _refusal(error, connection, spec)
        if isinstance(fault, LaunchRefused):
            remove_container(connection, container)
        raise fault from error
    return _details(connection, spec, container)


def _details(connection: Connection, spec: JobSpec, container: str) -> Placed:
    return Placed(
        native_id=container,
        address=connection.address,
        details={
            "container": spec.name,
            "digest": spec.submission.job_digest,
            "network": spec.network,
            "user": spec.user.shown,
            "home": spec.home,
            "gpus": spec.gpus.words,
        },
    )


def _led_to(connection: Connection, spec: JobSpec) -> Placed | None:
    """The container that has the name, None where there is none to show yet or an abandoned one was removed.

    Raises LaunchRefused for a foreign one.
    """
    found = _inspect(connection, spec.name)
    if found is None:
        return None
    labels, state = _labels(found), str(found["State"]["Status"])
    if labels.get(LAUNCH) != spec.submission.launch_id:
        raise LaunchRefused(
            f"a container named {spec.name} that gonogo did not make is on the daemon ({state})",
            remedy=f"docker rm -f {spec.name}, or launch under another --id",
        )
    if _never_started(found):
        remove_container(connection, str(found["Id"]))
        return None
    if labels.get(DIGEST) != spec.submission.job_digest:
        raise LaunchRefused(
            f"launch {spec.submission.launch_id} is taken by another job: container {spec.name} ({state})",
            remedy="launch under another --id",
        )
    return _placed(connection, found)


def _never_started(found: Mapping[str, Any]) -> bool:
    return found["State"]["Status"] == "created" and abandoned(_labels(found))


def _placed(connection: Connection, found: Mapping[str, Any]) -> Placed:
    state = str(found["State"]["Status"])
    name = str(found.get("Name", "")).lstrip("/")
    digest = _labels(found).get(DIGEST, "")
    return Placed(str(found["Id"]), connection.address, {"container": name, "state": state, "digest": digest})


def _labels(found: Mapping[str, Any]) -> Mapping[str, str]:
    return found["Config"].get("Labels") or {}


def _inspect(connection: Connection, name: str) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] = connection.call(
            f"when asked for container {name}", lambda client: client.inspect_container(name)
        )
    except NotFound:
        return None
    return found


def _refusal(error: Exception, connection: Connection, spec: JobSpec) -> Fault:
    """LaunchRefused with the daemon's own line, LaunchLost where nobody knows."""
    text = true_error(str(getattr(error, "explanation", "") or ""))
    fault = container_fault(text, spec.image) if text else None
    if fault is not None:
        remedy = fault.remedy
        if "has no /bin/sh" in fault.message:
            remedy = "write `command` as a list: it is executed without a shell"
        elif fault.message.startswith(f"image {spec.image} has no "):
            remedy = "correct the first word of `command`: the image has no such program"
        return LaunchRefused(fault.message, detail=text, remedy=remedy)
    if text:
        remedy = "choose another host port in `ports.publish`" if "port is already allocated" in text else ""
        return LaunchRefused(f"the daemon would not take the job: {first_line(text)}", detail=text, remedy=remedy)
    unclear = connection.fault(error, "while starting the job", STEP_SECONDS)
    if isinstance(unclear, (TimedOut, Unreachable, ConnectionLost)):
        return LaunchLost(
            f"{unclear.message}: container {spec.name} may or may not run",
            detail=unclear.detail,
            remedy=f"gonogo status {spec.submission.launch_id}, once the daemon answers",
        )
    return LaunchRefused(unclear.message, detail=unclear.detail, remedy=unclear.remedy)

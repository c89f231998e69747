"""A launched container afterwards: where it stands, what it prints, and stopping it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gonogo.platforms.contract import JobState, Status
from gonogo.platforms.docker.connection import Connection
from gonogo.platforms.faults import Fault, NotFound, Refused, TimedOut

#: A follow looks at the container's state whenever it printed nothing for this long, seconds.
_QUIET_SECONDS = 30.0
#: A daemon that restarts is waited for this long while following, seconds.
_RESTART_SECONDS = 120.0
_STOPPED_SECONDS = 10.0
_LIVE = {"created": JobState.PENDING, "running": JobState.RUNNING, "restarting": JobState.RUNNING,
         "paused": JobState.PAUSED, "removing": JobState.CANCELING}  # fmt: skip


def inspect(connection: Connection, native_id: str) -> Mapping[str, Any]:
    """The container as the daemon knows it. Raises NotFound where somebody removed it."""
    try:
        found: Mapping[str, Any] = connection.call(
            f"when asked for container {native_id[:12]}", lambda client: client.inspect_container(native_id)
        )
    except NotFound as fault:
        raise NotFound(f"container {native_id[:12]} is gone from {connection.address}", detail=fault.detail) from fault
    return found


def status_of(state: Mapping[str, Any]) -> Status:
    """The daemon's `State` in the one vocabulary. Source: Docker Engine API 1.41, 'ContainerState'."""
    native = str(state.get("Status", ""))
    if native in _LIVE:
        return Status(_LIVE[native], native)
    if native not in ("exited", "dead"):
        return Status(JobState.UNKNOWN, native)
    code = int(state.get("ExitCode", -1))
    if native == "dead":
        return Status(JobState.ERROR, native, code, "the daemon could not remove the container: see its log")
    if state.get("OOMKilled"):
        return Status(JobState.ERROR, native, code, "killed: out of memory")
    if code == 0 and not state.get("Error"):
        return Status(JobState.COMPLETE, native, code)
    return Status(JobState.ERROR, native, code, _reason(code, str(state.get("Error") or "")))


def _reason(code: int, error: str) -> str:
    if error:
        return error
    if code == 137:
        return "killed by SIGKILL: by hand, by the daemon's restart, or for want of memory"
    if code > 128:
        return f"ended by signal {code - 128}"
    return f"exit code {code}"


def cancel(connection: Connection, native_id: str, grace: float) -> Status:
    """Stop it, kill it after `grace` seconds, and prove it. A job that had ended keeps its own state."""
    before = status_of(inspect(connection, native_id)["State"])
    if before.state.ended:
        return before
    _step(
        connection,
        native_id,
        "stopping",
        grace + _STOPPED_SECONDS,
        lambda client: _stop(client, native_id, grace, before),
    )
    ends = time.monotonic() + _STOPPED_SECONDS
    while True:
        try:
            state = inspect(connection, native_id)["State"]
        except NotFound:  # auto_remove took it with its end
            return Status(JobState.CANCELED, "removed", None, "stopped and removed")
        if not state.get("Running") and str(state.get("Status")) not in ("paused", "restarting"):
            code = state.get("ExitCode")
            return Status(
                JobState.CANCELED, str(state.get("Status")), None if code is None else int(code), "stopped by cancel"
            )
        if time.monotonic() > ends:
            raise TimedOut(
                f"container {native_id[:12]} on {connection.address} still runs after SIGKILL",
                remedy=f"docker inspect {native_id[:12]}; a process that waits for a disk cannot be killed",
            )
        _step(connection, native_id, "killing", _STOPPED_SECONDS, lambda client: client.kill(native_id))
        time.sleep(0.1)


def _stop(client: Any, native_id: str, grace: float, before: Status) -> None:
    if before.state is JobState.PAUSED:
        client.unpause(native_id)
    if before.state is JobState.PENDING:
        client.remove_container(native_id, force=True, v=True)
        return
    client.stop(native_id, timeout=max(0, round(grace)))


def _step(connection: Connection, native_id: str, doing: str, seconds: float, call: Callable[[Any], Any]) -> None:
    """One step; a container that ended or went in the meantime is looked at by the caller."""
    try:
        with connection.asking(f"while {doing} container {native_id[:12]}", seconds) as client:
            call(client)
    except NotFound:
        return
    except Refused as fault:
        if "is not running" not in fault.detail and "not paused" not in fault.detail:
            raise


def read_logs(connection: Connection, native_id: str, *, tail: int | None, follow: bool) -> Iterator[bytes]:
    """Both streams in the order in which the daemon wrote them down, in chunks of bytes as they were printed."""
    if not follow:
        yield from _frames(connection, native_id, tail=tail)
        return
    yield from _Follower(connection, native_id).chunks(tail)


def _frames(connection: Connection, native_id: str, **options: Any) -> Iterator[bytes]:
    tail = options.pop("tail", None)
    with connection.asking(f"when asked for the log of container {native_id[:12]}", _QUIET_SECONDS) as client:
        yield from client.logs(
            native_id,
            stdout=True,
            stderr=True,
            stream=True,
            tail="all" if tail is None else tail,
            **{"follow": False, **options},  # left out, the SDK follows whatever it streams
        )


class _Follower:
    """Follows a log over quiet times and restarts of the daemon: each entry's time tells where to go on."""

    def __init__(self, connection: Connection, native_id: str) -> None:
        self._connection = connection
        self._native_id = native_id
        self._last = b""
        self._same = 0  # entries already given that carry the last time stamp

    def chunks(self, tail: int | None) -> Iterator[bytes]:
        while True:
            ended = self._ended()
            options: dict[str, Any] = {"timestamps": True, "follow": not ended}
            if self._last:
                options["since"] = _seconds(self._last)
            else:
                options["tail"] = tail
            try:
                yield from self._new(options)
                if ended:
                    return
            except NotFound:
                return  # removed while followed: there is no more to read
            except Fault:
                continue  # quiet, or the daemon went away: the state tells which

    def _new(self, options: Mapping[str, Any]) -> Iterator[bytes]:
        """Entries not given yet."""
        skipped = 0
        for frame in _frames(self._connection, self._native_id, **options):
            stamp, _, text = frame.partition(b" ")
            if stamp < self._last:
                continue
            if stamp == self._last and skipped < self._same:
                skipped += 1
                continue
            if stamp != self._last:
                self._last, self._same, skipped = stamp, 0, 0
            self._same += 1
            skipped += 1
            yield text

    def _ended(self) -> bool:
        """Whether the container has ended. Waits for a daemon that restarts; raises its Fault when it stays away."""
        ends = time.monotonic() + _RESTART_SECONDS
        while True:
            try:
                self._connection.knock()
                return status_of(inspect(self._connection, self._native_id)["State"]).state.ended
            except NotFound:
                raise
            except OSError as error:
                if time.monotonic() > ends:
                    raise self._connection.fault(error, "while following the log") from error
                time.sleep(0.25)
            except Fault:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.25)


def _seconds(stamp: bytes) -> int:
    """The whole second of `2026-12-01T03:00:00.123456789Z`: earlier than the entry, never later."""
    from datetime import datetime, timezone

    text = stamp[:19].decode("ascii", "replace")
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc).timestamp())

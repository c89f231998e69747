"""What is remembered of a launch: one JSON file each, written whole, under a lock of its own. Source: GATE-03, GATE-04.

`launches/<id>.json` below the state folder, which is mode 0700. Its JSON Schema is `launch.schema.json`.
No secret ever gets in: a record holds names, never values.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from gonogo.launcher.exits import Exit, Stop

SCHEMA = "gonogo.launch/1"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}")

Phase = Literal["intent", "submitted", "ended", "refused"]
StateWord = Literal["Pending", "Running", "Paused", "Complete", "Error", "Canceling", "Canceled", "Unknown"]


@dataclass
class Record:
    """One launch. `phase`: `intent` (about to be submitted), `submitted`, `ended`, `refused` (nothing was made).

    `settings` holds what is needed to open the same platform again; `clearance` what allowed the launch. Times are
    UTC in ISO 8601. `attempt` counts how often the ID was run (`--replace`). `identity` is the user that the job runs
    as, where the platform says so; `owes_ownership` what is to be given back to the submitter once it has ended.
    """

    # Keys that a later version has added are left aside.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="ignore")

    id: str
    phase: Phase
    job: dict[str, str]
    platform: str
    target: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)
    clearance: dict[str, Any] = field(default_factory=dict)
    native_id: str | None = None
    address: str = ""
    created: str = ""
    submitted: str | None = None
    ended: str | None = None
    canceled_by_user: bool = False
    state: StateWord = "Pending"
    native_state: str = ""
    exit_code: int | None = None
    reason: str = ""
    identity: str = ""
    owes_ownership: dict[str, Any] = field(default_factory=dict)
    attempt: int = 1
    schema: str = SCHEMA


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def checked_id(launch_id: str) -> str:
    """The ID, if it can be one. Raises Stop(USAGE)."""
    if not _ID.fullmatch(launch_id):
        raise Stop(Exit.USAGE, f"launch ID {launch_id!r}: letters, digits and '-', at most 40, not beginning with '-'")
    return launch_id


class Records:
    """All launches known in one state folder. `clean` takes secrets out of what platforms say."""

    def __init__(self, state: Path, clean: Callable[[str], str] = str) -> None:
        self.state = state
        self._clean = clean
        self.folder = state / "launches"

    def path(self, launch_id: str) -> Path:
        return self.folder / f"{checked_id(launch_id)}.json"

    def read(self, launch_id: str) -> Record | None:
        """The record, None where there is none. Raises Stop(HARNESS) naming a file that cannot be understood."""
        path = self.path(launch_id)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise Stop(Exit.HARNESS, f"{path}: cannot be read: {error}") from None
        return _record(path, text)

    def write(self, record: Record) -> None:
        """Write the record whole: to a temporary name, to the disk, then renamed. Only its launcher does this."""
        self._make_folder()
        record.reason, record.native_state = self._clean(record.reason), self._clean(record.native_state)
        path = self.path(record.id)
        handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=f".{record.id}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(asdict(record), file, indent=2)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    @contextlib.contextmanager
    def editing(self, record: Record) -> Iterator[None]:
        """Bring `record` up to date, let the caller change it, and write it where it changed; nobody else does
        meanwhile.

        So a process that watches never undoes what another that cancels has noted. A record that was replaced by a
        later attempt is not written.
        """
        with self._held(self.folder / ".edit.lock", "the launch records", time.monotonic() + 30.0):
            kept = self.read(record.id)
            replaced = kept is not None and kept.attempt != record.attempt
            if kept is not None and not replaced:
                vars(record).update(vars(kept))
            before = asdict(record)
            yield
            if not replaced and asdict(record) != before:
                self.write(record)

    def all(self) -> tuple[list[Record], list[str]]:
        """Every readable record, the newest first, and what is wrong with the others."""
        records, faults = [], []
        for path in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else []:
            try:
                record = self.read(path.stem)
            except Stop as fault:
                faults.append(fault.message)
                continue
            if record is not None:
                records.append(record)
        return sorted(records, key=lambda record: record.created, reverse=True), faults

    @contextlib.contextmanager
    def lock(
        self, launch_id: str, *, patience: float = 600.0, waiting: Callable[[str], None] = lambda _: None
    ) -> Iterator[None]:
        """Hold the launch ID alone. `waiting` is told whom it waits for.

        Raises Stop(HARNESS) naming the holder when `patience` seconds have passed.
        """
        path = self.folder / f"{checked_id(launch_id)}.lock"
        with self._held(path, f"launch {launch_id}", time.monotonic() + patience, waiting):
            yield

    def holder(self, launch_id: str) -> str:
        """The process that works on this launch ID now, empty where none does."""
        path = self.folder / f"{checked_id(launch_id)}.lock"
        try:
            with open(path, "rb") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return _holder(lock.fileno())
        except FileNotFoundError:
            pass
        return ""

    @contextlib.contextmanager
    def _held(
        self, path: Path, what: str, ends: float, waiting: Callable[[str], None] = lambda _: None
    ) -> Iterator[None]:
        self._make_folder()
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(error) from None
        try:
            _wait_for(handle, what, ends, waiting)
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(handle)  # lets go of the lock; the file stays, so that nobody locks a name that is gone

    def _make_folder(self) -> None:
        try:
            self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> Stop:
        return Stop(
            Exit.HARNESS,
            f"the state folder {self.state} cannot be used: {error.strerror}",
            remedy="set GONOGO_STATE_DIR to a folder that you can write",
        )


def _wait_for(handle: int, what: str, ends: float, waiting: Callable[[str], None]) -> None:
    told = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= ends:
                raise Stop(Exit.HARNESS, f"{what} is still being worked on by process {_holder(handle)}") from None
            if not told:
                waiting(f"{what} is being worked on by process {_holder(handle)}; waiting for it")
                told = True
            time.sleep(0.05)


def _holder(handle: int) -> str:
    return os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"


@cache
def _reader() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


def _record(path: Path, text: str) -> Record:
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            named = data.get("schema") if isinstance(data, dict) else None
            raise ValueError(f"its schema is {named!r}, this version reads {SCHEMA}")
        record = _reader().validate_json(text)
        if record.id != path.stem:
            raise ValueError(f"it is the record of {record.id}")
        return record
    except (ValueError, RecursionError) as error:
        raise Stop(
            Exit.HARNESS,
            f"{path}: is no launch record: {_in_short(error)}",
            remedy="move it away; the job itself, if there is one, is not touched by that",
        ) from None


def _in_short(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"

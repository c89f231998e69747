"""What is remembered of a launch: one JSON file each, written whole, under a lock of its own. Source: GATE-03, GATE-04.

`launches/<id>.json` below the state folder, which is mode 0700. The schema is `launch.schema.json` beside this file.
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
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gonogo.launcher.exits import Exit, Stop

SCHEMA = "gonogo.launch/1"
SCHEMA_FILE = Path(__file__).with_name("launch.schema.json")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}")


@dataclass
class Record:
    """One launch. `phase`: `intent` (about to be submitted), `submitted`, `ended`, `refused` (nothing was made).

    `settings` holds what is needed to open the same platform again; `clearance` what allowed the launch.
    """

    id: str
    phase: str
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
    state: str = "Pending"
    native_state: str = ""
    exit_code: int | None = None
    reason: str = ""
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
    """All launches known in one state folder."""

    def __init__(self, state: Path) -> None:
        self.state = state
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
        """Write the record whole: to a temporary name, to the disk, then renamed."""
        self._make_folder()
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
    def lock(self, launch_id: str, *, patience: float = 600.0) -> Iterator[None]:
        """Hold the launch ID alone. Raises Stop(REFUSED) naming the holder when `patience` seconds have passed."""
        self._make_folder()
        path = self.folder / f"{checked_id(launch_id)}.lock"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _wait_for(handle, launch_id, time.monotonic() + patience)
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
            raise Stop(
                Exit.HARNESS,
                f"the state folder {self.state} cannot be used: {error.strerror}",
                remedy="set GONOGO_STATE_DIR to a folder that you can write",
            ) from None


def _wait_for(handle: int, launch_id: str, ends: float) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= ends:
                holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
                raise Stop(Exit.REFUSED, f"launch {launch_id} is being worked on by process {holder}") from None
            time.sleep(0.1)


def _record(path: Path, text: str) -> Record:
    try:
        data = json.loads(text)
        if data.get("schema") != SCHEMA:
            raise ValueError(f"its schema is {data.get('schema')!r}, this version reads {SCHEMA}")
        return Record(**data)
    except (ValueError, TypeError, AttributeError) as error:
        remedy = "move it away; the job itself, if there is one, is not touched by that"
        raise Stop(Exit.HARNESS, f"{path}: is no launch record: {error}", remedy=remedy) from None

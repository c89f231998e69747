"""Following one job to its end. Source: GATE-06."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.follow import Sink, asked, copy_log, in_words, note
from gonogo.launcher.ownership import put_right
from gonogo.launcher.records import Record, Records
from gonogo.platforms.contract import JobState, Platform, Status
from gonogo.platforms.faults import Fault

#: A platform may be silent for this long while a job is watched, seconds: a daemon restarts, a network drops.
SILENCE = 300.0
#: A job that is Pending for this long is worth a word: no node, no image. Seconds.
PENDING = 900.0
#: After the end the rest of the log is waited for as long as it comes; this long without a byte, and it is given up.
_LAST_BYTES = 10.0
_TICK = 0.5


@dataclass
class Watch:
    """Follows one job to its end: its states by `say`, its log into `out` (None for no log)."""

    records: Records
    record: Record
    platform: Platform
    say: Callable[[str], None]
    out: Sink | None
    silence: float = SILENCE
    _last: str = field(default="", init=False)
    _pending_since: float | None = field(default=None, init=False)

    def run(self) -> Status:
        """Returns the end. Raises Stop(HARNESS) when the platform has been silent for too long."""
        log = _LogCopy(self.platform, self.record.native_id or "", self.out, self.say) if self.out is not None else None
        silent_since: float | None = None
        while True:
            try:
                status = note(self.records, self.record, asked(self.record, self.platform))
                silent_since = None
            except Fault as fault:
                silent_since = silent_since or time.monotonic()
                self._tell(f"{self.record.id} Unknown: {fault.message}")
                if time.monotonic() - silent_since > self.silence:
                    message = f"{fault.message}; given up after {self.silence:g} s of silence, the job may still run"
                    raise Stop(Exit.HARNESS, message, remedy=f"gonogo status {self.record.id}") from None
                time.sleep(_TICK)
                continue
            if status.state.ended:
                if log is not None:
                    log.finish()
                put_right(self.records, self.record, self.platform)
                self._tell(in_words(self.record, status))
                return status
            self._tell(in_words(self.record, status))
            self._mind_pending(status)
            time.sleep(_TICK)

    def _tell(self, words: str) -> None:
        if words != self._last:
            self._last = words
            self.say(words)

    def _mind_pending(self, status: Status) -> None:
        if status.state is not JobState.PENDING:
            self._pending_since = None
            return
        self._pending_since = self._pending_since or time.monotonic()
        if time.monotonic() - self._pending_since > PENDING:
            self._pending_since = time.monotonic()
            self.say(f"{self.record.id} is Pending for {PENDING / 60:g} minutes more: gonogo diagnose {self.record.id}")


class _LogCopy:
    """Copies a job's log in a thread of its own, so that a silent log never hides an end."""

    def __init__(self, platform: Platform, native_id: str, out: Sink, say: Callable[[str], None]) -> None:
        self._platform, self._native_id, self._out, self._say = platform, native_id, out, say
        self._given = 0
        self._thread = threading.Thread(target=self._copy, name="gonogo-log", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for the rest of the log, and say so where it does not come."""
        given, ends = -1, 0.0
        while self._thread.is_alive():
            if self._given != given:
                given, ends = self._given, time.monotonic() + _LAST_BYTES
            elif time.monotonic() > ends:
                self._say(f"the log's end did not come within {_LAST_BYTES:g} s")
                return
            self._thread.join(timeout=0.2)

    def _copy(self) -> None:
        try:
            copy_log(self._platform, self._native_id, self, tail=None, follow=True)
        except BrokenPipeError:
            return  # whoever read the log has left; the job's end is still awaited
        except (Fault, OSError) as fault:
            self._say(f"the log cannot be followed further: {fault}")

    def write(self, chunk: bytes, /) -> int:
        self._given += len(chunk)
        return self._out.write(chunk)

    def flush(self) -> None:
        self._out.flush()

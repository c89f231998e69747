"""Live progress of the probes: which questions are still open, and for how long."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from typing import TextIO

from gonogo.reports.plain import one_line

#: Without a terminal at most one line in so many seconds.
INTERVAL = 5.0


class Progress:
    """Told by the probe engine from any thread; writes to `stream`.

    On a terminal one line is rewritten: `12/31 answered · waiting for: docker daemon (3.2 s), host paths (1.1 s)`.
    Elsewhere a line is written when something has been open for five seconds, and again every five seconds.
    `total` is how many probes there will be, where that is known; else those seen so far count. A stream that has
    gone away silences the object: progress never breaks a run.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        enabled: bool = True,
        total: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._enabled = enabled
        self._total = total
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[str, float] = {}
        self._seen: set[str] = set()
        self._answered: set[str] = set()
        self._failed = 0
        self._spoke_at = clock()
        self._on_terminal = enabled and _is_terminal(stream)
        self._drawn = False

    def expect(self, total: int) -> None:
        """How many probes there will be."""
        with self._lock:
            self._total = total

    def started(self, name: str) -> None:
        """A probe has begun."""
        with self._lock:
            self._seen.add(name)
            self._running.setdefault(name, self._clock())
            self._show()

    def finished(self, name: str, ok: bool) -> None:
        """A probe has ended, with or without an answer."""
        with self._lock:
            self._running.pop(name, None)
            if name not in self._answered:
                self._failed += not ok
            self._seen.add(name)
            self._answered.add(name)
            self._show()

    def tick(self) -> None:
        """Time has passed: show how long the open ones have been waited for."""
        with self._lock:
            self._show()

    def close(self) -> None:
        """Take the line away, so that what follows starts on a clean one. May be called twice."""
        with self._lock:
            if self._drawn:
                self._write("\r\x1b[K")
                self._drawn = False
            self._enabled = False

    def line(self, width: int = 1000) -> str:
        """The line as it would be shown now, at most `width` characters long."""
        now = self._clock()
        total = max(self._total or 0, len(self._seen))
        text = f"{len(self._answered)}/{total} answered"
        if self._failed:
            text += f", {self._failed} without success"
        longest_first = sorted(self._running.items(), key=lambda item: (item[1], item[0]))
        waits = [f"{one_line(name).replace('_', ' ')} ({now - since:.1f} s)" for name, since in longest_first]
        if waits:
            text += f" · waiting for: {', '.join(waits)}"
        return text if len(text) <= width else text[: max(width - 1, 0)] + "…"

    def _show(self) -> None:
        if not self._enabled:
            return
        if self._on_terminal:
            columns = shutil.get_terminal_size().columns
            self._write(f"\r{self.line(max(columns - 1, 20))}\x1b[K")
            self._drawn = True
        elif self._running and self._clock() - self._spoke_at >= INTERVAL:
            self._spoke_at = self._clock()
            self._write(self.line() + "\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # closed, or a broken pipe
            self._enabled = False


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (OSError, ValueError):
        return False

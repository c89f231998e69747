"""The connection to a host over time: made on first use, made anew after it broke, never hammered at."""

from __future__ import annotations

import atexit
import re
import threading
import time

from gonogo.platforms.faults import Fault
from gonogo.platforms.ssh.address import SshAddress
from gonogo.platforms.ssh.master import CONNECT_SECONDS, Master

#: Seconds after a login that failed in which nobody tries again; doubled up to the longest by each further failure.
_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 16.0


class Link:
    """Gives the master connection that stands, for all threads of this process."""

    def __init__(self, address: SshAddress, *, seconds: int = CONNECT_SECONDS) -> None:
        self.address = address
        self.logins = 0
        self._seconds = seconds
        self._lock = threading.Lock()
        self._master: Master | None = None
        self._failure: Fault | None = None
        self._pause = 0.0
        self._not_before = 0.0

    def master(self) -> Master:
        """The connection, made now where there is none. Raises the Fault of the login, of this try or the last one."""
        with self._lock:
            if self._master is not None and self._master.alive:
                return self._master
            if self._failure is not None and time.monotonic() < self._not_before:
                raise self._failure
            if self._master is not None:
                self._master.close()
            else:
                atexit.register(self.close)
            self._master = Master(self.address, seconds=self._seconds)
            self.logins += 1
            try:
                self._master.open()
            except Fault as fault:
                self._failure = fault
                self._pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, 2 * self._pause))
                self._not_before = time.monotonic() + self._pause
                raise
            self._failure, self._pause = None, 0.0
            return self._master

    def broken(self, *, patience: float = 0.0) -> Fault | None:
        """The fault that the end of the present connection is, None while it stands or where there was none yet.

        ssh needs a moment to notice that the other end closed: `patience` in seconds.
        """
        master = self._master
        if master is None or not master.opened:
            return None
        ends = time.monotonic() + patience
        while master.alive:
            if time.monotonic() >= ends:
                return None
            time.sleep(0.02)
        return master.lost()

    def open_keys(self) -> tuple[str, ...]:
        """Key files that ssh did not use at this login because others may read them."""
        words = self._master.words if self._master is not None else ""
        return tuple(re.findall(r"^Permissions \d+ for '(.+)' are too open", words, re.MULTILINE))

    def close(self) -> None:
        """End the connection and remove what it left; any number of times."""
        atexit.unregister(self.close)
        with self._lock:
            if self._master is not None:
                self._master.close()
                self._master = None

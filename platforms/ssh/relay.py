"""A local socket whose every connection is a program on the host, for hosts that forbid the forwarding of sockets.

Each connection is one session of the master connection, of which sshd allows ten by default; so they are few at a time.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from pathlib import Path

from gonogo.platforms.ssh.master import Master

#: Sessions at a time: two of sshd's ten are left for commands.
_AT_A_TIME = 8
_NO_SESSION = b"refused by peer"
_TRIES = 20


class Relay:
    """Listens from the start until closed. `words` is what the programs said last."""

    def __init__(self, master: Master, command: tuple[str, ...]) -> None:
        self.path: Path = master.folder / "r"
        self.words = ""
        self._command = master.argv(*command)
        self._places = threading.BoundedSemaphore(_AT_A_TIME)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, name="gonogo-ssh-relay", daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(caller,), name="gonogo-ssh-relay", daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        with self._places, caller:
            for _ in range(_TRIES):
                # ssh hands the socket itself to the master connection: nothing is copied here.
                end = caller.fileno()
                process = subprocess.Popen(self._command, stdin=end, stdout=end, stderr=subprocess.PIPE)
                _, words = process.communicate()
                if _NO_SESSION not in words:
                    break
                time.sleep(0.1)
            self.words = words.decode(errors="replace").strip() or self.words

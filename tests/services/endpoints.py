"""Addresses where no daemon answers, each for its own reason."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def silent_listener() -> Iterator[int]:
    """A TCP port on loopback that completes connections (the kernel does) and never answers. Yields the port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield int(listener.getsockname()[1])


@contextlib.contextmanager
def refusing_port() -> Iterator[int]:
    """A TCP port on loopback that refuses: bound, so that nobody else takes it, and not listening."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])


@contextlib.contextmanager
def forwarded_to(path: str) -> Iterator[int]:
    """A TCP port on loopback that leads to the socket at that path, as a daemon without TLS has one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        threading.Thread(target=_lead, args=(listener, path), daemon=True).start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)


def _lead(listener: socket.socket, path: str) -> None:
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:
            return  # closed
        threading.Thread(target=_join, args=(caller, path), daemon=True).start()


def _join(caller: socket.socket, path: str) -> None:
    with caller, socket.socket(socket.AF_UNIX) as daemon:
        daemon.connect(path)
        back = threading.Thread(target=_copy, args=(daemon, caller), daemon=True)
        back.start()
        _copy(caller, daemon)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)

"""Addresses where no daemon answers, each for its own reason."""

from __future__ import annotations

import contextlib
import socket
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

"""A way to a real daemon on which one thing is untrue: what it says of itself. For kernels and devices that a test
machine cannot have (Tegra, CDI descriptions); everything else passes through as it is."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_CHUNK = 64 * 1024


@contextlib.contextmanager
def daemon_that_says(target: Path, place: Path, changes: Mapping[str, Any]) -> Iterator[str]:
    """Yields the address of a socket at `place` behind which the daemon of the socket `target` answers, with those
    fields of `docker info` changed."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        place.chmod(0o666)
        listener.listen(64)
        threading.Thread(target=_serve, args=(listener, target, changes), daemon=True).start()
        try:
            yield f"unix://{place}"
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket, target: Path, changes: Mapping[str, Any]) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(client, target, changes), daemon=True).start()


def _answer(client: socket.socket, target: Path, changes: Mapping[str, Any]) -> None:
    """One request for each connection: the client is told so, and opens another for its next."""
    with client, contextlib.suppress(OSError):
        head, rest = _head(client)
        if not head:
            return
        if re.match(rb"GET \S*/info HTTP", head):
            client.sendall(_changed_info(target, head, changes))
            return
        with socket.socket(socket.AF_UNIX) as daemon:
            daemon.connect(str(target))
            daemon.sendall(_closing(head) + rest)
            back = threading.Thread(target=_pump, args=(daemon, client), daemon=True)
            back.start()
            _pump(client, daemon)
            back.join()


def _head(client: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = client.recv(_CHUNK)
        if not chunk:
            return b"", b""
        data += chunk
    head, _, rest = data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def _closing(head: bytes) -> bytes:
    """An upgraded connection (attach) lives on as it is; any other ends with its answer."""
    if re.search(rb"(?mi)^connection: *upgrade", head):
        return head
    without = re.sub(rb"(?mi)^connection:[^\r\n]*\r\n", b"", head)
    return without.removesuffix(b"\r\n") + b"Connection: close\r\n\r\n"


def _changed_info(target: Path, head: bytes, changes: Mapping[str, Any]) -> bytes:
    connection = http.client.HTTPConnection("daemon", timeout=30)
    connection.sock = socket.socket(socket.AF_UNIX)
    with contextlib.closing(connection):
        connection.sock.connect(str(target))
        connection.request("GET", head.split(b" ")[1].decode())
        answer = connection.getresponse()
        body = json.dumps({**json.load(answer), **changes}).encode()
    lines = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return lines.encode() + b"\r\n" + body


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)

"""Each way in which a daemon cannot be asked has its own fault, names the address, and carries a remedy."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from services.docker_platforms import docker_platform
from services.dockerd import Dockerd

from gonogo.platforms.faults import Denied, Fault, Garbled, NotFound, Refused, TimedOut, Unreachable


def fault_at(url: str) -> Fault:
    platform = docker_platform(url)
    with pytest.raises(Fault) as raised:
        platform.daemon_info()
    platform.close()
    fault = raised.value
    assert url in fault.message
    assert "--help" not in fault.message + fault.detail
    return fault


def test_socket_absent(tmp_path: Path) -> None:
    fault = fault_at(f"unix://{tmp_path}/docker.sock")
    assert type(fault) is Unreachable
    assert "no Docker socket" in fault.message
    assert fault.remedy == "sudo systemctl start docker"


def test_socket_that_nobody_listens_on(own_docker_daemon: Dockerd) -> None:
    own_docker_daemon.kill()
    try:
        fault = fault_at(own_docker_daemon.url)
    finally:
        own_docker_daemon.start()
    assert type(fault) is Refused
    assert "nothing is listening" in fault.message


def test_file_that_is_no_socket(tmp_path: Path) -> None:
    (tmp_path / "docker.sock").write_text("")
    assert type(fault_at(f"unix://{tmp_path}/docker.sock")) is Refused


def test_tcp_port_refused(refused_port: int) -> None:
    assert type(fault_at(f"tcp://127.0.0.1:{refused_port}")) is Refused


def test_tcp_port_that_never_answers(silent_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gonogo.platforms.docker.connection.REACH_SECONDS", 0.5)
    fault = fault_at(f"tcp://127.0.0.1:{silent_port}")
    assert type(fault) is TimedOut
    assert "gave no answer within 0.5 s" in fault.message


def test_frozen_daemon(own_docker_daemon: Dockerd) -> None:
    platform = docker_platform(own_docker_daemon.url)
    with own_docker_daemon.frozen(), pytest.raises(TimedOut, match="gave no answer within 1 s"):
        platform.connection.client(1.0)
    assert platform.daemon_info().version
    platform.close()


def test_no_permission(docker_daemon: Dockerd) -> None:
    # The user changes after the imports: nobody need be able to read the checkout.
    script = (
        "import os, docker\n"
        "from services.docker_platforms import docker_platform\n"
        "from gonogo.platforms.faults import Fault\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        f"try: docker_platform({docker_daemon.url!r}).daemon_info()\n"
        "except Fault as fault: print(type(fault).__name__, fault.message, fault.remedy, sep='|')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.stdout.startswith(f"Denied|no permission to open the Docker socket at {docker_daemon.url}|"), done
    assert "usermod -aG docker" in done.stdout


class _Web(BaseHTTPRequestHandler):
    body = b"<html>404 page not found</html>"
    status = 404

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@pytest.fixture
def web_server() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), _Web)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "body"), [(404, b"<html>404 page not found</html>"), (200, b"hello"), (200, b"[]"), (200, b"{}")]
)
def test_something_that_is_no_docker(
    web_server: HTTPServer, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes
) -> None:
    monkeypatch.setattr(_Web, "status", status)
    monkeypatch.setattr(_Web, "body", body)
    fault = fault_at(f"tcp://127.0.0.1:{web_server.server_port}")
    assert type(fault) is Garbled
    assert "is not a Docker daemon" in fault.message


def test_name_without_address() -> None:
    platform = docker_platform("tcp://gpu-host.invalid:2375")
    with pytest.raises(Unreachable, match=r"the host in tcp://gpu-host\.invalid:2375 is unknown"):
        platform.connection.client(1.0)
    with pytest.raises(Refused, match="is not a daemon of this machine"):
        platform.daemon_info()


def test_tls_where_there_is_none(
    docker_daemon: Dockerd, web_server: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = f"openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=x -keyout {tmp_path}/key.pem -out {tmp_path}/ca.pem"
    subprocess.run(words.split(), check=True, capture_output=True)
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
    fault = fault_at(f"tcp://127.0.0.1:{web_server.server_port}")
    assert type(fault) is Denied
    assert "TLS" in fault.message


def test_daemon_is_what_it_says(docker_daemon: Dockerd) -> None:
    platform = docker_platform(docker_daemon.url)
    info = platform.daemon_info()
    assert info.id == docker_daemon.client().info()["ID"]
    assert platform.identity() == f"docker {info.id}"
    assert info.memory > 0
    assert info.runtimes[-1] == "runc"
    platform.close()


def test_networks(docker_daemon: Dockerd) -> None:
    platform = docker_platform(docker_daemon.url)
    assert platform.network("tao_default") is None
    docker_daemon.client().networks.create("tao_default_2")
    assert platform.network("tao_default") is None
    docker_daemon.client().networks.create("tao_default")
    fact = platform.network("tao_default")
    assert fact is not None
    assert (fact.driver, fact.usable) == ("bridge", True)
    host = platform.network("host")
    assert host is not None
    assert host.usable
    with pytest.raises(NotFound, match="no network bridge"):
        platform.network("bridge")
    platform.close()

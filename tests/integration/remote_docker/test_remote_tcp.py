"""A remote daemon without ssh: TCP with TLS and without, a socket forwarded by hand, docker contexts."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lanes
import pytest
from far_hosts import FarHost, Opener
from services.certificates import make_authority, make_pair, missing_for_certificates
from services.dockerd import Dockerd, missing_for_dockerd
from services.endpoints import forwarded_to
from suite_runs import USAGE_ERROR, Finished, job_text, run

from gonogo.platforms.docker.remote import RemoteDockerPlatform
from gonogo.platforms.faults import Denied, Fault, Refused
from gonogo.platforms.probe.questions import NodeQuestion, PathQuestion, PortQuestion

IMAGE = "gonogo-test/busybox:1"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders `server`, `client` of one authority, and `stranger` of another."""
    lanes.require("docker", missing_for_dockerd())
    lanes.require("certificates", missing_for_certificates())
    folder = tmp_path_factory.mktemp("tls")
    make_authority(folder / "authority")
    make_authority(folder / "other")
    make_pair(folder / "authority", folder / "server", "server", "serverAuth")
    make_pair(folder / "authority", folder / "client", "client", "clientAuth")
    make_pair(folder / "other", folder / "stranger", "stranger", "clientAuth")
    return folder


@pytest.fixture(scope="module")
def tls_daemon(certificates: Path) -> Iterator[tuple[Dockerd, str]]:
    """A daemon that takes calls over TCP with certificates of both sides, and its address."""
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        port = asking.getsockname()[1]
    files = certificates / "server"
    daemon = Dockerd(
        arguments=[
            "-H", f"tcp://127.0.0.1:{port}", "--tlsverify", f"--tlscacert={files / 'ca.pem'}",
            f"--tlscert={files / 'cert.pem'}", f"--tlskey={files / 'key.pem'}",
        ]
    )  # fmt: skip
    try:
        daemon.start()
        daemon.load_images()
        yield daemon, f"tcp://127.0.0.1:{port}"
    finally:
        daemon.close()


@pytest.fixture
def plain_url(docker_daemon: Dockerd) -> Iterator[str]:
    with forwarded_to(str(docker_daemon.socket)) as port:
        yield f"tcp://127.0.0.1:{port}"


def check(folder: Path, url: str, *, variables: dict[str, str] | None = None, **fields: Any) -> Finished:
    job = {"image": IMAGE, "gpus": 0, "docker": {"network": "none"}, "run_as": "65534:65534", **fields}
    return run(folder, job=job_text(**job), platform="remote-docker", DOCKER_HOST=url, **(variables or {}))


def test_tls_is_go(tls_daemon: tuple[Dockerd, str], certificates: Path, tmp_path: Path) -> None:
    daemon, url = tls_daemon
    before = daemon.inventory()
    variables = {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(certificates / "client")}
    done = check(tmp_path, url, variables=variables, inputs=[{"name": "names", "uri": "/etc/hosts"}])
    assert done.verdict == "GO", done.output
    assert done.row("DOCK-01")["state"] == "passed"
    assert "no ssh" in done.row("CRED-07")["found"]
    assert daemon.inventory() == before


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("stranger", "failed: its signer is unknown here"),
        (None, "failed: it wants a certificate of ours"),
        ("nowhere", "TLS with the Docker daemon at"),
    ],
    ids=["another authority", "no certificates", "folder is empty"],
)
def test_tls_that_fails_is_said(
    tls_daemon: tuple[Dockerd, str],
    certificates: Path,
    open_far: Opener,
    monkeypatch: pytest.MonkeyPatch,
    folder: str | None,
    words: str,
) -> None:
    if folder is not None:
        monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
        monkeypatch.setenv("DOCKER_CERT_PATH", str(certificates / folder))
    else:
        monkeypatch.delenv("DOCKER_TLS_VERIFY", raising=False)
    with pytest.raises(Fault) as caught:
        open_far(tls_daemon[1]).daemon_info()
    assert isinstance(caught.value, Denied), caught.value
    assert words in caught.value.message
    assert "DOCKER_CERT_PATH" in caught.value.remedy


def test_tls_with_a_daemon_that_has_none(
    plain_url: str, certificates: Path, open_far: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(certificates / "client"))
    with pytest.raises(Denied, match="failed: it speaks no TLS there") as caught:
        open_far(plain_url).daemon_info()
    assert "Unset DOCKER_TLS_VERIFY" in caught.value.remedy


def test_plain_tcp_warns_and_asks_the_host_by_a_container(
    plain_url: str, docker_daemon: Dockerd, tmp_path: Path
) -> None:
    missing = f"/gonogo-not-there-{os.getpid()}"
    done = check(
        tmp_path,
        plain_url,
        inputs=[{"name": "names", "uri": "/etc/hosts"}, {"name": "gone", "uri": f"{missing}/x.json"}],
    )
    assert done.row("DOCK-01")["state"] == "warned"
    assert "without TLS" in done.row("DOCK-01")["message"]
    done.fine("PATH-01[/etc/hosts]")
    done.broken(f"PATH-01[{missing}/x.json]", "does not exist", remedy="")
    assert done.causes == [f"PATH-01[{missing}/x.json]"]
    assert not Path(missing).exists()


def test_host_without_a_shell_follows_its_own_links(
    plain_url: str, docker_daemon: Dockerd, open_far: Opener, tmp_path: Path
) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    tmp_path.chmod(0o755)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        platform = open_far(plain_url)
        assert not platform.has_host_shell
        questions = [NodeQuestion(), PathQuestion("link", str(tmp_path / "link")), PortQuestion("port", port)]
        answers = platform.ask(questions, deadline=30)
    assert answers.path("link").exists
    assert answers.path("link").kind == "file"
    assert not answers.port("port").free
    assert answers.node().hostname == socket.gethostname()
    assert docker_daemon.inventory()["containers"] == []


def test_submitter_is_not_guessed_without_a_shell(plain_url: str, tmp_path: Path) -> None:
    done = check(tmp_path, plain_url, run_as="submitter")
    assert done.verdict == "NO-GO"
    assert [cause for cause in done.causes if cause.startswith("ID-")] == done.causes, done.output


def test_forwarded_socket_of_another_machine(
    docker_daemon: Dockerd, open_far: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "the-laptop")
    assert open_far(docker_daemon.url).daemon_info().id
    monkeypatch.undo()
    with pytest.raises(Refused, match="runs on this machine"):
        open_far(docker_daemon.url).daemon_info()


def test_docker_context_with_ssh(
    far_host: FarHost, open_far: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "far"
    meta = tmp_path / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": far_host.url}}}))
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": name}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    platform: RemoteDockerPlatform = open_far(None)
    assert platform.daemon_info().id
    assert platform.endpoint.origin == "docker context (far)"


def test_docker_context_that_is_not_there(tmp_path: Path) -> None:
    done = check(tmp_path, "", variables={"DOCKER_CONTEXT": "nope", "DOCKER_CONFIG": str(tmp_path)})
    assert done.status == USAGE_ERROR, done.output
    assert "the docker context nope is in use and cannot be read" in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("url", "remedy", "expected"),
    [
        ("ssh://ml@h:2222", "sudo chown 1:1 '/a b'", "ssh -t -p 2222 ml@h 'sudo chown 1:1 '\"'\"'/a b'\"'\"''"),
        ("ssh://ml@h", "docker pull x:1", "docker -H ssh://ml@h pull x:1"),
        ("ssh://h", "docker login nvcr.io", "docker login nvcr.io"),
        ("ssh://h", "Correct the path", "Correct the path"),
        ("tcp://h:2375", "mkdir -p /a", "On the host of tcp://h:2375: `mkdir -p /a`"),
    ],
)
def test_remedies_run_from_here(open_far: Opener, url: str, remedy: str, expected: str) -> None:
    assert open_far(url).from_here(remedy) == expected


def test_address_that_is_no_docker_address(open_far: Opener) -> None:
    for url in ("npipe:////./pipe/docker_engine", "ftp://host"):
        with pytest.raises(Refused, match="is no address of a remote daemon"):
            open_far(url).daemon_info()

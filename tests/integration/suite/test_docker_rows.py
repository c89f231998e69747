"""The rows of local-docker on a real daemon: each once where its target is truly broken, and once where it is fine."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lanes
import pytest
from services.dockerd import Dockerd, missing_for_dockerd
from suite_runs import Finished, job_text, run

NOBODY = "65534:65534"


def preflight(tmp_path: Path, daemon: Dockerd, *options: str, **fields: Any) -> Finished:
    job = job_text(**{"image": daemon.busybox, "run_as": NOBODY, **fields})
    return run(tmp_path, *options, job=job, platform="local-docker", DOCKER_HOST=daemon.url)


@pytest.fixture
def held_port() -> Iterator[int]:
    """A port that this process listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


def a_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_sound_job_is_go(tmp_path: Path, docker_daemon: Dockerd) -> None:
    docker_daemon.client().networks.create("tao_default")
    port = a_free_port()
    done = preflight(tmp_path, docker_daemon, id="sound-1", ports={"publish": [f"{port}:80"]})
    assert (done.status, done.verdict) == (0, "GO"), done.output
    done.fine(
        "DOCK-01", "DOCK-02", "DOCK-03", "DOCK-04", "DOCK-05", "DOCK-06", "DOCK-07", "ID-07", f"PORT-04[{port}/tcp]"
    )
    done.fine("JOB-01", "JOB-02", "JOB-03", "JOB-04", "JOB-06", "JOB-07", "JOB-09", "JOB-10")
    assert set(done.report["counts"]) == {"passed"}


def test_each_broken_row_is_a_cause_of_its_own(tmp_path: Path, docker_daemon: Dockerd, held_port: int) -> None:
    docker_daemon.client().containers.run(
        docker_daemon.busybox, ["sleep", "1000"], name="tao-job-twice", detach=True, network_mode="none"
    )
    done = preflight(
        tmp_path,
        docker_daemon,
        id="twice",
        run_as="submitter",
        nodes=2,
        command=["no-such-program"],
        env={"DOCKER_HOST": "tcp://elsewhere:2375", "MODE": "train"},
        ports={"publish": [f"{held_port}:80"]},
    )
    done.broken("ID-07", "root", remedy="run_as")
    done.broken("JOB-03", "nodes is 2", remedy="nodes: 1")
    done.blocked("DOCK-06", by="JOB-03")
    done.broken("DOCK-03", "container tao-job-twice of this ID is running", remedy="gonogo cancel twice")
    done.broken("DOCK-07", "DOCKER_HOST", remedy="Remove DOCKER_HOST")
    row = done.broken(f"PORT-04[{held_port}/tcp]", f"port {held_port} is held by", remedy="ports.publish")
    assert "pid" in row["found"]
    proposed = int(row["remedy"].partition(" to ")[2].split(",")[0])
    with socket.create_server(("127.0.0.1", proposed)):
        pass  # what is proposed can really be bound
    done.blocked("DOCK-04", "JOB-10", by="ID-07")  # the container cannot be started without knowing as whom
    assert sorted(done.causes) == ["DOCK-03", "DOCK-07", "ID-07", "JOB-03", f"PORT-04[{held_port}/tcp]"]


def test_stopped_container_of_this_id_is_named(tmp_path: Path, docker_daemon: Dockerd) -> None:
    docker_daemon.client().containers.create(docker_daemon.busybox, name="tao-job-again", network_mode="none")
    done = preflight(tmp_path, docker_daemon, id="again")
    done.broken("DOCK-03", "stopped container tao-job-again has this ID", remedy="", state="warned")
    assert done.verdict == "GO"
    assert len(docker_daemon.client().containers.list(all=True)) == 1, "the preflight removes none of the user's"


def test_port_that_cannot_be_is_refused_before_anything_is_asked(tmp_path: Path, docker_daemon: Dockerd) -> None:
    before = len(docker_daemon.calls())
    done = preflight(tmp_path, docker_daemon, ports={"publish": ["0:80", "66660:80", "8080:66661"], "master": 22})
    for port in ("port 0", "66660", "66661", "22"):
        done.refused("JOB-01", port)
    assert docker_daemon.calls()[before:] == []


def test_udp_port_that_nobody_can_ask_about_is_left_open(tmp_path: Path, docker_daemon: Dockerd) -> None:
    done = preflight(tmp_path, docker_daemon, ports={"publish": ["5353:53/udp"]})
    done.broken("PORT-04[5353/udp]", "no question for UDP", remedy="attest the row", state="unverified")


def test_network_that_a_container_cannot_join(tmp_path: Path, own_docker_daemon: Dockerd) -> None:
    client = own_docker_daemon.client()
    client.swarm.init(advertise_addr="127.0.0.1", listen_addr="127.0.0.1:0")
    try:
        client.networks.create("tao_default", driver="overlay")
        done = preflight(tmp_path, own_docker_daemon)
        done.broken("DOCK-02", "network tao_default has the driver overlay", remedy="docker network rm tao_default")
        done.fine("DOCK-01", "DOCK-04")
    finally:
        client.swarm.leave(force=True)
    client.networks.create("twin")
    client.networks.create("twin", check_duplicate=False)
    done = preflight(tmp_path, own_docker_daemon, docker={"network": "twin"})
    done.broken("DOCK-02", "2 networks are called twin", remedy="docker network rm ID")


def test_daemon_without_the_container_toolkit(tmp_path: Path, docker_daemon: Dockerd) -> None:
    done = preflight(tmp_path, docker_daemon, gpus=1, inputs=[{"name": "hosts", "uri": "/etc/hosts"}])
    register = "nvidia-ctk runtime configure --runtime=docker"
    done.broken("GPU-03", "the daemon knows no NVIDIA runtime", remedy=register)
    done.blocked("GPU-04", "GPU-05", by="GPU-03")
    # DOCK-04 may not hold either: a GPU job asks for unlimited locked memory, which not every test machine can give.
    assert [name for name in done.causes if name != "DOCK-04"] == ["GPU-03"]
    done.fine("DOCK-01", "DOCK-02")
    assert docker_daemon.client().containers.list(all=True) == []


@pytest.fixture
def daemon_that_raises_no_limit(tmp_path: Path) -> Iterator[Dockerd]:
    """A daemon whose containers are started without the capability to raise a limit, as a rootless one's are."""
    lanes.require("docker", missing_for_dockerd())
    runtime = tmp_path / "limited-runc"
    drop = "setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource --"
    runtime.write_text(f'#!/bin/sh\nulimit -s 8192\nulimit -l 64\nexec {drop} {shutil.which("runc")} "$@"\n')
    runtime.chmod(0o755)
    daemon = Dockerd(arguments=[f"--add-runtime=limited={runtime}", "--default-runtime=limited"])
    try:
        daemon.start()
        daemon.load_images()
        yield daemon
    finally:
        daemon.close()


def test_limit_that_the_daemon_may_not_raise(tmp_path: Path, daemon_that_raises_no_limit: Dockerd) -> None:
    daemon = daemon_that_raises_no_limit
    done = preflight(tmp_path, daemon, inputs=[{"name": "hosts", "uri": "/etc/hosts"}])
    done.broken("DOCK-04", "may not raise a limit", remedy="SYS_RESOURCE")
    assert "rlimit" in done.detail("DOCK-04")
    done.blocked("PATH-01[/etc/hosts]", "JOB-10", by="DOCK-04")
    done.fine("DOCK-01", "DOCK-02")
    assert daemon.client().containers.list(all=True) == []

"""The life of a launched container, on a real daemon: submitted once, followed, stopped, and gone when released."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from docker_jobs import NOBODY, end_of, folder, output, platform
from services.docker_platforms import docker_platform, submission
from services.dockerd import Dockerd, wait_until

from gonogo.platforms.contract import JobState, Placed
from gonogo.platforms.docker.platform import DockerPlatform
from gonogo.platforms.faults import LaunchRefused, NotFound

__all__ = ["folder", "platform"]


@pytest.mark.parametrize(
    ("command", "state", "code"),
    [
        ("exit 0", JobState.COMPLETE, 0),
        ("exit 3", JobState.ERROR, 3),
        ("sh -c 'kill -9 $$'; exit $?", JobState.ERROR, 137),
    ],
)
def test_exit_code_is_kept(
    docker_daemon: Dockerd, platform: DockerPlatform, command: str, state: JobState, code: int
) -> None:
    placed = platform.submit(submission("ends", docker_daemon.busybox, command))
    status = end_of(platform, placed)
    assert (status.state, status.exit_code, status.native) == (state, code, "exited")
    assert placed.details["container"] == "tao-job-ends"


def test_out_of_memory_is_told(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    command = "while [ ! -e /tmp/go ]; do sleep 0.05; done; exec tail /dev/zero"
    placed = platform.submit(submission("oom", docker_daemon.busybox, command))
    container = docker_daemon.client().containers.get(placed.native_id)
    container.update(mem_limit="16m", memswap_limit="16m")
    container.exec_run(["touch", "/tmp/go"])
    status = end_of(platform, placed)
    assert (status.state, status.exit_code, status.reason) == (JobState.ERROR, 137, "killed: out of memory")


def test_stopped_and_removed_by_hand(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    placed = platform.submit(submission("by-hand", docker_daemon.busybox, "sleep 600"))
    container = docker_daemon.client().containers.get(placed.native_id)
    assert platform.status(placed.native_id).state is JobState.RUNNING
    container.pause()
    assert platform.status(placed.native_id).state is JobState.PAUSED
    container.unpause()
    container.stop(timeout=0)
    status = platform.status(placed.native_id)
    assert (status.state, status.exit_code) == (JobState.ERROR, 137)
    assert "SIGKILL" in status.reason
    container.remove()
    with pytest.raises(NotFound, match=rf"container {placed.native_id[:12]} is gone"):
        platform.status(placed.native_id)
    assert platform.find("by-hand") is None


def test_container_is_as_the_job_says(docker_daemon: Dockerd, platform: DockerPlatform, folder: Path) -> None:
    (folder / "in").write_text("input")
    (folder / "out").mkdir()
    os.chown(folder / "out", NOBODY, NOBODY)
    command = "id -u; id -g; echo $HOME; pwd; cat /in; echo; touch $HOME/x /out/done; touch /in 2>&1; df -k /dev/shm"
    job = submission(
        "as-said",
        docker_daemon.entrypoint_image,
        command,
        environment={"PLAIN": "a b"},
        secrets={"HF_TOKEN": "hf_canary"},
        workdir="/tmp",
        inputs=[{"name": "in", "uri": str(folder / "in"), "mount": "/in"}],
        outputs=[{"name": "out", "uri": str(folder / "out"), "mount": "/out"}],
        requires={"shm": "1 GiB"},
    )
    placed = platform.submit(job)
    end_of(platform, placed)
    lines = output(platform, placed).splitlines()
    assert lines[:2] == [str(NOBODY)] * 2
    assert lines[2] == "/out/.gonogo/as-said/home"
    assert lines[3] == "/tmp"
    assert lines[4].startswith("input")
    assert "Read-only file system" in "\n".join(lines)
    assert "1048576" in lines[-1]
    assert (folder / "out" / "done").stat().st_uid == NOBODY
    assert (folder / "out" / ".gonogo" / "as-said" / "home" / "x").exists()
    attrs = docker_daemon.client().containers.get(placed.native_id).attrs
    environment = dict(one.partition("=")[::2] for one in attrs["Config"]["Env"])
    assert (environment["PLAIN"], environment["HF_TOKEN"]) == ("a b", "hf_canary")
    assert environment["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert environment["HF_HOME"] == "/out/.gonogo/as-said/home/.cache/huggingface"
    assert set(environment) <= {
        "PATH", "HOSTNAME", "PLAIN", "HF_TOKEN", "NVIDIA_VISIBLE_DEVICES", "USER", "LOGNAME", "HOME", "XDG_CACHE_HOME",
        "HF_HOME", "TORCH_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "MPLCONFIGDIR",
    }  # fmt: skip
    assert {"Name": "stack", "Soft": 67108864, "Hard": 67108864} in attrs["HostConfig"]["Ulimits"]
    assert attrs["HostConfig"]["RestartPolicy"]["Name"] in ("", "no")
    assert attrs["Config"]["Labels"]["gonogo.launch"] == "as-said"
    assert "hf_canary" not in platform.render(job) + repr(placed) + repr(job)


def test_home_without_a_mount_is_writable(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    placed = platform.submit(
        submission("home", docker_daemon.busybox, "mkdir -p $HF_HOME && touch $HOME/x && echo $HOME")
    )
    assert end_of(platform, placed).state is JobState.COMPLETE
    assert output(platform, placed) == f"/tmp/gonogo-home-{NOBODY}\n"


def test_rendered_command_runs_as_submitted(docker_daemon: Dockerd, platform: DockerPlatform, folder: Path) -> None:
    (folder / 'comma, and "quote"').write_text("seen")
    job = submission(
        "rendered",
        docker_daemon.busybox,
        ["cat", "/in"],
        mounts=[{"source": str(folder / 'comma, and "quote"'), "target": "/in", "read_only": True}],
        environment={"ODD": "it's $HOME\nnew"},
        secrets={"HF_TOKEN": "hf_canary"},
    )
    text = platform.render(job)
    assert "HF_TOKEN=***" in text
    environment = {**os.environ, "DOCKER_HOST": docker_daemon.url}
    done = subprocess.run(["sh", "-c", text], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    by_hand = docker_daemon.client().containers.get("tao-job-rendered")
    by_hand.wait()
    assert by_hand.logs() == b"seen"
    attrs = by_hand.attrs
    by_hand.remove()
    placed = platform.submit(job)
    end_of(platform, placed)
    ours = docker_daemon.client().containers.get(placed.native_id).attrs
    assert attrs["Config"]["User"] == ours["Config"]["User"]
    hidden = {"HF_TOKEN=***", "HF_TOKEN=hf_canary"}
    assert set(attrs["Config"]["Env"]) - hidden == set(ours["Config"]["Env"]) - hidden
    assert [one["Source"] for one in attrs["Mounts"]] == [one["Source"] for one in ours["Mounts"]]
    assert attrs["HostConfig"]["ShmSize"] == ours["HostConfig"]["ShmSize"]
    assert attrs["HostConfig"]["Ulimits"] == ours["HostConfig"]["Ulimits"]


def test_missing_mount_source_is_refused_and_leaves_nothing(
    docker_daemon: Dockerd, platform: DockerPlatform, folder: Path
) -> None:
    before = docker_daemon.inventory()
    job = submission("no-source", docker_daemon.busybox, "true", mounts=[f"{folder}/gone:/gone"])
    with pytest.raises(LaunchRefused, match="gone does not exist on the daemon's host"):
        platform.submit(job)
    assert not (folder / "gone").exists()
    assert docker_daemon.inventory() == before


@pytest.mark.parametrize(
    ("image", "command", "words", "remedy"),
    [
        ("busybox", ["no-such-program"], "has no no-such-program", "first word of `command`"),
        ("shell_less_image", "true", "has no /bin/sh", "as a list"),
    ],
)
def test_program_that_is_not_there_leaves_nothing(
    docker_daemon: Dockerd, platform: DockerPlatform, image: str, command: object, words: str, remedy: str
) -> None:
    before = docker_daemon.inventory()
    with pytest.raises(LaunchRefused, match=words) as raised:
        platform.submit(submission("no-program", getattr(docker_daemon, image), command))
    assert remedy in raised.value.remedy
    assert "--help" not in raised.value.detail
    assert docker_daemon.inventory() == before


def test_list_runs_without_a_shell(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    placed = platform.submit(submission("list", docker_daemon.shell_less_image, ["true"]))
    assert end_of(platform, placed).state is JobState.COMPLETE


def test_gpu_request_without_a_driver_is_refused(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    before = docker_daemon.inventory()
    with pytest.raises(LaunchRefused) as raised:
        platform.submit(submission("gpu", docker_daemon.busybox, "true", gpus=1))
    # The daemon names one of the two first: it has no GPU driver, or may not lift the limit that GPU jobs get.
    assert "no driver for GPU requests" in raised.value.message or "may not raise a limit" in raised.value.message
    assert docker_daemon.inventory() == before


def test_root_submitter_must_name_a_user(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    assert os.geteuid() == 0
    with pytest.raises(LaunchRefused, match="the job would run as root") as raised:
        platform.submit(submission("root", docker_daemon.busybox, "true", run_as="submitter"))
    assert "UID:GID" in raised.value.remedy


def test_same_id_twice_at_once_makes_one_container(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    job = submission("twice", docker_daemon.busybox, "echo once; sleep 600")
    placed: list[Placed] = []
    gate = threading.Barrier(4)

    def submit() -> None:
        gate.wait()
        placed.append(platform.submit(job))

    threads = [threading.Thread(target=submit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(placed) == 4
    assert len({one.native_id for one in placed}) == 1
    assert [one.name for one in docker_daemon.client().containers.list(all=True)] == ["tao-job-twice"]
    found = platform.find("twice")
    assert found is not None
    assert found.native_id == placed[0].native_id
    wait_until(lambda: output(platform, placed[0]) == "once\n", "the job's only output")


def test_same_id_for_another_job_is_refused(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    platform.submit(submission("taken", docker_daemon.busybox, "sleep 600"))
    with pytest.raises(LaunchRefused, match="launch taken is taken by another job"):
        platform.submit(submission("taken", docker_daemon.busybox, "sleep 601"))
    docker_daemon.client().containers.create(docker_daemon.busybox, name="tao-job-foreign")
    with pytest.raises(LaunchRefused, match="that gonogo did not make") as raised:
        platform.submit(submission("foreign", docker_daemon.busybox, "true"))
    assert "docker rm -f tao-job-foreign" in raised.value.remedy
    assert platform.find("foreign") is None


def test_launcher_killed_between_create_and_start(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    script = (
        "import sys\n"
        "from services.docker_platforms import docker_platform, submission\n"
        "from gonogo.platforms.docker import launch\n"
        f"platform = docker_platform({docker_daemon.url!r}, docker_network='none')\n"
        f"job = submission('cut', {docker_daemon.busybox!r}, 'echo ran')\n"
        "launch._create(platform.connection, platform._spec(job))\n"
        "print('created', flush=True)\n"
        "sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"created\n"
    alive = platform.find("cut")
    assert alive is not None, "its launcher lives and will start it"
    assert platform.status(alive.native_id).state is JobState.PENDING
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert platform.find("cut") is None
    placed = platform.submit(submission("cut", docker_daemon.busybox, "echo ran"))
    assert end_of(platform, placed).state is JobState.COMPLETE
    assert placed.native_id != alive.native_id
    assert len(docker_daemon.client().containers.list(all=True)) == 1


def test_cancel_stops_and_proves_it(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    stubborn = submission("stubborn", docker_daemon.busybox, "trap '' TERM; echo up; while :; do sleep 0.1; done")
    placed = platform.submit(stubborn)
    wait_until(lambda: output(platform, placed) == "up\n", "the trap to be set")
    status = platform.cancel(placed.native_id, grace=1.0)
    assert (status.state, status.exit_code) == (JobState.CANCELED, 137)
    assert platform.status(placed.native_id).state.ended
    assert platform.cancel(placed.native_id).state is JobState.ERROR, "it had ended before"
    done = platform.submit(submission("done", docker_daemon.busybox, "true"))
    end_of(platform, done)
    assert platform.cancel(done.native_id).state is JobState.COMPLETE


def test_cancel_of_a_paused_and_of_an_automatically_removed_job(
    docker_daemon: Dockerd, platform: DockerPlatform
) -> None:
    paused = platform.submit(submission("paused", docker_daemon.busybox, "sleep 600"))
    docker_daemon.client().containers.get(paused.native_id).pause()
    assert platform.cancel(paused.native_id, grace=0).state is JobState.CANCELED
    volatile = platform.submit(submission("volatile", docker_daemon.busybox, "sleep 600", docker={"auto_remove": True}))
    assert platform.cancel(volatile.native_id, grace=0).state is JobState.CANCELED


def test_release_removes_the_container(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    before = docker_daemon.inventory()
    placed = platform.submit(submission("released", docker_daemon.busybox, "sleep 600"))
    platform.release(placed.native_id)
    platform.release(placed.native_id)
    assert docker_daemon.inventory() == before


def test_network_is_made_once(docker_daemon: Dockerd) -> None:
    platform = docker_platform(docker_daemon.url, docker_network="tao_default")
    for launch in ("net-1", "net-2"):
        platform.submit(submission(launch, docker_daemon.busybox, "sleep 600"))
    assert [one.name for one in docker_daemon.client().networks.list(names=["tao_default"])] == ["tao_default"]
    attached = docker_daemon.client().networks.get("tao_default").containers
    assert sorted(one.name for one in attached) == ["tao-job-net-1", "tao-job-net-2"]
    platform.close()


def test_published_port_reaches_the_container(docker_daemon: Dockerd) -> None:
    platform = docker_platform(docker_daemon.url, docker_network="tao_default")
    job = submission("port", docker_daemon.busybox, "true", ports={"publish": ["18080:80/udp"]})
    placed = platform.submit(job)
    bindings = docker_daemon.client().containers.get(placed.native_id).attrs["HostConfig"]["PortBindings"]
    assert bindings == {"80/udp": [{"HostIp": "", "HostPort": "18080"}]}
    platform.close()

"""A Docker job's log, its preflight, and its image's pull, on a real daemon."""

from __future__ import annotations

import pytest
from docker_jobs import end_of, folder, output, platform
from services.docker_platforms import submission
from services.dockerd import Dockerd

from gonogo.platforms.docker.platform import DockerPlatform
from gonogo.platforms.faults import LaunchRefused
from gonogo.platforms.probe.preflight import Expectation, build_preflight, parse_preflight
from gonogo.platforms.probe.questions import PathQuestion

__all__ = ["folder", "platform"]


def test_log_is_whole_and_in_order(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    counted = "i=0; while [ $i -lt 3000 ]; do echo ü-$i; i=$((i+1)); done"
    command = f"{counted}; printf '日本'; head -c 40000 /dev/zero | tr '\\0' x"
    placed = platform.submit(submission("log", docker_daemon.busybox, command))
    end_of(platform, placed)
    whole = output(platform, placed)
    assert whole == "".join(f"ü-{number}\n" for number in range(3000)) + "日本" + "x" * 40000
    assert b"".join(platform.logs(placed.native_id, follow=True)).decode() == whole
    short = platform.submit(submission("short", docker_daemon.busybox, "for i in 1 2 3 4; do echo n$i; done"))
    end_of(platform, short)
    assert b"".join(platform.logs(short.native_id, tail=2)) == b"n3\nn4\n"
    assert b"".join(platform.logs(short.native_id, tail=2, follow=True)) == b"n3\nn4\n"


def test_follow_ends_with_the_job(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    command = "echo first; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo last"
    placed = platform.submit(submission("follow", docker_daemon.busybox, command))
    chunks = platform.logs(placed.native_id, follow=True)
    assert next(chunks) == b"first\n"
    docker_daemon.client().containers.get(placed.native_id).exec_run(["touch", "/tmp/go"])
    assert b"".join(chunks) == b"last\n"


def test_follow_over_quiet_times_repeats_nothing(
    docker_daemon: Dockerd, platform: DockerPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gonogo.platforms.docker.follow._QUIET_SECONDS", 0.3)
    command = "echo 1; echo 2; sleep 1; echo 3; sleep 1; echo 4; echo 5"
    placed = platform.submit(submission("quiet", docker_daemon.busybox, command))
    assert b"".join(platform.logs(placed.native_id, follow=True)) == b"1\n2\n3\n4\n5\n"


def test_preflight_decides_whether_the_command_starts(docker_daemon: Dockerd, platform: DockerPlatform) -> None:
    fails = build_preflight([PathQuestion("gone", "/no/such/path")], "abc1")
    placed = platform.submit(
        submission("fails", docker_daemon.busybox, "echo the-command", preflight=fails, preflight_nonce="abc1")
    )
    assert end_of(platform, placed).exit_code == 97
    assert "the-command" not in output(platform, placed)
    result = parse_preflight(platform.arrival_output(placed.native_id), "abc1")
    assert (result.done, result.passed) == (True, False)
    holds = build_preflight([Expectation(PathQuestion("tmp", "/tmp"), writable=True)], "abc2")
    placed = platform.submit(
        submission(
            "holds",
            docker_daemon.busybox,
            ["sh", "-c", "echo $0; exit 5", "a b"],
            preflight=holds,
            preflight_nonce="abc2",
        )
    )
    assert end_of(platform, placed).exit_code == 5
    assert output(platform, placed).endswith("a b\n")
    assert parse_preflight(platform.arrival_output(placed.native_id), "abc2").passed


def test_absent_image_is_pulled_and_the_refusal_classified(
    docker_daemon: Dockerd, platform: DockerPlatform, refused_port: int
) -> None:
    before = docker_daemon.inventory()
    with pytest.raises(LaunchRefused, match="does not reach registry"):
        platform.submit(submission("pull", f"127.0.0.1:{refused_port}/none:1", "true"))
    assert docker_daemon.inventory() == before

"""The older launch-preflight script's options mean the same here, or are refused; none is silently not looked at."""

from __future__ import annotations

import pytest

from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.older_options import translate


def words(*arguments: str, **environment: str) -> list[str]:
    return translate(["check", *arguments], environment).words


def test_own_options_pass_as_they_are() -> None:
    own = ["job.yaml", "--platform", "local-docker", "--path", "a=/x", "--report=r.html"]
    assert words(*own) == ["check", *own]


@pytest.mark.parametrize(
    ("host", "platform"),
    [("", "local-docker"), ("unix:///run/docker.sock", "local-docker"), ("ssh://ml@gpu-host", "remote-docker")],
)
def test_docker_is_local_or_remote_by_its_address(host: str, platform: str) -> None:
    assert words("--platform", "docker", DOCKER_HOST=host) == ["check", f"--platform={platform}"]


def test_docker_host_option_beats_the_environment() -> None:
    found = words("--platform=docker", "--docker-host", "ssh://a@b", DOCKER_HOST="unix:///x")
    assert found == ["check", "--platform=remote-docker", "--docker-host=ssh://a@b"]


def test_virtualenv_is_interactive() -> None:
    assert words("--platform", "virtualenv") == ["check", "--platform=interactive"]


def test_whole_command_line_of_a_docker_user() -> None:
    found = words(
        *("--platform", "docker", "--container-image", "nvcr.io/nvidia/tao/tao-toolkit:7.1.0-pyt"),
        *("--path", "train=/data/train", "--path", "results=/data/results", "--min-free-disk-gb", "results=384"),
        *("--target-gpu-index", "0,1", "--min-gpu-memory-gb", "80", "--low-vram-threshold-gb", "50"),
        *("--gpu-smoke-image", "ubuntu:22.04", "--pull-smoke-image", "--image-supported-sm", "sm_80,sm_90"),
    )
    assert found == [
        "check",
        "--platform=local-docker",
        "--path=train=/data/train",
        "--output=results=/data/results",
        "--set=requires.disk=384 GiB",
        "--set=docker.gpu_ids=[0, 1]",
        "--set=image_sms=[sm_80, sm_90]",
        "--image=nvcr.io/nvidia/tao/tao-toolkit:7.1.0-pyt",
        "--set=requires.gpu_memory=80 GiB",
        "--set=requires.gpu_memory_warn=50 GiB",
        "--smoke-image=ubuntu:22.04",
        "--pull",
    ]


def test_allowed_architectures_are_those_of_every_list() -> None:
    found = words("--gpu-arch-allowlist", "a=sm_80,sm_90", "--gpu-arch-allowlist", "b=sm_90,sm_100")
    assert found == ["check", "--set=requires.compute_capability=[sm_90]"]
    with pytest.raises(Stop, match="every list"):
        words("--gpu-arch-allowlist", "a=sm_80", "--gpu-arch-allowlist", "b=sm_90")


def test_path_without_label_is_its_own_label() -> None:
    assert words("--platform", "docker", "--path", "/data/x") == [
        "check",
        "--platform=local-docker",
        "--path=/data/x=/data/x",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--platform", "docker", "--path", "="],
        ["--platform", "docker", "--path", "label="],
        ["--platform", "docker", "--path", ""],
        ["--platform", "docker", "--path", "a=/x", "--path", "a=/y"],
        ["--min-free-disk-gb", "results=10"],
        ["--path", "results=/x", "--min-free-disk-gb", "results=nan"],
        ["--path", "results=/x", "--min-free-disk-gb", "10"],
        ["--min-gpu-memory-gb", "inf"],
        ["--min-gpu-memory-gb", "-1"],
        ["--json-required-field", "train=images"],
        ["--effective-batch-limit", "train=64,8"],
        ["--gpu-min-total-memory-gb", "256"],
        ["--container-image"],
        ["--gpu-arch-allowlist", "sm_90"],
        ["--gpu-arch-allowlist", "a="],
    ],
    ids=" ".join,
)
def test_what_cannot_be_looked_at_is_refused(arguments: list[str]) -> None:
    with pytest.raises(Stop) as caught:
        words(*arguments)
    assert caught.value.code == Exit.USAGE


def test_assumptions_are_asked_of_the_target_and_said() -> None:
    found = translate(["check", "--platform", "docker", "--target-gpu-count", "8", "--skill-bank", "/x"], {})
    assert found.words == ["check", "--platform=local-docker"]
    assert len(found.notes) == 2


def test_other_commands_are_left_alone() -> None:
    assert translate(["launch", "job.yaml", "--platform", "docker"], {}).words == [
        "launch",
        "job.yaml",
        "--platform",
        "docker",
    ]

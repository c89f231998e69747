"""The older names of settings, and the login that a pull brings along."""

from __future__ import annotations

import pytest

from gonogo.jobs.model import Docker, Job
from gonogo.platforms.docker.pull import login_for
from gonogo.platforms.settings import Setting, Settings, resolve


def settings(environment: dict[str, str], job: Job | None = None) -> Settings:
    return resolve(Setting("remote-docker"), {}, environment, job)


def test_older_names_are_taken_and_said() -> None:
    found = settings(
        {
            "DOCKER_HOST": "ssh://gpu-host",
            "DOCKER_NETWORK": "net",
            "DOCKER_USERNAME": "robot",
            "TAO_DOCKER_CONTAINER_USER": "1001:1001",
            "DOCKER_AUTO_REMOVE": "true",
        }
    )
    assert found.docker_host == Setting("ssh://gpu-host", "environment (DOCKER_HOST)")
    assert found.docker_network == Setting("net", "environment (DOCKER_NETWORK)")
    assert found.registry_user == Setting("robot", "environment (DOCKER_USERNAME)")
    assert found.container_user == Setting("1001:1001", "environment (TAO_DOCKER_CONTAINER_USER)")
    assert found.auto_remove == Setting(True, "environment (DOCKER_AUTO_REMOVE)")


@pytest.mark.parametrize(
    ("variable", "in_file", "expected"),
    [
        (None, False, Setting(False, "default")),
        (None, True, Setting(True, "job file")),
        ("no", True, Setting(False, "environment (DOCKER_AUTO_REMOVE)")),
        ("1", False, Setting(True, "environment (DOCKER_AUTO_REMOVE)")),
    ],
)
def test_environment_beats_the_file(variable: str | None, in_file: bool, expected: Setting[bool]) -> None:
    job = Job(name="tiny", docker=Docker(auto_remove=in_file))
    environment = {} if variable is None else {"DOCKER_AUTO_REMOVE": variable}
    assert settings(environment, job).auto_remove == expected


def test_flag_that_is_neither_yes_nor_no() -> None:
    with pytest.raises(ValueError, match="DOCKER_AUTO_REMOVE: 'perhaps' is neither yes nor no"):
        settings({"DOCKER_AUTO_REMOVE": "perhaps"})


def test_key_goes_to_its_own_registry_alone() -> None:
    environment = {"NGC_KEY": "nvapi-x"}
    assert login_for("nvcr.io/nvidia/tao:1", environment, "$oauthtoken") == {
        "username": "$oauthtoken",
        "password": "nvapi-x",
    }
    assert login_for("nvcr.io.evil.example/x:1", environment, "$oauthtoken") is None
    assert login_for("busybox:1", environment, "$oauthtoken") is None
    assert login_for("nvcr.io/nvidia/tao:1", {}, "$oauthtoken") is None


@pytest.mark.parametrize("address", ["ssh://ml:hunter2@gpu-host", "tcp://:hunter2@gpu-host:2376"])
def test_password_in_an_address_is_not_shown(address: str) -> None:
    shown = settings({"DOCKER_HOST": address}).shown()
    assert "hunter2" not in str(shown)
    assert "gpu-host" in str(shown["docker_host"]["value"])

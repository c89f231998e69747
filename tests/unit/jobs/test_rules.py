"""Rules about a whole job: platform, nodes, schemes, mounts, pins, command (rows JOB-03 to JOB-10)."""

from __future__ import annotations

from typing import Any

import pytest

from gonogo.jobs import rules
from gonogo.jobs.faults import JobFileError
from gonogo.jobs.model import Job


def job(**values: Any) -> Job:
    return Job.model_validate(values)


def told(problems: list[rules.Problem]) -> str:
    return "\n".join(f"{problem.message} | {problem.remedy}" for problem in problems)


@pytest.mark.parametrize(
    ("values", "environment", "platform"),
    [
        ({}, {}, "interactive"),
        ({"image": "x:1"}, {}, "interactive"),
        ({"docker": {}}, {}, "local-docker"),
        ({"docker": {"host": "unix:///run/d.sock"}}, {}, "local-docker"),
        ({"docker": {"host": "tcp://127.0.0.1:2375"}}, {}, "local-docker"),
        ({"docker": {"host": "ssh://ml@gpu-host"}}, {}, "remote-docker"),
        ({"docker": {"host": "tcp://gpu-host:2376"}}, {}, "remote-docker"),
        ({"docker": {}}, {"DOCKER_HOST": "ssh://gpu-host"}, "remote-docker"),
        ({"docker": {"host": "ssh://gpu-host"}}, {"DOCKER_HOST": "unix:///run/d.sock"}, "local-docker"),
        ({"docker": {"host": "ssh://gpu-host"}}, {"DOCKER_HOST": ""}, "remote-docker"),
        ({}, {"DOCKER_HOST": "ssh://gpu-host"}, "interactive"),
        ({"slurm": {}}, {"DOCKER_HOST": "ssh://gpu-host"}, "slurm"),
        ({"skypilot": {"cloud": "aws"}}, {}, "skypilot"),
    ],
)
def test_the_one_section_chooses_the_platform(
    values: dict[str, Any], environment: dict[str, str], platform: str
) -> None:
    assert rules.choose_platform(job(**values), environment) == platform


def test_the_option_for_the_daemon_beats_everything() -> None:
    asked = job(docker={"host": "unix:///x"})
    assert rules.choose_platform(asked, {"DOCKER_HOST": "unix:///y"}, "ssh://h") == "remote-docker"


def test_several_sections_are_a_usage_error_that_lists_them() -> None:
    both = job(slurm={}, docker={})
    assert rules.platform_sections(both) == ["docker", "slurm"]
    with pytest.raises(JobFileError, match="several platforms: docker, slurm; choose one with --platform"):
        rules.choose_platform(both, {})


@pytest.mark.parametrize("platform", ["interactive", "local-docker", "remote-docker", "brev"])
def test_more_nodes_than_one_where_there_is_one(platform: str) -> None:
    assert rules.multi_node_unsupported(job(nodes=1), platform) == []
    problem = rules.multi_node_unsupported(job(nodes=2), platform)[0]
    assert "nodes is 2" in problem.message
    assert all(name in problem.remedy for name in ("slurm", "lepton", "skypilot"))


@pytest.mark.parametrize("platform", ["slurm", "lepton", "skypilot"])
def test_more_nodes_where_there_are_more(platform: str) -> None:
    assert rules.multi_node_unsupported(job(nodes=2), platform) == []


@pytest.mark.parametrize(
    ("uri", "platform", "refused"),
    [
        ("s3://b/x", "interactive", False),
        ("/a://b", "interactive", False),
        ("file:///x", "slurm", False),
        ("lustre:///x", "lepton", False),
        ("lustre:///x", "slurm", True),
        ("lustre:///x", "local-docker", True),
        ("lepton://v/x", "brev", True),
    ],
)
def test_schemes_by_platform(uri: str, platform: str, refused: bool) -> None:
    asked = job(inputs=[{"name": "a", "uri": "/x"}, {"name": "b", "uri": uri}])
    keys = [problem.key for problem in rules.foreign_schemes(asked, platform)]
    assert keys == (["inputs.1.uri"] if refused else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"aws": {}}', ""),
        ('{"gcp": {}}', "another key than 'aws'"),
        ('{"aws": {}, "x": {}}', "another key"),
        ("{", "is not JSON"),
        ("[]", "another key"),
    ],
)
def test_cloud_metadata_has_the_key_aws(text: str, expected: str) -> None:
    found = told(rules.foreign_schemes(job(env={"CLOUD_METADATA": text}), "lepton"))
    assert expected in found
    assert bool(found) == bool(expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"inputs": [("a", "/x", "/d"), ("b", "/y", "/d/")]}, "inputs.0 and inputs.1 are both mounted at /d"),
        ({"inputs": [("a", "/x", "/d")], "mounts": ["/y:/d"]}, "inputs.0 and mounts.0 are both mounted at /d"),
        (
            {"inputs": [("a", "/x", "/d")], "outputs": [("o", "/o", "/d/./out")]},
            "outputs.0 at /d/out lies under inputs.0 at /d, which is read-only",
        ),
        ({"mounts": ["/y:/d:ro"], "outputs": [("o", "/o", "/d/out")]}, "lies under mounts.0 at /d"),
        ({"mounts": ["/y:/d"], "outputs": [("o", "/o", "/d/out")]}, ""),
        ({"inputs": [("a", "/x", "/d")], "outputs": [("o", "/o", "/data")]}, ""),
        ({"inputs": [("a", "/x", None), ("b", "/x", None)]}, ""),
    ],
)
def test_mounts_do_not_collide(values: dict[str, Any], expected: str) -> None:
    for kind in ("inputs", "outputs"):
        values = {**values, kind: [{"name": n, "uri": u, "mount": m} for n, u, m in values.get(kind, [])]}
    found = told(rules.mount_collisions(job(**values)))
    assert expected in found
    assert bool(found) == bool(expected)


@pytest.mark.parametrize(
    ("image", "exact"),
    [
        ("busybox", False),
        ("busybox:latest", False),
        ("host:5000/busybox", False),
        ("host:5000/busybox:1", True),
        ("busybox@sha256:" + "0" * 64, True),
        ("/images/x.sqsh", True),
    ],
)
def test_image_pins(image: str, exact: bool) -> None:
    assert (rules.inexact_pins(job(image=image)) == []) == exact


@pytest.mark.parametrize(
    ("package", "exact"),
    [
        ("nvidia-tao-sdk==7.1.0", True),
        ("nvidia-tao-sdk[x]==7.1.0 ; python_version>'3.8'", True),
        ("nvidia-tao-sdk", False),
        ("nvidia-tao-sdk>=7", False),
        ("nvidia-tao-sdk==7.*", False),
        ("x @ git+https://h/x@0123abc", True),
        ("x @ git+https://h/x@main", False),
        ("https://h/x-1.0-py3-none-any.whl", True),
    ],
)
def test_package_pins(package: str, exact: bool) -> None:
    assert (rules.inexact_pins(job(uses=[package])) == []) == exact
    assert (rules.inexact_pins(job(python_packages=[package])) == []) == exact


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"command": ""}, "the command is empty"),
        ({"command": " \n"}, "the command is empty"),
        ({"command": []}, "the command is empty"),
        ({"command": ["", "a"]}, "the first entry of the command is empty"),
        ({"command": ["python train.py"]}, "a list of one entry with several words"),
        ({"command": "echo 'a"}, "a quote is not closed"),
        ({"command": "x {split}"}, "holds {split}, and splits is not set"),
        ({"command": "x", "splits": 3}, "does not hold {split}"),
        ({"command": "x {split}", "splits": 3}, ""),
        ({"command": ["sh", "-c", "it's"]}, ""),
        ({"command": "train --max-tokens 4096 --tokenizer gpt2 --token $HF_TOKEN"}, ""),
        ({"command": 'train --token "$HF_TOKEN" --passwd-file /x'}, ""),
        ({"command": "HF_TOKEN=$HF_TOKEN train"}, ""),
        ({"command": "N=4 python train.py --key value"}, ""),
    ],
)
def test_command(values: dict[str, Any], expected: str) -> None:
    found = told(rules.command_faults(job(**values)))
    assert expected in found
    assert bool(found) == bool(expected)


@pytest.mark.parametrize(
    "command",
    [
        "huggingface-cli login --token hf_abcdefghijklmnopqrstuvwx",
        "x hf_abcdefghijklmnopqrstuvwx",
        "x --token hunter2hunter2",
        "x --api-key=hunter2hunter2",
        "x --hf_token 'hunter2hunter2'",
        "HF_TOKEN=hunter2hunter2 x",
        "export WANDB_API_KEY=hunter2hunter2; x",
        "x AKIAABCDEFGHIJKLMNOP",
        "x nvapi-abcdefghijklmnopqrst",
        "x ghp_abcdefghijklmnopqrstuvwxyz0123",
        "curl -H 'Authorization: Bearer hunter2hunter2' h",
        "git clone https://me:hunter2hunter2@h/x",
        ["x", "--password", "hunter2hunter2"],
        ["sh", "-c", "DB_PASS=hunter2hunter2 x"],
    ],
)
def test_a_secret_in_the_command_is_told_but_not_shown(command: str | list[str]) -> None:
    found = told(rules.command_faults(job(command=command)))
    assert "the command holds a secret in clear" in found
    assert not any(part in found for part in ("hunter2", "hf_a", "AKIA", "nvapi-", "ghp_"))


def test_keys_that_interactive_does_not_use() -> None:
    asked = job(image="x:1", mounts=["/a:/b"])
    assert len(rules.unused_keys(asked, "interactive")) == 2
    assert rules.unused_keys(asked, "local-docker") == []

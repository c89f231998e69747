"""How a command is run here: by which program, under torchrun or not, with which devices and ports."""

from __future__ import annotations

import pytest

from gonogo.jobs.model import Job
from gonogo.platforms.interactive.command import arguments, shell
from gonogo.platforms.interactive.environment import job_environment
from gonogo.platforms.node import needed_programs

TORCHRUN = "torchrun --nnodes 1 --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29500"
MODULE = TORCHRUN.replace("torchrun", "/env/bin/python3 -m torch.distributed.run")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("python train.py --x 1", f"{TORCHRUN} train.py --x 1"),
        ("  python3.12 train.py", f"{TORCHRUN} train.py"),
        ('python -u train.py "$DATA" | tee log', f'{TORCHRUN} train.py "$DATA" | tee log'),
        ("python -m pkg.train > out", f"{TORCHRUN} -m pkg.train > out"),
        ("python -O train.py", f"{TORCHRUN} --no-python python -O train.py"),
        ("/env/bin/python3 train.py", f"{MODULE} train.py"),
        ("torchrun --nproc-per-node 2 train.py", "torchrun --nproc-per-node 2 train.py"),
        ("accelerate launch train.py", "accelerate launch train.py"),
        ("python -m torch.distributed.run x.py", "python -m torch.distributed.run x.py"),
        ("cd /x && python train.py", "cd /x && python train.py"),
        ("./run.sh", "./run.sh"),
        ("'python' train.py", "'python' train.py"),
        ("pythonic train.py", "pythonic train.py"),
    ],
)
def test_string_commands_for_two_processes(command: str, text: str) -> None:
    assert arguments(Job(command=command, processes=2)) == [shell(), "-c", text]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["python", "train.py", "a b"], [*TORCHRUN.split(), "train.py", "a b"]),
        (["python", "-u", "-m", "pkg"], [*TORCHRUN.split(), "-m", "pkg"]),
        (["python", "-X", "dev", "t.py"], [*TORCHRUN.split(), "--no-python", "python", "-X", "dev", "t.py"]),
        (["/env/bin/python3", "t.py"], [*MODULE.split(), "t.py"]),
        (["deepspeed", "t.py"], ["deepspeed", "t.py"]),
    ],
)
def test_list_commands_for_two_processes(command: list[str], words: list[str]) -> None:
    assert arguments(Job(command=command, processes=2)) == words


def test_one_process_is_run_as_it_stands() -> None:
    assert arguments(Job(command="python t.py", gpus=1)) == [shell(), "-c", "python t.py"]
    assert arguments(Job(command=["python", "t.py"])) == ["python", "t.py"]


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("python t.py", ["python", "torchrun"]),
        ("/env/bin/python t.py", ["/env/bin/python"]),
        ("accelerate launch t.py", ["accelerate"]),
        ("./run.sh", ["./run.sh"]),
    ],
)
def test_the_programs_that_will_be_started_are_the_ones_asked_for(command: str, programs: list[str]) -> None:
    assert needed_programs(Job(command=command, processes=2)) == programs


@pytest.mark.parametrize(
    ("parts", "mine", "devices"),
    [
        ({"gpus": 0}, None, ""),
        ({"gpus": 2}, None, "0,1"),
        ({"gpus": 2}, "4,5,6", "4,5"),
        ({"gpus": -1}, None, None),
        ({"gpus": -1}, "3", "3"),
        ({"gpus": 1, "docker": {"gpu_ids": ["3", "1"]}}, "0", "3,1"),
    ],
)
def test_devices_that_the_job_sees(parts: dict, mine: str | None, devices: str | None) -> None:
    base = {"PATH": "/bin", **({"CUDA_VISIBLE_DEVICES": mine} if mine is not None else {})}
    assert job_environment(Job(command="x", **parts), {}, base).get("CUDA_VISIBLE_DEVICES") == devices


def test_what_the_job_says_beats_all() -> None:
    job = Job(command="x", gpus=2, ports={"master": 29600})
    given = {"CUDA_VISIBLE_DEVICES": "7", "MASTER_PORT": "1", "HF_TOKEN": "mine"}
    seen = job_environment(job, given, {"HF_TOKEN": "theirs", "PATH": "/bin"})
    assert seen == {"PATH": "/bin", "MASTER_ADDR": "127.0.0.1", **given}


def test_one_process_without_a_port_gets_no_rendezvous() -> None:
    assert "MASTER_PORT" not in job_environment(Job(command="x", gpus=1), {}, {"MASTER_PORT": "5", "WORLD_SIZE": "8"})

"""The rows of the job file and of this node, each once truly broken and once fine; those about GPUs stand elsewhere."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import lanes
import pytest
from suite_runs import NOBODY, job_text, require_other_user, run

CREDENTIALS = ["HF_TOKEN", "WANDB_API_KEY", "NGC_KEY", "OTHER_TOKEN"]


def test_sound_job_is_go(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    job = job_text(
        command=["python3", "-c", "pass"],
        credentials=["HF_TOKEN"],
        python_packages=["json", "email.message"],
        ports={"master": port},
        inputs=[{"name": "hosts", "uri": "file:///etc/hosts"}],
        outputs=[{"name": "results", "uri": str(tmp_path / "results")}],
        requires={"memory": "1 MiB", "disk": "1 MiB", "shm": "1 KiB", "open_files": 64},
        uses=["nvidia-tao-sdk==7.1.0"],
        nodes=1,
    )
    done = run(tmp_path, job=job, HF_TOKEN="hf_" + "a1B2" * 8)
    assert done.status == 0, done.output
    done.fine("JOB-01", "JOB-02", "JOB-03", "JOB-04", "JOB-06", "JOB-09", "JOB-10", "CRED-04[HF_TOKEN]")
    done.fine("NODE-01", "NODE-03", f"PORT-01[{port}]", "PATH-01[/etc/hosts]")
    done.fine(f"PATH-02[{tmp_path}/results]", f"PATH-05[{tmp_path}/results]")
    assert done.verdict == "GO"
    assert list((tmp_path / "results").iterdir()) == [], "nothing is left behind"


def test_faults_of_the_file_end_the_run_before_it_begins(tmp_path: Path) -> None:
    job = """\
        name: x
        gpu: 1
        command: train
        env: {MODE: "${UNSET_ANYWHERE}", ACCOUNT: <your_account>}
        requires: {disk: 5 GG}
        run_as: root
        run_as: submitter
        """
    done = run(tmp_path, job=job)
    done.refused("JOB-01", "job.yaml:2:9: gpu: unknown key; did you mean 'gpus'?")
    done.refused("JOB-02", "UNSET_ANYWHERE")
    done.refused("JOB-09", "<your_account>")
    done.refused("JOB-01", "requires.disk")
    done.refused("JOB-09", "run_as")


def test_each_broken_row_of_the_file_is_a_cause_of_its_own(tmp_path: Path) -> None:
    job = job_text(
        nodes=2,
        image="trainer:latest",
        command="echo 'unbalanced",
        credentials=CREDENTIALS,
        python_packages=["json", "no_such_module"],
        uses=["nvidia-tao-sdk"],
        requires={"memory": "900 TiB"},
        inputs=[
            {"name": "far", "uri": "lustre://scratch/set"},
            {"name": "one", "uri": "/etc/hosts", "mount": "/data"},
            {"name": "two", "uri": "/etc/group", "mount": "/data"},
        ],
        outputs=[{"name": "results", "uri": str(tmp_path / "results"), "mount": "/data/results"}],
    )
    values = {"HF_TOKEN": "'hf_quoted'", "WANDB_API_KEY": "ends-with-a-line-break\n", "NGC_KEY": "<your key>"}
    done = run(tmp_path, job=job, **values)
    done.broken("JOB-02", "image: not used on interactive", remedy="Leave the key out", state="warned")
    done.broken("JOB-03", "line 4: nodes is 2", remedy="slurm, lepton, skypilot")
    done.broken("JOB-04", "interactive does not serve lustre://", remedy="plain path")
    row = done.broken("JOB-06", "inputs.1 and inputs.2 are both mounted at /data", remedy="its own place")
    assert "outputs.0 at /data/results lies under" in row["message"]
    row = done.broken("JOB-07", "tagged latest", remedy="NAME==VERSION", state="warned")
    assert "uses.0: no exact version" in row["message"]
    done.broken("JOB-10", "a quote is not closed", remedy="close it")
    done.broken("CRED-04[HF_TOKEN]", "quote", remedy="export HF_TOKEN=")
    done.broken("CRED-04[WANDB_API_KEY]", "line break", remedy="export WANDB_API_KEY=")
    done.broken("CRED-04[NGC_KEY]", "placeholder", remedy="export NGC_KEY=")
    done.broken("CRED-04[OTHER_TOKEN]", "OTHER_TOKEN is not set", remedy="export OTHER_TOKEN=")
    done.broken("NODE-01", "python3 has no module no_such_module", remedy="-m pip install no_such_module")
    done.broken("NODE-03", "the job requires 900 TiB", remedy="Raise the limit")
    assert len(done.causes) == 11, done.causes  # with the output folder that is not there
    for value in values.values():
        assert value.strip() not in done.output


def test_command_that_cannot_be_run(tmp_path: Path) -> None:
    options = ("--set=requires.open_files=1000000000", "--set=requires.shm=900 TiB")
    done = run(tmp_path, *options, job=job_text(command=["no-such-program", "--fast"]))
    done.broken("JOB-10", "no-such-program is not in this machine", remedy="Correct `command`")
    done.broken("NODE-01", "not found on this node: no-such-program", remedy="Install no-such-program")
    done.broken("NODE-03", "/dev/shm has", remedy="Raise the limit")
    done = run(tmp_path, options[0], job=job_text(command="curl --token s3cr3t-value-of-a-token x"))
    done.broken("JOB-10", "the command holds a secret in clear", remedy="credentials")
    done.broken("NODE-03", "open files are allowed", remedy="ulimit -n 1000000000")
    assert "s3cr3t-value" not in done.output + str(done.document)


def test_rendezvous_port_is_held(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        done = run(tmp_path, job=job_text(ports={"master": port}))
        row = done.broken(f"PORT-01[{port}]", f"port {port} is held by", remedy="ports.master")
        assert f"(pid {os.getpid()})" in row["message"]
        proposed = int(row["remedy"].partition(" to ")[2].split(",")[0])
        with socket.create_server(("127.0.0.1", proposed)):
            pass  # what is proposed can really be bound
    for wrong in ("0", "66660", "22"):
        run(tmp_path, f"--set=ports.master={wrong}", job=job_text()).refused("JOB-01", wrong)


@pytest.fixture
def folder_of_nobody() -> Iterator[Path]:
    """A folder that the other user owns; pytest's own are closed to it."""
    require_other_user()
    folder = Path(tempfile.mkdtemp(prefix="gonogo-nobody-"))
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def test_folders_that_the_user_may_not_write(folder_of_nobody: Path) -> None:
    own, roots = folder_of_nobody / "own", folder_of_nobody / "roots"
    for folder in (own, roots):
        folder.mkdir()
    os.chown(own, NOBODY, NOBODY)
    outputs = [{"name": folder.name, "uri": str(folder)} for folder in (own, roots)]
    done = run(folder_of_nobody, job=job_text(outputs=outputs), user=NOBODY)
    done.fine(f"PATH-02[{own}]", f"PATH-05[{own}]", f"PATH-05[{roots}]")
    done.broken(f"PATH-02[{roots}]", "cannot be written by nobody", remedy=f"sudo chown 65534:65534 {roots}")
    assert done.causes == [f"PATH-02[{roots}]"]
    assert [*own.iterdir(), *roots.iterdir()] == []


@pytest.fixture
def small_disks(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A file system without a free byte, and one without a free inode."""
    full, many = tmp_path / "full", tmp_path / "many"
    mounted = []
    try:
        for folder, options in ((full, "size=64k"), (many, "nr_inodes=3")):
            folder.mkdir()
            done = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
                capture_output=True,
                text=True,
                check=False,
            )
            lanes.require("mounts", done.stderr.strip())
            mounted.append(folder)
        (full / "data").write_bytes(bytes(2**16))
        for number in range(2):
            (many / f"file-{number}").touch()
        yield full, many
    finally:
        for folder in mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def test_outputs_without_room(tmp_path: Path, small_disks: tuple[Path, Path]) -> None:
    full, many = small_disks
    outputs = [{"name": folder.name, "uri": str(folder)} for folder in (full, many)]
    done = run(tmp_path, job=job_text(outputs=outputs))
    done.broken(f"PATH-05[{full}]", f"the filesystem of {full} is full", remedy="Free space there")
    done.broken(f"PATH-05[{many}]", f"the filesystem of {many} has no free inodes", remedy="Free space there")
    done.broken(f"PATH-02[{many}]", "cannot be written", remedy="")
    disk = run(tmp_path, "--set=requires.disk=900 TiB", job=job_text(outputs=outputs[:1]))
    disk.broken(f"PATH-05[{full}]", "the job requires 900 TiB", remedy="Free space there")

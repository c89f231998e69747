"""Each value of the job file: what is taken, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest
from job_texts import faults_in, load_text, told

from gonogo.jobs.model import Job

SIX_FAULTS = """\
name: dino
image: nvcr.io/nvidia/tao/tao-toolkit:7.1.0-pyt
gpu: 1
command: train
env: {HF_TOKEN: "$HF_TOKEN"}
inputs:
  - {name: images, uri: "gs://bucket/x"}
requires: {disk: 200 Gigs, exclusive_gpus: yes}
ports: {master: 22}
"""


def test_six_faults_give_six_messages_each_with_its_line(tmp_path: Path) -> None:
    faults = faults_in(tmp_path, SIX_FAULTS)
    assert [(fault.row, fault.line, fault.key) for fault in faults] == [
        ("JOB-01", 3, "gpu"),
        ("JOB-02", 5, "env.HF_TOKEN"),
        ("JOB-04", 7, "inputs.0.uri"),
        ("JOB-01", 8, "requires.disk"),
        ("JOB-09", 8, "requires.exclusive_gpus"),
        ("JOB-01", 9, "ports.master"),
    ]
    file = str(tmp_path / "job.yaml")
    assert str(faults[0]) == f"{file}:3:1: gpu: unknown key; did you mean 'gpus'? [JOB-01]"
    assert all(str(fault).startswith(f"{file}:{fault.line}:{fault.column}: ") for fault in faults)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nodez: 1", "nodez: unknown key; did you mean 'nodes'?"),
        ("gpu_memory: 4 GiB", "did you mean 'requires.gpu_memory'?"),
        ("network: x", "did you mean 'docker.network'?"),
        ("requires: {gpus: 1}", "requires.gpus: unknown key; did you mean"),
        ("docker: {gpuids: [0]}", "docker.gpuids: unknown key; did you mean 'gpu_ids'?"),
        ("inputs: [{name: a, url: /x}]", "inputs.0.url: unknown key; did you mean 'uri'?"),
        ("inputs: [{name: a}]", "inputs.0.uri: this key is missing"),
        ("inputs: {name: a}", "inputs: must be a list"),
        ("inputs: [/data]", "inputs.0: must hold keys and values"),
        ("env: [A=1]", "env: must hold keys and values; write NAME: VALUE"),
        ("env: {1A: x}", "env.1A: must be the name of an environment variable"),
        ("env: {A: [x]}", "env.A: must be one value, not a list"),
        ("env: {A: }", "env.A: the value is empty"),
        ("credentials: [HF_TOKEN=abc]", "must be a name without a value; write HF_TOKEN"),
        ("gpus: -2", "gpus: must be from -1 to"),
        ("gpus: all", "-1 all visible"),
        ("gpus: 1.5", "must be a whole number"),
        ("gpus: 08", "write 8 [JOB-09]"),
        ("gpus: true", "must be a whole number"),
        ("gpus: [1]", "must be one value, not a list"),
        ("nodes: 0", "nodes: must be from 1"),
        ("processes: 0", "processes: must be from 1"),
        ("ports: {master: 0}", "port 0 means any free port"),
        ("ports: {master: 66660}", "'66660' is not a port"),
        ("ports: {master: 22}", "port 22 is privileged"),
        ("ports: {publish: [0]}", "port 0 means any free port"),
        ("ports: {publish: [a]}", "'a' is not a port to publish"),
        ("ports: {publish: [80:81:82]}", "is not a port to publish"),
        ("ports: {publish: [{host: 1, container: 2, protocol: sctp}]}", "must be tcp or udp"),
        ("ports: {publish: [8080, '8080:81']}", "ports.publish.1: host port 8080/tcp is published twice"),
        ("name: my job", "write my-job"),
        ("name: ../x", "must begin with a letter or digit"),
        ("id: a_b", "id: must hold only letters, digits and '-'"),
        (f"id: {'a' * 41}", "40 at most"),
        ("run_as: nobody", "must be submitter, root, UID or UID:GID"),
        ("run_as: 99999999999", "must be submitter"),
        ("run_as: '4294967295'", "goes up to 4294967294"),
        ("image: docker://x/y", "an image reference has no 'docker://'"),
        ("image: nvcr.io#nvidia/x", "an image reference has no '#'"),
        ("image: Ubuntu", "names are lower case"),
        ("image: 'a b'", "is not an image reference"),
        ("image: x@sha256:12", "is not an image reference"),
        ("workdir: data", "'data' is not an absolute path; begin it with / [JOB-06]"),
        ("inputs: [{name: a, uri: /x, mount: data}]", "'data' is not an absolute path; begin it with / [JOB-06]"),
        ("inputs: [{name: a, uri: /x, mount: /a/../b}]", "goes up with '..'"),
        ("inputs: [{name: a, uri: /x, mount: /}]", "'/' would hide everything"),
        ("mounts: [/a]", "'/a' is not a mount; write /SRC:/DST"),
        ("mounts: ['/a:/b:rx']", "is not a mount"),
        ("mounts: ['data:/b']", "named volumes are not used"),
        ("mounts: ['./a:/b']", "is not an absolute path"),
        ("mounts: ['/a:b']", "mounts.0.target: 'b' is not an absolute path"),
        ("inputs: [{name: a, uri: 's3:/x/y'}]", "not an s3 URI with a bucket; write s3://"),
        ("inputs: [{name: a, uri: 's3://'}]", "not an s3 URI with a bucket"),
        ("inputs: [{name: a, uri: 's3:///x'}]", "not an s3 URI with a bucket"),
        ("inputs: [{name: a, uri: 'S3://b/x'}]", "lower case; write s3://"),
        ("inputs: [{name: a, uri: 'gs://b/x'}]", "the scheme 'gs' is not served"),
        ("inputs: [{name: a, uri: 's33://b/x'}]", "did you mean s3://?"),
        ("inputs: [{name: a, uri: 'slurm://b/x'}]", "write the absolute path as the cluster sees it"),
        ("inputs: [{name: a, uri: 'C:\\data'}]", "write the path as the target (Linux) sees it"),
        ("inputs: [{name: a, uri: 'file://data/x'}]", "write file:///data/"),
        ("inputs: [{name: a, uri: data/x}]", "'data/x' is a relative path"),
        ("inputs: [{name: a, uri: ./x}]", "is a relative path"),
        ("inputs: [{name: a, uri: ~/x}]", "'~' is not expanded; write ${HOME}"),
        ("inputs: [{name: a, uri: DATA_DIR}]", "write ${DATA_DIR} [JOB-02]"),
        ("inputs: [{name: a, uri: /x}, {name: a, uri: /y}]", "inputs.1.name: the name 'a' is used twice"),
        ("requires: {gpu_memory: 40 G}", "write GiB (1024-based) or GB (1000-based)"),
        ("requires: {disk: -1 GiB}", "a size cannot be negative"),
        ("requires: {driver: new}", "is not a version bound"),
        ("requires: {compute_capability: [nine]}", "is not a compute capability"),
        ("requires: {exclusive_gpus: on}", "write true [JOB-09]"),
        ("requires: {exclusive_gpus: maybe}", "must be true or false"),
        ("time_limit: soon", "time_limit: 'soon': not a time"),
        ("docker: {host: gpu-host}", "is not a daemon's URL; write ssh://USER@HOST"),
        ("docker: {host: 'ssh://u:hunter2@h'}", "the URL holds a password"),
        ("docker: {host: 'tcp://h:99999'}", "the host or port in the URL cannot be read"),
        ("docker: {host: 'ssh://'}", "the URL names no host"),
        ("docker: {host: 'ssh://-oProxyCommand=x'}", "the URL names no host"),
        ("docker: {gpu_ids: [a]}", "is not a GPU index or UUID"),
        ("docker: {gpu_ids: [0, 0]}", "GPU 0 is named twice"),
        ("docker: 3", "docker: must hold keys and values"),
        ("slurm: [a]", "slurm: must hold keys and values"),
        ("batch: {sizes: 1}", "did you mean 'size'?"),
        ("waivers: [{row: '*', reason: r, owner: o, until: 2100-01-01}]", "every row at once cannot be named"),
        ("waivers: [{row: ALL, reason: r, owner: o, until: 2100-01-01}]", "every row at once cannot be named"),
        ("waivers: [{row: gpu2, reason: r, owner: o, until: 2100-01-01}]", "is not a row ID"),
        ("waivers: [{row: GPU-02, owner: o, until: 2100-01-01}]", "waivers.0.reason: this key is missing"),
        ("waivers: [{row: GPU-02, reason: r, owner: ' ', until: 2100-01-01}]", "waivers.0.owner: the value is empty"),
        ("waivers: [{row: GPU-02, reason: r, owner: o, until: 31.1.2100}]", "is not a date"),
        (
            "waivers: [{row: GPU-02, reason: r, owner: o, until: 2020-01-31}]",
            "the waiver for GPU-02 ended on 2020-01-31",
        ),
        ("attested: [{row: PATH-01, reason: r}]", "attested.0.owner: this key is missing"),
        ("command: {a: b}", "command: must be one value, not a mapping"),
    ],
)
def test_refused_with_reason_and_place(tmp_path: Path, text: str, expected: str) -> None:
    faults = faults_in(tmp_path, text + "\n")
    assert expected in told(faults)
    assert all(fault.line == 1 and fault.column >= 1 for fault in faults)


@pytest.mark.parametrize(
    "secret",
    ["hunter2", "hf_abcdefghijklmnopqrstuv", "AKIAABCDEFGHIJKLMNOP", "3secretive", "secretive:x", "SECRETIVE_ONE"],
)
@pytest.mark.parametrize(
    "text",
    [
        "gpus: {0}",
        "time_limit: {0}",
        "image: 'A {0}'",
        "image: {0}:://",
        "inputs: [{{name: a, uri: '{0}', mount: '{0}'}}]",
        "name: '{0}/'",
        "ports: {{publish: ['{0}']}}",
        "mounts: ['{0}']",
        "credentials: ['{0}-']",
        "docker: {{host: 'ssh://u:{0}@h'}}",
        "run_as: {0}",
        "requires: {{disk: {0}}}",
    ],
)
def test_a_secret_from_the_environment_is_in_no_message(tmp_path: Path, text: str, secret: str) -> None:
    faults = faults_in(tmp_path, text.format("${MY_TOKEN}") + "\nnodes: 0\n", environment={"MY_TOKEN": secret})
    assert secret not in told(faults)


def test_a_token_in_the_file_is_in_no_message(tmp_path: Path) -> None:
    token = "hf_abcdefghijklmnopqrstuv"
    faults = faults_in(tmp_path, f"gpus: {token}\nrun_as: {token}\ncredentials: [{token}]\n")
    assert len(faults) == 3
    assert token not in told(faults)


def test_values_are_read_as_meant(tmp_path: Path) -> None:
    job = load_text(
        tmp_path,
        """\
command: [python, train.py, 3]
gpus: "2"
env: {A: on, B: 12.10, C: 007, D: true, E: 1.0e5, F: ""}
inputs:
mounts: ["/a:/b", "/c:/d:ro", {source: "/e:f", target: /g}]
ports: {publish: [8080, 8081:80, 53:53/udp, {host: 1, container: 2}]}
requires: {disk: 1 GiB, shm: 1048576, driver: 580, cuda: 13.0, compute_capability: [9.0, sm_80, "10.0"]}
run_as: 1001:1001
time_limit: 10:30:00
docker:
  gpu_ids: [0, GPU-8f2c1a00-1111-2222-3333-444455556666]
checkpoints: {size: 2 GiB, keep: 3, interval: 30m}
waivers: [{row: GPU-02, reason: r, owner: o, until: 2100-01-31}]
""",
    ).job
    assert job.command == ["python", "train.py", "3"]
    assert job.gpus == 2
    assert job.env == {"A": "on", "B": "12.10", "C": "007", "D": "true", "E": "1.0e5", "F": ""}
    assert job.inputs == []
    assert [(m.source, m.target, m.read_only) for m in job.mounts] == [
        ("/a", "/b", False),
        ("/c", "/d", True),
        ("/e:f", "/g", False),
    ]
    assert [(p.host, p.container, p.protocol) for p in job.ports.publish] == [
        (8080, 8080, "tcp"),
        (8081, 80, "tcp"),
        (53, 53, "udp"),
        (1, 2, "tcp"),
    ]
    assert (job.requires.disk, job.requires.shm) == (1024**3, 1048576)
    assert (job.requires.driver, job.requires.cuda) == (">=580", ">=13.0")
    assert job.requires.compute_capability == ["9.0", "8.0", "10.0"]
    assert job.run_as == "1001:1001"
    assert job.time_limit == 37_800
    assert job.docker is not None
    assert job.docker.gpu_ids == ["0", "GPU-8f2c1a00-1111-2222-3333-444455556666"]
    assert (job.checkpoints.size, job.checkpoints.interval) == (2 * 1024**3, 1800)
    assert job.waivers[0].until.isoformat() == "2100-01-31"


@pytest.mark.parametrize("section", ["docker", "slurm", "brev", "lepton", "skypilot"])
def test_an_empty_platform_section_counts(tmp_path: Path, section: str) -> None:
    assert getattr(load_text(tmp_path, f"{section}:\n").job, section) is not None


@pytest.mark.parametrize(
    "image",
    [
        "busybox",
        "busybox:1.36",
        "localhost:5000/a/b:c",
        "nvcr.io/nvidia/tao/tao-toolkit:7.1.0-pyt",
        "x@sha256:" + "0" * 64,
        "/images/tao.sqsh",
    ],
)
def test_images_that_are_taken(image: str) -> None:
    assert Job(image=image).image == image


@pytest.mark.parametrize(
    "uri",
    [
        "/data/x",
        "/data/a,b 'c' \"d\"",
        "/data/a\nb",
        "/a:b",
        "s3://bucket",
        "s3://bucket/a b/",
        "file:///x",
        "lustre:///x",
        "lepton://v/x",
    ],
)
def test_uris_that_are_taken(uri: str) -> None:
    assert Job(inputs=[{"name": "a", "uri": uri}]).inputs[0].uri == uri  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("name", "slug"), [("dino", "dino"), ("a_b.c", "a-b-c"), ("x" * 60, "x" * 33), ("a" * 32 + "_b", "a" * 32)]
)
def test_slug_begins_a_launch_id(name: str, slug: str) -> None:
    assert Job(name=name).slug == slug


@pytest.mark.parametrize(("gpus", "processes", "expected"), [(0, None, 1), (-1, None, 1), (4, None, 4), (4, 2, 2)])
def test_processes_per_node(gpus: int, processes: int | None, expected: int) -> None:
    assert Job(gpus=gpus, processes=processes).processes_per_node == expected

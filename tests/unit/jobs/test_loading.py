"""Loading: files that are none, overrides, options, digest, lines, and no other exception than JobFileError."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from job_texts import faults_in, load_text, told

from gonogo.jobs.consistency import check_rows
from gonogo.jobs.loading import AdHoc, JobFileError, load_ad_hoc, load_job

PLAIN = "name: x\ncommand: run\nenv: {A: 12.10}\ninputs:\n  - {name: d, uri: /data}\n"


def test_what_is_no_readable_file_is_a_fault(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "other.yaml").write_text(PLAIN)
    cases = {
        tmp_path: "this is a folder",
        fifo: "not a regular file",
        Path("/dev/zero"): "not a regular file",
        tmp_path / "nope.yaml": "there is no such file; there are: other.yaml",
        tmp_path / "no" / "nope.yaml": "there is no such file",
        tmp_path / "loop": "cannot be read: Too many levels of symbolic links",
        tmp_path / "other.yaml" / "x": "cannot be read: Not a directory",
        tmp_path / ("x" * 300): "cannot be read: File name too long",
        Path("a\0b"): "not a file name",
    }
    for path, expected in cases.items():
        with pytest.raises(JobFileError) as caught:
            load_job(path, environment={})
        assert expected in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to read as somebody else")
def test_a_file_without_permission_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(PLAIN)
    (tmp_path / "job.yaml").chmod(0)
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        os.chdir("/")
        try:
            load_job(tmp_path / "job.yaml", environment={})
        except JobFileError as error:
            os._exit(0 if "cannot be read: Permission denied" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_lines_name_every_key_of_the_file(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, PLAIN, overrides=["gpus=2"])
    assert loaded.lines["command"] == 2
    assert loaded.lines["env.A"] == 3
    assert loaded.lines["inputs.0.uri"] == 5
    assert "gpus" not in loaded.lines
    assert loaded.file == str(tmp_path / "job.yaml")


@pytest.mark.parametrize(
    ("override", "attribute", "value"),
    [
        ("gpus=4", "gpus", 4),
        ("env.B=on", "env", {"A": "12.10", "B": "on"}),
        ("env.A=10:30:00", "env", {"A": "10:30:00"}),
        ("command=[a, b]", "command", ["a", "b"]),
        ("command=a = b", "command", "a = b"),
        ("slurm.partition=batch", "slurm", {"partition": "batch"}),
        ("slurm.time=10:30:00", "slurm", {"time": "10:30:00"}),
        ("slurm={nodes: 2}", "slurm", {"nodes": 2}),
        ("env=", "env", {}),
    ],
)
def test_set_overrides_one_key(tmp_path: Path, override: str, attribute: str, value: object) -> None:
    assert getattr(load_text(tmp_path, PLAIN, overrides=[override]).job, attribute) == value


def test_set_reaches_into_lists(tmp_path: Path) -> None:
    for key in ("inputs.0.uri", "inputs[0].uri"):
        assert load_text(tmp_path, PLAIN, overrides=[f"{key}=/other"]).job.inputs[0].uri == "/other"
    added = load_text(tmp_path, PLAIN, overrides=["inputs.1={name: e, uri: /e}"])
    assert [entry.uri for entry in added.job.inputs] == ["/data", "/e"]


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("gpus", "--set gpus: not of the form KEY=VALUE"),
        ("=4", "--set : not of the form KEY=VALUE"),
        ("a..b=4", "--set a..b: not of the form KEY=VALUE"),
        (".".join("a" * 500) + "=1", "not of the form KEY=VALUE"),
        ("gpu=4", "--set gpu: gpu: unknown key; did you mean 'gpus'?"),
        ("gpus=x", "--set gpus: gpus: must be a whole number, not 'x'"),
        ("gpus=010", "--set gpus: gpus: '010' has a leading zero"),
        ("name.x=1", "--set name.x: 'x' cannot be set inside a single value"),
        ("inputs.9.uri=/x", "--set inputs.9.uri: '9' is not an index of a list with 1 entries"),
        ("inputs.x=/x", "'x' is not an index"),
        ("env.A={", "--set env.A: not valid YAML"),
        ("env.A=!!python/object:x y", "--set env.A: the tag"),
        ("env.A=${NOPE}", "--set env.A: env.A: the environment variable NOPE is not set; export NOPE"),
        ("env.A=TODO", "--set env.A: env.A: the placeholder 'TODO' was not replaced"),
        ("env.A=\udcff", "--set env.A"),
    ],
)
def test_a_bad_override_is_named(tmp_path: Path, override: str, expected: str) -> None:
    if override.endswith("\udcff"):
        assert load_text(tmp_path, PLAIN, overrides=[override]).job.env["A"] == "\ufffd"
        return
    faults = faults_in(tmp_path, PLAIN, overrides=[override])
    assert expected in told(faults)
    assert all(fault.line == 0 for fault in faults)


def test_options_add_to_the_file(tmp_path: Path) -> None:
    ad_hoc = AdHoc(
        image="busybox:1", gpus="2", paths=("more=s3://b/x",), outputs=("out=/out",), credentials=("HF_TOKEN",)
    )
    job = load_text(tmp_path, PLAIN, ad_hoc=ad_hoc).job
    assert (job.image, job.gpus, job.command) == ("busybox:1", 2, "run")
    assert [entry.uri for entry in job.inputs] == ["/data", "s3://b/x"]
    assert [entry.uri for entry in job.outputs] == ["/out"]
    assert job.credentials == ["HF_TOKEN"]


def test_a_job_from_options_alone() -> None:
    options = AdHoc(
        paths=("a=/x=y", "/data/train", "s3://b/k=v/"),
        fields=("a=images,boxes",),
        command=["echo", "${X}"],
        requires={"gpu_memory": "40 GiB"},
        gpus=-1,
    )
    loaded = load_ad_hoc(options, environment={})
    assert [(entry.name, entry.uri) for entry in loaded.job.inputs] == [
        ("a", "/x=y"),
        ("train", "/data/train"),
        ("k-v", "s3://b/k=v/"),
    ]
    assert loaded.job.inputs[0].fields == ["images", "boxes"]
    assert loaded.job.command == ["echo", "${X}"]
    assert loaded.job.requires.gpu_memory == 40 * 1024**3
    assert loaded.file is None
    assert loaded.lines == {}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (AdHoc(paths=("x",)), "--path: 'x' is not LABEL=URI"),
        (AdHoc(paths=("x=",)), "--path: 'x=' is not LABEL=URI"),
        (AdHoc(paths=("x=data",)), "--path: inputs.0.uri: 'data' is a relative path"),
        (AdHoc(paths=("a b=/x",)), "--path: inputs.0.name: must begin with"),
        (AdHoc(paths=("a=gs://x/y",)), "--path: inputs.0.uri: the scheme 'gs' is not served"),
        (AdHoc(outputs=("x",)), "--output: 'x' is not LABEL=URI"),
        (AdHoc(gpus="many"), "--gpus: gpus: must be a whole number, not 'many'"),
        (AdHoc(image=""), "--image: image: the value is empty"),
        (AdHoc(image="A B"), "--image: image: 'A B' is not an image reference"),
        (AdHoc(fields=("b=x",)), "no --path has the label 'b'"),
        (AdHoc(requires={"disk": "lots"}), "requires.disk: 'lots': not a size"),
        (AdHoc(requires={"disc": "1"}), "did you mean 'disk'?"),
    ],
)
def test_a_bad_option_is_named(options: AdHoc, expected: str) -> None:
    with pytest.raises(JobFileError) as caught:
        load_ad_hoc(options, environment={})
    assert expected in str(caught.value)


def test_digest_is_of_the_content_not_of_the_layout(tmp_path: Path) -> None:
    def digest(text: str, **environment: str) -> str:
        return load_text(tmp_path, text, environment=environment).digest

    first = digest(PLAIN)
    assert first.startswith("sha256:")
    assert len(first) == 71
    reordered = "# a comment\ncommand: 'run'\nname: x\ninputs: [{uri: /data, name: d}]\nenv:\n  A: 12.10\n"
    assert digest(reordered) == first
    assert digest(PLAIN.replace("12.10", "12.1")) != first
    assert digest(PLAIN.replace("/data", "/data2")) != first
    assert load_text(tmp_path, PLAIN, overrides=["gpus=1"]).digest != first


def test_digest_depends_on_plain_variables_but_on_no_secret(tmp_path: Path) -> None:
    env = 'env: {A: "${PLACE}", B: "${MY_TOKEN}", C: "${SHAPED}", D: "${PLAIN_NAME}"}'
    text = f"command: run\ncredentials: [PLAIN_NAME]\n{env}\n"
    base = {"PLACE": "/a", "MY_TOKEN": "one-secret", "SHAPED": "hf_" + "a" * 20, "PLAIN_NAME": "first"}
    first = load_text(tmp_path, text, environment=base).digest
    assert load_text(tmp_path, text, environment={**base, "PLACE": "/b"}).digest != first
    for change in ({"MY_TOKEN": "another"}, {"SHAPED": "hf_" + "b" * 20}, {"PLAIN_NAME": "second"}):
        assert load_text(tmp_path, text, environment={**base, **change}).digest == first


def test_errors_survive_the_way_from_a_worker(tmp_path: Path) -> None:
    faults = faults_in(tmp_path, "gpu: 1\n")
    again = pickle.loads(pickle.dumps(JobFileError(faults)))
    assert again.faults == faults
    assert str(again) == told(faults)


def test_rows_of_waivers_are_checked_against_the_catalogue(tmp_path: Path) -> None:
    waiver = "- {row: GPU-99, reason: r, owner: o, until: 2100-01-01}"
    text = f"waivers:\n{waiver}\nattested:\n- {{row: PATH-01, reason: r, owner: o}}\n"
    loaded = load_text(tmp_path, text)
    faults = check_rows(loaded.job, {"GPU-09", "PATH-01"}, file="job.yaml", lines=loaded.lines)
    assert told(faults) == "job.yaml:2:1: waivers.0.row: there is no row 'GPU-99'; did you mean GPU-09? [JOB-01]"
    assert check_rows(loaded.job, {"GPU-99", "PATH-01"}) == []


_TEXTS = "1|-1|x|[a]|{a: b}||${X}|$X|TODO|0755|on|1:0:0|s3:/x|<me>|&a x|*a|!!int 3|[[{}]]|{a: {b: [1]}}"
_VALUES = st.sampled_from(_TEXTS.split("|"))
_WORDS = (
    "name gpus gpu env inputs mounts ports docker slurm skypilot waivers requires recipe model nemo << command batch"
)
_KEYS = st.sampled_from(_WORDS.split())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(_KEYS, _VALUES), max_size=6), st.lists(st.text(max_size=20), max_size=2))
def test_nothing_but_faults_comes_out_of_odd_files(
    tmp_path: Path, lines: list[tuple[str, str]], overrides: list[str]
) -> None:
    assert outcome(tmp_path, "".join(f"{key}: {value}\n" for key, value in lines).encode(), overrides)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=120))
def test_nothing_but_faults_comes_out_of_any_text(tmp_path: Path, text: str) -> None:
    assert outcome(tmp_path, text.encode("utf-8", "surrogatepass"), [])


def outcome(folder: Path, data: bytes, overrides: list[str]) -> object:
    """The digest or the faults; anything else that comes out fails the test."""
    try:
        return load_text(folder, data, overrides=overrides).digest
    except JobFileError as error:
        return error.faults

"""The in-job preflight: judged in sh, read by the launcher, invisible to the job."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probe_asking import NONCE, NVIDIA_SMI, environment, run, script, shells

from gonogo.platforms.probe.preflight import (
    ENTRY,
    Expectation,
    build_preflight,
    parse_preflight,
    strip_preflight,
)
from gonogo.platforms.probe.questions import (
    GpuQuestion,
    ModulesQuestion,
    NodeQuestion,
    PathQuestion,
    PortQuestion,
    ProgramQuestion,
    SpaceQuestion,
    TorchQuestion,
    WriteQuestion,
)

GB = 10**9


def judged(expected, sh, env=None):
    """The exit status and what it says of key `one`."""
    done = run(build_preflight([expected], NONCE), sh, env=env)
    result = parse_preflight(done.stdout, NONCE)
    assert result.done
    assert result.passed == (done.returncode == 0)
    assert done.returncode in (0, 97), done
    return done.returncode, result.results["one"]


@pytest.mark.parametrize("sh", shells())
@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (PathQuestion("one", "/"), "/ is a directory"),
        (PathQuestion("one", "/etc/passwd", "file"), "/etc/passwd is a file"),
        (Expectation(WriteQuestion("one", "/dev/shm")), "created in /dev/shm and deleted"),
        (Expectation(SpaceQuestion("one", "/no/such/folder"), free=1), "bytes are free under /no/such/folder"),
        (ProgramQuestion("one", "sh"), "sh is there"),
        (ModulesQuestion("one", "python3", ("json", "sys")), "finds every module"),
        (Expectation(NodeQuestion("one"), memory=GB // 10, shm=1, open_files=10), "suffice"),
    ],
)
def test_what_holds_passes(sh, expected, words: str) -> None:
    assert judged(expected, sh)[0] == 0
    assert words in judged(expected, sh)[1][1]


@pytest.mark.parametrize("sh", shells())
@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (PathQuestion("one", "/no/such\npath"), "/no/such\\npath does not exist"),
        (PathQuestion("one", "/etc/passwd", "directory"), "is a file, not a directory"),
        (WriteQuestion("one", "/no/such"), "/no/such is no directory (missing)"),
        (WriteQuestion("one", "/proc"), "no file can be created in /proc"),
        (Expectation(SpaceQuestion("one", "/"), free=10**16), "10000000000000000 are needed"),
        (ProgramQuestion("one", "no-such-program"), "no-such-program is not there"),
        (ModulesQuestion("one", "python3", ("json", "no_such", "nor_this")), "cannot find: no_such nor_this"),
        (ModulesQuestion("one", "/no/python", ("json",)), "interpreter /no/python is not there"),
        (Expectation(NodeQuestion("one"), memory=10**16), "KiB of memory"),
        (Expectation(NodeQuestion("one"), shm=10**16), "/dev/shm has"),
        (Expectation(NodeQuestion("one"), open_files=10**9), "open files"),
    ],
)
def test_what_does_not_hold_never_passes(sh, expected, words: str) -> None:
    code, (holds, said) = judged(expected, sh)
    assert (code, holds) == (97, False)
    assert words in said


@pytest.mark.parametrize("sh", shells())
def test_a_port_in_use_does_not_pass(sh) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert judged(PortQuestion("one", port), sh) == (97, (False, f"port {port} is in use"))
    assert judged(PortQuestion("one", port), sh)[0] == 0


@pytest.mark.parametrize("sh", shells())
@pytest.mark.parametrize(
    ("scenario", "expected", "passes", "words"),
    [
        ({}, {"gpus": 2, "driver": ">=580", "cuda": "13.0", "gpu_memory": 80 * GB}, True, "2 GPUs, driver 580.65.06"),
        ({}, {"gpus": 3}, False, "2 GPUs are visible, 3 are needed"),
        ({}, {"gpus": 1, "driver": "580.100"}, False, "driver 580.65.06 is older than 580.100"),
        ({}, {"gpus": 1, "cuda": "13.1"}, False, "CUDA 13.0 is older than 13.1"),
        ({}, {"gpus": 1, "gpu_memory": 141 * GB}, False, "of memory on GPU 0 (81559 MiB) 1 (81559 MiB)"),
        ({"gpus": [{"memory.total": "[N/A]"}]}, {"gpus": 1, "gpu_memory": 1}, False, "0 (unknown)"),
        ({"gpus": [], "no_devices_exit": 0}, {"gpus": 1}, False, "0 GPUs are visible, 1 are needed"),
        ({"mismatch": True}, {"gpus": 1}, False, "Driver/library version mismatch"),
        ({"cuda_version": "N/A"}, {"gpus": 1, "cuda": "13"}, False, "the CUDA version is not known"),
    ],
)
def test_gpus(tmp_path: Path, sh, scenario: dict, expected: dict, passes: bool, words: str) -> None:
    told = {"driver_version": "580.65.06", "cuda_version": "13.0", "gpus": [{"count": 2}], **scenario}
    (tmp_path / "scenario.json").write_text(json.dumps(told))
    env = environment(PATH=f"{NVIDIA_SMI}:{os.environ['PATH']}", FAKE_GPU_SCENARIO=str(tmp_path / "scenario.json"))
    code, (holds, said) = judged(Expectation(GpuQuestion("one"), **expected), sh, env)
    assert (code, holds) == ((0, True) if passes else (97, False)), said
    assert words in said


@pytest.mark.parametrize("sh", shells())
def test_one_failure_among_many_stops_and_all_are_told(sh, tmp_path: Path) -> None:
    expected = [PathQuestion("a", "/"), PathQuestion("b ü\n", "/no/such"), WriteQuestion("c", str(tmp_path))]
    done = run(build_preflight(expected, NONCE), sh)
    result = parse_preflight(b"noise\n" + done.stdout, NONCE)
    assert (done.returncode, result.done, result.passed) == (97, True, False)
    assert {key: holds for key, (holds, _) in result.results.items()} == {"a": True, "b ü\n": False, "c": True}
    assert list(tmp_path.iterdir()) == []


def test_the_command_takes_the_shells_place_only_after_a_pass(tmp_path: Path) -> None:
    """As a container's entrypoint runs it."""
    for name, path in (("pass", "/"), ("fail", "/no/such")):
        (tmp_path / name).write_bytes(build_preflight([PathQuestion("one", path)], NONCE))
    started = [
        subprocess.run(
            ["sh", "-c", ENTRY, str(tmp_path / name), "sh", "-c", "echo started; exit 5"],
            capture_output=True,
            check=False,
        )
        for name in ("pass", "fail")
    ]
    assert [done.returncode for done in started] == [5, 97]
    assert [b"started" in done.stdout for done in started] == [True, False]


def test_a_preflight_that_breaks_does_not_start_the_command(tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(build_preflight([PathQuestion("one", "/")], NONCE)[:-30])
    done = subprocess.run(
        ["sh", "-c", ENTRY, str(tmp_path / "cut"), "echo", "started"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (97, b"")


def test_unfinished_is_neither_done_nor_passed() -> None:
    done = run(build_preflight([PathQuestion("one", "/")], NONCE))
    lines = done.stdout.splitlines(keepends=True)
    result = parse_preflight(b"".join(lines[:-1]), NONCE)
    assert (result.done, result.passed) == (False, False)
    assert not parse_preflight(b"", NONCE).passed
    assert not parse_preflight(done.stdout, "another").passed


def test_what_cannot_be_judged_in_sh_is_refused() -> None:
    with pytest.raises(ValueError, match="TorchQuestion cannot be judged"):
        build_preflight([TorchQuestion()], NONCE)
    with pytest.raises(ValueError, match="least versions only"):
        build_preflight([Expectation(GpuQuestion(), driver="<600")], NONCE)


JOB = b"first line\nhalf a line, \xff\xfe and @gonogo abc preflight passed yes\n@gonogo like ours\nend"


@given(cuts=st.lists(st.integers(0, 2000), max_size=12), passed=st.booleans())
def test_the_jobs_output_is_left_as_it_was(cuts: list[int], passed: bool) -> None:
    """However the stream is cut into chunks."""
    before = b"@gonogo n-1 preflight began yes\n@gonogo n-1 check ok one / is there\nsh: Terminated\n"
    end = b"@gonogo n-1 preflight %s yes\n" % (b"passed" if passed else b"failed")
    whole = before + end + JOB
    edges = sorted({cut % len(whole) for cut in cuts} | {0, len(whole)})
    chunks = [whole[start:stop] for start, stop in itertools.pairwise(edges)]
    assert b"".join(strip_preflight(chunks)) == b"sh: Terminated\n" + JOB


@given(cuts=st.lists(st.integers(0, 200), max_size=8))
def test_without_a_preflight_nothing_is_taken_away(cuts: list[int]) -> None:
    edges = sorted({cut % len(JOB) for cut in cuts} | {0, len(JOB)})
    chunks = [JOB[start:stop] for start, stop in itertools.pairwise(edges)]
    assert b"".join(strip_preflight(chunks)) == JOB


def test_a_chunk_that_is_not_ours_passes_at_once() -> None:
    """Following a log must not hold back what is there: the second chunk never comes."""

    def stream():
        yield b"progress 1%"
        raise AssertionError("asked for more than it needed")

    assert next(strip_preflight(stream())) == b"progress 1%"


@pytest.mark.parametrize("sh", shells())
def test_a_failing_interpreter_is_no_pass(tmp_path: Path, sh) -> None:
    python = script(tmp_path / "python", "#!/bin/sh\nexit 4\n")
    assert judged(ModulesQuestion("one", str(python), ("json",)), sh)[0] == 97
    assert sys.executable

"""Answer lines among other text, cut short, or not ours at all."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import lanes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from probe_asking import NONCE, run

from gonogo.platforms import probe
from gonogo.platforms.faults import Fault, Garbled
from gonogo.platforms.probe.parse import how_far, parse
from gonogo.platforms.probe.questions import NodeQuestion, PathQuestion, PortQuestion, SpaceQuestion, WriteQuestion
from gonogo.platforms.probe.render import plain_path, render

QUESTIONS = [PathQuestion("root", "/"), PathQuestion("gone", "/no/such"), NodeQuestion(), SpaceQuestion("space", "/")]


@pytest.fixture(scope="module")
def output() -> bytes:
    return run(render(QUESTIONS, NONCE)).stdout


def test_banners_around_do_no_harm(output: bytes) -> None:
    noisy = b"Welcome to host-7!\r\n\xff\xfe " + output.replace(b"\n", b"\r\n") + b"logout\r\n"
    answers = parse(noisy, NONCE, QUESTIONS)
    assert (answers.path("root").exists, answers.path("gone").exists) == (True, False)
    assert answers.node().hostname


def test_a_banner_without_a_newline_does_no_harm(output: bytes) -> None:
    assert parse(b"prompt$ " + output, NONCE, QUESTIONS).path("root").exists


def test_lines_of_another_run_are_not_taken(output: bytes) -> None:
    with pytest.raises(Garbled, match="printed no answer on host-7"):
        parse(output, "another", QUESTIONS, "host-7")


def test_output_cut_short_says_how_far_it_got(output: bytes) -> None:
    lines = output.splitlines(keepends=True)
    with pytest.raises(Garbled, match="cut short on host-7: 1 of 4 questions") as caught:
        parse(b"tool: out of memory\n" + lines[0], NONCE, QUESTIONS, "host-7")
    assert caught.value.detail == "tool: out of memory"
    assert how_far(lines[0], NONCE, QUESTIONS) == "path /no/such"


@given(cut=st.integers(0, 10_000))
def test_no_part_of_an_output_is_taken_for_the_whole(output: bytes, cut: int) -> None:
    part = output[: cut % len(output)]
    if part.rstrip() == output.rstrip():
        return
    with pytest.raises(Fault):
        parse(part, NONCE, QUESTIONS)


@given(garbage=st.lists(st.tuples(st.sampled_from(["0", "1", "2", "all"]), st.binary(max_size=40)), max_size=20))
def test_garbage_in_our_own_lines_is_a_fault_never_an_answer(garbage: list[tuple[str, bytes]]) -> None:
    """Whatever the lines hold, reading an answer gives a Fault or an answer, no other error."""
    questions = [
        PathQuestion("0", "/a"),
        NodeQuestion("1"),
        WriteQuestion("2", "/b"),
        SpaceQuestion("3", "/c"),
        PortQuestion("4", 1),
    ]
    names = (b"path ", b"status ", b"write ", b"df ", b"port ")
    lines = [f"@gonogo {NONCE} {index} ".encode() + name + text for index, text in garbage for name in names]
    text = b"\n".join([*lines, f"@gonogo {NONCE} end answers 5".encode()])
    answers = parse(text, NONCE, questions)
    for key, read in (("0", answers.path), ("1", answers.node), ("2", answers.write), ("3", answers.space)):
        try:
            read(key)
        except Fault:
            continue


def test_asking_for_what_was_not_asked_is_a_fault(output: bytes) -> None:
    answers = parse(output, NONCE, QUESTIONS, "host-7")
    with pytest.raises(Garbled, match="no PortAnswer for 'root' on host-7"):
        answers.port("root")
    with pytest.raises(Garbled, match="no PathAnswer for 'unknown'"):
        answers.path("unknown")


def test_a_program_cut_short_runs_nothing() -> None:
    """A syntax error, and not one answer: the calls stand in a function that must be read to its end."""
    program = render(QUESTIONS, NONCE)
    done = run(program[: program.rindex(b"gng_say 'end'") if b"gng_say 'end'" in program else -40])
    assert done.returncode != 0
    assert b"@gonogo" not in done.stdout


@pytest.mark.parametrize(
    ("path", "plain"),
    [("/", "/"), ("//", "/"), ("/a//b/", "/a/b"), ("a", "./a"), ("-e", "./-e"), ("./a", "././a"), (".", ".")],
)
def test_paths_are_made_plain(path: str, plain: str) -> None:
    assert plain_path(path) == plain


@pytest.mark.parametrize("nonce", ["", "a b", "a\nb", "$(id)", "a'b"])
def test_a_nonce_that_needs_quoting_is_refused(nonce: str) -> None:
    with pytest.raises(ValueError, match="nonce"):
        render(QUESTIONS, nonce)


@pytest.mark.parametrize("name", ["script.sh", "gpu.sh", "judge.sh"])
def test_the_functions_are_clean_sh(name: str) -> None:
    lanes.require(
        "shellcheck", "" if shutil.which("shellcheck") else "shellcheck is not installed: apt-get install shellcheck"
    )
    file = Path(probe.__file__).with_name(name)
    done = subprocess.run(["shellcheck", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

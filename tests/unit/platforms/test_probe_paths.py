"""Paths, writing and space, in dash, bash and busybox."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import lanes
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from probe_asking import NONCE, ask, environment, run, shells, tools

from gonogo.platforms.faults import ToolMissing
from gonogo.platforms.probe.parse import parse
from gonogo.platforms.probe.questions import PathQuestion, SpaceQuestion, WriteQuestion
from gonogo.platforms.probe.render import call, plain_path, probe_file, program, render
from gonogo.platforms.shell import Identity

NOBODY = Identity(65534, 65534)
pytestmark = pytest.mark.parametrize("sh", shells())


def needs_root() -> None:
    lanes.require("root", "" if os.geteuid() == 0 else "this test changes to another user: run it as root")


@pytest.fixture
def open_folder() -> str:
    """A folder that another user may enter (pytest's own are private)."""
    folder = tempfile.mkdtemp(prefix="gonogo-test-")
    os.chmod(folder, 0o755)
    yield folder
    shutil.rmtree(folder)


def test_each_kind_of_path_is_told(tmp_path: Path, sh: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        names = ["file", "empty", "folder", "dangling", "link", "loop", "socket", "missing"]
        answers = ask([PathQuestion(name, f"{tmp_path}/{name}") for name in names], sh)
    seen = {name: (answers.path(name).kind, answers.path(name).exists) for name in names}
    assert seen == {
        "file": ("file", True),
        "empty": ("file", True),
        "folder": ("directory", True),
        "dangling": ("dangling", False),
        "link": ("file", True),
        "loop": ("dangling", False),
        "socket": ("other", True),
        "missing": ("missing", False),
    }
    assert answers.path("empty").empty
    assert not answers.path("file").empty
    assert answers.path("file").message == ""
    assert answers.path("dangling").dangling
    assert "link whose target does not exist" in answers.path("dangling").message


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [("folder", "file", "is a directory, not a file"), ("file", "directory", "is a file, not a directory")],
)
def test_another_kind_than_promised_does_not_fit(
    tmp_path: Path, sh: tuple[str, ...], name: str, kind: str, words: str
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    answer = ask([PathQuestion("one", f"{tmp_path}/{name}", kind)], sh).path("one")  # type: ignore[arg-type]
    assert (answer.exists, answer.fits) == (True, False)
    assert answer.message.endswith(words)


def test_trailing_slash_promises_a_directory(tmp_path: Path, sh: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("x")
    answer = ask([PathQuestion("one", f"{tmp_path}//file/")], sh).path("one")
    assert (answer.exists, answer.fits) == (True, False)


def test_missing_path_names_the_nearest_parent(tmp_path: Path, sh: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("x")
    answers = ask([PathQuestion("deep", f"{tmp_path}/a/b/c"), PathQuestion("under", f"{tmp_path}/file/b")], sh)
    assert answers.path("deep").blocked_at == str(tmp_path)
    assert answers.path("under").blocked_at == f"{tmp_path}/file"
    assert "is no directory" in answers.path("under").message


def test_relative_paths_are_taken_from_the_working_directory(tmp_path: Path, sh: tuple[str, ...]) -> None:
    (tmp_path / "-e").write_text("x")
    answers = ask([PathQuestion("here", "-e"), PathQuestion("gone", "no/such")], sh, cwd=str(tmp_path))
    assert answers.path("here").kind == "file"
    assert answers.path("gone").blocked_at == "."


def test_unreadable_and_hidden_are_told_apart(open_folder: str, sh: tuple[str, ...]) -> None:
    needs_root()
    folder = Path(open_folder)
    (folder / "secret").write_text("x")
    (folder / "secret").chmod(0o600)
    (folder / "private" / "deep").mkdir(parents=True)
    (folder / "private").chmod(0o700)
    names = ["secret", "private", "private/deep", "private/missing/too"]
    answers = ask([PathQuestion(name, f"{folder}/{name}") for name in names], sh, user=NOBODY)
    assert (answers.path("secret").exists, answers.path("secret").readable) == (True, False)
    assert (answers.path("private").exists, answers.path("private").readable) == (True, False)
    for name in names[2:]:
        assert answers.path(name).hidden
        assert answers.path(name).blocked_at == f"{folder}/private"
        assert "may not enter" in answers.path(name).message


HOSTILE = st.binary(min_size=1, max_size=60).map(lambda raw: raw.replace(b"\0", b"'").replace(b"/", b"\n"))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(HOSTILE, min_size=1, max_size=8, unique=True), there=st.integers(0, 255))
def test_any_name_comes_back_right(tmp_path: Path, sh: tuple[str, ...], names: list[bytes], there: int) -> None:
    """Existing and missing names of any bytes, asked together: each answer is its own."""
    names = [name for name in names if name not in (b".", b"..")]
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        made = {name for index, name in enumerate(names) if there >> (index % 8) & 1}
        for name in made:
            Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).touch()
        paths = {name: os.fsdecode(os.path.join(os.fsencode(folder), name)) for name in names}
        answers = ask([PathQuestion(path, path, "file") for path in paths.values()], sh)
        assert {name for name, path in paths.items() if answers.path(path).exists} == made


def test_a_nul_is_refused_before_anything_is_asked(sh: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="NUL"):
        render([PathQuestion("one", "a\0b")], NONCE)


def test_a_thousand_paths_start_no_process_at_all(open_folder: str, sh: tuple[str, ...]) -> None:
    """They are answered where the kernel lets the shell start none."""
    Path(open_folder, "here").touch()
    paths = [f"{open_folder}/{name}" for name in ("here", "missing/deep")] * 500
    questions = [PathQuestion(str(index), path) for index, path in enumerate(paths)]
    done = _without_forks(render(questions, NONCE), sh)
    assert (done.returncode, done.stderr) == (0, b"")
    answers = parse(done.stdout, NONCE, questions)
    assert [answers.path(str(index)).exists for index in range(1000)] == [True, False] * 500


def test_starting_a_process_fails_where_none_is_allowed(sh: tuple[str, ...]) -> None:
    """The test above would notice: a program of its own cannot be started under that limit."""
    if sh[0].endswith("/bash"):
        pytest.skip("bash tries again for 15 s")
    assert b"started" not in _without_forks(b"(echo started)\n/bin/echo started\n", sh).stdout


def _without_forks(program_text: bytes, sh: tuple[str, ...]) -> subprocess.CompletedProcess[bytes]:
    """The limit binds everybody but root, so root becomes nobody first."""
    user = {"user": NOBODY.uid, "group": NOBODY.gid, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.run(
        list(sh),
        input=program_text,
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0)),
        **user,
    )


def test_writing_is_tried_and_leaves_nothing(tmp_path: Path, sh: tuple[str, ...]) -> None:
    folders = [tmp_path / "a b", tmp_path / "it's\n$x"]
    for folder in folders:
        folder.mkdir()
    answers = ask([WriteQuestion(str(folder), str(folder)) for folder in folders], sh)
    assert all(answers.write(str(folder)).holds for folder in folders)
    assert [list(folder.iterdir()) for folder in folders] == [[], []]


def test_refused_writing_keeps_the_reason(open_folder: str, sh: tuple[str, ...]) -> None:
    needs_root()
    answer = ask([WriteQuestion("one", open_folder)], sh, user=NOBODY).write("one")
    assert (answer.exists, answer.created, answer.holds) == (True, False, False)
    assert "permission denied" in answer.message.lower()


def test_folder_where_files_can_be_made_but_not_deleted(tmp_path: Path, sh: tuple[str, ...]) -> None:
    needs_root()
    folder = tmp_path / "append-only"
    folder.mkdir()
    done = subprocess.run(["chattr", "+a", str(folder)], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("this filesystem has no append-only folders")
    try:
        answer = ask([WriteQuestion("one", str(folder))], sh).write("one")
    finally:
        subprocess.run(["chattr", "-a", str(folder)], check=True)
    assert (answer.created, answer.deleted) == (True, False)
    assert "could not be deleted" in answer.message


def test_folder_to_be_made_names_its_parent(tmp_path: Path, sh: tuple[str, ...]) -> None:
    answer = ask([WriteQuestion("one", f"{tmp_path}/new/deep")], sh).write("one")
    assert (answer.exists, answer.holds, answer.parent, answer.parent_writable) == (False, False, str(tmp_path), True)


def test_a_file_is_no_folder_to_write_in(tmp_path: Path, sh: tuple[str, ...]) -> None:
    (tmp_path / "file").touch()
    answer = ask([WriteQuestion("one", f"{tmp_path}/file")], sh).write("one")
    assert (answer.holds, answer.message) == (False, f"{tmp_path}/file is a file, not a directory")


def test_no_file_is_made_where_it_could_not_be_removed(tmp_path: Path, sh: tuple[str, ...]) -> None:
    answers = ask([WriteQuestion("one", str(tmp_path))], sh, env=environment(PATH=tools(tmp_path / "bin", "env")))
    with pytest.raises(ToolMissing, match="no rm"):
        answers.write("one")


def test_a_signal_in_between_leaves_no_file(tmp_path: Path, sh: tuple[str, ...]) -> None:
    """Created, then told to stop: the file goes all the same."""
    folder = tmp_path / "out"
    folder.mkdir()
    question = WriteQuestion("one", str(folder))
    file = probe_file(str(folder), NONCE, 0)
    calls = [
        call("gng_create", 0, plain_path(str(folder)), file),
        b"ls " + str(folder).encode() + b" -A",
        b"kill -TERM $$",
    ]
    done = run(program([*calls, call("gng_say", "end", "answers", 1)], [question], NONCE), sh)
    assert Path(file).name.encode() in done.stdout, "the file was never made"
    assert done.returncode == 143
    assert list(folder.iterdir()) == []


def test_space_is_that_of_the_nearest_folder(tmp_path: Path, sh: tuple[str, ...]) -> None:
    questions = [SpaceQuestion("deep", f"{tmp_path}/a/b"), SpaceQuestion("shm", "/dev/shm"), SpaceQuestion("root", "/")]
    answers = ask(questions, sh)
    whole = os.statvfs(tmp_path)
    space = answers.space("deep")
    assert space.total_bytes // 1024 == whole.f_blocks * whole.f_frsize // 1024
    assert 0 < space.free_bytes <= space.total_bytes
    assert space.measured_at == str(tmp_path)
    assert (answers.space("shm").mount, answers.space("root").mount) == ("/dev/shm", "/")
    assert answers.space("shm").free_inodes


def test_space_without_df_is_no_answer(tmp_path: Path, sh: tuple[str, ...]) -> None:
    if "busybox" in sh[0]:
        pytest.skip("busybox has df built in")
    answers = ask([SpaceQuestion("one", "/")], sh, env=environment(PATH=tools(tmp_path / "bin", "rm")))
    with pytest.raises(ToolMissing, match="df is not there"):
        answers.space("one")

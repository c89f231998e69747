"""Questions about home and owners in the shells that are here."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import lanes
import pytest

from gonogo.platforms.faults import Garbled, ToolMissing
from gonogo.platforms.probe.answers import Answers
from gonogo.platforms.probe.parse import parse
from gonogo.platforms.probe.questions import ChownQuestion, HomeQuestion, OwnedQuestion, Question, WriteQuestion
from gonogo.platforms.probe.render import OWNED_MOST, render
from gonogo.platforms.shell import Identity, LocalShell

NONCE = "0123456789abcdef"
USER = Identity(4321, 4321)
SHELLS = [("dash",), ("bash",), ("busybox", "ash")]
FOLDERS = (("HOME", ""), ("XDG_CACHE_HOME", ".cache"), ("HF_HOME", ".cache/huggingface"))


@pytest.fixture(params=SHELLS, ids=lambda words: words[0])
def sh(request: pytest.FixtureRequest) -> tuple[str, ...]:
    found = shutil.which(request.param[0])
    if found is None:
        pytest.skip(f"{request.param[0]} is not installed")
    return (found, *request.param[1:])


@pytest.fixture(autouse=True)
def _other_users() -> None:
    lanes.require("other-user", "" if os.geteuid() == 0 else "becoming another user needs root: run the tests as root")


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("odd 'name'\nof a folder")
    for parent in (path, path.parent, path.parent.parent):
        parent.chmod(0o755)
    return path


def ask(questions: list[Question], sh: tuple[str, ...], user: Identity | None = None, path: str = "") -> Answers:
    env = {**os.environ, **({"PATH": path} if path else {})}
    done = LocalShell(sh=sh).run(render(questions, NONCE), deadline=60, user=user, env=env)
    assert done.returncode == 0, done
    return parse(done.stdout, NONCE, questions, "here")


def home(folder: Path, **more: object) -> HomeQuestion:
    return HomeQuestion("home", str(folder), "user4321", FOLDERS, **more)  # type: ignore[arg-type]


def test_home_is_made_used_and_removed(folder: Path, sh: tuple[str, ...]) -> None:
    os.chown(folder, 4321, 4321)
    answer = ask([home(folder)], sh, USER, path="/usr/bin:/bin").home()
    assert answer.works, answer
    assert answer.deleted
    assert (answer.user, answer.interpreter) in (("user4321", "/usr/bin/python3"), ("", ""))
    assert list(folder.iterdir()) == []


def test_home_that_may_not_be_made(folder: Path, sh: tuple[str, ...]) -> None:
    answer = ask([home(folder)], sh, USER).home()
    assert not answer.works
    assert "no home can be made: Permission denied" in answer.message
    assert list(folder.iterdir()) == []


def test_own_home_stays_what_it_is(folder: Path, sh: tuple[str, ...]) -> None:
    place = folder / "home"
    answer = ask([home(place, mounted=False)], sh).home()
    assert answer.works, answer


def test_python_that_knows_no_name(folder: Path, sh: tuple[str, ...], tmp_path: Path) -> None:
    for name in ("mkdir", "rm", "sleep"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    (tmp_path / "python3").write_text("#!/bin/sh\necho 'KeyError: uid not found' >&2\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    answer = ask([home(folder)], sh, path=str(tmp_path)).home()
    assert not answer.works
    assert answer.message == "getpass.getuser() fails: KeyError: uid not found"
    assert list(folder.iterdir()) == []


def test_root_owned_children_are_found_in_one_search(folder: Path, sh: tuple[str, ...]) -> None:
    ours, clean = folder / "ours", folder / "clean"
    for path in (ours, clean, clean / "sub"):
        path.mkdir()
        os.chown(path, 4321, 4321)
    (ours / "deep").mkdir()
    (ours / "deep" / "below").touch()
    (ours / "file").touch()
    (ours / "lost+found").mkdir()
    questions: list[Question] = [OwnedQuestion("ours", str(ours)), OwnedQuestion("clean", f"{clean}/")]
    answers = ask(questions, sh, USER)
    assert sorted(answers.owned("ours").paths) == [f"{ours}/deep", f"{ours}/file"]
    assert answers.owned("clean").paths == ()
    assert not answers.owned("clean").cut


def test_root_owned_children_are_named(tmp_path_factory: pytest.TempPathFactory, sh: tuple[str, ...]) -> None:
    ours = tmp_path_factory.mktemp("ours")
    (ours / "deep").mkdir()
    (ours / "deep" / "below").touch()
    (ours / "mine").mkdir()
    os.chown(ours / "mine", 4321, 4321)
    (ours / "mine" / "log\nx").touch()
    (ours / "lost+found").mkdir()
    found = ask([OwnedQuestion("ours", str(ours))], sh).owned("ours")
    assert sorted(found.paths) == [f"{ours}/deep", f"{ours}/mine/log"]


def test_too_many_are_counted_and_others_left_open(tmp_path: Path, sh: tuple[str, ...]) -> None:
    many, other = tmp_path / "many", tmp_path / "other"
    for path in (many, other):
        path.mkdir()
    for number in range(OWNED_MOST + 1):
        (many / str(number)).touch()
    answers = ask([OwnedQuestion("many", str(many)), OwnedQuestion("other", str(other))], sh)
    assert answers.owned("many").cut
    assert len(answers.owned("many").paths) == OWNED_MOST
    with pytest.raises(Garbled, match="was not come to"):
        answers.owned("other")


def test_search_without_its_tool_is_no_answer(tmp_path: Path, sh: tuple[str, ...]) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sleep", "rm"):
        (tools / name).symlink_to(shutil.which(name) or name)
    with pytest.raises(ToolMissing, match="find or head is not in the image"):
        ask([OwnedQuestion("x", str(tmp_path))], sh, path=str(tools)).owned("x")


def test_owner_is_changed_by_root_alone(folder: Path, sh: tuple[str, ...]) -> None:
    question = ChownQuestion("chown", str(folder), 4321, 4322)
    answer = ask([question], sh).chown("chown")
    assert (answer.holds, answer.owner) == (True, "4321:4322")
    folder.chmod(0o777)
    answer = ask([question], sh, USER).chown("chown")
    assert not answer.holds
    assert "cannot be given to 4321:4322: Operation not permitted" in answer.message
    assert list(folder.iterdir()) == []


def test_signal_in_the_middle_leaves_nothing(folder: Path, tmp_path: Path, sh: tuple[str, ...]) -> None:
    """The home's python hangs; the script is told to stop."""
    for name in ("mkdir", "rm"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    (tmp_path / "python3").write_text(f"#!/bin/sh\n: >'{tmp_path}/hangs'\nexec {shutil.which('sleep')} 1000\n")
    (tmp_path / "python3").chmod(0o755)
    questions: list[Question] = [home(folder), WriteQuestion("write", str(folder))]
    process = subprocess.Popen(
        list(sh), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True, env={"PATH": str(tmp_path)}
    )
    assert process.stdin is not None
    process.stdin.write(render(questions, NONCE))
    process.stdin.close()
    ends = time.monotonic() + 20
    while not (tmp_path / "hangs").exists():
        assert time.monotonic() < ends, "python was never started"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(20)
    assert list(folder.iterdir()) == []

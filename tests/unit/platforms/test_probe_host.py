"""Ports, programs, interpreters and the node itself."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
from pathlib import Path

import pytest
from probe_asking import NONCE, ask, environment, gone, run, script, shells, tools

from gonogo.platforms.faults import Garbled, TimedOut, ToolMissing
from gonogo.platforms.probe.parse import parse
from gonogo.platforms.probe.questions import (
    ModulesQuestion,
    NodeQuestion,
    PathQuestion,
    PortQuestion,
    ProgramQuestion,
    TorchQuestion,
)
from gonogo.platforms.probe.render import render
from gonogo.platforms.shell import session_members

pytestmark = pytest.mark.parametrize("sh", shells())


@pytest.fixture(params=[socket.AF_INET, socket.AF_INET6], ids=["ipv4", "ipv6"])
def held_port(request: pytest.FixtureRequest) -> int:
    """A port on which this process listens, on loopback only."""
    with socket.socket(request.param, socket.SOCK_STREAM) as listener:
        try:
            listener.bind(("127.0.0.1" if request.param == socket.AF_INET else "::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def idle_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_busy_port_names_its_holder_and_a_free_one(held_port: int, idle_port: int, sh: tuple[str, ...]) -> None:
    answers = ask([PortQuestion("held", held_port), PortQuestion("idle", idle_port)], sh)
    held = answers.port("held")
    assert not held.free
    assert f"(pid {os.getpid()})" in held.holder
    assert held.proposal is not None
    assert held.proposal > held_port
    assert answers.port("idle").free
    assert answers.port("idle").holder == ""


def test_port_without_python_is_read_from_the_kernel(
    tmp_path: Path, held_port: int, idle_port: int, sh: tuple[str, ...]
) -> None:
    questions = [PortQuestion("held", held_port), PortQuestion("idle", idle_port)]
    answers = ask(questions, sh, env=environment(PATH=tools(tmp_path / "bin", "rm")))
    assert (answers.port("held").free, answers.port("idle").free) == (False, True)
    assert answers.port("held").how == "from the kernel's listeners"


def test_port_bound_but_not_listened_on_is_busy(sh: tuple[str, ...]) -> None:
    with socket.socket() as bound:
        bound.bind(("0.0.0.0", 0))
        assert not ask([PortQuestion("one", bound.getsockname()[1])], sh).port("one").free


def test_many_ports_are_one_python(tmp_path: Path, idle_port: int, sh: tuple[str, ...]) -> None:
    calls = tmp_path / "calls"
    python = shutil.which("python3")
    folder = Path(tools(tmp_path / "bin", "rm"))
    script(folder / "python3", f'#!/bin/sh\necho run >>{calls}\nexec {python} "$@"\n')
    questions = [PortQuestion(str(index), idle_port) for index in range(20)]
    answers = ask(questions, sh, env=environment(PATH=str(folder)))
    assert all(answers.port(str(index)).free for index in range(20))
    assert calls.read_text() == "run\n"


def test_programs_are_found_as_exec_would(tmp_path: Path, sh: tuple[str, ...]) -> None:
    folder = tmp_path / "b in"
    folder.mkdir()
    script(folder / "tool", "#!/bin/sh\n")
    (folder / "plain").touch()
    (folder / "folder").mkdir()
    names = ["tool", "plain", "folder", f"{folder}/tool", f"{folder}/plain", f"{folder}/folder", f"{folder}/none"]
    answers = ask([ProgramQuestion(name, name) for name in names], sh, env=environment(PATH=f"/usr/bin:{folder}"))
    found = [answers.program(name).path for name in names]
    assert found == [f"{folder}/tool", None, None, f"{folder}/tool", None, None, None]
    assert answers.program("plain").message == "plain is not on PATH"
    assert answers.program(f"{folder}/plain").message.endswith("may not be executed")
    assert answers.program(f"{folder}/folder").message.endswith("is a directory")


def test_modules_are_those_of_the_interpreter_named(tmp_path: Path, sh: tuple[str, ...]) -> None:
    (tmp_path / "own.py").touch()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("raise RuntimeError('no licence')")
    question = ModulesQuestion("one", "python3", ("json", "own", "no_such_module", "broken.part"))
    modules = ask([question], sh, env=environment(PYTHONPATH=str(tmp_path))).modules("one")
    assert modules.found["own"] == f"{tmp_path}/own.py"
    assert modules.missing == ("no_such_module", "broken.part")
    assert modules.errors == {"broken.part": "RuntimeError: no licence"}


def test_distributions_and_exact_versions(tmp_path: Path, sh: tuple[str, ...]) -> None:
    """A distribution whose module has another name, and pins that hold or do not."""
    info = tmp_path / "Some_Package-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Some-Package\nVersion: 1.2\n")
    (info / "top_level.txt").write_text("other_name\n")
    (tmp_path / "other_name.py").touch()
    names = ("some-package", "some-package[extra]==1.2", "some-package==1.3", "json==1", "no-such-package==1")
    modules = ask([ModulesQuestion("one", "python3", names)], sh, env=environment(PYTHONPATH=str(tmp_path))).modules(
        "one"
    )
    assert modules.missing == names[2:]
    assert modules.found["some-package"] == f"{tmp_path}/other_name.py"
    assert modules.errors == {"some-package==1.3": "version 1.2 is installed", "json==1": "its version is not known"}


def test_absent_interpreter_is_a_missing_tool(sh: tuple[str, ...]) -> None:
    answers = ask([ModulesQuestion("one", "/no/such/python", ("json",))], sh)
    with pytest.raises(ToolMissing, match="/no/such/python is not there"):
        answers.modules("one")


def test_failing_interpreter_keeps_its_last_line(tmp_path: Path, sh: tuple[str, ...]) -> None:
    python = script(tmp_path / "python", "#!/bin/sh\necho 'Fatal: libfoo.so is missing' >&2\nexit 3\n")
    answers = ask([ModulesQuestion("one", str(python), ("json",))], sh)
    with pytest.raises(Garbled, match=r"exit code 3: Fatal: libfoo\.so is missing"):
        answers.modules("one")


@pytest.mark.parametrize("with_timeout", [True, False], ids=["timeout", "without-timeout"])
def test_hanging_interpreter_leaves_the_other_answers(tmp_path: Path, sh: tuple[str, ...], with_timeout: bool) -> None:
    """The other questions answer, and nothing is left running."""
    marker = tmp_path / "pid"
    python = script(tmp_path / "python", f"#!/bin/sh\necho $$ >{marker}\nexec sleep 3600\n")
    path = tools(tmp_path / "bin", "rm", "sleep", *(["timeout"] if with_timeout else []))
    questions = [ModulesQuestion("one", str(python), ("json",), seconds=1), PathQuestion("root", "/")]
    done = run(render(questions, NONCE), sh, env=environment(PATH=path))
    answers = parse(done.stdout, NONCE, questions)
    assert answers.path("root").exists
    with pytest.raises(TimedOut, match="no answer within 1 s"):
        answers.modules("one")
    assert gone(int(marker.read_text()))


def test_torch_of_the_interpreter(tmp_path: Path, sh: tuple[str, ...]) -> None:
    """A stand-in for the torch package: what it says comes back typed."""
    (tmp_path / "torch.py").write_text(
        "class version: cuda = '12.8'\n"
        "__version__ = '2.9.0'\n"
        "class cuda:\n"
        "    get_arch_list = staticmethod(lambda: ['sm_80', 'sm_90', 'compute_90'])\n"
        "    device_count = staticmethod(lambda: 2)\n"
        "    get_device_capability = staticmethod(lambda index: (9, index))\n"
        "    init = staticmethod(lambda: None)\n"
        "    is_available = staticmethod(lambda: True)\n"
    )
    torch = ask([TorchQuestion()], sh, env=environment(PYTHONPATH=str(tmp_path))).torch()
    assert (torch.trouble, torch.available, torch.device_count) == ("", True, 2)
    assert (torch.torch_version, torch.cuda_version) == ("2.9.0", "12.8")
    assert torch.architectures == ("sm_80", "sm_90", "compute_90")
    assert torch.capabilities == ("9.0", "9.1")


def test_torch_that_cannot_be_imported(tmp_path: Path, sh: tuple[str, ...]) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    torch = ask([TorchQuestion()], sh, env=environment(PYTHONPATH=str(tmp_path))).torch()
    assert not torch.available
    assert "libcudart.so.12" in torch.trouble


def test_node_facts_are_those_of_this_machine(sh: tuple[str, ...]) -> None:
    node = ask([NodeQuestion()], sh).node()
    names = os.uname()
    assert (node.uid, node.gid) == (os.geteuid(), os.getegid())
    assert node.user == pwd.getpwuid(os.geteuid()).pw_name
    assert (node.hostname, node.kernel, node.arch) == (names.nodename, names.release, names.machine)
    assert node.cpus == len(os.sched_getaffinity(0))
    assert 0 < node.memory_available <= node.memory_total
    assert node.memory_total == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    shm = os.statvfs("/dev/shm")
    assert node.shm_size == shm.f_blocks * shm.f_frsize
    assert node.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_limits_are_the_ones_in_force(sh: tuple[str, ...]) -> None:
    done = run(b"ulimit -S -n 123\n" + render([NodeQuestion()], NONCE), sh)
    node = parse(done.stdout, NONCE, [NodeQuestion()]).node()
    assert node.open_files == 123
    assert node.open_files_hard is None or node.open_files_hard > 123


def test_nothing_of_the_session_is_left(sh: tuple[str, ...]) -> None:
    done = run(b"echo $$\n" + render([NodeQuestion(), ModulesQuestion("one", "python3", ("json",))], NONCE), sh)
    assert session_members(int(done.stdout.split()[0])) == []

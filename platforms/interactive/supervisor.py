"""The small process that outlives the launcher: it starts the job's command, waits for it and keeps its exit code.

Run as `python -I supervisor.py RUN-FOLDER`, with the order (JSON) on standard input, since it holds secrets. It
inherits the run folder's lock and holds it for its whole life. It imports the standard library only.

Files in the run folder: `supervisor.json` (written before anything is started), `preflight.log`, `command.json`,
`output.log`, `exit.json` (written last, renamed into place).
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

NOT_STARTED = 97


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Whole or not at all, also after a crash of the machine."""
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "w") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, path)


def process_facts(pid: int) -> dict[str, Any]:
    """PID, start time in clock ticks, boot ID: together they name one process for ever."""
    stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return {"pid": pid, "start": int(stat[19]), "boot": boot}


def out_of_memory_kills() -> dict[str, int]:
    """How often the kernel has killed for want of memory: in this cgroup, and on the whole machine."""
    counts = {}
    with contextlib.suppress(OSError, KeyError, ValueError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                counts["cgroup"] = kill_count(Path("/sys/fs/cgroup" + line[3:], "memory.events"))
    with contextlib.suppress(OSError, KeyError, ValueError):
        counts["machine"] = kill_count(Path("/proc/vmstat"))
    return counts


def kill_count(table: Path) -> int:
    """The `oom_kill` line of a table of names and numbers."""
    return int(dict(line.split() for line in table.read_text().splitlines())["oom_kill"])


class Supervisor:
    """One run folder, one command."""

    def __init__(self, folder: Path, order: dict[str, Any]) -> None:
        self.folder = folder
        self.order = order
        self.child: subprocess.Popen[bytes] | None = None

    def run(self) -> dict[str, Any]:
        """Preflight, then the command. Returns what `exit.json` shall hold."""
        if self.order["preflight"]:
            code = self.wait(["/bin/sh"], "preflight.log", base64.b64decode(self.order["preflight"]))
            if code != 0:
                return {
                    "code": NOT_STARTED,
                    "reason": f"the in-job preflight ended with {code}; the command never started",
                }
        if self.canceled():
            return {"code": None, "reason": "canceled before the command started"}
        before = out_of_memory_kills()
        try:
            code = self.wait(self.order["argv"], "output.log", None)
        except OSError as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            words = f"{self.order['argv'][0]}: {error.strerror}"
            with open(self.folder / "output.log", "a") as log:
                log.write(f"gonogo: {words}\n")
            return {"code": code, "reason": words}
        return self.ended(code, before)

    def ended(self, code: int, before: dict[str, int]) -> dict[str, Any]:
        """An end by signal N reads as 128 + N, as a shell says it."""
        number = -code if code < 0 else code - 128 if code > 128 else 0
        end: dict[str, Any] = {"code": 128 - code if code < 0 else code, "reason": ""}
        if code == 0:
            return end
        now = out_of_memory_kills()
        kills = [name for name, count in now.items() if count > before.get(name, count)]
        try:
            name = signal.Signals(number).name
        except ValueError:
            return end
        end["reason"] = f"ended by {name}"
        if name == "SIGKILL":
            where = "its cgroup" if "cgroup" in kills else "the machine"
            end["reason"] = (
                f"killed: out of memory (the kernel killed a process of {where} meanwhile)"
                if kills
                else "killed (SIGKILL): by hand, or out of memory"
            )
        return end

    def wait(self, argv: list[str], log_name: str, program: bytes | None) -> int:
        """Start it in a session of its own and wait for its end. Raises OSError where it cannot be started."""
        user: dict[str, Any] = {}
        if self.order["user"]:
            uid, gid, groups = self.order["user"]
            user = {"user": uid, "group": gid, "extra_groups": groups}
        log = os.open(self.folder / log_name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            child = subprocess.Popen(
                argv,
                env=self.order["env"],
                cwd=self.order["cwd"],
                stdin=subprocess.DEVNULL if program is None else subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **user,
            )
        finally:
            os.close(log)
        self.child = child
        if program is None:
            write_json(self.folder / "command.json", process_facts(child.pid))
        elif child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(program)
                child.stdin.close()
        return child.wait()

    def canceled(self) -> bool:
        return (self.folder / "cancel.json").exists()

    def forward(self, number: int, _frame: FrameType | None) -> None:
        """Whoever ends the supervisor means the job."""
        if self.child is not None and self.child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.child.pid, number)


def main() -> None:
    folder = Path(sys.argv[1])
    # An order that was cut short is not valid JSON: nothing is started then.
    order = json.loads(sys.stdin.buffer.read())
    if os.fork():
        os._exit(0)  # the launcher reaps this one; the other belongs to the system
    supervisor = Supervisor(folder, order)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, supervisor.forward)
    write_json(folder / "supervisor.json", process_facts(os.getpid()))
    # A launcher that was killed meanwhile does not listen any more; its order stands, and the job is found by its ID.
    with contextlib.suppress(BrokenPipeError):
        os.write(1, b"ready\n")
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    os.umask(order["umask"])
    try:
        end = supervisor.run()
    except BaseException as error:
        end = {"code": None, "reason": f"the supervisor failed: {type(error).__name__}"}
    end["ended"] = time.time()
    write_json(folder / "exit.json", end)


if __name__ == "__main__":
    main()

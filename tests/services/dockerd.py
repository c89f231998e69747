"""A real Docker daemon of the tests' own: private socket, data and runtime folders, no registry, nothing of the host's.

It starts in under a second, needs root, and is stopped by PID with everything that it started.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import docker

from .images import Images, load_images

START_SECONDS = 30.0
_VERSION = re.compile(r"(?<= )/v[0-9.]+(?=/)")
_NAME = re.compile(r"/(containers|images)/(?!json|create)[^ ]+?(?=/|$)")
_CALLED = re.compile(r'msg="Calling (\w+ [^"?]+)')
STOP_SECONDS = 20.0


def missing_for_dockerd() -> str:
    """Why no daemon can be started here, empty where one can."""
    if os.geteuid() != 0:
        return "starting a Docker daemon needs root: run the tests as root"
    for program, package in (
        ("dockerd", "docker.io"),
        ("runc", "runc"),
        ("containerd", "containerd"),
        ("busybox", "busybox-static"),
    ):
        if shutil.which(program) is None:
            return f"{program} is not installed: apt-get install {package}"
    if not Path("/sys/fs/cgroup").is_mount() and not any(Path("/sys/fs/cgroup").glob("*")):
        return "no control groups are mounted at /sys/fs/cgroup"
    return ""


def wait_until(holds: Callable[[], object], what: str, seconds: float = START_SECONDS) -> None:
    """Poll until it holds. Raises AssertionError naming what was waited for."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, f"waited {seconds:g} s for {what}"
        time.sleep(0.02)


class Dockerd:
    """One daemon, with images made without a registry.

    `url` is its `unix://` address. `busybox` has a shell and the usual tools; `entrypoint_image` has an ENTRYPOINT that
    prints `entrypoint was here` and exits 9; `shell_less_image` holds nothing but `/bin/true` and `/bin/sleep`;
    `secret_label_image` carries `secret_canary` in a label and in its environment.
    """

    def __init__(
        self,
        *,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        config: Mapping[str, object] | None = None,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gonogo-dockerd-"))
        self.folder.chmod(0o755)  # non-root clients of tests must reach the socket
        self.socket = self.folder / "docker.sock"
        self.url = f"unix://{self.socket}"
        self.log = self.folder / "log"
        self._arguments = list(arguments)
        self._environment = dict(environment or {})
        self._config = dict(config or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._clients: list[docker.DockerClient] = []
        self.images: Images | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the daemon is not running"
        return self._process.pid

    @property
    def busybox(self) -> str:
        return self._loaded.busybox

    @property
    def entrypoint_image(self) -> str:
        return self._loaded.with_entrypoint

    @property
    def shell_less_image(self) -> str:
        return self._loaded.without_shell

    @property
    def secret_label_image(self) -> str:
        return self._loaded.with_secrets

    @property
    def secret_canary(self) -> str:
        return self._loaded.canary

    @property
    def _loaded(self) -> Images:
        assert self.images is not None, "load_images() was not called"
        return self.images

    def load_images(self) -> None:
        self.images = load_images(self.client())

    def client(self, timeout: float = 30.0) -> docker.DockerClient:
        """A client of its own for the caller; closed with the daemon."""
        client = docker.DockerClient(base_url=self.url, timeout=timeout)
        self._clients.append(client)
        return client

    def start(self) -> None:
        """Start it and wait until it answers. Raises AssertionError with the end of its log."""
        command = ["dockerd", "--data-root", str(self.folder / "data"), "--exec-root", str(self.folder / "exec")]
        command += ["-H", self.url, "--pidfile", str(self.folder / "pid"), "--config-file", self._config_file()]
        command += ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-masq=false", "--shutdown-timeout=3"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_dies_with_us(), *command, *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **self._environment},
            )
        try:
            wait_until(self._answers_or_ended, "dockerd to answer")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._log_end()}") from None
        assert self._process.poll() is None, f"dockerd ended with {self._process.returncode}\n{self._log_end()}"

    def _config_file(self) -> str:
        file = self.folder / "daemon.json"
        file.write_text(json.dumps({"debug": True, **self._config}))  # the log then tells every call
        return str(file)

    def _answers_or_ended(self) -> bool:
        assert self._process is not None
        return self._process.poll() is not None or self.answers()

    def answers(self) -> bool:
        """Whether a ping comes back; by hand, since the SDK leaves a socket open for each connection that fails."""
        try:
            with socket.socket(socket.AF_UNIX) as asking:
                asking.settimeout(2)
                asking.connect(str(self.socket))
                asking.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b"200 OK" in asking.recv(100)
        except OSError:
            return False

    def stop(self) -> None:
        """Stop it in order; after this the socket refuses or is gone."""
        if self._process is None:
            return
        self.thaw()
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """End it as a crash would: containers and their shims stay."""
        assert self._process is not None
        pid_file = self.folder / "exec" / "containerd" / "containerd.pid"
        containerd = int(pid_file.read_text())
        self._process.kill()
        self._process.wait()
        self._process = None
        # A new dockerd waits 15 s for a containerd that has lost its parent.
        os.kill(containerd, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{containerd}/exe").exists(), "containerd to end", STOP_SECONDS)
        pid_file.unlink()  # where nobody reaps orphans, its PID would count as alive

    def restart(self) -> None:
        self.stop()
        self.start()

    def freeze(self) -> None:
        """It accepts connections from then on (the kernel does) and never answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    def clear(self) -> None:
        """Remove all containers and all networks but the daemon's own, so that tests do not see each other's."""
        client = self.client()
        for container in client.containers.list(all=True):
            with contextlib.suppress(docker.errors.APIError):  # gone, or going by itself
                container.remove(force=True, v=True)
        wait_until(lambda: not client.api.containers(all=True), "all containers to be gone")
        for network in client.networks.list():
            if network.name not in ("bridge", "host", "none"):
                with contextlib.suppress(docker.errors.NotFound):
                    network.remove()

    def inventory(self) -> dict[str, list[str]]:
        """Names of all containers, networks, volumes and IDs of all images, for comparing before and after."""
        client = self.client()
        return {
            "containers": sorted(one.name for one in client.containers.list(all=True)),
            "networks": sorted(one.name for one in client.networks.list()),
            "volumes": sorted(one.name for one in client.volumes.list()),
            "images": sorted(one.id for one in client.images.list()),
        }

    def calls(self) -> list[str]:
        """What clients have asked since the daemon's first start, in order, without versions, names and queries: `POST
        /containers/create`, `POST /containers/*/start`. From its own log."""
        called = _CALLED.findall(self.log.read_text(errors="replace"))
        return [_NAME.sub(r"/\1/*", _VERSION.sub("", call)) for call in called]

    def close(self) -> None:
        """Stop it and remove everything that it left: processes by PID, mounts, folders."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            with contextlib.suppress(Exception):  # a broken daemon is stopped all the same
                self.clear()
        for client in self._clients:
            client.close()
        self.stop()
        _end_processes_of(self.folder / "exec")
        _unmount_below(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _log_end(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


def _dies_with_us() -> list[str]:
    """A prefix under which the daemon gets SIGTERM when this process dies, however it dies."""
    return ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []


def _end_processes_of(exec_root: Path) -> None:
    """containerd and its shims outlive a killed daemon; they carry the private folder in their arguments."""
    marker = f"{exec_root}/".encode()
    pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit() and marker in _command_line(one)]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in pids), "containerd to end", STOP_SECONDS)


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def _unmount_below(folder: Path) -> None:
    """dockerd leaves its network namespace mounted, a killed one also its containers' file systems."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4] for line in lines if line.split()[4].startswith(f"{folder}/")]
    for point in sorted(points, key=len, reverse=True):
        subprocess.run(["umount", "-l", point], check=False, capture_output=True)

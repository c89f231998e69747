"""What a daemon behind ssh costs beside the same daemon by its socket: python benchmarks/remote_docker.py [RUNS].

Starts a dockerd and an sshd of its own (root, Debian's docker.io and openssh-server), and runs `gonogo check` on both
by turns. Aim: remote <= 1.5 x local + one ssh set-up. Times are wall clock seconds of the whole command, medians.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from services.dockerd import Dockerd  # noqa: E402
from services.sshd import SshLab, accounts  # noqa: E402
from suite_runs import environment, job_text  # noqa: E402

JOB = {
    "image": "gonogo-test/busybox:1",
    "gpus": 0,
    "run_as": "65534:65534",
    "docker": {"network": "none"},
    "inputs": [{"name": f"input-{number}", "uri": path} for number, path in enumerate(("/etc/hosts", "/etc/group"))],
}


def seconds(command: list[str], folder: Path, variables: dict[str, str], status: int = 0) -> float:
    """The time of one run, which must end with that status."""
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment(folder, **variables), capture_output=True, text=True)
    took = time.monotonic() - began
    if done.returncode != status:
        raise SystemExit(f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return took


def main(runs: int) -> None:
    daemon, lab = Dockerd(), SshLab()
    try:
        daemon.start()
        daemon.load_images()
        with accounts(ops="docker") as made, tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "job.yaml").write_text(job_text(**JOB))
            server = lab.server("sshd", SetEnv=f"DOCKER_HOST={daemon.url}")
            where = {"HostName": "127.0.0.1", "Port": str(server.port), "User": made["ops"].name}
            url = lab.host("gpu-host", **where)
            path = {"PATH": lab.path}
            check = [sys.executable, "-m", "gonogo", "check", "job.yaml", "--quiet"]
            places = {
                "local": [*check, "--platform=local-docker", f"--docker-host={daemon.url}"],
                "remote": [*check, "--platform=remote-docker", f"--docker-host={url}"],
                "ssh set-up": ["ssh", "gpu-host", "true"],
            }
            times: dict[str, list[float]] = {place: [] for place in places}
            for command in places.values():
                seconds(command, folder, path)  # the first one fills caches
            for _ in range(runs):
                for place, command in places.items():
                    times[place].append(seconds(command, folder, path))
        report({place: statistics.median(found) for place, found in times.items()}, runs)
    finally:
        lab.close()
        daemon.close()


def report(medians: dict[str, float], runs: int) -> None:
    aim = 1.5 * medians["local"] + medians["ssh set-up"]
    print(f"{runs} runs each, {os.cpu_count()} cores, medians in seconds")
    for place, took in medians.items():
        print(f"  {place:<12}{took:6.2f}")
    print(f"  {'aim':<12}{aim:6.2f}  (1.5 x local + ssh set-up): {'met' if medians['remote'] <= aim else 'missed'}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)

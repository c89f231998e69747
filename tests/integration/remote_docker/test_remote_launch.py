"""A job on a daemon behind ssh: launched, asked after later, followed over a broken connection, stopped."""

from __future__ import annotations

import json
from pathlib import Path

from far_hosts import FarHost, gonogo, start_gonogo
from services.dockerd import wait_until
from suite_runs import job_text


def job_file(far: FarHost, folder: Path, command: str, **fields: object) -> str:
    file = folder / "job.yaml"
    text = {"image": far.daemon.busybox, "gpus": 0, "command": command, "run_as": far.ops.ids, **fields}
    file.write_text(job_text(**text))
    return str(file)


def launch(far: FarHost, folder: Path, launch_id: str, *more: str, url: str | None = None) -> list[str]:
    return ["launch", str(folder / "job.yaml"), f"--id={launch_id}", "--platform=remote-docker",
            f"--docker-host={url or far.url}", *more]  # fmt: skip


def test_life_of_a_job_in_later_processes(far_host: FarHost, tmp_path: Path) -> None:
    job_file(far_host, tmp_path, "echo begun as $(id -u); while [ ! -e /tmp/stop ]; do sleep 0.1; done")
    gonogo(far_host, tmp_path, *launch(far_host, tmp_path, "far-1"))
    assert json.loads(gonogo(far_host, tmp_path, "status", "far-1", "--json"))["state"] == "Running"
    container = far_host.daemon.client().containers.get("tao-job-far-1")
    uid = far_host.ops.ids.partition(":")[0]
    wait_until(lambda: container.logs() == f"begun as {uid}\n".encode(), "the job's first line")
    assert gonogo(far_host, tmp_path, "logs", "far-1") == f"begun as {uid}\n"
    gonogo(far_host, tmp_path, "cancel", "far-1", "--grace=0")
    assert json.loads(gonogo(far_host, tmp_path, "status", "far-1", "--json"))["state"] == "Canceled"
    wait_until(lambda: not far_host.sshd.sessions(), "every connection to end")


def test_watch_goes_on_over_a_broken_connection(far_host: FarHost, tmp_path: Path) -> None:
    own = far_host.lab.server("sshd-watch", SetEnv=f"DOCKER_HOST={far_host.daemon.url}")
    url = far_host.alias("watch-host", server=own)
    job_file(far_host, tmp_path, "echo first; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo last; exit 3")
    process = start_gonogo(far_host, tmp_path, *launch(far_host, tmp_path, "far-2", "--watch", url=url))
    try:
        assert process.stdout is not None
        assert "first\n" in iter(process.stdout.readline, ""), "the verdict, then the job's output"
        logins = own.connections
        own.end_sessions()
        wait_until(lambda: own.connections > logins, "a new connection")
        code, _ = far_host.daemon.client().containers.get("tao-job-far-2").exec_run(["touch", "/tmp/go"])
        assert code == 0
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 5, err
    assert out == "last\n", "each line once, none lost"
    assert "far-2 Error (exited, exit code 3)" in err


def test_missing_bind_is_refused_and_never_made(far_host: FarHost, tmp_path: Path) -> None:
    missing = Path("/gonogo-never-there/results")
    job_file(far_host, tmp_path, "true", outputs=[{"name": "r", "uri": str(missing)}])
    gonogo(far_host, tmp_path, *launch(far_host, tmp_path, "far-3"), status=1)
    assert not missing.parent.exists()
    assert far_host.daemon.client().containers.list(all=True) == []

"""`gonogo cancel`: stopped, and proven so."""

from __future__ import annotations

import os
import signal

from gonogo_command import Gonogo, said, wait_until
from node_processes import marked
from services.dockerd import Dockerd


def test_cancel_of_a_stubborn_job(either: Gonogo) -> None:
    either.ok("launch", either.job(command="trap '' TERM; echo up; while :; do sleep 0.1; done"), "--id", "stubborn")
    wait_until(lambda: "up" in either.ok("logs", "stubborn").out, "the trap to be set")
    done = either.ok("cancel", "stubborn", "--grace", "1", "--json")
    assert (done.json["state"], done.json["exit_code"]) == ("Canceled", 137)
    assert either.ok("status", "stubborn").out.startswith("stubborn Canceled")
    again = either.ok("cancel", "stubborn", "--json")
    assert again.json == done.json


def test_cancel_of_an_ended_job_keeps_its_end(gonogo: Gonogo) -> None:
    gonogo("launch", gonogo.job(command="exit 3"), "--id", "over", "--watch")
    done = gonogo("cancel", "over")
    assert done.status == 1, done.said
    assert done.out.startswith("over Error (")
    assert "exit code 3" in done.out


def test_cancel_ends_processes_in_sessions_of_their_own(gonogo: Gonogo) -> None:
    command = "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' & echo up; sleep 600"
    gonogo.ok("launch", gonogo.job(command=command, env={"FAMILY": "of-this-test"}), "--id", "family")
    wait_until(lambda: len(marked("FAMILY=of-this-test")) >= 3, "the job's processes")
    gonogo.ok("cancel", "family", "--grace", "0.5")
    assert marked("FAMILY=of-this-test") == []


def test_watch_of_a_job_that_another_process_cancels(either: Gonogo) -> None:
    watch = either.start("launch", either.job(command="sleep 600"), "--id", "two", "--watch")
    said(watch, "two Running")
    either.ok("cancel", "two", "--grace", "0")
    assert watch.wait(60) == 5
    assert watch.stderr is not None
    assert "two Canceled" in watch.stderr.read()
    assert either.record("two")["state"] == "Canceled"


def test_cancel_of_a_pending_job(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    """A container that is created and not started, as a launcher leaves it that is stopped at this moment."""
    docker_gonogo.ok("launch", docker_gonogo.job(command="sleep 600"), "--id", "pending")
    client = docker_daemon.client()
    first = client.containers.get("tao-job-pending")
    labels = first.labels
    first.remove(force=True)
    created = client.containers.create(docker_daemon.busybox, ["sleep", "600"], name="tao-job-pending", labels=labels)
    record = docker_gonogo.state / "launches" / "pending.json"
    record.write_text(record.read_text().replace(first.id, created.id))
    assert docker_gonogo.status("pending")["state"] == "Pending"
    done = docker_gonogo.ok("cancel", "pending", "--json")
    assert done.json["state"] == "Canceled"
    assert client.containers.list(all=True) == []


def test_paused_job_is_told_and_canceled(gonogo: Gonogo) -> None:
    gonogo.ok("launch", gonogo.job(command="exec sleep 600", env={"FAMILY": "paused"}), "--id", "paused")
    gonogo.wait_for("paused", "Running")
    wait_until(lambda: len(marked("FAMILY=paused")) == 1, "the job's one process")
    os.kill(marked("FAMILY=paused")[0], signal.SIGSTOP)
    gonogo.wait_for("paused", "Paused")
    gonogo.ok("cancel", "paused", "--grace", "5")
    assert gonogo.record("paused")["state"] == "Canceled"

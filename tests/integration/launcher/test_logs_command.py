"""`gonogo logs` and `--watch`: what a job printed, whole and in order, on both targets."""

from __future__ import annotations

from gonogo_command import Gonogo, finish, wait_until
from services.dockerd import Dockerd

from gonogo.platforms.probe.lines import PREFIX


def test_log_is_whole_in_order_and_unicode(either: Gonogo) -> None:
    """5 MB in lines that each differ; the last one has no end."""
    command = 'awk \'BEGIN { for (i = 1; i <= 50000; i++) printf "%d ü日本%0100d\\n", i, i; printf "end" }\''
    watched = either.ok("launch", either.job(command=command), "--id", "log", "--watch")
    expected = "".join(f"{number} ü日本{number:0100d}\n" for number in range(1, 50001)) + "end"
    assert len(expected) > 5_000_000
    assert expected in watched.out, "the watch shows the same"
    assert either.ok("logs", "log").out == expected
    assert either.ok("logs", "log", "--follow").out == expected
    assert either.ok("logs", "log", "--tail", "2").out == f"50000 ü日本{50000:0100d}\nend"
    assert either.ok("logs", "log", "--tail", "0").out == ""


def test_follow_ends_with_the_job(gonogo: Gonogo) -> None:
    go = gonogo.folder / "go"
    job = gonogo.job(command=f"echo first; while [ ! -e {go} ]; do sleep 0.05; done; echo last; exit 4")
    gonogo.ok("launch", job, "--id", "follow")
    follower = gonogo.start("logs", "follow", "--follow")
    assert follower.stdout is not None
    assert follower.stdout.readline() == "first\n"
    assert follower.poll() is None
    go.touch()
    done = finish(follower)
    assert (done.status, done.out) == (1, "last\n"), done.said


def test_unicode_is_not_split_between_chunks(gonogo: Gonogo) -> None:
    """A character whose bytes are written apart arrives whole."""
    go = gonogo.folder / "go"
    job = gonogo.job(command=f"printf '\\346\\227'; while [ ! -e {go} ]; do sleep 0.05; done; printf '\\245!\\n'")
    gonogo.ok("launch", job, "--id", "split")
    follower = gonogo.start("logs", "split", "--follow")
    output = gonogo.state / "interactive" / "split" / "output.log"
    wait_until(lambda: output.exists() and output.stat().st_size == 2, "the first two bytes")
    go.touch()
    assert finish(follower).out == "日!\n"


def test_reader_that_leaves_ends_the_follow(either: Gonogo) -> None:
    job = either.job(command="echo first; while :; do echo more; sleep 0.1; done")
    either.ok("launch", job, "--id", "chatty")
    follower = either.start("logs", "chatty", "--follow")
    assert follower.stdout is not None
    assert follower.stdout.readline() == "first\n"
    follower.stdout.close()
    assert follower.wait(60) == 0
    assert follower.stderr is not None
    assert follower.stderr.read() == ""
    either.ok("cancel", "chatty", "--grace", "0")


def test_preflight_is_not_part_of_the_log(docker_gonogo: Gonogo, docker_daemon: Dockerd) -> None:
    """The log of a job whose image was not there at the check begins with the command's own first line."""
    client = docker_daemon.client()
    kept = client.images.get(docker_daemon.busybox)
    job = docker_gonogo.job(image="gonogo-test/later:1", command="echo mine; echo too")
    docker_gonogo.ok("check", job, "--report", "go.json")
    kept.tag("gonogo-test/later", "1")
    try:
        done = docker_gonogo.ok("launch", job, "--id", "asked", "--clearance", "go.json", "--watch")
        raw = client.containers.get("tao-job-asked").logs().decode()
    finally:
        docker_daemon.clear()
        client.images.remove("gonogo-test/later:1")
    assert PREFIX in raw, "the preflight ran"
    assert done.out.endswith("mine\ntoo\n")
    assert PREFIX not in done.out
    assert docker_gonogo.record("asked")["exit_code"] == 0

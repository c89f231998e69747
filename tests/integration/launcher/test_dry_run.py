"""`launch --dry-run` shows what would be submitted and touches nothing."""

from __future__ import annotations

from gonogo_command import Gonogo


def test_dry_run_on_this_node(gonogo: Gonogo) -> None:
    done = gonogo.ok("launch", gonogo.job(command="python train.py --name 'a b'", env={"MODE": "x y"}), "--dry-run")
    assert "export MODE='x y'" in done.out
    assert "python train.py --name" in done.out
    assert not gonogo.state.exists()


def test_dry_run_needs_no_daemon(gonogo: Gonogo) -> None:
    gonogo.options = ("--platform=local-docker", f"--docker-host=unix://{gonogo.folder}/no.sock")
    job = gonogo.job(image="example/train:1", command="echo $HOME", run_as="1000:1000", credentials=["HF_TOKEN"])
    done = gonogo.ok("launch", job, "--id", "dry", "--dry-run", HF_TOKEN="hf_canary7c1d93e8b5f24a60")
    assert "--name tao-job-dry" in done.out
    assert "--user 1000:1000" in done.out
    assert "--env HF_TOKEN=***" in done.out
    assert "example/train:1" in done.out
    assert not gonogo.state.exists()


def test_dry_run_of_a_bad_file(gonogo: Gonogo) -> None:
    done = gonogo("launch", gonogo.job(command="true", gpu=1), "--dry-run")
    assert done.status == 2, done.said
    assert done.out == ""

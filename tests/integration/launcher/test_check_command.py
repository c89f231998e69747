"""`gonogo check` and `gonogo fix` as a person or a script uses them."""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path

import pytest
from gonogo_command import Gonogo, finish, said


def test_surroundings_do_not_bend_the_verdict(gonogo: Gonogo, tmp_path: Path) -> None:
    """A folder with its own conftest.py, pytest.ini, checks/ and fixtures/, and pytest's variables set."""
    job = gonogo.job(command="true", inputs=[{"name": "hosts", "uri": "/etc/hosts"}])
    plain = gonogo.ok("check", job, "--json").json
    hostile = tmp_path / "hostile"
    for folder in ("checks", "fixtures", "platforms", "launcher", "gonogo_other"):
        (hostile / folder).mkdir(parents=True)
        (hostile / folder / "__init__.py").write_text("raise RuntimeError('imported from the user')\n")
    (hostile / "conftest.py").write_text("raise RuntimeError('loaded from the user')\n")
    (hostile / "checks" / "test_mine.py").write_text("def test_mine():\n    assert False\n")
    (hostile / "pytest.ini").write_text(
        "[pytest]\naddopts = -k nothing --strict-markers -x\npython_files = nothing_*.py\n"
    )
    (hostile / "hostile_plugin.py").write_text("raise RuntimeError('loaded from the environment')\n")
    gonogo.folder = hostile
    variables = {
        "PYTEST_ADDOPTS": "-k nothing -n2",
        "PYTEST_PLUGINS": "hostile_plugin",
        "PYTHONPATH": ".",
        "GONOGO_STATE_DIR": str(tmp_path / "state"),
    }
    found = gonogo.ok("check", job, "--json", **variables).json
    assert found["verdict"] == "GO"
    assert [(row["id"], row["param"], row["state"]) for row in found["rows"]] == [
        (row["id"], row["param"], row["state"]) for row in plain["rows"]
    ]


def test_verdict_is_an_exit_code(gonogo: Gonogo) -> None:
    bad = gonogo.job("bad.yaml", command="true", inputs=[{"name": "gone", "uri": "/no/such"}])
    done = gonogo("check", bad)
    assert done.status == 1, done.said
    assert done.out.startswith("NO-GO  ")
    quiet = gonogo("check", bad, "--quiet")
    assert quiet.status == 1
    assert quiet.err == ""
    assert "/no/such" in quiet.out
    assert len(quiet.out) < len(done.out)


def test_launch_json_is_one_document(gonogo: Gonogo) -> None:
    bad = gonogo.job("bad.yaml", command="true", inputs=[{"name": "gone", "uri": "/no/such"}])
    stopped = gonogo("launch", bad, "--json")
    assert (stopped.status, stopped.json["schema"], stopped.json["verdict"]) == (1, "gonogo.readiness/1", "NO-GO")
    made = gonogo.ok("launch", gonogo.job(command="true"), "--json")
    assert made.json["schema"] == "gonogo.launch/1"


def test_wait_asks_again_until_go(gonogo: Gonogo) -> None:
    file = gonogo.folder / "late"
    job = gonogo.job(command="true", inputs=[{"name": "late", "uri": str(file)}])
    waiting = gonogo.start("check", job, "--wait", "60", "--report", "last.json")
    said(waiting, "NO-GO: asking again")
    file.touch()
    done = finish(waiting)
    assert done.status == 0, done.said
    assert done.out.startswith("GO  ")
    assert json.loads((gonogo.folder / "last.json").read_text())["verdict"] == "GO"


def test_wait_gives_up(gonogo: Gonogo) -> None:
    job = gonogo.job(command="true", inputs=[{"name": "never", "uri": "/no/such"}])
    done = gonogo("check", job, "--wait", "2")
    assert done.status == 1, done.said
    assert done.out.startswith("NO-GO  ")


def with_output(gonogo: Gonogo) -> tuple[str, Path]:
    """A job whose output folder is not there, which `mkdir -p` mends; and that folder."""
    folder = gonogo.folder / "new" / "results"
    return gonogo.job(command="true", outputs=[{"name": "results", "uri": str(folder)}]), folder


def test_fix_with_yes_mends_the_row(gonogo: Gonogo) -> None:
    job, folder = with_output(gonogo)
    assert gonogo("check", job).status == 1
    done = gonogo.ok("fix", job, "--yes")
    assert f"running: mkdir -p {folder}" in done.err
    assert done.out.startswith("GO  ")
    assert folder.is_dir()
    assert gonogo.ok("fix", job, "--yes").err == "", "nothing is left to run"


def test_fix_runs_nothing_without_a_yes(gonogo: Gonogo) -> None:
    job, folder = with_output(gonogo)
    done = gonogo("fix", job)
    assert done.status == 1, done.said
    assert f"not run: mkdir -p {folder}" in done.err
    assert not folder.exists()


@pytest.mark.parametrize("answer", ["y", "n"])
def test_fix_asks_on_a_terminal(gonogo: Gonogo, answer: str) -> None:
    job, folder = with_output(gonogo)
    keyboard, terminal = pty.openpty()
    try:
        process = gonogo.start("fix", job, stdin=terminal)
        os.write(keyboard, f"{answer}\n".encode())
        done = finish(process)
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert f"run: mkdir -p {folder}" in done.err, done.said
    assert (done.status, folder.is_dir()) == ((0, True) if answer == "y" else (1, False)), done.said


@pytest.mark.parametrize("words", [["--help"], ["check", "--help"], ["list"]], ids=" ".join)
def test_looking_loads_little(gonogo: Gonogo, words: list[str]) -> None:
    """No Docker SDK, no pytest, no platform and no template engine for a look at the help."""
    (gonogo.folder / "sitecustomize.py").write_text(
        "import atexit, sys\natexit.register(lambda: print('LOADED', *sorted(sys.modules), file=sys.stderr))\n"
    )
    done = gonogo.ok(*words, PYTHONPATH=str(gonogo.folder))
    loaded = set(done.err.rpartition("LOADED ")[2].split())
    assert "gonogo.launcher.main" in loaded
    heavy = {"docker", "requests", "pytest", "_pytest", "jinja2", "rich.table"}
    heavy |= {"gonogo.platforms.docker.platform", "gonogo.platforms.interactive.platform", "gonogo.fixtures.session"}
    assert loaded & heavy == set()

"""Every command in the documents is run as it stands there, and every link leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from documents import ROOT, Block, Unit, documents, parse, units

SECONDS = 120.0


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A user's shell with gonogo on PATH, and a home and state of its own."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "HOME": str(home), "GONOGO_STATE_DIR": str(home / "state"), "COLUMNS": "120"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the user of a container's job can enter, as pytest's own cannot be."""
    with tempfile.TemporaryDirectory(prefix="gonogo-docs-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("unit", units(), ids=lambda unit: unit.name)
def test_commands_of_the_document_work(
    unit: Unit, folder: Path, environment: dict[str, str], request: pytest.FixtureRequest
) -> None:
    if any(block.marks.get("needs") == "docker" for block in unit.blocks):
        daemon = request.getfixturevalue("docker_daemon")
        environment["DOCKER_HOST"] = daemon.url
        daemon.client().images.get(daemon.busybox).tag("busybox", "1.36")
    for block in unit.blocks:
        if "not run" in block.marks:
            continue
        if "file" in block.marks:
            target = folder / block.marks["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            run(block, unit.document, folder, environment)


def run(block: Block, document: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Run the block's commands, stopping at the first that fails; in a block with `exit:` that is the last one."""
    done = subprocess.run(
        ["sh", "-ec", block.text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    expected = int(block.marks.get("exit", "0"))
    assert done.returncode == expected, (
        f"{document}, line {block.line}: exit {done.returncode}, expected {expected}\n{block.text}\n{done.stdout}"
    )


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    missing = [target for target in targets if "://" not in target and not (path.parent / target).exists()]
    assert not missing, f"{path.relative_to(ROOT)} links to {missing}"


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_commands_stand_in_blocks_that_are_run(path: Path) -> None:
    for block in parse(path.read_text(encoding="utf-8")):
        if block.language != "sh":
            commands = re.findall(r"^\$? ?(?:gonogo|pytest|make) .*", block.text, re.MULTILINE)
            assert not commands, f"{path.name}, line {block.line}: {commands} are in a block that is not run"


def test_every_command_is_described() -> None:
    gonogo = [sys.executable, "-m", "gonogo", "--help"]
    done = subprocess.run(gonogo, capture_output=True, text=True, timeout=SECONDS, check=True)
    commands = re.findall(r"^  ([a-z]+) ", done.stdout.partition("Commands:")[2], re.MULTILINE)
    assert "check" in commands
    text = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    assert [command for command in commands if f"| `gonogo {command}" not in text] == []


def test_an_unknown_mark_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 1: 'skip: me' is no mark"):
        parse("<!-- skip: me -->\n```sh\nfalse\n```\n")


def test_marks_belong_to_the_next_block_alone() -> None:
    blocks = parse("<!-- exit: 2; needs: docker -->\n\n```sh\na\n```\n\n```sh\nb\n```\n")
    assert [(block.text, dict(block.marks), block.line) for block in blocks] == [
        ("a\n", {"exit": "2", "needs": "docker"}, 4),
        ("b\n", {}, 8),
    ]

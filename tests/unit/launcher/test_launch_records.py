"""Launch records: whole or not at all, checked when read, one at a time (GATE-03, GATE-04)."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.records import Record, Records, checked_id
from gonogo.launcher.schema import SCHEMA_FILE, schema_text


def record(launch_id: str = "one", **fields: Any) -> Record:
    values: dict[str, Any] = {
        "phase": "submitted",
        "job": {"name": "n", "file": "job.yaml", "digest": "sha256:1"},
        "platform": "interactive",
        "target": {"address": "here", "identity": "machine 1"},
        "native_id": launch_id,
        "created": "2026-12-01T10:00:00.000Z",
    }
    return Record(launch_id, **{**values, **fields})


def test_the_file_is_what_the_class_says() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), "run: python -m gonogo.launcher.schema"


@pytest.mark.parametrize(
    "fields",
    [{}, {"phase": "ended", "state": "Error", "exit_code": 3, "ended": "x"}, {"phase": "refused", "native_id": None}],
)
def test_record_comes_back_as_it_was_and_meets_the_schema(tmp_path: Path, fields: dict[str, Any]) -> None:
    written = record(**fields)
    records = Records(tmp_path)
    records.write(written)
    assert records.read("one") == written
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
    validator.validate(json.loads(records.path("one").read_text()))


def test_only_the_owner_can_look(tmp_path: Path) -> None:
    records = Records(tmp_path / "state")
    records.write(record())
    with records.lock("one"):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state").rglob("*")}
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert modes == {"launches": 0o700, "one.json": 0o600, "one.lock": 0o600}


GOOD = asdict(record("bad"))
BROKEN = {
    "empty": "",
    "cut short": json.dumps(GOOD)[:-20],
    "not JSON": "<html>",
    "a list": "[]",
    "no text": b"\xff\xfe\x00",
    "deep": "[" * 100_000,
    "newer": json.dumps({**GOOD, "schema": "gonogo.launch/2"}),
    "no schema": json.dumps({key: value for key, value in GOOD.items() if key != "schema"}),
    "another ID": json.dumps({**GOOD, "id": "one"}),
    "unknown phase": json.dumps({**GOOD, "phase": "dreamt"}),
    "unknown state": json.dumps({**GOOD, "state": "Fine"}),
    "exit code is text": json.dumps({**GOOD, "exit_code": "3"}),
    "no target": json.dumps({key: value for key, value in GOOD.items() if key != "target"}),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_broken_record_is_named_and_leaves_the_others(tmp_path: Path, content: str | bytes) -> None:
    records = Records(tmp_path)
    records.write(record("good"))
    data = content if isinstance(content, bytes) else content.encode()
    records.path("bad").write_bytes(data)
    with pytest.raises(Stop) as caught:
        records.read("bad")
    assert caught.value.code == Exit.HARNESS
    assert str(records.path("bad")) in caught.value.message
    found, faults = records.all()
    assert [one.id for one in found] == ["good"]
    assert len(faults) == 1
    assert records.path("bad").read_bytes() == data


def test_keys_of_a_later_version_are_left_aside(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.write(record())
    data = json.loads(records.path("one").read_text())
    records.path("one").write_text(json.dumps({**data, "mood": "good"}))
    assert records.read("one") == record()


@pytest.mark.parametrize("name", ["", "-a", "a/b", "../x", "a b", "a" * 41, "a\n", "ü"])
def test_ids_that_cannot_be_one(name: str) -> None:
    with pytest.raises(Stop) as caught:
        checked_id(name)
    assert caught.value.code == Exit.USAGE


def test_a_watch_does_not_undo_a_cancel(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.write(record())
    watched, canceled = records.read("one"), records.read("one")
    assert watched is not None
    assert canceled is not None
    with records.editing(canceled):
        canceled.canceled_by_user = True
    with records.editing(watched):
        watched.state = "Running"
    kept = records.read("one")
    assert kept is not None
    assert (kept.canceled_by_user, kept.state) == (True, "Running")


def test_watch_of_an_earlier_attempt_does_not_touch_the_later_one(tmp_path: Path) -> None:
    records = Records(tmp_path)
    earlier = record()
    records.write(record(attempt=2))
    with records.editing(earlier):
        earlier.phase, earlier.state = "ended", "Error"
    assert records.read("one") == record(attempt=2)


def test_failed_edit_changes_nothing(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.write(record())
    mine = record()
    edit = records.editing(mine)
    edit.__enter__()
    mine.state = "Error"
    assert not edit.__exit__(KeyError, KeyError(), None)
    assert records.read("one") == record()
    assert [path.name for path in records.folder.glob(".one*")] == []


def _edit(folder: Path, times: int) -> None:
    records = Records(folder)
    mine = records.read("one")
    assert mine is not None
    for _ in range(times):
        with records.editing(mine):
            mine.clearance["count"] = mine.clearance.get("count", 0) + 1


def test_edits_by_several_processes_are_all_kept(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.write(record())
    workers = [multiprocessing.get_context("spawn").Process(target=_edit, args=(tmp_path, 10)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    kept = records.read("one")
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert kept is not None
    assert kept.clearance == {"count": 30}


def test_second_holder_is_told_who_holds_and_gives_up(tmp_path: Path) -> None:
    records, said = Records(tmp_path), []
    assert records.holder("one") == ""
    with records.lock("one"):
        assert records.holder("one") == str(os.getpid())
        with pytest.raises(Stop) as caught, Records(tmp_path).lock("one", patience=0.2, waiting=said.append):
            pytest.fail("two hold one launch ID")
        with Records(tmp_path).lock("two", patience=0.2):
            pass
    assert caught.value.code == Exit.HARNESS
    assert f"process {os.getpid()}" in caught.value.message
    assert len(said) == 1
    assert f"process {os.getpid()}" in said[0]
    with Records(tmp_path).lock("one", patience=0.2):
        pass


def test_state_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Stop) as caught:
        Records(tmp_path / "file" / "state").write(record())
    assert caught.value.code == Exit.HARNESS
    assert "GONOGO_STATE_DIR" in caught.value.remedy


def test_five_hundred_records_are_listed_newest_first(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for number in range(500):
        records.write(record(f"n{number}", created=f"2026-12-01T10:{number // 60:02}:{number % 60:02}.000Z"))
    found, faults = records.all()
    assert faults == []
    assert [one.id for one in found] == [f"n{number}" for number in reversed(range(500))]

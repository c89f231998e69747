"""What a launch leaves in the state folder: private, whole, readable by its schema, and never in the way of others."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from gonogo_command import Gonogo


def modes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in [folder, *folder.rglob("*")]
        if path.is_dir() or path.suffix == ".json"
    }


def test_state_is_private(gonogo: Gonogo) -> None:
    gonogo.ok("launch", gonogo.job(command="true"), "--id", "private", "--watch")
    found = modes(gonogo.state)
    assert found["."] == found["launches"] == found["interactive"] == found["interactive/private"] == "0o700"
    assert found["launches/private.json"] == "0o600"


def test_record_says_what_was_launched(gonogo: Gonogo) -> None:
    job = gonogo.job(name="tiny", command="exit 3")
    gonogo("launch", job, "--id", "told", "--watch")
    record = gonogo.record("told")
    assert (record["id"], record["platform"], record["phase"]) == ("told", "interactive", "ended")
    assert (record["job"]["name"], record["job"]["file"]) == ("tiny", job)
    assert record["job"]["digest"].startswith("sha256:")
    assert (record["native_id"], record["exit_code"], record["state"]) == ("told", 3, "Error")
    assert record["target"]["identity"]
    assert record["created"] < record["submitted"] < record["ended"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "is no launch record"), ('{"schema": "gonogo.launch/9"}', "gonogo.launch/9")],
    ids=["cut short", "newer"],
)
def test_bad_record_is_named_and_hides_no_other(gonogo: Gonogo, text: str, reason: str) -> None:
    gonogo.ok("launch", gonogo.job(command="true"), "--id", "good")
    bad = gonogo.state / "launches" / "bad.json"
    bad.write_text(text)
    done = gonogo("launch", gonogo.job(command="true"), "--id", "bad")
    assert done.status == 3, done.said
    assert reason in done.err
    assert "Traceback" not in done.err
    assert not (gonogo.state / "interactive" / "bad").exists(), "it is launched over a record that is not understood"
    listed = gonogo.ok("jobs", "--json")
    assert [one["id"] for one in listed.json] == ["good"]
    assert str(bad) in listed.err


@pytest.mark.parametrize("place", ["a file", "below a file"])
def test_state_folder_that_cannot_be_used(gonogo: Gonogo, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" if place == "a file" else tmp_path / "file" / "state"
    job = gonogo.job(command=f"touch {tmp_path}/ran")
    done = gonogo("launch", job, "--id", "x", GONOGO_STATE_DIR=str(folder))
    assert done.status == 3, done.said
    assert f"the state folder {folder} cannot be used" in done.err
    assert "GONOGO_STATE_DIR" in done.err
    assert not (tmp_path / "ran").exists()


def test_empty_state_folder(gonogo: Gonogo) -> None:
    assert gonogo.ok("jobs", "--json").json == []
    assert not gonogo.state.exists(), "looking makes nothing"

"""The JSON document: its published schema, and reading it back."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from report_samples import document, expect, facts, row, varied_rows

from gonogo.reports.document import (
    SCHEMA_FILE,
    ReportError,
    build_document,
    digest,
    load_document,
    rows_of,
    to_text,
    utc,
)
from gonogo.reports.redact import Redactor
from gonogo.reports.rows import State
from gonogo.reports.verdict import judge
from gonogo.reports.write import write_report

VALIDATOR = Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))

RUNS = {
    "varied": lambda: document(*varied_rows()),
    "go": lambda: document(row()),
    "empty": lambda: document(),
    "cut short": lambda: document(row(), expected=expect(*varied_rows()), cut_short="interrupted"),
    "no job": lambda: document(row(), job=None, has_job=False, valid_until=None, probes=[], target={}, suite={}),
    "redacted": lambda: Redactor({"A": "required", "B": "gpu-host"}).data(document(*varied_rows())),
}


def test_the_schema_itself_is_valid() -> None:
    Draft202012Validator.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize("name", RUNS)
def test_every_written_report_keeps_the_schema(name: str, tmp_path: Path) -> None:
    path = write_report(RUNS[name](), tmp_path / "deep" / "readiness.json")
    read = json.loads(path.read_text(encoding="utf-8"))
    assert [error.message for error in VALIDATOR.iter_errors(read)] == []
    assert load_document(path) == read


@pytest.mark.parametrize("state", list(State))
def test_a_row_of_each_state_keeps_the_schema_and_comes_back(state: State) -> None:
    one = document(row("GPU-04", state))
    VALIDATOR.validate(one)
    assert [each.state for each in rows_of(one)] == [state]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "MAYBE"),
        (("schema",), "gonogo.readiness/2"),
        (("rows", 0, "state"), "fine"),
        (("rows", 0, "extra"), 1),
        (("started",), "2026-12-01 10:00"),
        (("extra",), 1),
        (("counts", "passed"), 0),
    ],
)
def test_the_schema_refuses(path: tuple, value: Any) -> None:
    one: Any = document(*varied_rows())
    place = one
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(one)


def test_the_document_says_what_the_interface_promises() -> None:
    one = document(*varied_rows())
    assert one["verdict"] == "NO-GO"
    assert one["job"] == {"name": "dino-finetune", "file": "job.yaml", "digest": "sha256:" + "ab" * 32}
    assert one["started"] == "2026-12-01T10:00:00.000Z"
    assert one["valid_until"] == "2026-12-01T10:15:00.000Z"
    assert one["causes"][0]["id"] == "DOCK-01"
    assert one["causes"][0]["blocks"] == ["DOCK-02", "GPU-04", "GPU-05"]
    assert sum(one["counts"].values()) == len(one["rows"])


def test_the_same_run_gives_the_same_bytes() -> None:
    assert to_text(document(*varied_rows())) == to_text(document(*varied_rows()))
    assert digest(document(row())) != digest(document(row(found="other")))


def test_json_is_ascii_so_that_nothing_in_it_moves_a_cursor() -> None:
    text = to_text(document(row(message="\x1b[2J\u202eé\udc80\x9b")))
    assert text.isascii()
    assert "\x1b" not in text


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        utc(datetime(2026, 12, 1))
    with pytest.raises(ValueError, match="zone"):
        build_document(judge([row()], expect(row())), facts(started=datetime(2026, 12, 1)))


WHOLE = to_text(document(*varied_rows()))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("verdict: GO", "is not JSON"),
        (WHOLE[: len(WHOLE) // 2], "cut short"),
        (WHOLE[:-4], "cut short"),
        ("[]", "no report"),
        ("{}", "is no gonogo.readiness/1 report"),
        ('{"schema": "gonogo.readiness/9"}', "'gonogo.readiness/9'"),
        ('{"schema": "gonogo.readiness/1", "verdict": "go"}', "the verdict 'go'"),
        ('{"schema": "gonogo.readiness/1", "verdict": "GO"}', "no usable 'because'"),
        (WHOLE.replace('"state": "failed",\n      "stage"', '"state": "fine",\n      "stage"'), "row 2"),
        (WHOLE.replace('"param": ""', '"parameter": ""', 1), "row 1"),
        ("[" * 100_000, "nested"),
        (WHOLE.encode("utf-16"), "UTF-8"),
    ],
)
def test_what_is_no_report_is_refused_with_the_reason(text: str | bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "readiness.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ReportError, match=r"readiness\.json") as caught:
        load_document(path)
    assert told in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="No such file"):
        load_document(tmp_path / "none.json")

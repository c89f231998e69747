"""Runs to make reports of: rows, verdicts and documents that tests share."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

from gonogo.reports.document import RunFacts, build_document
from gonogo.reports.rows import Evidence, Expected, ProbeTrace, Row, Severity, State
from gonogo.reports.verdict import judge

STARTED = datetime(2026, 12, 1, 10, 0, tzinfo=timezone.utc)
TODAY = date(2026, 12, 1)


def row(row_id: str = "DOCK-01", state: State = State.PASSED, **more: Any) -> Row:
    """A required row; keywords replace any field."""
    values: dict[str, Any] = {
        "param": "",
        "title": f"What {row_id} asks",
        "severity": Severity.REQUIRED,
        "seconds": 0.012,
        "began": "2026-12-01T10:00:00.100Z",
        "node": f"checks/test_x.py::test_{row_id.replace('-', '_').lower()}",
    }
    if state is State.BLOCKED:
        values |= {"cause": "DOCK-01", "message": "blocked by DOCK-01: no answer"}
    if state is State.WAIVED:
        values["waiver"] = {"kind": "waiver", "was": "failed", "reason": "r", "owner": "o", "until": "2026-12-31"}
    if state is State.ATTESTED:
        values["waiver"] = {"kind": "attestation", "was": "unverified", "reason": "r", "owner": "o"}
    return Row(id=row_id, state=state, **{**values, **more})


def expect(*rows: Row) -> list[Expected]:
    """The expected set that those rows answer."""
    return [Expected(one.id, one.param, one.title, one.severity, one.stage) for one in rows]


def waiver(row_id: str, param: str = "", until: date = date(2026, 12, 31)) -> Any:
    return SimpleNamespace(row=row_id, param=param, reason="ticket 12", owner="ops", until=until)


def attestation(row_id: str, param: str = "") -> Any:
    return SimpleNamespace(row=row_id, param=param, reason="storage ticket 123", owner="data team")


def facts(**more: Any) -> RunFacts:
    values: dict[str, Any] = {
        "platform": "remote-docker",
        "target": {
            "address": "ssh://ml@gpu-host:22",
            "identity": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
            "facts": {"driver": "580.65.06", "cuda": "13.0", "gpus": "8 x H100 80GB HBM3", "kernel": "6.8.0-45"},
        },
        "suite": {
            "version": "0.1.0",
            "digest": "sha256:" + "5e" * 32,
            "options": {
                "probe_timeout": {"value": 30.0, "from": "default"},
                "docker_host": {"value": "ssh://ml@gpu-host:22", "from": "environment (DOCKER_HOST)"},
            },
        },
        "started": STARTED,
        "finished": STARTED + timedelta(seconds=3.214),
        "seconds": 3.214,
        "valid_until": STARTED + timedelta(minutes=15),
        "job": {"name": "dino-finetune", "file": "job.yaml", "digest": "sha256:" + "ab" * 32},
        "probes": [
            ProbeTrace("docker_daemon", (), 0.61, 0.34, "done"),
            ProbeTrace("host_paths", ("docker_daemon",), 0.95, 0.47, "done"),
            ProbeTrace("smoke_gpus", ("docker_daemon",), 0.95, 1.62, "done"),
            ProbeTrace("registry_manifest", (), 0.61, 2.1, "timed out", "no answer from the registry within 2 s"),
            ProbeTrace("free_ports", (), 0.62, 0.08, "failed", "connection refused"),
        ],
        "command_line": "gonogo check job.yaml --report readiness.html",
        "user": "ml@workstation",
    }
    return RunFacts(**{**values, **more})


def document(*rows: Row, expected: list[Expected] | None = None, **more: Any) -> dict[str, Any]:
    """The document of a run with those rows, all of them expected unless `expected` says otherwise."""
    judging = {key: more.pop(key) for key in ("strict", "cut_short", "has_job") if key in more}
    return build_document(judge(rows, expect(*rows) if expected is None else expected, **judging), facts(**more))


def varied_rows() -> list[Row]:
    """A run with every state in it but `not-run`."""
    return [
        row("JOB-01", title="The job file is valid", stage="static", found="job.yaml, 31 lines"),
        row(
            "DOCK-01",
            State.FAILED,
            title="The daemon answers",
            message="Docker daemon at ssh://ml@gpu-host:22 refused the key",
            found="Permission denied (publickey)",
            expected="an answer to /version",
            remedy="ssh-copy-id ml@gpu-host\nssh -o BatchMode=yes ml@gpu-host true",
            evidence=[Evidence("the tool's own words", "ml@gpu-host: Permission denied (publickey).\nline two")],
            seconds=0.34,
        ),
        row("DOCK-02", State.BLOCKED, title="The job network exists or can be created"),
        row("GPU-04", State.BLOCKED, title="A smoke container sees the GPUs"),
        row("GPU-05", State.BLOCKED, title="At least as many devices as the job asks for", cause="GPU-04"),
        row(
            "S3-02",
            State.UNVERIFIED,
            param="s3://bucket/coco/train/",
            title="Each key or prefix can be listed and its first byte read",
            message="the endpoint gave no answer within 30 s",
            remedy="Check that the endpoint is reachable from the target, or raise --probe-timeout.",
        ),
        row(
            "GPU-08",
            State.WARNED,
            severity=Severity.ADVISORY,
            title="The GPUs are healthy",
            message="GPU 3 has a pending row remap",
            found="1 pending",
            expected="0 pending",
            remedy="nvidia-smi --gpu-reset -i 3",
        ),
        row("DOCK-05", State.UNVERIFIED, severity=Severity.ADVISORY, message="the daemon does not say"),
        row(
            "PORT-02", State.DEFERRED, title="Every node can reach the master", stage="arrival", message="no nodes yet"
        ),
        row(
            "GPU-02", State.WAIVED, title="CUDA meets the minimum", found="12.8", expected=">= 13.0", message="too old"
        ),
        row("PATH-01", State.ATTESTED, param="/lustre/set", title="Each input path exists", message="host was silent"),
        row("PATH-05", title="Free space and inodes", found="3.2 TiB free", expected="200 GiB", seconds=0.003),
        row("CRED-04", State.ERROR, title="Each credential is set", message="the harness failed here: KeyError: 'x'"),
    ]


def many_rows(number: int, state: State = State.PASSED, text: str = "x" * 200, evidence: int = 1500) -> list[Row]:
    return [
        row(
            "PATH-01",
            state,
            param=f"/data/set-{index:05d}/{'p' * 40}",
            title="Each input path exists on the host",
            message=text if state is not State.PASSED else None,
            found=text,
            remedy=text if state is not State.PASSED else None,
            evidence=[Evidence("stat", "e" * evidence)],
        )
        for index in range(number)
    ]

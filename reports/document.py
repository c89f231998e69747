"""The JSON document of a run, `gonogo.readiness/1`: built from the verdict, read back with clear errors.

See docs/json-schemas.md. The published JSON Schema is `readiness.schema.json` beside this file.
Times are passed in, so that the same run always gives the same document.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gonogo.reports.rows import ProbeTrace, Row
from gonogo.reports.verdict import GO, INCOMPLETE, NO_GO, Verdict

SCHEMA = "gonogo.readiness/1"
SCHEMA_FILE = Path(__file__).with_name("readiness.schema.json")


class ReportError(Exception):
    """A report that cannot be read or written; the text names the file and what is wrong."""


@dataclass(frozen=True)
class RunFacts:
    """What surrounds the verdict, JSON-able but for the times, which are aware. `seconds` is wall time.

    `job` is `{name, file, digest}`, None for platform readiness; `target` is `{address, identity, facts}`; `suite` is
    `{version, digest, options}`, where an option is `{"value": …, "from": …}`. Missing keys become empty.
    """

    platform: str
    target: Mapping[str, Any]
    suite: Mapping[str, Any]
    started: datetime
    finished: datetime
    seconds: float
    job: Mapping[str, Any] | None = None
    valid_until: datetime | None = None
    probes: Sequence[ProbeTrace] = ()
    command_line: str = ""
    user: str = ""


def build_document(verdict: Verdict, facts: RunFacts) -> dict[str, Any]:
    """The document as JSON-able data. Redaction is the caller's: rows and facts are taken as they are."""
    return {
        "schema": SCHEMA,
        "verdict": verdict.word,
        "because": verdict.because,
        "strict": verdict.strict,
        "cut_short": verdict.cut_short,
        "job": _texts(facts.job, "name", "file", "digest") if facts.job is not None else None,
        "platform": facts.platform,
        "target": {**_texts(facts.target, "address", "identity"), "facts": dict(facts.target.get("facts") or {})},
        "suite": {**_texts(facts.suite, "version", "digest"), "options": dict(facts.suite.get("options") or {})},
        "user": facts.user,
        "command_line": facts.command_line,
        "started": utc(facts.started),
        "finished": utc(facts.finished),
        "seconds": round(facts.seconds, 3),
        "valid_until": utc(facts.valid_until) if facts.valid_until is not None else None,
        "counts": dict(verdict.counts),
        "causes": [asdict(cause) for cause in verdict.causes],
        "rows": [row.to_json() for row in verdict.rows],
        "probes": [_probe(probe) for probe in facts.probes],
    }


def utc(moment: datetime) -> str:
    """`2026-12-01T10:00:00.000Z`. Raises ValueError for a time without zone."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    text = moment.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def to_text(document: Mapping[str, Any]) -> str:
    """The document as the text of its JSON file: ASCII only, so that nothing in it can move a terminal's cursor."""
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def digest(document: Mapping[str, Any]) -> str:
    """`sha256:…` over the bytes of the document's JSON file."""
    return "sha256:" + hashlib.sha256(to_text(document).encode("ascii")).hexdigest()


def rows_of(document: Mapping[str, Any]) -> list[Row]:
    """The rows of a document that `load_document` returned."""
    return [Row.from_json(row) for row in document["rows"]]


def load_document(path: str | Path) -> dict[str, Any]:
    """Read a report. Raises ReportError where it is missing, cut short, no JSON, or not a `gonogo.readiness/1`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ReportError(f"{path}: is not a text file in UTF-8, so it is no JSON report") from None
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ReportError(f"{path}: {_json_fault(text, error)}") from None
    except RecursionError:
        raise ReportError(f"{path}: is nested too deeply to be a report") from None
    fault = _shape_fault(document)
    if fault:
        raise ReportError(f"{path}: {fault}")
    return dict(document)


def _texts(given: Mapping[str, Any], *names: str) -> dict[str, str]:
    return {name: str(given.get(name) or "") for name in names}


def _probe(probe: ProbeTrace) -> dict[str, Any]:
    return {**asdict(probe), "needs": list(probe.needs)}


def _json_fault(text: str, error: json.JSONDecodeError) -> str:
    if not text.strip():
        return "is empty"
    text = text.strip()
    if text.startswith("{") and (not text.endswith("}") or error.pos >= len(text)):
        return f"is cut short: the JSON ends unfinished at line {error.lineno}"
    return f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"


_SHAPE: Mapping[str, type | tuple[type, ...]] = {
    "because": str,
    "strict": bool,
    "platform": str,
    "target": dict,
    "suite": dict,
    "command_line": str,
    "started": str,
    "finished": str,
    "seconds": (int, float),
    "counts": dict,
    "causes": list,
    "rows": list,
    "probes": list,
}


def _shape_fault(document: Any) -> str:
    if not isinstance(document, dict):
        return "is JSON, but no report: it holds no mapping"
    schema = document.get("schema")
    if schema != SCHEMA:
        return f"has the schema {schema!r}; this version reads {SCHEMA}" if schema else f"is no {SCHEMA} report"
    if document.get("verdict") not in (GO, NO_GO, INCOMPLETE):
        return f"has the verdict {document.get('verdict')!r}, which is none of GO, NO-GO, INCOMPLETE"
    for key, kind in _SHAPE.items():
        if not isinstance(document.get(key), kind):
            return f"has no usable {key!r}"
    for number, row in enumerate(document["rows"], start=1):
        try:
            Row.from_json(row)
        except (KeyError, TypeError, ValueError) as error:
            return f"row {number} cannot be read: {error}"
    return ""

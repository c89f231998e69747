"""`gonogo report FILE.json --to FILE.html`: another form of a saved report. The verdict is taken as it stands."""

from __future__ import annotations

from pathlib import Path

from gonogo.reports.document import load_document
from gonogo.reports.write import write_report


def render(source: str | Path, target: str | Path, *, previous: str | Path | None = None) -> Path:
    """Write the report in `source` (JSON) to `target` in the form of its suffix; returns `target`.

    `previous` names an older JSON report to compare with. Raises ReportError where a file cannot be read or written,
    ValueError for a suffix that is no form.
    """
    document = load_document(source)
    older = load_document(previous) if previous is not None else None
    return write_report(document, target, previous=older)

"""Writing a report: the suffix chooses the form, and the file appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gonogo.reports.document import ReportError, to_text

Document = Mapping[str, Any]


def _html(document: Document, previous: Document | None) -> str:
    from gonogo.reports.html import to_html  # jinja2 takes time to import: only who writes HTML pays

    return to_html(document, previous)


def _json(document: Document, _previous: Document | None) -> str:
    return to_text(document)


def _markdown(document: Document, _previous: Document | None) -> str:
    from gonogo.reports.markdown import to_markdown

    return to_markdown(document)


#: The forms of a report by suffix.
FORMS: Mapping[str, Callable[[Document, Document | None], str]] = {".html": _html, ".json": _json, ".md": _markdown}


def write_report(document: Document, path: str | Path, *, previous: Document | None = None) -> Path:
    """Write the report in the form of the path's suffix and return the path. Missing folders are made.

    `previous` is an older document of the same platform, for the part 'since the last report' of the HTML form.
    Raises ValueError for another suffix and ReportError where the file cannot be written; then an older file of that
    name is as it was.
    """
    path = Path(path)
    form = FORMS.get(path.suffix.lower())
    if form is None:
        raise ValueError(f"{path}: the suffix must be one of {', '.join(FORMS)}")
    write_whole(path, form(document, previous))
    return path


def write_whole(path: Path, text: str) -> None:
    """Write to a temporary name in the same folder, flush to disk, rename. Raises ReportError."""
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError):
            raise ReportError(f"{path}: the report cannot be written: {error.strerror or error}") from None
        raise


def _umask() -> int:
    """The process's umask, read without setting it where the kernel tells (other threads may be creating files)."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

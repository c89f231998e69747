"""The report as one HTML file: no script, no request, readable without its style sheet, at most 1 MB.

The template is `readiness.html.jinja` beside this file, its style `readiness.css`. Escaping is on for all data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from gonogo.reports.compare import compare
from gonogo.reports.document import digest
from gonogo.reports.plain import cut, one_line, visible
from gonogo.reports.rows import Row, Severity
from gonogo.reports.timeline import timeline
from gonogo.reports.view import STATE_WORDS, View, arrange, is_command, title

#: The largest page that is written, in bytes.
LIMIT = 1_000_000

_FOLDER = Path(__file__).parent
_SIGNS = {"GO": "✓", "NO-GO": "✕", "INCOMPLETE": "…"}


@dataclass(frozen=True)
class _Limits:
    """How much is shown: characters of a field, of one piece of evidence, of all evidence; rows of a list."""

    field: int
    evidence: int
    all_evidence: int
    rows: int


#: Tried in this order until the page is small enough.
_STEPS = (
    _Limits(field=2000, evidence=8192, all_evidence=400_000, rows=5000),
    _Limits(field=500, evidence=2048, all_evidence=150_000, rows=5000),
    _Limits(field=160, evidence=512, all_evidence=50_000, rows=2500),
    _Limits(field=80, evidence=200, all_evidence=10_000, rows=800),
    _Limits(field=60, evidence=0, all_evidence=0, rows=150),
)


def to_html(document: Mapping[str, Any], previous: Mapping[str, Any] | None = None) -> str:
    """The page for a document; with `previous`, an older one of the same platform, also what changed since.

    What had to be left out for size is said where it is missing. Raises ValueError where `previous` is of another
    platform.
    """
    changes = compare(previous, document) if previous is not None else None
    view = arrange(document)
    fixed = {
        "view": view,
        "title": title(document),
        "sign": _SIGNS.get(view.verdict, ""),
        "version": document["suite"].get("version", ""),
        "json_digest": digest(document),
        "timeline": timeline(view.probes),
        "changes": changes,
        "words": STATE_WORDS,
        "advisory": Severity.ADVISORY,
        "style": _style(),
        "is_command": is_command,
        "shown_above": _shown_above(view),
        "ends_soon": lambda row: _ends_soon(row, document["started"]),
    }
    page = ""
    for limits in _STEPS:
        page = _template().render(fixed, show=_Shown(limits), limits=limits)
        if len(page.encode("utf-8")) <= LIMIT:
            break
    return page


def _shown_above(view: View) -> set[str]:
    """Names of rows whose evidence stands in a section of its own above the list of all rows."""
    causes = {cause.name for cause in view.causes}
    return causes | {row.name for rows in (view.warned, view.waived, view.attested) for row in rows}


def _ends_soon(row: Row, started: str) -> bool:
    """Whether the row's waiver ends within two weeks of the run."""
    try:
        until = date.fromisoformat((row.waiver or {}).get("until", ""))
        return until - date.fromisoformat(started[:10]) <= timedelta(days=14)
    except ValueError:
        return False


class _Shown:
    """What the template calls to show untrusted text within the limits. One per page: it counts the evidence."""

    def __init__(self, limits: _Limits) -> None:
        self._limits = limits
        self._left = limits.all_evidence

    def line(self, text: object) -> str:
        """A field in one line."""
        return one_line(cut(str(text), self._limits.field))

    def block(self, text: object) -> str:
        """A field that keeps its lines: a remedy."""
        return visible(cut(str(text).strip("\n"), 4 * self._limits.field))

    def evidence(self, row: Row) -> list[tuple[str, str]]:
        """The row's evidence as (name, text), cut to what is left of the page's share."""
        pieces = []
        for piece in row.evidence:
            text = visible(cut(piece.text, min(self._limits.evidence, max(self._left, 0))))
            self._left -= len(text)
            pieces.append((self.line(piece.name), text))
        return pieces


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("readiness.html.jinja")


@lru_cache(maxsize=1)
def _style() -> Markup:
    return Markup((_FOLDER / "readiness.css").read_text(encoding="utf-8"))  # our own file, no data in it

"""The last words on a terminal: the verdict, each cause once with its remedy, and what else a person must know."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from gonogo.reports.plain import cut, one_line, visible
from gonogo.reports.rows import Row
from gonogo.reports.view import CauseView, View, arrange, is_command, title

_NAMED = 6
_LONGEST = 600
_COLOURS = {"GO": "1;32", "NO-GO": "1;31", "INCOMPLETE": "1;33"}


def summary(
    document: Mapping[str, Any],
    *,
    reports: Iterable[object] = (),
    width: int = 80,
    colour: bool = False,
    brief: bool = False,
) -> str:
    """The summary as text of at most `width` columns, except where a remedy is one long command.

    `reports` are the paths of the files that were written; `brief` leaves out all but verdict and causes. Nothing in
    the document can send escapes to the terminal; with `colour` the summary sends its own.
    """
    view = arrange(document)
    paper = _Paper(max(width, 30), colour)
    paper.banner(view.verdict, f"{title(document)} ({document['target'].get('address', '')})")
    paper.wrapped("because " + view.because)
    for cause in view.causes:
        _cause(paper, cause)
    if not brief:
        _rest(paper, view)
        paper.gap()
        for equation in view.equations:
            paper.wrapped(equation)
        paper.wrapped(_when(document))
    for report in reports:
        paper.line(f"report: {one_line(str(report))}")
    return paper.text()


def print_summary(
    document: Mapping[str, Any],
    stream: TextIO,
    *,
    reports: Sequence[object] = (),
    brief: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Write the summary, as wide as the terminal is, in colour only on a terminal and without NO_COLOR."""
    on_terminal = stream.isatty()
    width = min(shutil.get_terminal_size().columns, 120) if on_terminal else 100
    text = summary(
        document, reports=reports, width=width, colour=on_terminal and wants_colour(environment), brief=brief
    )
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding))


def wants_colour(environment: Mapping[str, str]) -> bool:
    """NO_COLOR, not empty, says no (no-color.org); so does a dumb terminal."""
    return not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


class _Paper:
    """Lines, wrapped and indented."""

    def __init__(self, width: int, colour: bool) -> None:
        self._width = width
        self._colour = colour
        self._lines: list[str] = []

    def banner(self, word: str, what: str) -> None:
        first = self._painted(word, _COLOURS.get(word, "1"))
        what = one_line(what)
        if len(word) + 2 + len(what) <= self._width:
            self._lines.append(f"{first}  {what}")
        else:
            self._lines.append(first)
            self.wrapped(what)

    def heading(self, text: str) -> None:
        self.gap()
        self._lines.append(self._painted(text, "1"))

    def gap(self) -> None:
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def line(self, text: str) -> None:
        self._lines.append(text)

    def wrapped(self, text: str, indent: str = "", lead: str = "", limit: int = _LONGEST) -> None:
        """`lead` stands before the first line, later lines hang below the text."""
        hanging = indent + " " * len(lead)
        self._lines += textwrap.wrap(
            one_line(cut(text, limit)),
            width=self._width,
            initial_indent=indent + lead,
            subsequent_indent=hanging,
            break_on_hyphens=False,
            break_long_words=False,
        ) or [(indent + lead).rstrip()]

    def verbatim(self, text: str, indent: str, lead: str) -> None:
        """Text to copy: never wrapped."""
        for number, part in enumerate(visible(cut(text.strip(), 4 * _LONGEST)).split("\n")):
            self._lines.append(f"{indent}{lead if number == 0 else ' ' * len(lead)}{part}".rstrip())

    def _painted(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _cause(paper: _Paper, cause: CauseView) -> None:
    paper.gap()
    lead = f"{cause.number}. "
    paper.wrapped(f"{cause.name}  {cause.cause}", lead=lead)
    indent = " " * len(lead)
    row = cause.row
    if row is not None and (row.found is not None or row.expected is not None):
        paper.wrapped(f"found {row.found or 'nothing'}, expected {row.expected or 'something'}", indent)
    if cause.remedy:
        _remedy(paper, cause.remedy, indent)
    if cause.waiting:
        noun = "requirement waits" if len(cause.waiting) == 1 else "requirements wait"
        paper.wrapped(f"{len(cause.waiting)} {noun} on it: {_names(cause.waiting)}", indent)


def _remedy(paper: _Paper, remedy: str, indent: str) -> None:
    if is_command(remedy):
        paper.verbatim(remedy, indent, "fix: ")
    else:
        paper.wrapped(remedy, indent, "fix: ")


def _rest(paper: _Paper, view: View) -> None:
    _listed(paper, "Warnings", view.warned)
    _listed(paper, "Advice without an answer", view.open_advice)
    _not_run(paper, view.not_run)
    _listed(paper, "Waived", view.waived, record=True)
    _listed(paper, "Attested", view.attested, record=True)
    if view.deferred:
        paper.heading(f"On arrival ({len(view.deferred)})")
        paper.wrapped(f"asked again before the command starts: {_names(view.deferred)}", "  ")


def _not_run(paper: _Paper, rows: Sequence[Row]) -> None:
    """Rows without an answer, each reason once."""
    if not rows:
        return
    paper.heading(f"Not run ({len(rows)})")
    reasons: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        reasons.setdefault((row.message or "no answer", row.remedy or ""), []).append(row)
    for (message, remedy), some in list(reasons.items())[:20]:
        paper.wrapped(f"{_names(some)}: {message}", "  ")
        if remedy:
            _remedy(paper, remedy, "    ")


def _listed(paper: _Paper, heading: str, rows: Sequence[Row], *, record: bool = False) -> None:
    if not rows:
        return
    paper.heading(f"{heading} ({len(rows)})")
    for row in rows[:20]:
        paper.wrapped(f"{row.name}  {row.message or row.title}", "  ")
        if record and row.waiver:
            until = f", until {row.waiver['until']}" if row.waiver.get("until") else ""
            reason, owner = row.waiver.get("reason", ""), row.waiver.get("owner", "")
            paper.wrapped(f"{reason} ({owner}{until})", "    ")
        elif row.remedy:
            _remedy(paper, row.remedy, "    ")
    if len(rows) > 20:
        paper.wrapped(f"and {len(rows) - 20} more: see the report", "  ")


def _names(rows: Sequence[Row]) -> str:
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return ", ".join(row.name for row in rows[:_NAMED]) + more


def _when(document: Mapping[str, Any]) -> str:
    text = f"{document['seconds']:.1f} s"
    if document["verdict"] == "GO" and document.get("valid_until"):
        text += f"; valid until {document['valid_until']}"
    return text

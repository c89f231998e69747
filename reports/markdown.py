"""The report as Markdown, for the summary page of a CI job. Nothing in it can become markup: data is escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gonogo.reports.plain import cut, one_line, visible
from gonogo.reports.rows import Row
from gonogo.reports.view import CauseView, View, arrange, is_command, title

#: Job summaries are cut or refused above 1 MiB (GitHub's limit for a step's summary).
LIMIT = 1_000_000

_SIGNS = {"GO": "🟢", "NO-GO": "🔴", "INCOMPLETE": "🟡"}


def to_markdown(document: Mapping[str, Any]) -> str:
    """The page, at most `LIMIT` bytes in UTF-8: with very many rows fields and lists are cut, saying so."""
    view = arrange(document)
    for text_limit, row_limit in ((2000, 5000), (300, 2000), (120, 500), (60, 100)):
        text = _page(document, view, text_limit, row_limit)
        if len(text.encode("utf-8")) <= LIMIT:
            return text
    kept = text.encode("utf-8")[: LIMIT - 100].decode("utf-8", "ignore")
    return kept + "\n\n*The rest is left out: see the JSON report.*\n"


def escaped(text: str, limit: int = 2000) -> str:
    """One line of text in which Markdown and HTML see nothing to act on."""
    text = one_line(cut(text, limit))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_{}\[\]()#+!|~$])", r"\\\1", text)
    text = re.sub(r"@(?=\w)", "@\u2060", text)  # no mention of a person who happens to be called so
    return re.sub(r"\b(https?|ftp)(?=://)|\b(www)(?=\.)", lambda match: f"{match.group(0)}\u2060", text, flags=re.I)


def fenced(text: str, limit: int = 4000) -> str:
    """A code block that its own content cannot end."""
    text = visible(cut(text.strip("\n"), limit))
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _page(document: Mapping[str, Any], view: View, text_limit: int, row_limit: int) -> str:
    def say(text: str) -> str:
        return escaped(text, text_limit)

    parts = [
        f"# {_SIGNS.get(view.verdict, '')} {view.verdict}: {say(title(document))}",
        f"**Because** {say(view.because)}",
    ]
    if view.causes:
        parts.append("## Causes and remedies")
        parts += [_cause(cause, text_limit) for cause in view.causes[:row_limit]]
        parts += _left_out(view.causes, row_limit)
    for heading, rows in (
        ("Warnings", view.warned),
        ("Waived", view.waived),
        ("Attested", view.attested),
        ("To be proven on arrival", view.deferred),
        ("Not run", view.not_run),
        ("Advice without an answer", view.open_advice),
    ):
        if rows:
            parts += [f"## {heading} ({len(rows)})", _list(rows[:row_limit], text_limit), *_left_out(rows, row_limit)]
    parts.append("## Counts\n\n" + "\n".join(f"- {equation}" for equation in view.equations))
    parts.append(
        "## What was judged\n\n"
        + _table(("", ""), [(say(name), say(text)) for name, text in [*view.judged, *view.identified]])
    )
    rows = [row for area in view.areas for row in area.rows]
    table = [
        (say(row.name), row.state.value, say(row.title), say(_found(row)), f"{row.seconds:.2f}")
        for row in rows[:row_limit]
    ]
    parts.append(
        f"<details><summary>Every requirement ({len(rows)})</summary>\n\n"
        + _table(("Requirement", "State", "What must hold", "Found", "Seconds"), table)
        + "\n\n</details>"
    )
    parts += _left_out(rows, row_limit)
    return "\n\n".join(parts) + "\n"


def _cause(cause: CauseView, limit: int) -> str:
    lines = [f"### {cause.number}. {escaped(cause.name, limit)}", escaped(cause.cause, limit)]
    row = cause.row
    if row is not None and (row.found is not None or row.expected is not None):
        lines.append(
            f"Found: {escaped(row.found or 'nothing', limit)} · Expected: {escaped(row.expected or '', limit)}"
        )
    if cause.remedy:
        told = fenced(cause.remedy, 2 * limit) if is_command(cause.remedy) else escaped(cause.remedy, 2 * limit)
        lines.append(f"Remedy:\n\n{told}")
    if cause.waiting:
        names = ", ".join(escaped(row.name, 200) for row in cause.waiting[:50])
        more = f" and {len(cause.waiting) - 50} more" if len(cause.waiting) > 50 else ""
        lines.append(f"{len(cause.waiting)} wait on it: {names}{more}")
    return "\n\n".join(lines)


def _list(rows: Sequence[Row], limit: int) -> str:
    return "\n".join(
        f"- **{escaped(row.name, limit)}** {escaped(row.message or row.title, limit)}{_record(row, limit)}"
        for row in rows
    )


def _record(row: Row, limit: int) -> str:
    if not row.waiver:
        return ""
    until = f", until {row.waiver['until']}" if row.waiver.get("until") else ""
    return " — " + escaped(f"{row.waiver.get('reason', '')} ({row.waiver.get('owner', '')}{until})", limit)


def _found(row: Row) -> str:
    return row.found if row.found is not None else row.message or ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows])


def _left_out(items: Sequence[object], limit: int) -> list[str]:
    return [f"*{len(items) - limit:,} more are left out here: see the JSON report.*"] if len(items) > limit else []

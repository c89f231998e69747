"""`list`, `explain`: the catalogue, without a target."""

from __future__ import annotations

import difflib
import textwrap
from typing import Annotated

import typer

from gonogo.launcher.commands.check import PlatformName
from gonogo.launcher.exits import Exit, Stop


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("list")(list_rows)
    app.command("explain")(explain)


def list_rows(platform: PlatformName = None) -> None:
    """Every requirement: its ID, severity, title and remedy."""
    from gonogo.fixtures.catalogue import CATALOGUE
    from gonogo.platforms.registry import NAMES

    if platform is not None and platform not in NAMES:
        raise Stop(Exit.USAGE, f"unknown platform {platform!r}: choose one of {', '.join(NAMES)}")
    for row in CATALOGUE.values():
        if platform is None or platform in row.where:
            print(f"{row.id:<8} {row.severity.value:<9} {row.title}")
            print(textwrap.fill(row.remedy, 100, initial_indent=" " * 19, subsequent_indent=" " * 19))


def explain(row: Annotated[str, typer.Argument(metavar="ID", help="A row's ID, such as PATH-01.")]) -> None:
    """One requirement in full: what, why, how it is proven, how to mend it."""
    from gonogo.fixtures.catalogue import CATALOGUE, CONTRACT, find

    found = find(row.upper())
    if found is None:
        near = difflib.get_close_matches(row.upper(), [*CATALOGUE, *CONTRACT], n=1)
        raise Stop(Exit.USAGE, f"no row {row}", remedy=f"did you mean {near[0]}?" if near else "gonogo list")
    print(f"{found.id}  {found.title}\n")
    parts = {
        "Severity": found.severity.value,
        "Platforms": ", ".join(sorted(found.where)),
        "Stage": found.stage,
        "Why": found.why,
        "Proof": found.proof,
        "Remedy": found.remedy,
    }
    for label, text in parts.items():
        print(textwrap.fill(text, 100, initial_indent=f"{label + ':':<11}", subsequent_indent=" " * 11))

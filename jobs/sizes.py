"""Sizes in bytes and times in seconds from the words that people write. As users write it: `job.schema.json`."""

from __future__ import annotations

import difflib
import re
from decimal import Decimal

_UNITS = {"B": 1}
_UNITS.update({f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGTP", start=1)})
_UNITS.update({f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTP", start=1)})
_BY_FOLDED = {unit.upper(): unit for unit in _UNITS}

_SIZE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,9})?)\s*([A-Za-z]*)")
_CLOCK = re.compile(r"(?:(?P<days>\d{1,6})-)?(?P<h>\d{1,6})(?::(?P<m>\d{1,2}))?(?::(?P<s>\d{1,2}))?")
_PARTS = re.compile(r"(?:(\d{1,9})d)?\s*(?:(\d{1,9})h)?\s*(?:(\d{1,9})m(?:in)?)?\s*(?:(\d{1,9})s)?")


def parse_size(text: str | int) -> int:
    """Bytes of `40 GiB`, `1.5TB`, `512` or 512. KiB to PiB are powers of 1024, KB to PB powers of 1000.

    Raises ValueError with the reason and the nearest valid form.
    """
    if isinstance(text, int):
        if text < 0:
            raise ValueError("a size cannot be negative")
        return text
    written = text.strip()
    if written.startswith("-"):
        raise ValueError("a size cannot be negative")
    match = _SIZE.fullmatch(written)
    if not match:
        raise ValueError("not a size; write a number and a unit, such as 40 GiB")
    number, unit = match.groups()
    if not unit:
        if "." in number:
            raise ValueError(f"a unit is missing; write {number} GiB, or whole bytes")
        return int(number)
    return int(Decimal(number) * _UNITS[_known_unit(unit)])


def _known_unit(unit: str) -> str:
    known = _BY_FOLDED.get(unit.upper())
    if known is not None:
        return known
    if len(unit) == 1 and f"{unit.upper()}B" in _BY_FOLDED:
        wide = unit.upper()
        raise ValueError(f"unknown unit '{unit}'; write {wide}iB (1024-based) or {wide}B (1000-based)")
    near = difflib.get_close_matches(unit.upper(), _BY_FOLDED, n=1, cutoff=0.5)
    nearest = _BY_FOLDED[near[0]] if near else "GiB"
    raise ValueError(f"unknown unit '{unit[:20]}'; did you mean {nearest}? Units are B, KiB to PiB, KB to PB")


def format_size(size: int) -> str:
    """`40 GiB`: the largest 1024-based unit, with at most one decimal."""
    for unit in ("PiB", "TiB", "GiB", "MiB", "KiB"):
        if size >= _UNITS[unit]:
            number = f"{size / _UNITS[unit]:.1f}"
            return f"{number.removesuffix('.0')} {unit}"
    return f"{size} B"


def parse_duration(text: str | int) -> int:
    """Seconds of `10:30:00`, `1-12:00:00`, `90m`, `2h30m`, `45s`, `3d`, or a bare number of minutes.

    Clock forms and bare minutes mean what they mean to Slurm's `--time` (sbatch manual, 24.05): `MM`, `MM:SS`,
    `HH:MM:SS`, `D-HH`, `D-HH:MM`, `D-HH:MM:SS`. Raises ValueError with the reason.
    """
    if isinstance(text, bool):
        raise ValueError("not a time; write 10:30:00, 90m or 2h30m")
    if isinstance(text, int):
        text = str(text)
    written = text.strip()
    if written.startswith("-"):
        raise ValueError("a time cannot be negative")
    seconds = _clock_seconds(written) if re.search(r"[:-]", written) or written.isdigit() else _worded_seconds(written)
    if seconds <= 0:
        raise ValueError("a time must be longer than nothing")
    return seconds


def _clock_seconds(written: str) -> int:
    match = _CLOCK.fullmatch(written)
    if not match or not written.isascii():
        raise ValueError("not a time; write 10:30:00 (hours, minutes, seconds) or 1-12:00:00 (days first)")
    first, second, third = (int(match[name]) if match[name] is not None else None for name in ("h", "m", "s"))
    if match["days"] is not None:
        days, hours, minutes, seconds = int(match["days"]), first or 0, second or 0, third or 0
    elif third is not None:
        days, hours, minutes, seconds = 0, first or 0, second or 0, third
    else:
        days, hours, minutes, seconds = 0, 0, first or 0, second or 0
    if (second or 0) > 59 or (third or 0) > 59:
        raise ValueError("minutes and seconds go up to 59")
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _worded_seconds(written: str) -> int:
    match = _PARTS.fullmatch(written.lower())
    if not match or not any(match.groups()) or not written.isascii():
        raise ValueError("not a time; write 10:30:00, 90m or 2h30m")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def format_duration(seconds: float) -> str:
    """`10:30:00`, or `1-12:00:00` from a day on."""
    whole = int(seconds)
    days, rest = divmod(whole, 86_400)
    clock = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock

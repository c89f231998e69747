"""When each probe ran, as bars: the geometry of the timeline. Drawn by the HTML template as inline SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gonogo.reports.plain import cut, one_line

#: More bars than this say less, not more: the longest are kept.
MOST = 60
LABEL_WIDTH, BAR_WIDTH, VALUE_WIDTH = 190, 560, 140
ROW_HEIGHT, TOP = 22, 26


@dataclass(frozen=True)
class Bar:
    """One probe. `x` and `width` are SVG units from the left edge, `y` the top of its row."""

    name: str
    state: str
    began: float
    seconds: float
    message: str
    needs: str
    x: float
    y: int
    width: float

    @property
    def label(self) -> str:
        return self.name if len(self.name) <= 28 else self.name[:27] + "…"


@dataclass(frozen=True)
class Timeline:
    """All bars in the order in which they began, ticks as (x, label), and the drawing's size."""

    bars: list[Bar]
    ticks: list[tuple[float, str]]
    width: int
    height: int
    left_out: int
    total: int
    end: float
    asked_seconds: float

    @property
    def slowest(self) -> list[Bar]:
        return sorted(self.bars, key=lambda bar: -bar.seconds)[:5]


def timeline(probes: Sequence[Mapping[str, Any]]) -> Timeline:
    """The drawing for the `probes` of a document; times are in seconds since the run began."""
    kept = sorted(probes, key=lambda probe: -float(probe["seconds"]))[:MOST]
    kept.sort(key=lambda probe: (float(probe["began"]), str(probe["name"])))
    end = max((float(probe["began"]) + float(probe["seconds"]) for probe in probes), default=0.0)
    scale = BAR_WIDTH / end if end > 0 else 0.0
    return Timeline(
        bars=[_bar(probe, number, scale) for number, probe in enumerate(kept)],
        ticks=[(round(LABEL_WIDTH + value * scale, 1), f"{value:g} s") for value in _ticks(end)],
        width=LABEL_WIDTH + BAR_WIDTH + VALUE_WIDTH,
        height=TOP + ROW_HEIGHT * len(kept) + 6,
        left_out=len(probes) - len(kept),
        total=len(probes),
        end=round(end, 3),
        asked_seconds=round(sum(float(probe["seconds"]) for probe in probes), 3),
    )


def _bar(probe: Mapping[str, Any], number: int, scale: float) -> Bar:
    began, seconds = float(probe["began"]), float(probe["seconds"])
    return Bar(
        name=cut(one_line(str(probe["name"])).replace("_", " "), 80),
        state=one_line(str(probe["state"])),
        began=began,
        seconds=seconds,
        message=cut(one_line(str(probe.get("message") or "")), 300),
        needs=cut(", ".join(one_line(str(name)).replace("_", " ") for name in probe.get("needs", [])), 200),
        x=round(LABEL_WIDTH + max(began, 0.0) * scale, 1),
        y=TOP + ROW_HEIGHT * number,
        width=round(max(seconds * scale, 2.0), 1),
    )


def _ticks(end: float) -> list[float]:
    """Round numbers from 0 to `end`, four to nine of them."""
    if end <= 0:
        return []
    step = 1e-3
    for _ in range(40):
        for factor in (1, 2, 5):
            if end / (step * factor) <= 8:
                count = int(end / (step * factor))
                return [round(index * step * factor, 6) for index in range(count + 1)]
        step *= 10
    return [0.0]

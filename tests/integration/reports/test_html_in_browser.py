"""The HTML report in a real browser: without JavaScript, light and dark, narrow, with hostile text."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import lanes
import pytest
from report_samples import document, expect, many_rows, row, varied_rows

from gonogo.reports.rows import Evidence, ProbeTrace, State
from gonogo.reports.write import write_report

DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"

Browser = Callable[..., str]


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    """Runs headless Chromium with the given options on a file and returns what it printed."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    lanes.require("browser", "" if found else "Chromium is not installed: apt-get install chromium")
    assert found is not None

    def run(path: Path, *options: str) -> str:
        command = [found, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        command += [f"--user-data-dir={tmp_path / 'profile'}", "--no-first-run", "--disable-background-networking"]
        done = subprocess.run(
            [*command, *options, path.as_uri()], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def first_pixel(png: Path) -> tuple[int, ...]:
    """Red, green, blue of the top left pixel; there every PNG filter leaves the values as they are."""
    data = png.read_bytes()
    pixels, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            pixels += data[at + 8 : at + 8 + length]
        at += 12 + length
    return tuple(zlib.decompress(pixels)[1:4])


def test_the_page_is_whole_without_javascript(browser: Browser, tmp_path: Path) -> None:
    page = write_report(document(*varied_rows()), tmp_path / "readiness.html")
    dom = browser(page, "--dump-dom")
    assert re.search(r"<h1>.*NO-GO</h1>", dom)
    assert dom.index("What to mend") < dom.index("Every requirement")
    assert dom.count('class="bar ') == 5
    for one in varied_rows():
        assert one.name in dom


@pytest.mark.parametrize(("option", "bright"), [(LIGHT, True), (DARK, False)])
def test_it_follows_the_reader_s_colour_scheme(browser: Browser, tmp_path: Path, option: str, bright: bool) -> None:
    page = write_report(document(*varied_rows()), tmp_path / "readiness.html")
    browser(page, option, "--window-size=1200,1600", f"--screenshot={tmp_path / 'shot.png'}")
    assert all((value > 128) is bright for value in first_pixel(tmp_path / "shot.png"))


@pytest.mark.parametrize("width", [320, 390, 768, 1400])
def test_nothing_sticks_out_at_any_width(browser: Browser, tmp_path: Path, width: int) -> None:
    long = "/data/" + "x" * 300
    rows = [
        row("PATH-01", State.FAILED, param=long, message=long, found=long, expected=long, remedy=f"ls {long}"),
        row("PATH-02", State.WARNED, message=long, evidence=[Evidence("e", long)]),
        row("PATH-03", State.DEFERRED, param=long, message=long),
    ]
    wanted = [*expect(*rows), *expect(*many_rows(3), row("A-01", param=long))]
    probes = [ProbeTrace("x" * 60, (), 0.0, 1.0, "timed out", long)]
    one = document(
        *rows, expected=wanted, probes=probes, command_line=long, target={"address": long, "facts": {long: long}}
    )
    write_report(one, tmp_path / "readiness.html")
    # Scripts are on here, but only for the frame around the page, which measures it.
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<iframe src="readiness.html" width="{width}" height="900" style="border:0" onload="'
        'document.title = this.contentDocument.documentElement.scrollWidth"></iframe>',
        encoding="utf-8",
    )
    dom = browser(frame, "--allow-file-access-from-files", "--window-size=1600,1000", "--dump-dom")
    found = re.search(r"<title>(\d+)</title>", dom)
    assert found is not None, dom
    assert int(found.group(1)) <= width


def test_hostile_text_runs_nothing_even_with_scripts_on(browser: Browser, tmp_path: Path) -> None:
    attack = (
        "</code></pre></style></title><script>document.title='owned'</script><img src=x onerror=document.title='owned'>"
    )
    one = document(
        row("A-01", State.FAILED, param=attack, title=attack, message=attack, remedy=attack, found=attack),
        job={"name": attack, "file": attack, "digest": attack},
        probes=[ProbeTrace(attack, (), 0.0, 1.0, "failed", attack)],
    )
    dom = browser(write_report(one, tmp_path / "readiness.html"), "--dump-dom")
    assert "<title>NO-GO: &lt;/code&gt;" in dom
    assert "<script" not in dom
    assert "<img" not in dom


def test_it_prints(browser: Browser, tmp_path: Path) -> None:
    page = write_report(document(*varied_rows()), tmp_path / "readiness.html")
    browser(page, f"--print-to-pdf={tmp_path / 'out.pdf'}")
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF")

"""The last words on a terminal, and the words while a run goes on."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from report_samples import document, expect, row, varied_rows

from gonogo.reports.progress import Progress
from gonogo.reports.rows import State
from gonogo.reports.terminal import print_summary, summary


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_cause_once_with_its_remedy_and_what_waits_on_it() -> None:
    text = summary(document(*varied_rows()), reports=["readiness.html"], width=100)
    lines = text.splitlines()
    assert lines[0] == "NO-GO  dino-finetune on remote-docker (ssh://ml@gpu-host:22)"
    assert lines[1].startswith("because Docker daemon at ssh://ml@gpu-host:22 refused the key; 3 further")
    assert text.count("1. DOCK-01  ") == 1
    assert "   fix: ssh-copy-id ml@gpu-host\n        ssh -o BatchMode=yes ml@gpu-host true\n" in text
    assert "3 requirements wait on it: DOCK-02, GPU-04, GPU-05" in text
    assert text.endswith("report: readiness.html\n")


def test_rows_without_an_answer_are_told_by_reason() -> None:
    wanted = [row(f"A-{number:02d}") for number in range(30)]
    text = summary(document(expected=expect(*wanted), cut_short="interrupted"))
    assert text.startswith("INCOMPLETE")
    assert text.count("fix: Run the whole suite again") == 1
    assert "and 24 more" in text


@pytest.mark.parametrize("width", [10, 40, 80, 200])
def test_lines_fit_where_words_do(width: int) -> None:
    for line in summary(document(*varied_rows()), width=width).splitlines():
        if "fix:" not in line and "ssh" not in line and "s3://" not in line:
            assert len(line) <= max(width, 30), line


def test_a_command_is_never_wrapped() -> None:
    command = "docker run --rm --gpus all " + "--env A=b " * 30 + "image"
    assert command in summary(document(row("A-01", State.FAILED, message="m", remedy=command)), width=40)


def test_brief_is_verdict_and_causes() -> None:
    text = summary(document(*varied_rows()), brief=True)
    assert "DOCK-01" in text
    assert "Warnings" not in text


@pytest.mark.parametrize(
    ("stream", "environment", "coloured"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colour_only_where_it_is_wanted(stream: io.StringIO, environment: dict, coloured: bool) -> None:
    print_summary(document(row()), stream, environment=environment)
    assert ("\x1b[" in stream.getvalue()) is coloured
    assert "GO" in stream.getvalue()


def test_a_terminal_that_knows_no_unicode_still_gets_the_summary() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    print_summary(document(row("A-01", State.FAILED, message="naïve ✓")), stream, environment={})
    stream.flush()
    assert b"na?ve ?" in raw.getvalue()


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Iterator[Clock]:
    return Clock()


def test_progress_names_what_is_waited_for_and_how_long(clock: Clock) -> None:
    stream = Terminal()
    progress = Progress(stream, total=31, clock=clock)
    progress.started("docker_daemon")
    clock.now += 2.1
    progress.started("host_paths")
    progress.started("ports")
    progress.finished("ports", False)
    clock.now += 1.1
    progress.tick()
    shown = "1/31 answered, 1 without success · waiting for: docker daemon (3.2 s), host paths (1.1 s)"
    assert progress.line() == shown
    assert len(progress.line(20)) == 20
    assert stream.getvalue().endswith("\x1b[K")
    assert "docker daemon (3.2 s)" in stream.getvalue()
    progress.close()
    progress.close()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_without_a_terminal_it_speaks_every_five_seconds_at_most(clock: Clock) -> None:
    stream = io.StringIO()
    progress = Progress(stream, clock=clock)
    progress.started("host_paths")
    for _ in range(110):
        clock.now += 0.1
        progress.tick()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert all("waiting for: host paths" in line for line in lines)
    assert "\x1b" not in stream.getvalue()
    progress.finished("host_paths", True)
    clock.now += 60
    progress.tick()
    assert len(stream.getvalue().splitlines()) == 2


def test_silent_when_not_enabled_or_when_nobody_listens_any_more(clock: Clock) -> None:
    quiet = Terminal()
    Progress(quiet, enabled=False, clock=clock).started("a")
    assert quiet.getvalue() == ""
    gone = Terminal()
    progress = Progress(gone, clock=clock)
    gone.close()
    progress.started("a")
    progress.finished("a", True)
    progress.close()


def test_a_probe_that_ends_unseen_is_counted_once(clock: Clock) -> None:
    progress = Progress(Terminal(), clock=clock)
    progress.finished("a", False)
    progress.finished("a", False)
    assert progress.line() == "1/1 answered, 1 without success"

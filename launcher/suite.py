"""Runs the suite in this process, with nothing of the surroundings that could bend it: no foreign plugins, no
PYTEST_ADDOPTS,
no conftest.py of the current folder, no cache."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gonogo.fixtures import PLUGINS
from gonogo.fixtures.engine import Listener

ROOT = Path(__file__).resolve().parents[1]
CHECKS = ROOT / "checks"


@dataclass(frozen=True)
class SuiteRequest:
    """What to run. `options` are pytest options of the harness (`["--image", "x", "--report", "f.html"]`)."""

    job: Path | None = None
    platform: str | None = None
    options: Sequence[str] = field(default_factory=tuple)
    quiet: bool = False
    machine: bool = False
    conformance: bool = False


@dataclass(frozen=True)
class SuiteOutcome:
    """`document` is the JSON report, None where there was no run; `usage_error` says why, `failure` what broke in the
    harness."""

    document: dict[str, Any] | None
    pytest_status: int
    usage_error: str | None = None
    failure: str | None = None


class _Catcher:
    """A pytest plugin that keeps what the run left: the report, a usage error, an internal error."""

    def __init__(self, listener: Listener | None) -> None:
        self._listener = listener
        self.document: dict[str, Any] | None = None
        self.internal: str | None = None
        self.collection: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        if self._listener is not None:
            config.gonogo_listener = self._listener  # type: ignore[attr-defined]

    def pytest_internalerror(self, excrepr: object) -> None:
        self.internal = str(excrepr)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.collection.append(str(report.longrepr))

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        self.document = getattr(config, "gonogo_document", None)


def run_suite(request: SuiteRequest, listener: Listener | None = None) -> SuiteOutcome:
    """Run the checks (or the conformance points) and return what came of it. Raises KeyboardInterrupt only between
    runs."""
    catcher = _Catcher(listener)
    spoken = io.StringIO()
    with _alone(), contextlib.redirect_stderr(spoken), contextlib.redirect_stdout(io.StringIO()):
        status = int(pytest.main(_arguments(request), plugins=[catcher]))
    usage = None
    if status == pytest.ExitCode.USAGE_ERROR:
        usage = _usage_text(spoken.getvalue())
    failure = catcher.internal or ("\n".join(catcher.collection) or None)
    return SuiteOutcome(catcher.document, status, usage, failure)


def _arguments(request: SuiteRequest) -> list[str]:
    target = CHECKS / "conformance" if request.conformance else CHECKS
    arguments = [
        str(target),
        f"--rootdir={ROOT}",
        "-c",
        str(CHECKS / "suite.ini"),
        "--noconftest",
        "-p",
        "no:cacheprovider",
    ]
    arguments += ["-p", "no:terminal", "-p", "no:faulthandler"]
    for name in PLUGINS:
        arguments += ["-p", name]
    if request.job is not None:
        arguments += ["--job", str(request.job.absolute())]
    if request.platform is not None:
        arguments += [f"--platform={request.platform}"]
    return [*arguments, *request.options]


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Only our plugins: whatever PYTEST_ADDOPTS, PYTEST_PLUGINS or installed packages would add is left out."""
    names = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    before = {name: os.environ.get(name) for name in names}
    for name in names[:2]:
        os.environ.pop(name, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _usage_text(text: str) -> str:
    """pytest's usage error without its 'ERROR: ' and argparse preamble."""
    lines = [line.removeprefix("ERROR: ").removeprefix("gonogo: ") for line in text.strip().splitlines()]
    kept = [line for line in lines if not line.startswith(("usage:", "  inifile:", "  rootdir:"))]
    return "\n".join(kept) or "bad usage"

"""The `gonogo` command: its sub-commands, and how each ending becomes an exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback

import typer

from gonogo.launcher.commands import after, catalogue, check, diagnosing, inspecting, launching, mending
from gonogo.launcher.exits import Exit, Stop
from gonogo.launcher.older_options import translate
from gonogo.launcher.streams import outlive_readers

app = typer.Typer(
    name="gonogo",
    help="Ask the real target whether a GPU training job can run there, and launch it only on GO.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (check, mending, launching, after, diagnosing, inspecting, catalogue):
    module.register(app)


def main() -> None:
    """Run the command and leave with its exit code. See docs/exit-codes.md."""
    signal.signal(signal.SIGTERM, _interrupt)
    outlive_readers()
    code = _run()
    sys.stdout.flush()
    sys.exit(int(code))


def _run() -> int:
    try:
        older = translate(sys.argv[1:])
        for note in older.notes:
            print(f"note: {note}", file=sys.stderr)
        result = app(args=older.words, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except Stop as stop:
        return _told(stop)
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except Exception as error:
        return _usage(error) if hasattr(error, "format_message") else _failed(error)


def _told(stop: Stop) -> int:
    if stop.message:
        print(f"gonogo: {_redacted(stop.message)}", file=sys.stderr)
    if stop.remedy:
        print(f"  fix: {_redacted(stop.remedy)}", file=sys.stderr)
    return stop.code


def _usage(error: Exception) -> int:
    """click's own usage errors: an unknown command, option or value."""
    print(f"gonogo: {error.format_message()}", file=sys.stderr)  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    if context is not None:
        print(f"  see: {context.command_path} --help", file=sys.stderr)
    return Exit.USAGE


def _failed(error: Exception) -> int:
    if os.environ.get("GONOGO_DEBUG") == "1":
        print(_redacted("".join(traceback.format_exception(error))), file=sys.stderr)
    line = f"{type(error).__name__}: {error}".partition("\n")[0]
    print(f"gonogo: the harness itself failed: {_redacted(line)}", file=sys.stderr)
    print("  GONOGO_DEBUG=1 shows where; please report it with that", file=sys.stderr)
    return Exit.HARNESS


def _redacted(text: str) -> str:
    from gonogo.launcher.opening import redacted  # only who has something to say pays for it

    return redacted(text)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt

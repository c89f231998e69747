"""How asking a target can go wrong. A transport fault is never an assertion: each kind has its own class and keeps
the tool's words."""

from __future__ import annotations


class Fault(Exception):
    """A question that got no usable answer.

    `message` is one line for a person, `detail` the tool's own words (its true error line first), `remedy` a
    command or step that mends it, empty where none is known. `conclusive` says that the fault itself proves the
    requirement broken (the daemon refused), rather than leaving it open (the daemon was silent).
    """

    conclusive = False

    def __init__(self, message: str, *, detail: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.remedy = remedy

    def __reduce__(self) -> tuple[object, ...]:  # keyword arguments do not survive the default pickling
        return (_rebuild, (type(self), self.message, self.detail, self.remedy))


def _rebuild(kind: type[Fault], message: str, detail: str, remedy: str) -> Fault:
    return kind(message, detail=detail, remedy=remedy)


class Unreachable(Fault):
    """Nothing is there: no socket, no such host, no route."""

    conclusive = True


class Refused(Fault):
    """Something is there and said no: connection refused, request rejected."""

    conclusive = True


class Denied(Fault):
    """The target knows us and will not let us: no permission, bad credentials."""

    conclusive = True


class NotFound(Fault):
    """The target answered that the thing asked about does not exist."""

    conclusive = True


class TimedOut(Fault):
    """No answer within the bound."""


class ToolMissing(Fault):
    """A program, library or image that the question needs is not there."""


class Garbled(Fault):
    """An answer came that could not be understood, or was cut short."""


class ConnectionLost(Fault):
    """The way to the target stood and broke in the middle. Whatever was being asked shares this one cause."""


class LaunchRefused(Fault):
    """The platform would not take the submission."""


class LaunchLost(Fault):
    """The submission may or may not have been taken: ask the platform before trying again."""

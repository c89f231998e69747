"""What is wrong with a job file, in a form that a person can act on. Rows JOB-01 to JOB-10."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class JobFault:
    """One fault. `line` and `column` count from 1; 0 means that the fault has no place in a file.

    `file` is the job file as it was named, or the option that brought the value (`--set gpus`). `key` is dotted
    (`inputs.0.uri`), empty where the fault concerns the file as a whole. `hint` says what to write instead.
    """

    row: str
    file: str
    line: int
    column: int
    key: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        head = ": ".join(part for part in (place, self.key, self.message) if part)
        return f"{head}; {self.hint} [{self.row}]" if self.hint else f"{head} [{self.row}]"


class JobFileError(Exception):
    """Every fault that was found, in the order of the file. Its text is one line for each."""

    def __init__(self, faults: Iterable[JobFault]) -> None:
        self.faults: list[JobFault] = list(dict.fromkeys(faults))
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[object, ...]:  # the default would hand the text to __init__
        return (JobFileError, (self.faults,))

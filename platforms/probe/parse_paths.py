"""Answers about paths, writing and space."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gonogo.platforms.faults import Fault, Garbled, ToolMissing
from gonogo.platforms.probe.answers import PathAnswer, SpaceAnswer, WriteAnswer
from gonogo.platforms.probe.lines import Reply, error_line
from gonogo.platforms.probe.questions import PathQuestion, Question, SpaceQuestion, WriteQuestion
from gonogo.platforms.probe.render import plain_path

_DF = re.compile(
    r"^(?P<source>.*?)\s+(?P<total>\d+)\s+(?P<used>-?\d+)\s+(?P<free>-?\d+)\s+(?:-|\d+%)\s+(?P<mount>/.*)$"
)


def ancestor(path: str, components: int) -> str:
    """The path without its last components, as the script climbed."""
    at = plain_path(path)
    for _ in range(components):
        at = at.rpartition("/")[0] or "/" if "/" in at else "."
    return at


def path_answer(question: PathQuestion, reply: Reply) -> PathAnswer:
    """A path's line: `KIND RIGHTS CUT PARENT-KIND`."""
    kind, rights, cut, parent_kind = reply.first("path").split(" ")
    exists = kind in ("file", "directory", "other")
    blocked_at = None if exists or kind == "dangling" else ancestor(question.path, int(cut))
    if parent_kind == "hidden":
        kind = "hidden"
    # A trailing slash promises a directory as well.
    wanted = (
        "directory"
        if question.kind == "any" and len(question.path) > 1 and question.path.endswith("/")
        else question.kind
    )
    fits = exists and (wanted == "any" or wanted == kind)
    answer = PathAnswer(
        path=question.path,
        exists=exists,
        kind=kind,
        readable="r" in rights,
        writable="w" in rights,
        executable="x" in rights,
        empty="e" in rights,
        dangling=kind == "dangling",
        fits=fits,
        blocked_at=blocked_at,
    )
    return _with_message(answer, wanted, parent_kind)


def _with_message(answer: PathAnswer, wanted: str, parent_kind: str) -> PathAnswer:
    message = _message(answer, wanted, parent_kind)
    return PathAnswer(**{**vars(answer), "message": message})


def _message(answer: PathAnswer, wanted: str, parent_kind: str) -> str:
    path = answer.path
    if answer.kind == "hidden":
        return f"{path} cannot be looked for: this user may not enter {answer.blocked_at}"
    if answer.dangling:
        return f"{path} is a link whose target does not exist"
    if not answer.exists:
        return _missing(path, answer.blocked_at or "", parent_kind)
    if not answer.fits:
        return f"{path} is a {answer.kind if answer.kind != 'other' else 'device, socket or pipe'}, not a {wanted}"
    if not answer.readable:
        what = "listed" if answer.kind == "directory" else "read"
        return f"{path} exists, but this user may not have it {what}"
    return ""


def _missing(path: str, parent: str, parent_kind: str) -> str:
    if parent_kind == "dangling":
        return f"{path} does not exist: {parent} is a link whose target does not exist"
    if parent_kind in ("file", "other"):
        return f"{path} does not exist: {parent} is no directory"
    return f"{path} does not exist (the nearest parent that does is {parent})"


def write_answer(question: WriteQuestion, reply: Reply) -> WriteAnswer:
    """A write line: `KIND created|refused|no-rm|- CUT PARENT-KIND PARENT-RIGHTS`."""
    kind, result, cut, parent_kind, rights = reply.first("write").split(" ")
    directory = question.directory
    if result == "no-rm":
        raise ToolMissing(f"writing in {directory} was not tried: there is no rm to clean up with")
    if kind != "directory":
        return _no_directory(directory, kind, int(cut), parent_kind, rights)
    created = result == "created"
    deleted = created and reply.first("deleted") == "yes"
    message = ""
    if not created:
        message = f"no file can be created in {directory}: {shell_reason(reply.text('words'))}"
    elif not deleted:
        message = f"a file created in {directory} could not be deleted again: {probe_leftover(reply)}"
    return WriteAnswer(directory, True, created, deleted, message=message)


def probe_leftover(reply: Reply) -> str:
    return (
        "the directory allows creating but not deleting"
        if reply.first("deleted") == "no"
        else "nothing says that it is gone"
    )


def _no_directory(directory: str, kind: str, cut: int, parent_kind: str, rights: str) -> WriteAnswer:
    if kind == "missing":
        parent = ancestor(directory, cut)
        writable = parent_kind == "directory" and "w" in rights and "x" in rights
        if parent_kind == "hidden":
            message = f"{directory} cannot be looked for: this user may not enter {parent}"
        else:
            message = _missing(directory, parent, parent_kind)
        return WriteAnswer(directory, False, False, False, parent, writable, message)
    message = (
        f"{directory} is a link whose target does not exist"
        if kind == "dangling"
        else f"{directory} is a {kind}, not a directory"
    )
    return WriteAnswer(directory, kind != "dangling", False, False, message=message)


def shell_reason(words: str) -> str:
    """The reason in a shell's message such as `sh: 3: cannot create /x/y: Permission denied`."""
    line = error_line(words)
    return line.rpartition(": ")[2] or "the shell gives no reason"


def space_answers(
    questions: Sequence[Question], found: dict[str, Reply], together: Reply
) -> dict[int, SpaceAnswer | Fault]:
    """One df line and one stat line for each space question, in order."""
    asked = [(index, one) for index, one in enumerate(questions) if isinstance(one, SpaceQuestion)]
    rows = [match for match in map(_DF.match, together.all("df")) if match]
    inodes = [
        words for words in (line.split() for line in together.all("stat")) if len(words) >= 3 and words[0].isdigit()
    ]
    answers: dict[int, SpaceAnswer | Fault] = {}
    for order, (index, question) in enumerate(asked):
        if len(rows) != len(asked):
            answers[index] = _no_df(question.directory, together)
            continue
        cut = int(found[str(index)].first("space"))
        row = rows[order]
        stat = inodes[order] if len(inodes) == len(asked) else None
        answers[index] = SpaceAnswer(
            free_bytes=max(0, int(row["free"])) * 1024,
            total_bytes=int(row["total"]) * 1024,
            # btrfs and some network filesystems count no inodes: total 0
            free_inodes=int(stat[0]) if stat and stat[1].isdigit() and int(stat[1]) > 0 else None,
            mount=row["mount"],
            measured_at=ancestor(question.directory, cut),
            filesystem=stat[2] if stat else "",
        )
    return answers


def _no_df(directory: str, together: Reply) -> Fault:
    text = together.text("df")
    if "not found" in text:
        return ToolMissing(f"free space under {directory} cannot be asked: df is not there", detail=text)
    return Garbled(f"df gave no usable answer for {directory}: {error_line(text)}", detail=text)

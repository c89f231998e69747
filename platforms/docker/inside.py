"""The host's paths inside a probe container, there and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from gonogo.platforms.docker.binds import Bind
from gonogo.platforms.faults import Fault
from gonogo.platforms.probe.answers import Answer, Answers, OwnedAnswer
from gonogo.platforms.probe.questions import (
    ChownQuestion,
    HomeQuestion,
    OwnedQuestion,
    PathQuestion,
    Question,
    SpaceQuestion,
    WriteQuestion,
)
from gonogo.platforms.probe.render import plain_path

_WRITING = (WriteQuestion, ChownQuestion, HomeQuestion)
#: One folder below it for each path, so that none hides another or the image's own files.
_INSIDE = "/.gonogo"


def inside(questions: Sequence[Question]) -> tuple[list[Question], list[Bind]]:
    """The questions with the container's paths, and the binds behind them: one for each path of the host."""
    writable = {plain_path(one.directory) for one in questions if isinstance(one, _WRITING) and _path_field(one)}
    places: dict[str, str] = {}
    mapped: list[Question] = []
    for one in questions:
        field = _path_field(one)
        if field is None:
            mapped.append(one)
            continue
        source = plain_path(getattr(one, field))
        place = places.setdefault(source, f"{_INSIDE}/{len(places)}")
        mapped.append(_with(one, field, place + (source if source != "/" else "")))
    binds = [
        Bind(source, place + (source if source != "/" else ""), source not in writable)
        for source, place in places.items()
    ]
    return mapped, binds


def _with(question: Question, field: str, path: str) -> Question:
    changes: dict[str, Any] = {field: path}
    return dataclasses.replace(question, **changes)


def _path_field(question: Question) -> str | None:
    if isinstance(question, PathQuestion):
        return "path"
    if isinstance(question, HomeQuestion) and not question.mounted:
        return None  # the container's own
    return "directory" if isinstance(question, (*_WRITING, SpaceQuestion, OwnedQuestion)) else None


def outside(answers: Answers, asked: Sequence[Question], mapped: Sequence[Question]) -> Answers:
    """The answers with the host's paths again, in messages too."""
    by_key: dict[str, Answer | Fault] = dict(answers.by_key)
    for before, after in zip(asked, mapped, strict=True):
        field = _path_field(before)
        if field is None or before.key not in by_key:
            continue
        inside, outside = str(getattr(after, field)), plain_path(getattr(before, field))
        prefix = inside.removesuffix(outside) if outside != "/" else inside
        by_key[before.key] = _renamed(by_key[before.key], prefix)
    return Answers(by_key, answers.target)


def _renamed(answer: Answer | Fault, prefix: str) -> Answer | Fault:
    if isinstance(answer, Fault):
        return type(answer)(answer.message.replace(prefix, ""), detail=answer.detail, remedy=answer.remedy)
    values = {field.name: getattr(answer, field.name) for field in dataclasses.fields(answer)}
    texts: dict[str, Any] = {
        name: value.replace(prefix, "") or "/"
        for name, value in values.items()
        if isinstance(value, str) and prefix in value
    }
    if isinstance(answer, OwnedAnswer):
        texts["paths"] = tuple(path.removeprefix(prefix) for path in answer.paths)
    return dataclasses.replace(answer, **texts)

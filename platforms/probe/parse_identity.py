"""Answers about the asking user's home, and about who owns what."""

from __future__ import annotations

from collections.abc import Sequence

from gonogo.platforms.faults import Fault, Garbled, TimedOut, ToolMissing
from gonogo.platforms.probe.answers import ChownAnswer, HomeAnswer, OwnedAnswer
from gonogo.platforms.probe.lines import Reply
from gonogo.platforms.probe.parse_paths import shell_reason
from gonogo.platforms.probe.questions import ChownQuestion, HomeQuestion, OwnedQuestion, Question
from gonogo.platforms.probe.render import OWNED_MOST, OWNED_SECONDS, plain_path


def home_answer(question: HomeQuestion, reply: Reply) -> HomeAnswer:
    """`home made|refused|no-tools`, `cache written|refused`, then python's own lines where there is one."""
    directory = question.directory
    result, _, words = reply.first("home").partition(" ")
    if result == "no-tools":
        raise ToolMissing("a home was not tried: there is no mkdir or rm in the image")
    if result != "made":
        return HomeAnswer(directory, False, False, False, message=f"no home can be made: {shell_reason(words)}")
    cached, _, words = reply.first("cache").partition(" ")
    deleted = reply.first("deleted") == "yes"
    interpreter = reply.first("interpreter")
    user, trouble = _from_python(question, reply) if interpreter else ("", "")
    if cached != "written":
        trouble = f"no cache file can be written in the home: {shell_reason(words)}"
    elif question.mounted and not deleted:
        trouble = f"what was written in the home could not be removed from {directory}"
    return HomeAnswer(directory, True, cached == "written", deleted, user, interpreter, trouble)


def _from_python(question: HomeQuestion, reply: Reply) -> tuple[str, str]:
    """The user's name, and what is wrong with it."""
    told = dict(line.split("\t")[1:3] for line in reply.all("python") if line.startswith("@h\t"))
    user = told.get("user", "")
    if reply.first("python-status") != "0" or not user:
        lines = reply.text("python").splitlines()
        return "", f"getpass.getuser() fails: {lines[-1] if lines else 'no words'}"
    return user, "" if user == question.user else f"getpass.getuser() says {user}, not {question.user}"


def owned_answers(questions: Sequence[Question], reply: Reply) -> dict[int, OwnedAnswer | Fault]:
    """What belongs to root in each directory, from the one list. A child whose name has a line break is shown up to
    it."""
    asked = [(index, one) for index, one in enumerate(questions) if isinstance(one, OwnedQuestion)]
    if not asked:
        return {}
    paths = reply.all("path")
    answers: dict[int, OwnedAnswer | Fault] = {}
    for index, question in asked:
        found = _listed(question.directory, paths)
        cut = len(paths) >= OWNED_MOST
        trouble = _no_list(question, reply) or (_cut(question) if cut and not found else None)
        answers[index] = trouble or OwnedAnswer(question.directory, found, cut)
    return answers


def _listed(directory: str, lines: Sequence[str]) -> tuple[str, ...]:
    """Entries begin with the directory at the beginning of a line; its own name may have line breaks in it."""
    start = "\n" + plain_path(directory).rstrip("/") + "/"
    parts = ("\n" + "\n".join(lines)).split(start)[1:]
    return tuple(dict.fromkeys(start[1:] + part.partition("\n")[0] for part in parts))


def _no_list(question: OwnedQuestion, reply: Reply) -> Fault | None:
    if reply.first("status") == "answered":
        return None
    if reply.first("status") == "absent":
        return ToolMissing(
            f"who owns what in {question.directory} cannot be asked: find or head is not in the image",
            remedy="name an image that has them: --smoke-image REF",
        )
    if "silent" in reply:
        return TimedOut(
            f"the search for root-owned files in {question.directory} did not end within {OWNED_SECONDS} s",
            remedy="Write to a folder of the job's own, which holds fewer entries",
        )
    return Garbled(f"the search for root-owned files in {question.directory} has no answer")


def _cut(question: OwnedQuestion) -> Fault:
    return Garbled(
        f"the other folders hold so many root-owned files that {question.directory} was not come to",
        remedy="Mend the other folders first",
    )


def chown_answer(question: ChownQuestion, reply: Reply) -> ChownAnswer:
    """`chown changed OWNER`, or `refused`, `denied`, `no-rm`, `no-tools` with words."""
    result, _, words = reply.first("chown").partition(" ")
    directory, wanted = question.directory, f"{question.uid}:{question.gid}"
    if result in ("no-tools", "no-rm"):
        raise ToolMissing(f"changing an owner in {directory} was not tried: chown, stat or rm is not in the image")
    if result == "changed" and words == wanted:
        return ChownAnswer(directory, True, words)
    if result == "changed":
        return ChownAnswer(directory, False, words, f"a file in {directory} given to {wanted} belongs to {words}")
    what = "be made" if result == "refused" else f"be given to {wanted}"
    return ChownAnswer(directory, False, message=f"a file in {directory} cannot {what}: {shell_reason(words)}")

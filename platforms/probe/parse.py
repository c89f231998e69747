"""Answer lines become typed answers, in this one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gonogo.platforms.faults import Fault, Garbled, TimedOut, ToolMissing
from gonogo.platforms.probe.answers import (
    Answer,
    Answers,
    ModulesAnswer,
    PortAnswer,
    ProgramAnswer,
    TorchAnswer,
)
from gonogo.platforms.probe.lines import Reply, error_line, replies, require_end
from gonogo.platforms.probe.parse_gpu import gpu_answer
from gonogo.platforms.probe.parse_identity import chown_answer, home_answer, owned_answers
from gonogo.platforms.probe.parse_node import node_answer
from gonogo.platforms.probe.parse_paths import path_answer, space_answers, write_answer
from gonogo.platforms.probe.questions import (
    ChownQuestion,
    GpuQuestion,
    HomeQuestion,
    ModulesQuestion,
    NodeQuestion,
    OwnedQuestion,
    PathQuestion,
    PortQuestion,
    ProgramQuestion,
    Question,
    SpaceQuestion,
    TorchQuestion,
    WriteQuestion,
)


def parse(output: bytes, nonce: str, questions: Sequence[Question], target: str = "") -> Answers:
    """The answers to those questions, which must be the ones that `render` was given, in that order.

    A question whose tool was missing, silent or not understood holds its Fault, raised when it is read. Raises Garbled
    where the script did not come to its end, naming how far it got.
    """
    found = replies(output, nonce)
    require_end(found, len(questions), target, output)
    together = found.get("all", Reply())
    spaces = space_answers(questions, found, together)
    owned = owned_answers(questions, found.get("owned", Reply()))
    ports = {line.split("\t")[0]: line for line in together.all("ports")}
    answers: dict[str, Answer | Fault] = {}
    for index, question in enumerate(questions):
        reply = found.get(str(index), Reply())
        try:
            if isinstance(question, SpaceQuestion):
                answers[question.key] = spaces[index]
            elif isinstance(question, OwnedQuestion):
                answers[question.key] = owned[index]
            elif isinstance(question, PortQuestion):
                answers[question.key] = _port(question, reply, ports.get(str(index), ""))
            else:
                answers[question.key] = _ALONE[type(question)](question, reply)
        except Fault as fault:
            answers[question.key] = fault
        except (ValueError, IndexError, KeyError) as error:
            answers[question.key] = Garbled(f"the answer to {question} could not be understood: {error}")
    return Answers(answers, target)


def how_far(output: bytes, nonce: str, questions: Sequence[Question]) -> str:
    """For a script that hung: the first question without an answer, in the order of asking; '' if there is none."""
    found = replies(output, nonce)
    for index, question in enumerate(questions):
        if str(index) not in found and not isinstance(question, _IN_BACKGROUND):
            return _named(question)
    return ""


#: Waited for last, whatever their place in the sequence.
_IN_BACKGROUND = (GpuQuestion, ModulesQuestion, TorchQuestion, OwnedQuestion)


def _named(question: Question) -> str:
    subject = next(
        (getattr(question, name) for name in ("path", "directory", "port", "name") if hasattr(question, name)), ""
    )
    return f"{type(question).__name__.removesuffix('Question').lower()} {subject}".strip()


def _port(question: PortQuestion, reply: Reply, line: str) -> PortAnswer:
    """By binding (one line from python), or from the kernel's listeners (state only)."""
    if line:
        _, state, pid, name, proposal = line.split("\t")
        return PortAnswer(
            port=question.port,
            free=state == "free",
            holder=f"{name} (pid {pid})" if pid else "",
            proposal=int(proposal) if proposal else None,
            how="by listening on it",
            message={
                "busy": f"port {question.port} is in use",
                "denied": f"port {question.port} may not be listened on by this user",
            }.get(state, ""),
        )
    state = reply.first("port", "unknown")
    if state == "unknown":
        raise ToolMissing(f"port {question.port} cannot be asked about: neither python3 nor /proc/net/tcp is there")
    message = f"port {question.port} is in use" if state == "busy" else ""
    return PortAnswer(port=question.port, free=state == "free", how="from the kernel's listeners", message=message)


def _program(question: ProgramQuestion, reply: Reply) -> ProgramAnswer:
    if "program" in reply:
        return ProgramAnswer(question.name, reply.text("program"))
    kind = reply.first("no-program")
    if "/" not in question.name:
        return ProgramAnswer(question.name, None, f"{question.name} is not on PATH")
    words = {
        "missing": "does not exist",
        "directory": "is a directory",
        "file": "may not be executed",
        "dangling": "is a link to nothing",
        "other": "is no program",
    }
    return ProgramAnswer(question.name, None, f"{question.name} {words[kind]}")


def _from_python(interpreter: str, seconds: int, reply: Reply, mark: str) -> list[list[str]]:
    """The tab-separated lines with that mark. Raises a Fault where the interpreter is absent, silent or failed."""
    status = reply.first("python-status")
    if status == "absent":
        raise ToolMissing(
            f"the interpreter {interpreter} is not there", remedy=f"install {interpreter} or activate its environment"
        )
    if "silent" in reply or status in ("137", "124"):
        raise TimedOut(f"{interpreter} gave no answer within {seconds} s")
    lines = [line.split("\t")[1:] for line in reply.all("python") if line.startswith(mark + "\t")]
    if status != "0" or not lines:
        text = reply.text("python")
        last = text.strip().splitlines()[-1] if text.strip() else ""
        raise Garbled(
            f"{interpreter} failed with exit code {status or 'unknown'}: {last or error_line(text)}", detail=text
        )
    return lines


def _modules(question: ModulesQuestion, reply: Reply) -> ModulesAnswer:
    lines = _from_python(question.python, question.seconds, reply, "@m")
    found = {words[1]: words[2] if words[0] == "found" else "" for words in lines if words[0] != "interpreter"}
    unanswered = [name for name in question.modules if name not in found]
    if unanswered:
        raise Garbled(f"{question.python} says nothing of {', '.join(unanswered)}", detail=reply.text("python"))
    interpreter = next(words for words in lines if words[0] == "interpreter")
    errors = {words[1]: words[2] for words in lines if words[0] == "error"}
    return ModulesAnswer(interpreter[1], interpreter[2], found, errors)


def _torch(question: TorchQuestion, reply: Reply) -> TorchAnswer:
    told = dict(words[:2] for words in _from_python(question.python, question.seconds, reply, "@t"))
    available = told.get("available") == "yes"
    trouble = told.get("trouble", "") or ("" if available else "torch.cuda is not available")
    return TorchAnswer(
        trouble=trouble,
        torch_version=told.get("torch", ""),
        cuda_version=told.get("cuda", ""),
        available=available,
        device_count=int(told.get("count", "0")),
        architectures=tuple(told.get("architectures", "").split()),
        capabilities=tuple(told.get("capabilities", "").split()),
        interpreter=told.get("interpreter", ""),
        ran=tuple(int(one) for one in told.get("ran", "").split()),
        kernel_trouble=told.get("kernel-trouble", ""),
        bandwidth=float(told["bandwidth"]) if "bandwidth" in told else None,
        reduce_trouble=told.get("reduce-trouble", ""),
    )


_ALONE: dict[type, Callable[[Any, Reply], Answer]] = {
    PathQuestion: path_answer,
    WriteQuestion: write_answer,
    ProgramQuestion: _program,
    NodeQuestion: node_answer,
    GpuQuestion: gpu_answer,
    ModulesQuestion: _modules,
    TorchQuestion: _torch,
    HomeQuestion: home_answer,
    ChownQuestion: chown_answer,
}

"""PORT: rendezvous and published ports."""

from __future__ import annotations

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import requirement
from gonogo.platforms.probe.answers import PortAnswer


def _judge(answer: PortAnswer, port: str, key: str, free_port: int | None, evidence: Notes) -> None:
    holder = f" held by {answer.holder}" if answer.holder else ""
    evidence(found="free" if answer.free else f"busy{holder}", expected="free")
    proposal = f", or set `{key}` to {free_port}, which is free" if free_port else ""
    evidence.remedy(f"Stop what holds port {port}{' (' + answer.holder + ')' if answer.holder else ''}{proposal}")
    assert answer.free, f"port {port} is in use{holder}"


@requirement("PORT-01")
def test_rendezvous_port_is_free(
    param: str, port_answers: dict[str, PortAnswer], free_port: int | None, evidence: Notes
) -> None:
    """The port on which the processes will meet can be bound on this node."""
    _judge(port_answers[param], param, "ports.master", free_port, evidence)


@requirement("PORT-04")
def test_published_port_is_free(
    param: str, port_answers: dict[str, PortAnswer], free_port: int | None, evidence: Notes
) -> None:
    """The host port that the job publishes is free on the docker host."""
    _judge(port_answers[param], param.partition("/")[0], "ports.publish", free_port, evidence)

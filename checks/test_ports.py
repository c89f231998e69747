"""PORT: rendezvous and published ports."""

from __future__ import annotations

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import requirement
from gonogo.platforms.faults import ToolMissing
from gonogo.platforms.probe.answers import PortAnswer


def _judge(answer: PortAnswer, key: str, evidence: Notes) -> None:
    holder = f" by {answer.holder}" if answer.holder else ""
    proposal = f", or set `{key}` to {answer.proposal}, which is free" if answer.proposal else ""
    evidence(found="free" if answer.free else f"held{holder}", expected="free", how=answer.how)
    evidence.remedy(f"Stop what holds the port{proposal}")
    assert answer.free, f"port {answer.port} is held{holder or ' by another process'}"


@requirement("PORT-01")
def test_rendezvous_port_is_free(param: str, port_answers: dict[str, PortAnswer], evidence: Notes) -> None:
    """The port on which the processes will meet can be bound on this node."""
    _judge(port_answers[param], "ports.master", evidence)


@requirement("PORT-04")
def test_published_port_is_free(param: str, port_answers: dict[str, PortAnswer], evidence: Notes) -> None:
    """The host port that the job publishes is free on the docker host."""
    if param not in port_answers:
        raise ToolMissing(
            f"whether port {param} is free is not known: there is no question for UDP yet",
            remedy=f"Look on the docker host with `ss -uln`, and attest the row for param {param}",
        )
    _judge(port_answers[param], "ports.publish", evidence)

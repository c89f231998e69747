"""Removing what killed runs left on a daemon, and nothing of a run beside ours."""

from __future__ import annotations

from collections.abc import Mapping

from gonogo.platforms.docker.connection import Connection
from gonogo.platforms.docker.facts import container_fact
from gonogo.platforms.docker.labels import PROBE, RUN, abandoned
from gonogo.platforms.faults import NotFound, Refused


def sweep_probes(connection: Connection, run_id: str | None = None) -> list[str]:
    """Remove this run's probe containers (`run_id`) or, without it, those whose maker is dead or whose time is over.

    Returns the names removed. A container that is being removed by another run at the same time is no fault.
    """
    wanted = [f"{PROBE}=1"] + ([f"{RUN}={run_id}"] if run_id is not None else [])
    with connection.asking("when asked for leftover probe containers") as client:
        found = client.containers(all=True, filters={"label": wanted})
    removed = []
    for listed in found:
        labels: Mapping[str, str] = listed.get("Labels") or {}
        if run_id is None and not abandoned(labels):
            continue
        fact = container_fact(listed)
        try:
            with connection.asking(f"while removing {fact.name}") as client:
                client.remove_container(fact.id, force=True, v=True)
        except (NotFound, Refused):
            continue
        removed.append(fact.name)
    return removed

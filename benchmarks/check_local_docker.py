"""How long a preflight on local-docker takes beside what it cannot go below: benchmarks/check_local_docker.py [RUNS].

Times by turns, on a Docker daemon of its own (root, Debian's docker.io): an empty pytest run, the suite by pytest, and
`gonogo check`. Beside them stand the sum of the suite's probes and the longest chain of them, from the reports. Aim: a
check <= an empty run + 1.3 x the longest chain. Then a check with 10 and with 1,000 inputs. Wall clock, medians.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from remote_docker import seconds  # noqa: E402
from services.dockerd import Dockerd, missing_for_dockerd  # noqa: E402
from suite_runs import job_text  # noqa: E402

AIM = 1.3


class Bench:
    """The things that are timed, in a folder, on a daemon."""

    def __init__(self, daemon: Dockerd, folder: Path) -> None:
        self.folder = folder
        self._image = daemon.busybox
        self._variables = {"DOCKER_HOST": daemon.url}
        self._report = folder / "report.json"
        (folder / "test_nothing.py").write_text("def test_nothing():\n    pass\n")

    def job(self, inputs: int) -> str:
        """A job file with that many inputs, each a file of its own: its name."""
        paths = [self.folder / f"input-{number}" for number in range(inputs)]
        for path in paths:
            path.write_text("x")
        entries = [{"name": path.name, "uri": str(path)} for path in paths]
        name = f"job-{inputs}.yaml"
        (self.folder / name).write_text(job_text(image=self._image, run_as="65534:65534", inputs=entries))
        return name

    def empty(self) -> float:
        return self._pytest(f"--rootdir={self.folder}", "test_nothing.py")

    def suite(self, job: str) -> float:
        options = ["--platform=local-docker", f"--job={job}", f"--report={self._report}"]
        return self._pytest(str(ROOT / "checks"), *options)

    def command(self, job: str) -> float:
        options = ["--platform=local-docker", f"--report={self._report}", "--quiet"]
        return self._python("-m", "gonogo", "check", job, *options)

    def probes(self) -> tuple[float, float]:
        """Of the last run: the sum of the probes' own seconds, and the longest chain of them along their needs."""
        probes = {one["name"]: one for one in json.loads(self._report.read_text())["probes"]}
        chains: dict[str, float] = {}

        def chain(name: str) -> float:
            if name not in chains:
                needs = [chain(need) for need in probes[name]["needs"] if need in probes]
                chains[name] = float(probes[name]["seconds"]) + max(needs, default=0.0)
            return chains[name]

        return sum(float(one["seconds"]) for one in probes.values()), max(chain(name) for name in probes)

    def _pytest(self, *arguments: str) -> float:
        return self._python("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)

    def _python(self, *arguments: str) -> float:
        return seconds([sys.executable, *arguments], self.folder, self._variables)


def medians(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def turn(bench: Bench, job: str) -> dict[str, float]:
    """Each thing once: a slow moment of the machine hits all of them."""
    times = {"an empty pytest run": bench.empty(), "the suite under pytest": bench.suite(job)}
    times["sum of its probes"], times["longest chain of them"] = bench.probes()
    return {**times, "gonogo check": bench.command(job)}


def compare(found: dict[str, float]) -> None:
    empty, chain = found["an empty pytest run"], found["longest chain of them"]
    aim = empty + AIM * chain
    for name, took in found.items():
        print(f"  {name:<24}{took:7.2f}   {took / empty:5.2f} x an empty run")
    print(f"  {'aim':<24}{aim:7.2f}   (an empty run + {AIM:g} x the longest chain)")
    for name in ("the suite under pytest", "gonogo check"):
        print(f"  {name:<24}{found[name] / aim:7.2f} x the aim: {'met' if found[name] <= aim else 'missed'}")


def main(runs: int) -> None:
    missing = missing_for_dockerd()
    if missing:
        print(f"left out: {missing}")
        return
    daemon = Dockerd()
    try:
        daemon.start()
        daemon.load_images()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)  # the job's user reads the inputs
            bench = Bench(daemon, folder)
            small, large = bench.job(10), bench.job(1000)
            turn(bench, small)  # the first one fills caches
            print(f"{runs} runs each, {os.cpu_count()} cores, medians in seconds; ten inputs")
            compare(medians([turn(bench, small) for _ in range(runs)]))
            sizes = medians([{"10": bench.command(small), "1,000": bench.command(large)} for _ in range(runs)])
            print(f"gonogo check by its inputs: 10 {sizes['10']:.2f}, 1,000 {sizes['1,000']:.2f}", end="")
            print(f" ({sizes['1,000'] / sizes['10']:.1f} x for 100 x the inputs)")
    finally:
        daemon.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)

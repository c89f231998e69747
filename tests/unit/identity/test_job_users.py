"""As whom a job runs, and what is known against a daemon: pure decisions."""

from __future__ import annotations

import dataclasses

import pytest

from gonogo.jobs.model import Job
from gonogo.platforms.docker.binds import job_binds
from gonogo.platforms.docker.daemon_traits import confinement, troubles
from gonogo.platforms.docker.environment import home_for, identity_variables
from gonogo.platforms.docker.facts import DaemonInfo
from gonogo.platforms.docker.identity import (
    JobUser,
    account_user,
    demand_no_accidental_root,
    host_account,
    named_user,
)
from gonogo.platforms.docker.ownership import Debt, debt_of, give_command, isolation_faults
from gonogo.platforms.faults import Garbled, Refused
from gonogo.platforms.shell import Completed, LocalShell

ACCOUNT = JobUser(1001, 1002, (27, 44), "ml", "the account on gpu-host")


def job(**fields: object) -> Job:
    return Job.model_validate({"name": "tiny", "command": "true", **fields})


@pytest.mark.parametrize(
    ("run_as", "container_user", "text"),
    [
        ("1001", None, "1001:1001"),
        ("1001:7", None, "1001:7"),
        ("1001:0", None, "1001:0"),
        ("root", None, "0:0"),
        ("submitter", "5:6", "5:6"),
        ("root", "5", "5:5"),
    ],
)
def test_user_that_is_named(run_as: str, container_user: str | None, text: str) -> None:
    user = named_user(job(run_as=run_as), container_user)
    assert user is not None
    assert user.text == text
    assert user.origin


def test_submitter_is_not_named() -> None:
    assert named_user(job(), None) is None
    assert named_user(job(), "") is None


@pytest.mark.parametrize("value", ["ml", "ml:users", "0", "0:5", "1001:", "-1", "99999999999", "4294967295", "1001 7"])
def test_older_variable_must_be_numbers_and_not_root(value: str) -> None:
    with pytest.raises(Refused, match="TAO_DOCKER_CONTAINER_USER") as raised:
        named_user(job(), value)
    assert raised.value.remedy


def test_nobody_becomes_root_by_accident() -> None:
    root = JobUser(0, 0, origin="the account on gpu-host")
    with pytest.raises(Refused, match=r"root \(the account on gpu-host\)") as raised:
        demand_no_accidental_root(job(), root)
    assert 'run_as: "UID:GID"' in raised.value.remedy
    with pytest.raises(Refused):
        demand_no_accidental_root(job(run_as="0:7"), JobUser(0, 7, origin="run_as in the job file"))
    assert demand_no_accidental_root(job(run_as="root"), root) is root
    assert demand_no_accidental_root(job(), ACCOUNT) is ACCOUNT


def test_account_is_the_shells_own() -> None:
    here = host_account(LocalShell("gpu-host"))
    assert here.origin == "the account on gpu-host"
    assert here.gid not in here.groups
    assert account_user(1001, 1002, (1002, 44, 27), "1001", "x") == JobUser(
        1001, 1002, (27, 44), "", "the account on x"
    )


class Speaking:
    """A shell that says what it was made with."""

    def __init__(self, out: bytes, err: bytes = b"") -> None:
        self.runs, self.target, self.completed = 0, "gpu-host", Completed(out, err, 1)

    def run(self, program: bytes, **_: object) -> Completed:
        return self.completed


@pytest.mark.parametrize("out", [b"", b"uid=0(root)\n", b"1001\n", b"1001\n1001\n\n\xff\n"])
def test_account_that_is_no_number_is_no_answer(out: bytes) -> None:
    if out.endswith(b"\xff\n"):  # no supplementary groups, and a name that is no text
        assert host_account(Speaking(out)).uid == 1001  # type: ignore[arg-type]
        return
    with pytest.raises(Garbled, match="gives no numeric user") as raised:
        host_account(Speaking(out, b"sh: id: not found"))  # type: ignore[arg-type]
    assert raised.value.detail == "sh: id: not found"
    assert "run_as" in raised.value.remedy


def test_home_lies_on_an_output_before_a_mount_and_never_on_an_input() -> None:
    asked = job(
        inputs=[{"name": "set", "uri": "/data/set", "mount": "/set", "read_only": False}],
        mounts=["/cache:/cache", "/ro:/ro:ro"],
        outputs=[{"name": "results", "uri": "/data/results", "mount": "/results"}],
    )
    home = home_for(ACCOUNT, job_binds(asked), "run-1")
    assert (home.path, home.bind and home.bind.source) == ("/results/.gonogo/run-1/home", "/data/results")
    alone = home_for(ACCOUNT, job_binds(job(inputs=[{"name": "set", "uri": "/set", "read_only": False}])), "run-1")
    assert (alone.path, alone.bind) == ("/tmp/gonogo-home-1001", None)


def test_variables_lie_in_the_home() -> None:
    variables = identity_variables(ACCOUNT, "/results/home")
    assert (variables["USER"], variables["LOGNAME"], variables["HOME"]) == ("ml", "ml", "/results/home")
    assert all(
        value.startswith("/results/home/")
        for name, value in variables.items()
        if name not in ("USER", "LOGNAME", "HOME")
    )
    assert {
        "XDG_CACHE_HOME",
        "HF_HOME",
        "TORCH_HOME",
        "TRITON_CACHE_DIR",
        "TORCHINDUCTOR_CACHE_DIR",
        "MPLCONFIGDIR",
    } < set(variables)
    assert identity_variables(JobUser(4321, 1), "/h")["USER"] == "user4321"


def test_only_a_job_as_root_owes_anything() -> None:
    asked = job(
        run_as="root",
        image="x:1",
        outputs=[{"name": "r", "uri": "/data/r"}],
        mounts=["/cache:/cache", "/ro:/ro:ro"],
        inputs=[{"name": "s", "uri": "/data/s", "read_only": False}, {"name": "t", "uri": "/data/t"}],
    )
    root = JobUser(0, 0)
    debt = debt_of(asked, root, ACCOUNT)
    assert debt == Debt(("/data/r", "/cache", "/data/s"), "1001:1002", "x:1")
    assert Debt.from_json(debt.to_json()) == debt
    assert debt_of(asked, ACCOUNT, ACCOUNT) is None
    assert debt_of(asked, root, root) is None
    assert debt_of(job(run_as="root"), root, ACCOUNT) is None


@pytest.mark.parametrize("data", [{}, {"folders": "/x", "owner": "1:1"}, {"folders": ["/x"], "owner": "root; rm"}])
def test_debt_that_cannot_be_understood_is_not_paid_by_guess(data: dict[str, object]) -> None:
    with pytest.raises(Garbled):
        Debt.from_json(data)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("/data/results", ""),
        ("/results", ""),
        ("/home/user/results", ""),
        ("/", "host's own"),
        ("/home", "host's own"),
        ("/tmp/", "host's own"),
        ("/data/../etc/x", "host's own"),
        ("/usr/lib/python3", "host's own"),
        ("/data", "/data/set lies in /data"),
    ],
)
def test_folders_that_root_may_write(source: str, fault: str) -> None:
    asked = job(
        run_as="root",
        inputs=[{"name": "set", "uri": "/data/set"}],
        outputs=[{"name": "r", "uri": source, "mount": "/results"}],
    )
    found = "; ".join(isolation_faults(asked))
    assert (fault in found) if fault else not found
    assert give_command(source, "1:1").startswith("sudo find") == ("host's own" not in fault)


INFO = DaemonInfo(
    id="x",
    version="28.0.1",
    api_version="1.48",
    os="linux",
    arch="amd64",
    kernel="6.8",
    hostname="h",
    runtimes=("runc",),
    default_runtime="runc",
    security=("seccomp",),
    cgroup="2",
    storage_driver="overlay2",
    logging_driver="json-file",
    root_dir="/var/lib/docker",
    live_restore=False,
    cdi_dirs=(),
    cdi_devices=(),
    cpus=8,
    memory=1 << 34,
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"storage_driver": "vfs"}, "vfs copies"),
        ({"storage_driver": "devicemapper"}, "devicemapper was taken out"),
        ({"api_version": "1.40"}, "older than 1.41"),
        ({"api_version": ""}, "older than 1.41"),
        ({"logging_driver": "none"}, "no log of a job can be read"),
        ({"logging_driver": "syslog", "api_version": "1.40"}, "no log of a job can be read"),
        ({"logging_driver": "syslog"}, "only what the daemon still keeps"),
        ({"security": ("rootless",)}, "the daemon is rootless"),
        ({"security": ("userns",)}, "remaps users"),
        ({"root_dir": "/var/snap/docker/common/var-lib-docker"}, "confined by snap"),
    ],
)
def test_what_is_known_against_a_daemon(changes: dict[str, object], words: str) -> None:
    assert words in "; ".join(troubles(dataclasses.replace(INFO, **changes)))  # type: ignore[arg-type]


def test_nothing_is_known_against_a_usual_daemon() -> None:
    assert troubles(INFO) == confinement(INFO) == []

"""The container's environment: what the job says and who it runs as, none of the control plane's (DOCK-07, ID-03)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gonogo.platforms.docker.binds import Bind, writable_bind
from gonogo.platforms.docker.identity import JobUser

#: What the machinery that launches uses itself: daemon and backend of the launcher, and its database. A token that the
#: job names is the job's own. Source: the variables that the TAO SDK 7 and the docker command line read.
CONTROL_PLANE = frozenset(
    "DOCKER_HOST DOCKER_NETWORK DOCKER_CONTEXT DOCKER_CONFIG DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_AUTH_CONFIG"
    " DOCKER_PULL_POLICY DOCKER_AUTO_REMOVE BACKEND HOST_PLATFORM MONGOSECRET".split()
)
_CACHES = {
    "XDG_CACHE_HOME": ".cache",
    "HF_HOME": ".cache/huggingface",
    "TORCH_HOME": ".cache/torch",
    "TRITON_CACHE_DIR": ".cache/triton",
    "TORCHINDUCTOR_CACHE_DIR": ".cache/torchinductor",
    "MPLCONFIGDIR": ".config/matplotlib",
}


def control_plane_names(names: Iterable[str]) -> list[str]:
    """Those of the names that belong to the control plane, sorted, each once."""
    return sorted({name for name in names if name.upper() in CONTROL_PLANE or name.upper().startswith("GONOGO_")})


@dataclass(frozen=True)
class Home:
    """The job's home in the container, and the folder that is mounted over it from the host, None for one that is the
    container's own and goes with it."""

    path: str
    bind: Bind | None = None


def home_for(user: JobUser, binds: Sequence[Bind], launch_id: str) -> Home:
    """A home of this launch's own on the first writable mount; without any, one below /tmp."""
    bind = writable_bind(binds)
    if bind is None:
        return Home(f"/tmp/gonogo-home-{user.uid}")
    return Home(f"{bind.target.rstrip('/')}/.gonogo/{launch_id}/home", bind)


def user_name(user: JobUser) -> str:
    """The account's own name, else one made of the number: some programs refuse to run without any."""
    return user.name or ("root" if user.uid == 0 else f"user{user.uid}")


#: Variable -> its folder below the home. Some programs write to the image's own folders where one is not set.
FOLDERS: Mapping[str, str] = {"HOME": "", **_CACHES}


def identity_variables(user: JobUser, home: str) -> dict[str, str]:
    """User name, home and framework caches for a UID that the image's user table may not know (ID-03)."""
    name = user_name(user)
    places = {variable: f"{home}/{folder}" if folder else home for variable, folder in FOLDERS.items()}
    return {"USER": name, "LOGNAME": name, **places}


def container_environment(
    shown: Mapping[str, str], secrets: Mapping[str, str], identity: Mapping[str, str], gpus: int
) -> dict[str, str]:
    """The whole environment that is sent: the job's own values win over the identity's."""
    no_gpu = {"NVIDIA_VISIBLE_DEVICES": "void"} if gpus == 0 else {}
    return {**identity, **no_gpu, **shown, **secrets}

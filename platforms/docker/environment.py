"""The container's environment: what the job says and who it runs as, none of the control plane's (DOCK-07, ID-03)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


def identity_variables(uid: int, home: str) -> dict[str, str]:
    """User name, home and framework caches for a UID that the image's user table may not know."""
    name = "root" if uid == 0 else f"user{uid}"
    caches = {variable: f"{home}/{folder}" for variable, folder in _CACHES.items()}
    return {"USER": name, "LOGNAME": name, "HOME": home, **caches}


def container_environment(
    shown: Mapping[str, str], secrets: Mapping[str, str], identity: Mapping[str, str], gpus: int
) -> dict[str, str]:
    """The whole environment that is sent: the job's own values win over the identity's."""
    no_gpu = {"NVIDIA_VISIBLE_DEVICES": "void"} if gpus == 0 else {}
    return {**identity, **no_gpu, **shown, **secrets}

"""Where things are kept between processes: `$GONOGO_STATE_DIR`, else `$XDG_STATE_HOME/gonogo`, else
`~/.local/state/gonogo`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def state_dir(environment: Mapping[str, str]) -> Path:
    """The folder, which need not exist yet. Relative values are taken from the current directory."""
    own = environment.get("GONOGO_STATE_DIR")
    if own:
        return Path(own).absolute()
    base = environment.get("XDG_STATE_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "gonogo"
    home = environment.get("HOME")
    return (Path(home) if home else Path.home()) / ".local" / "state" / "gonogo"

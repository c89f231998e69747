"""gonogo: ask the real target whether a GPU training job can run there, and launch it only then.

The parts are `gonogo.jobs`, `gonogo.platforms`, `gonogo.fixtures`, `gonogo.checks`, `gonogo.reports` and
`gonogo.launcher`. In a checkout they stand beside this folder; an installed copy has them below it.
"""

from pathlib import Path

__version__ = "0.1.0"

_CHECKOUT = Path(__file__).resolve().parents[1]
if (_CHECKOUT / "gonogo_pytest.py").is_file() and (_CHECKOUT / "pyproject.toml").is_file():
    __path__.append(str(_CHECKOUT))

"""Fills in `${VAR}` (row JOB-02). Shell text is left to the target's shell, other tools' expressions to those tools.

In a value, `${NAME}` becomes the environment's text and `$${` a literal `${`. In a launcher section (`slurm:`,
`skypilot:`) NeMo AutoModel's forms `${NAME,default}`, `${oc.env:NAME}` and `${oc.env:NAME,default}` are understood too,
because those sections are read here in NeMo's place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gonogo.jobs.faults import JobFault
from gonogo.jobs.fields import ENV_NAME
from gonogo.jobs.nodes import Entry, Key, Node, Place, Scalar, Sequence, dotted
from gonogo.jobs.nodes import Mapping as MappingNode
from gonogo.jobs.secrets import is_secret_name, looks_secret

LAUNCHER_SECTIONS = ("slurm", "skypilot")
_SHELL_KEYS = {"command", "setup"}
#: Keys whose values are places or names on the target: a `$NAME` inside one is never meant literally.
_PLACE_KEYS = {"uri", "mount", "mounts", "image", "host", "workdir", "source", "target", "container_image", "job_dir"}
_ENV_SECTIONS = {"env", "env_vars"}

_EXPRESSION = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_WHOLE_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_INNER_VARIABLE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
_BARE_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_NEMO_FORM = re.compile(r"(?:oc\.env:)?([A-Za-z_][A-Za-z0-9_]*)(?:,(.*))?", re.DOTALL)

_Lookup = Callable[[str], "str | None"]


@dataclass
class Expansion:
    """The content with variables filled in, and what was found on the way. `used` are the names that were filled in."""

    node: Node
    faults: list[JobFault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


def expand(root: MappingNode, environment: Mapping[str, str]) -> Expansion:
    """`root` with every `${VAR}` in a value field filled in from the environment."""
    work = _Expander(environment)
    node = work.visit(root, ())
    return Expansion(node, work.faults, work.notes, work.used)


def expand_public(root: MappingNode, environment: Mapping[str, str], credentials: set[str]) -> Node:
    """`root` with only those variables filled in that hold no secret: what the digest is made from.

    A secret stays as `${NAME}`, so the digest neither depends on its value nor could confirm a guess of it.
    """
    public = {
        name: value
        for name, value in environment.items()
        if name not in credentials and not is_secret_name(name) and not looks_secret(value)
    }
    return _Expander(public, quiet=True).visit(root, ())


def is_shell_text(path: tuple[Key, ...]) -> bool:
    """Whether the value at that path is a program text that the target's shell reads."""
    names = [part for part in path if isinstance(part, str)]
    return bool(names) and names[-1] in _SHELL_KEYS and names[:1] != ["nemo"]


class _Expander:
    def __init__(self, environment: Mapping[str, str], *, quiet: bool = False) -> None:
        self.environment = environment
        self.quiet = quiet
        self.faults: list[JobFault] = []
        self.notes: list[str] = []
        self.used: set[str] = set()

    def visit(self, node: Node, path: tuple[Key, ...]) -> Node:
        if isinstance(node, MappingNode):
            return replace(
                node,
                entries=tuple(Entry(e.key, e.place, self.visit(e.value, (*path, e.key))) for e in node.entries),
            )
        if isinstance(node, Sequence):
            return replace(node, items=tuple(self.visit(item, (*path, i)) for i, item in enumerate(node.items)))
        return node if is_shell_text(path) else self._scalar(node, path)

    def _scalar(self, scalar: Scalar, path: tuple[Key, ...]) -> Scalar:
        if "$" not in scalar.text:
            self._bare_name(scalar, path)
            return scalar
        self._unbraced(scalar, path)
        changed = False

        def fill(match: re.Match[str]) -> str:
            nonlocal changed
            if match.group() == "$${":
                return "${"
            value = self._value(match, scalar.place, path)
            if value is None:
                return match.group()
            changed = True
            return value

        text = _EXPRESSION.sub(fill, scalar.text)
        return replace(scalar, text=text, expanded=scalar.expanded or changed)

    def _value(self, match: re.Match[str], place: Place, path: tuple[Key, ...]) -> str | None:
        """The text for one `${…}`, or None with a fault."""
        inner = match.group(1)
        if inner is None:
            self._fault(place, path, "'${' without its '}'", "write ${NAME}, or $${ for a literal ${")
            return None
        if ENV_NAME.fullmatch(inner):
            return self._named(inner, None, place, path)
        nemo = _NEMO_FORM.fullmatch(inner)
        if nemo and path and path[0] in LAUNCHER_SECTIONS:
            return self._named(nemo[1], nemo[2], place, path)
        name = re.match(r"(?:oc\.env:)?([A-Za-z_][A-Za-z0-9_]*)", inner)
        hint = f"write ${{{name[1]}}}" if name else "write ${NAME}"
        self._fault(place, path, "an expression that is not understood here", f"{hint}, or $${{ for a literal ${{")
        return None

    def _named(self, name: str, default: str | None, place: Place, path: tuple[Key, ...]) -> str | None:
        value = self.environment.get(name, default)
        if value is None:
            self._fault(place, path, f"the environment variable {name} is not set", f"export {name}")
            return None
        self.used.add(name)
        if not value.strip():
            self._note(place, path, f"the environment variable {name} is set but empty")
        return value

    def _unbraced(self, scalar: Scalar, path: tuple[Key, ...]) -> None:
        whole = _WHOLE_VARIABLE.fullmatch(scalar.text)
        inner = _INNER_VARIABLE.search(scalar.text)
        if whole or (inner and any(part in _PLACE_KEYS for part in path)):
            name = (whole or inner or [""])[1]
            self._fault(scalar.place, path, f"'${name}' is not expanded", f"write ${{{name}}}")
        elif inner and "$$" not in scalar.text:
            self._note(scalar.place, path, f"'${inner[1]}' stays as it is; write ${{{inner[1]}}} to fill it in")

    def _bare_name(self, scalar: Scalar, path: tuple[Key, ...]) -> None:
        """A variable's name where its value is meant: `HF_TOKEN: HF_TOKEN`."""
        text = scalar.text
        if len(path) < 2 or not _BARE_NAME.fullmatch(text) or path[0] in ("credentials", "attested", "waivers"):
            return
        in_env = path[-2] in _ENV_SECTIONS
        meant = text == path[-1] or is_secret_name(text) or text in self.environment
        if meant and (in_env or path[0] in LAUNCHER_SECTIONS or path[0] in ("brev", "lepton")):
            self._fault(scalar.place, path, f"'{text}' is a variable's name and is not expanded", f"write ${{{text}}}")

    def _fault(self, place: Place, path: tuple[Key, ...], message: str, hint: str) -> None:
        self.faults.append(JobFault("JOB-02", place.file, place.line, place.column, dotted(path), message, hint))

    def _note(self, place: Place, path: tuple[Key, ...], text: str) -> None:
        if not self.quiet:
            self.notes.append(
                f"{place.file}:{place.line}: {dotted(path)}: {text}" if place.line else f"{dotted(path)}: {text}"
            )
